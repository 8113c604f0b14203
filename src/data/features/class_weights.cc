#include "src/data/features/class_weights.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "src/base/text.h"
#include "src/data/table/class_text.h"

namespace espalier::data {
namespace {

std::vector<double> Balanced(const std::vector<std::string>& classes,
                             const std::map<std::string, int64_t>& rows) {
  int64_t all = 0, present = 0;
  for (const std::string& name : classes) {
    all += rows.at(name);
    present += rows.at(name) > 0;
  }
  const auto expected = static_cast<double>(all) / static_cast<double>(present);
  std::vector<double> weights;
  for (const std::string& name : classes) {
    const auto count = static_cast<double>(rows.at(name));
    weights.push_back(count > 0 ? expected / count : 1);
  }
  return weights;
}

// Returns one weight per name, which is 1 if none is given. `place` returns the index of a name in
// `names`, or their number if it is not one of them. `what_not` then describes the error.
Result<std::vector<double>> Given(const std::vector<spec::ClassWeight>& given,
                                  const std::vector<std::string>& names,
                                  const std::function<size_t(const std::string&)>& place,
                                  const char* what_not) {
  std::vector<double> weights(names.size(), 1.0);
  for (const spec::ClassWeight& g : given) {
    const size_t at = place(g.label);
    if (at == names.size()) {
      const auto near = Nearest(g.label, names);
      return InvalidArgument("train.class_weight: found '" + Printable(g.label) + "', which is " +
                             what_not + (near ? "; did you mean '" + Printable(*near) + "'?" : ""));
    }
    weights[at] = g.weight;
  }
  return weights;
}

size_t PlaceOf(const std::string& name, const std::vector<std::string>& names) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

Result<std::vector<double>> FitClassWeights(const spec::ClassWeights& wanted,
                                            const std::vector<std::string>& classes,
                                            const std::map<std::string, int64_t>& rows) {
  if (wanted.balanced) return Balanced(classes, rows);
  if (wanted.given.empty()) return std::vector<double>();
  const ClassIndex index(classes);
  const auto place = [&](const std::string& label) {
    const int32_t at = index.Of(label);
    return at < 0 ? classes.size() : static_cast<size_t>(at);
  };
  ESPALIER_ASSIGN_OR_RETURN(std::vector<double> weights,
                            Given(wanted.given, classes, place, "the label of no training row"));
  if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; })) {
    return InvalidArgument(
        "train.class_weight: all classes have the weight 0 (expected a weight above 0). Set one "
        "for a class");
  }
  return weights;
}

Result<int32_t> PositiveClass(const spec::JobSpec& job, const std::vector<std::string>& classes) {
  const bool two = classes.size() == 2;
  const auto found = std::to_string(classes.size());
  if (job.train.threshold.kind != spec::ThresholdKind::kNone && !two) {
    const bool cost = job.train.threshold.kind == spec::ThresholdKind::kCost;
    return InvalidArgument("train.threshold: found " + found + " classes, expected two. " +
                           (cost ? "Set model.costs instead." : "Remove train.threshold."));
  }
  if (!job.model.positive) return 1;
  const std::string& label = *job.model.positive;
  if (!two) {
    return InvalidArgument("model.positive: found " + Quoted(label) + " for " + found +
                           " classes, expected two classes. Remove model.positive.");
  }
  const int32_t at = ClassIndex(classes).Of(label);
  if (at >= 0) return at;
  return InvalidArgument("model.positive: found " + Quoted(label) + ", expected " +
                         Quoted(classes[0]) + " or " + Quoted(classes[1]));
}

Result<std::vector<spec::CostOfClass>> CostsOfClasses(const spec::DecisionCosts& costs,
                                                      const std::vector<std::string>& classes) {
  std::vector<spec::CostOfClass> found;
  if (costs.given.empty()) return found;
  if (std::ssize(classes) > spec::kCostClassesMax) {
    return InvalidArgument("model.costs: found " + std::to_string(classes.size()) +
                           " classes, expected at most " + std::to_string(spec::kCostClassesMax));
  }
  const ClassIndex index(classes);
  std::set<std::pair<int32_t, int32_t>> pairs;
  for (const spec::ClassCosts& row : costs.given) {
    const int32_t truth = index.Of(row.label);
    if (row.costs.empty()) {
      return InvalidArgument("model.costs." + Printable(row.label) +
                             ": found no costs, expected one or more. Remove the class.");
    }
    for (const spec::PredictedCost& c : row.costs) {
      const int32_t predicted = index.Of(c.predicted);
      const std::string& unknown = truth < 0 ? row.label : c.predicted;
      if (truth < 0 || predicted < 0) {
        return InvalidArgument("model.costs: found " + Quoted(Printable(unknown)) +
                               ", which is not a class. Set costs only between classes.");
      }
      if (truth == predicted || !pairs.emplace(truth, predicted).second) {
        return InvalidArgument("model.costs." + Printable(row.label) + ": found " +
                               Quoted(Printable(c.predicted)) + ", which means " +
                               (truth == predicted ? "the same class" : "a class given before") +
                               ". Remove it.");
      }
      if (c.cost != 1) found.push_back({truth, predicted, c.cost});
    }
  }
  return found;
}

Result<std::vector<double>> FitPositiveWeights(const spec::ClassWeights& wanted,
                                               const std::vector<spec::FittedTarget>& labels,
                                               const std::vector<spec::ColumnStats>& stats) {
  std::vector<std::string> names;
  for (const spec::FittedTarget& label : labels) names.push_back(label.name);
  if (!wanted.balanced) {
    if (wanted.given.empty()) return std::vector<double>();
    return Given(
        wanted.given, names, [&](const std::string& name) { return PlaceOf(name, names); },
        "not a column of data.label");
  }
  std::vector<double> weights;
  for (const spec::ColumnStats& s : stats) {
    const auto rows = static_cast<double>(s.count);
    const double ones = std::round(s.mean * rows);  // an integer: the values are 0 and 1
    const bool both = ones > 0 && ones < rows;
    weights.push_back(
        both ? std::clamp((rows - ones) / ones, 1 / kPositiveWeightMax, kPositiveWeightMax) : 1.0);
  }
  return weights;
}

}  // namespace espalier::data
