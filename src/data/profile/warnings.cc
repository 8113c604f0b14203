#include "src/data/profile/warnings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "src/base/text.h"
#include "src/data/table/shard_rows.h"

namespace espalier::data {
namespace {

constexpr size_t kColumnsNamed = 5;

std::string Percent(double share) {
  const double percent = std::floor(share * 1000) / 10;  // rounded down
  return ShortestDouble(percent) + " %";
}

// The probed rows, by column.
class Probed {
 public:
  Probed(const spec::RowSample& sample, size_t features)
      : sample_(sample), width_(features + kProbeBeside), features_(features) {}

  bool valid() const { return sample_.values.size() == rows() * width_; }
  size_t rows() const { return sample_.keys.size(); }
  const double* row(size_t r) const { return sample_.values.data() + r * width_; }
  double at(size_t row, size_t feature) const { return sample_.values[row * width_ + feature]; }
  double label(size_t row) const { return at(row, features_); }
  double file(size_t row) const { return at(row, features_ + 1); }
  double position(size_t row) const { return at(row, features_ + 2); }

 private:
  const spec::RowSample& sample_;
  const size_t width_, features_;
};

class WarningFinder {
 public:
  explicit WarningFinder(const WarningFacts& facts)
      : facts_(facts), probed_(facts.probe, facts.plan.schema.features.size()) {}

  std::vector<std::string> Run() {
    if (facts_.train_rows < kWarnedRowsMin) return {};
    WarnOfLabel();
    WarnOfDuplicates();
    if (!probed_.valid() || static_cast<int64_t>(probed_.rows()) < kWarnedRowsMin) return lines_;
    WarnOfLeaks();
    WarnOfTime();
    return std::move(lines_);
  }

 private:
  const spec::Schema& schema() const { return facts_.plan.schema; }
  bool classifies() const { return facts_.job.model.task == spec::Task::kClassification; }
  std::string NameOf(size_t feature) const {
    return Quoted(schema().names[static_cast<size_t>(schema().features[feature])]);
  }

  void WarnOfLabel() {
    constexpr double kNearlyAll = 0.99;
    for (const auto& [label, rows] : facts_.labels) {
      const double share = static_cast<double>(rows) / static_cast<double>(facts_.train_rows);
      if (share < kNearlyAll || share >= 1) continue;
      lines_.push_back(Percent(share) + " of the training rows have the class " + Quoted(label) +
                       ": a model that always answers it has that accuracy. See the figures by "
                       "class, or set train.class_weight: balanced");
    }
  }

  void WarnOfDuplicates() {
    constexpr double kMany = 0.01;
    int64_t train = 0, repeated = 0, validation = 0, known = 0;
    for (size_t i = 0; i < facts_.alike.hashes.size(); ++i) {
      train += facts_.alike.train[i];
      repeated += std::max<int64_t>(0, facts_.alike.train[i] - 1);
      validation += facts_.alike.validation[i];
      known += facts_.alike.train[i] > 0 ? facts_.alike.validation[i] : 0;
    }
    const auto share = [](int64_t part, int64_t all) {
      return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
    };
    if (share(repeated, train) >= kMany) {
      lines_.push_back("about " + Percent(share(repeated, train)) +
                       " of the training rows are exact duplicates, including the label" +
                       (spec::FoldsOf(facts_.job.train) > 0
                            ? ". Held-out rows have copies among the others, so that validation "
                              "looks better than it is"
                            : ""));
    }
    if (share(known, validation) >= kMany) {
      lines_.push_back("about " + Percent(share(known, validation)) +
                       " of the validation rows are training rows as well, so that validation "
                       "looks better than it is. Take repeated rows out of the files");
    }
  }

  // Pairs of a feature's value and the label, one per probed row, sorted by value.
  using Pairs = std::vector<std::pair<double, double>>;
  // Nulls of a classification are one value, below all others. Those of a regression are left out.
  // `presence`: all other values are one value too.
  Pairs PairsOf(size_t feature, bool presence) const {
    constexpr double kNull = -std::numeric_limits<double>::infinity();
    Pairs pairs;
    for (size_t r = 0; r < probed_.rows(); ++r) {
      double value = probed_.at(r, feature);
      const double label = probed_.label(r);
      const bool null = std::isnan(value);
      if (std::isnan(label) || (null && !classifies())) continue;
      if (null || presence) value = null ? kNull : 0;
      pairs.emplace_back(value, label);
    }
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  }

  // Returns the fraction of rows with the most frequent label among them.
  static double Commonest(std::vector<double> labels) {
    if (labels.empty()) return 1;
    std::sort(labels.begin(), labels.end());
    size_t best = 0;
    for (size_t i = 0; i < labels.size();) {
      size_t end = i;
      while (end < labels.size() && labels[end] == labels[i]) ++end;
      best = std::max(best, end - i);
      i = end;
    }
    return static_cast<double>(best) / static_cast<double>(labels.size());
  }

  // Returns the number of times that the label changes from row to row, in a random order of the
  // rows: n (1 - sum of the squared fractions of the labels).
  static double RandomChanges(const Pairs& pairs) {
    std::map<double, double> rows;
    for (const auto& [value, label] : pairs) ++rows[label];
    const auto all = static_cast<double>(pairs.size());
    double same = 0;
    for (const auto& [label, count] : rows) same += count * count / all;
    return all - same;
  }

  // Predicts the label of each row as the most common label of its value, and returns the fraction
  // of correct predictions. A value that occurs once is no evidence for a category. For a number,
  // the labels may change only a few times along the sorted values, and far less often than in a
  // random order.
  static double Predicted(const Pairs& pairs, bool category, size_t classes) {
    double right = 0, last = 0;
    size_t changes = 0;
    for (size_t i = 0; i < pairs.size();) {
      size_t end = i;
      std::map<double, size_t> labels;
      for (; end < pairs.size() && pairs[end].first == pairs[i].first; ++end) {
        ++labels[pairs[end].second];
      }
      const auto best =
          std::max_element(labels.begin(), labels.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      if (!category || end - i > 1) right += static_cast<double>(best->second);
      changes += i > 0 && best->first != last;
      last = best->first;
      i = end;
    }
    constexpr double kFewer = 3;
    const bool few =
        changes <= 2 * classes && kFewer * static_cast<double>(changes) <= RandomChanges(pairs);
    if (!category && !few) return 0;
    return right / static_cast<double>(pairs.size());
  }

  static double SquaredCorrelation(const Pairs& pairs) {
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    const double n = static_cast<double>(pairs.size());
    for (const auto& [a, b] : pairs) {
      x += a / n;
      y += b / n;
    }
    for (const auto& [a, b] : pairs) {
      xx += (a - x) * (a - x);
      yy += (b - y) * (b - y);
      xy += (a - x) * (b - y);
    }
    const double squared = xy * xy / (xx * yy);
    return std::isfinite(squared) ? squared : 0;
  }

  // Returns an upper bound of Predicted, below kPredicted for most columns. It looks at the rows
  // with the value of the first row alone, and does not sort. In Boyer and Moore's majority vote, a
  // label has at most half of the rows that cancel each other, and one label has all others.
  double PredictedAtMost(size_t feature) const {
    const double value = probed_.at(0, feature);
    double label = 0;
    size_t votes = 0, rows = 0;
    for (size_t r = 0; r < probed_.rows(); ++r) {
      const double* const row = probed_.row(r);
      if (row[feature] != value) continue;
      ++rows;
      if (votes == 0) label = probed_.label(r);
      votes = votes == 0 || probed_.label(r) == label ? votes + 1 : votes - 1;
    }
    const size_t wrong = (rows - votes) / 2;
    return 1 - static_cast<double>(wrong) / static_cast<double>(probed_.rows());
  }

  bool Leaks(size_t feature, size_t classes) const {
    constexpr double kPredicted = 0.99, kErrors = 0.1, kExplained = 0.995, kThere = 0.9;
    const spec::FeatureType type = schema().rule(feature).type;
    const bool date = type == spec::FeatureType::kDate;
    if (date && !classifies()) return false;
    if (classifies() && !date && PredictedAtMost(feature) < kPredicted) return false;
    const Pairs pairs = PairsOf(feature, date);
    if (static_cast<double>(pairs.size()) < kThere * static_cast<double>(probed_.rows()))
      return false;
    const bool category = type == spec::FeatureType::kCategorical;
    if (!classifies()) return !category && SquaredCorrelation(pairs) >= kExplained;
    std::vector<double> labels;
    for (const auto& [value, label] : pairs) labels.push_back(label);
    const double share = Predicted(pairs, category, classes);
    return share >= kPredicted && 1 - share <= kErrors * (1 - Commonest(std::move(labels)));
  }

  void WarnOfLeaks() {
    if (!classifies() && facts_.job.model.task != spec::Task::kRegression) return;
    std::set<double> classes;
    for (size_t r = 0; r < probed_.rows(); ++r) classes.insert(probed_.label(r));
    std::vector<std::string> names;
    for (size_t i = 0; i < schema().features.size(); ++i) {
      if (i > 0 && schema().features[i] == schema().features[i - 1]) continue;  // of one date
      if (!Leaks(i, classes.size())) continue;
      const bool date = schema().rule(i).type == spec::FeatureType::kDate;
      names.push_back(date ? "column " + NameOf(i) + ", by being empty or not,"
                           : "column " + NameOf(i));
    }
    for (size_t i = 0; i < std::min(names.size(), kColumnsNamed); ++i) {
      lines_.push_back(names[i] +
                       " alone predicts the label nearly perfectly. Take it out with "
                       "data.features.exclude, unless its value is known at prediction time");
    }
  }

  // Returns a number that grows with time, from the parts of a date in features [first, last).
  double TimeOf(size_t row, size_t first, size_t last) const {
    constexpr double kDay = 86'400;
    double time = 0;
    for (size_t i = first; i < last; ++i) {
      const double value = probed_.at(row, i);
      switch (schema().rule(i).part) {
        case spec::DatePart::kYear:
          time += value * 372 * kDay;
          break;
        case spec::DatePart::kMonth:
          time += value * 31 * kDay;
          break;
        case spec::DatePart::kDay:
          time += value * kDay;
          break;
        case spec::DatePart::kHour:
          time += value * 3600;
          break;
        case spec::DatePart::kMinute:
          time += value * 60;
          break;
        case spec::DatePart::kSecond:
          time += value;
          break;
        default:
          break;
      }
    }
    return time;
  }

  bool Orders(size_t first, size_t last, const std::vector<size_t>& in_order) const {
    constexpr size_t kChangesMin = 20;
    constexpr double kOrdered = 0.98;
    size_t up = 0, down = 0;
    for (size_t i = 1; i < in_order.size(); ++i) {
      const size_t a = in_order[i - 1], b = in_order[i];
      if (probed_.file(a) != probed_.file(b)) continue;
      const double before = TimeOf(a, first, last), after = TimeOf(b, first, last);
      up += after > before;
      down += after < before;
    }
    const auto most = static_cast<double>(std::max(up, down));
    return up + down >= kChangesMin && most >= kOrdered * static_cast<double>(up + down);
  }

  void WarnOfTime() {
    const spec::ValidationSpec& validation = facts_.job.data.validation;
    const bool folds = spec::FoldsOf(facts_.job.train) > 0 && !validation.by_place();
    if (!validation.by_hash() && !folds) return;
    std::vector<size_t> in_order(probed_.rows());
    for (size_t r = 0; r < in_order.size(); ++r) in_order[r] = r;
    std::sort(in_order.begin(), in_order.end(), [&](size_t a, size_t b) {
      return std::pair(probed_.file(a), probed_.position(a)) <
             std::pair(probed_.file(b), probed_.position(b));
    });
    const std::vector<int32_t>& features = schema().features;
    for (size_t first = 0, last = 0; first < features.size(); first = last) {
      bool year = false;
      for (; last < features.size() && features[last] == features[first]; ++last) {
        year = year || schema().rule(last).part == spec::DatePart::kYear;
      }
      const bool date = schema().rule(first).type == spec::FeatureType::kDate;
      if (!date || !year || !Orders(first, last, in_order)) continue;
      lines_.push_back("the rows are in the order of column " + NameOf(first) +
                       ", while validation rows are drawn at random. To see how the model does "
                       "with later rows, set data.validation.time to this column");
      return;
    }
  }

  const WarningFacts& facts_;
  const Probed probed_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> FindWarnings(const WarningFacts& facts) {
  return WarningFinder(facts).Run();
}

}  // namespace espalier::data
