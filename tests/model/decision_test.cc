#include "src/model/decision.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "src/base/random.h"
#include "src/model/metrics.h"
#include "tests/model/support.h"

namespace espalier::model {
namespace {

// Networks whose outputs are the row's two inputs, or the first one.
const std::vector<double> kIdentity = {1, 0, 0, 1, 0, 0};
const std::vector<double> kFirst = {1, 0, 0};

struct ScoredRow {
  double score = 0;  // log-odds of class 1
  int32_t label = 0;
  double weight = 1;
};

std::vector<double> TotalsOf(const NetworkShape& shape, const std::vector<ScoredRow>& rows) {
  LeafPass<double> pass(shape, std::ssize(rows));
  for (size_t r = 0; r < rows.size(); ++r) {
    pass.inputs()[2 * r] = 0;
    pass.inputs()[2 * r + 1] = rows[r].score;
    pass.labels()[r] = rows[r].label;
    pass.weights()[r] = rows[r].weight;
  }
  std::vector<double> totals(TotalsSize(shape, TotalsKind::kEvaluation));
  pass.Evaluate(kIdentity.data(), std::ssize(rows), totals.data());
  return totals;
}

spec::Metrics MetricsOf(const NetworkShape& shape, const std::vector<double>& totals) {
  return MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, totals);
}

NetworkShape TwoClasses(int32_t positive) {
  NetworkShape shape = MakeShape(spec::ModelSpec(), 2, 2);
  shape.positive = positive;
  return shape;
}

std::vector<ScoredRow> RandomRows(int count, uint64_t seed) {
  std::vector<ScoredRow> rows;
  for (int r = 0; r < count; ++r) {
    const uint64_t at = seed + 4 * static_cast<uint64_t>(r);
    const double noise = UnitDouble(Mix64(at)) - 0.5;
    const int32_t label = UnitDouble(Mix64(at + 1)) < 0.2;
    rows.push_back(
        {2 * label - 1.5 + 6 * noise, label, 1 + std::floor(3 * UnitDouble(Mix64(at + 2)))});
  }
  return rows;
}

TEST_CASE("average precision equals scikit-learn's") {
  // scikit-learn's page of average_precision_score gives 0.83.
  const auto logit = [](double p) { return std::log(p / (1 - p)); };
  const std::vector<ScoredRow> rows = {
      {logit(0.1), 0}, {logit(0.4), 0}, {logit(0.35), 1}, {logit(0.8), 1}};
  const NetworkShape shape = TwoClasses(1);
  const spec::Metrics m = MetricsOf(shape, TotalsOf(shape, rows));
  CHECK(*m.average_precision == Approx(0.8333333333));
  CHECK(*m.auc == Approx(0.75));
  // For class 0 the scores and labels are inverted.
  std::vector<ScoredRow> flipped = rows;
  for (ScoredRow& row : flipped) row = {-row.score, 1 - row.label};
  const NetworkShape first = TwoClasses(0);
  CHECK(*MetricsOf(first, TotalsOf(first, flipped)).average_precision == Approx(0.8333333333));
  const NetworkShape second = TwoClasses(1);
  const double other = *MetricsOf(second, TotalsOf(second, flipped)).average_precision;
  CHECK(other == Approx((1 + 2.0 / 3) / 2));
}

TEST_CASE("average precision needs rows of both classes") {
  for (const int32_t label : {0, 1}) {
    const NetworkShape shape = TwoClasses(1);
    CHECK(!MetricsOf(shape, TotalsOf(shape, {{1, label}, {2, label}})).average_precision);
  }
}

TEST_CASE("score bins lie between their edges") {
  for (const int32_t positive : {0, 1}) {
    const NetworkShape shape = TwoClasses(positive);
    for (const double score : {-70000.0, -3.0, -1e-9, 1e-9, 0.3, 12.0, 70000.0}) {
      const std::vector<double> totals = TotalsOf(shape, {{score, 1}});
      const ScoreBins bins(shape, totals);
      const double of_positive = positive == 1 ? score : -score;
      int64_t bin = 0;
      while (bins.empty(bin)) ++bin;
      CHECK((bins.Edge(bin) <= of_positive || bin == 0));
      CHECK((of_positive <= bins.Edge(bin + 1) || bin == kScoreBins - 1));
    }
  }
}

// Returns the value that a threshold optimizes, counted row by row.
double ValueAt(const spec::ThresholdSpec& spec, const std::vector<ScoredRow>& rows,
               int32_t positive, double threshold, bool* allowed) {
  double hit = 0, missed = 0, alarm = 0, all = 0, right = 0;
  for (const ScoredRow& row : rows) {
    const double score = positive == 1 ? row.score : -row.score;
    const bool said = 1 / (1 + std::exp(-score)) > threshold, is = row.label == positive;
    all += row.weight;
    hit += said && is ? row.weight : 0;
    missed += !said && is ? row.weight : 0;
    alarm += said && !is ? row.weight : 0;
    right += said == is ? row.weight : 0;
  }
  const double precision = hit + alarm > 0 ? hit / (hit + alarm) : 0;
  const double recall = hit + missed > 0 ? hit / (hit + missed) : 0;
  *allowed = true;
  switch (spec.kind) {
    case spec::ThresholdKind::kF1:
      return 2 * hit / (2 * hit + alarm + missed);
    case spec::ThresholdKind::kRecall:
      *allowed = precision >= spec.min_precision;
      return recall;
    case spec::ThresholdKind::kPrecision:
      *allowed = recall >= spec.min_recall;
      return precision;
    case spec::ThresholdKind::kCost:
      return (spec.false_positive * alarm + spec.false_negative * missed) / all;
    default:
      return right / all;
  }
}

TEST_CASE("no threshold is better than the one that is chosen") {
  for (const int32_t positive : {0, 1}) {
    for (const auto kind :
         {spec::ThresholdKind::kAccuracy, spec::ThresholdKind::kF1, spec::ThresholdKind::kRecall,
          spec::ThresholdKind::kPrecision, spec::ThresholdKind::kCost}) {
      spec::ThresholdSpec spec{.kind = kind, .min_precision = 0.6, .min_recall = 0.7};
      spec.false_negative = 5;
      const std::vector<ScoredRow> rows = RandomRows(300, 17 * static_cast<uint64_t>(kind) + 3);
      const NetworkShape shape = TwoClasses(positive);
      const auto [chosen, thresholds] = ChooseThreshold(shape, spec, TotalsOf(shape, rows));
      INFO(static_cast<int>(kind) << " of class " << positive << ": " << chosen.threshold);
      bool allowed = false;
      CHECK(ValueAt(spec, rows, positive, chosen.threshold, &allowed) == Approx(chosen.value));
      CHECK(allowed);
      CHECK(chosen.reached);
      CHECK(ValueAt(spec, rows, positive, 0.5, &allowed) == Approx(chosen.value_at_half));
      const double sign = kind == spec::ThresholdKind::kCost ? -1 : 1;
      for (const ScoredRow& row : rows) {
        const double score = positive == 1 ? row.score : -row.score;
        for (const double shift : {-1e-9, 1e-9}) {
          const double value =
              ValueAt(spec, rows, positive, 1 / (1 + std::exp(-score - shift)), &allowed);
          // Scores in one bin count as equal.
          if (allowed) CHECK(sign * value <= sign * chosen.value + 0.02);
        }
      }
      // A network with the chosen threshold predicts accordingly.
      NetworkShape decided = shape;
      decided.thresholds = thresholds;
      const spec::Metrics m = MetricsOf(decided, TotalsOf(decided, rows));
      const spec::ClassMetrics& of = m.classes[static_cast<size_t>(positive)];
      if (kind == spec::ThresholdKind::kF1) CHECK(of.f1 == Approx(chosen.value));
      if (kind == spec::ThresholdKind::kRecall) CHECK(of.recall == Approx(chosen.value));
      if (kind == spec::ThresholdKind::kPrecision) CHECK(of.precision == Approx(chosen.value));
      if (kind == spec::ThresholdKind::kAccuracy) CHECK(m.accuracy == Approx(chosen.value));
    }
  }
}

TEST_CASE("a precision that no threshold reaches is reported") {
  const std::vector<ScoredRow> rows = {{2, 0}, {1, 1}, {-1, 0}, {-2, 1}};
  const NetworkShape shape = TwoClasses(1);
  const spec::ThresholdSpec spec{.kind = spec::ThresholdKind::kRecall, .min_precision = 0.9};
  const spec::ChosenThreshold chosen = ChooseThreshold(shape, spec, TotalsOf(shape, rows)).chosen;
  CHECK(!chosen.reached);
  CHECK(chosen.value == 1);  // all rows predicted positive, of which half are right
}

TEST_CASE("without rows or mistakes the threshold is 0.5") {
  const NetworkShape shape = TwoClasses(1);
  const spec::ThresholdSpec f1{.kind = spec::ThresholdKind::kF1};
  const std::vector<double> none(TotalsSize(shape, TotalsKind::kEvaluation));
  CHECK(ChooseThreshold(shape, f1, none).chosen.threshold == 0.5);
  const std::vector<ScoredRow> apart = {{-3, 0}, {-2, 0}, {2, 1}, {3, 1}};
  const spec::ChosenThreshold chosen = ChooseThreshold(shape, f1, TotalsOf(shape, apart)).chosen;
  CHECK(chosen.threshold == Approx(0.5).margin(0.01));
  CHECK(chosen.value == 1);
}

TEST_CASE("rows of one score are all predicted as one class") {
  for (const int32_t positive : {0, 1}) {
    for (const double score : {0.0, 0.5, -2.0, 40.0}) {
      // Recall needs all rows predicted positive, cost needs none.
      const std::vector<ScoredRow> rows = {{score, 0}, {score, 1}, {score, positive}};
      const NetworkShape shape = TwoClasses(positive);
      const spec::ThresholdSpec recall{.kind = spec::ThresholdKind::kRecall, .min_precision = 0.6};
      const ThresholdChoice all = ChooseThreshold(shape, recall, TotalsOf(shape, rows));
      CHECK(all.chosen.value == 1);
      NetworkShape decided = shape;
      decided.thresholds = all.thresholds;
      const spec::Metrics m = MetricsOf(decided, TotalsOf(decided, rows));
      CHECK(m.classes[static_cast<size_t>(positive)].recall == 1);
      const spec::ThresholdSpec cost{
          .kind = spec::ThresholdKind::kCost, .false_positive = 1e9, .false_negative = 1};
      decided.thresholds = ChooseThreshold(shape, cost, TotalsOf(shape, rows)).thresholds;
      const spec::Metrics none = MetricsOf(decided, TotalsOf(decided, rows));
      CHECK(none.classes[static_cast<size_t>(positive)].recall == 0);
    }
  }
}

TEST_CASE("a threshold far from 0.5 separates its rows") {
  const NetworkShape shape = TwoClasses(1);
  const std::vector<ScoredRow> rows = {{-5, 0}, {35, 0}, {50, 1}, {60, 1}};
  const spec::ThresholdSpec cost{.kind = spec::ThresholdKind::kCost, .false_positive = 1000};
  const ThresholdChoice choice = ChooseThreshold(shape, cost, TotalsOf(shape, rows));
  CHECK(choice.chosen.value == 0);
  NetworkShape decided = shape;
  decided.thresholds = choice.thresholds;
  CHECK(MetricsOf(decided, TotalsOf(decided, rows)).accuracy == 1);
}

NetworkShape OneTarget(spec::Loss loss) {
  spec::ModelSpec model;
  model.task = spec::Task::kRegression;
  model.loss = loss;
  return MakeShape(model, 2, 1);
}

// Returns a pass over rows with these residuals.
std::unique_ptr<LeafPass<double>> PassOf(const NetworkShape& shape,
                                         const std::vector<double>& residuals) {
  auto pass = std::make_unique<LeafPass<double>>(shape, std::ssize(residuals));
  for (size_t r = 0; r < residuals.size(); ++r) {
    pass->inputs()[2 * r] = 1;
    pass->inputs()[2 * r + 1] = 0;
    const double predicted = shape.loss == spec::Loss::kPoisson ? std::exp(1.0) : 1;
    pass->targets()[r] = predicted - residuals[r];
    pass->weights()[r] = 2;
  }
  return pass;
}

TEST_CASE("half-widths are the conformal quantile of the residuals") {
  for (const auto loss : {spec::Loss::kMse, spec::Loss::kPoisson}) {
    NetworkShape shape = OneTarget(loss);
    std::vector<double> residuals;
    for (uint64_t r = 0; r < 200; ++r) {
      residuals.push_back(std::exp(8 * UnitDouble(Mix64(r))) * (r % 2 == 0 ? 1 : -1));
    }
    std::vector<double> sizes;
    for (const double residual : residuals) sizes.push_back(std::fabs(residual));
    std::sort(sizes.begin(), sizes.end());
    auto pass = PassOf(shape, residuals);
    std::vector<double> sums(ResidualsSize(shape));
    pass->Residuals(kFirst.data(), 200, sums.data());
    for (const double level : {0.5, 0.9, 0.99}) {
      const auto widths = HalfWidths(shape, level, sums);
      REQUIRE(widths);
      const double exact = sizes[static_cast<size_t>(std::ceil(201 * level)) - 1];
      CHECK((*widths)[0] >= exact);
      CHECK((*widths)[0] <= exact * 1.017);
      // An evaluation counts the rows within the intervals.
      shape.half_widths = *widths;
      auto evaluated = PassOf(shape, residuals);
      std::vector<double> totals(TotalsSize(shape, TotalsKind::kEvaluation));
      evaluated->Evaluate(kFirst.data(), 200, totals.data());
      const spec::Metrics m =
          MetricsFromTotals(shape, {{.name = "y"}}, TotalsKind::kEvaluation, totals);
      const auto within = std::count_if(sizes.begin(), sizes.end(),
                                        [&](double size) { return size <= (*widths)[0]; });
      CHECK(*m.coverage == Approx(static_cast<double>(within) / 200));
      CHECK(m.targets[0].coverage == m.coverage);
    }
    CHECK(!HalfWidths(shape, 0.996, sums));  // the largest of 200 residuals is for level 200 / 201
  }
}

TEST_CASE("residuals are of predictions within their limits") {
  NetworkShape shape = OneTarget(spec::Loss::kMse);
  LimitPredictions({{.name = "y", .range = {-2, 0.5}}}, &shape);
  auto pass = PassOf(shape, std::vector<double>(20, 0.75));  // predictions of 1, so 0.5
  std::vector<double> sums(ResidualsSize(shape));
  pass->Residuals(kFirst.data(), 20, sums.data());
  CHECK((*HalfWidths(shape, 0.9, sums))[0] == Approx(0.25).epsilon(0.017));
}

TEST_CASE("weights count as rows; a row of weight 0 does not count") {
  const NetworkShape shape = OneTarget(spec::Loss::kMse);
  auto pass = PassOf(shape, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1000});
  pass->weights()[9] = 0;
  std::vector<double> sums(ResidualsSize(shape));
  pass->Residuals(kFirst.data(), 10, sums.data());
  CHECK(sums[0] == 9);
  const auto widths = HalfWidths(shape, 0.9, sums);
  REQUIRE(widths);
  CHECK((*widths)[0] == Approx(9).epsilon(0.017));
}

TEST_CASE("a residual that is not finite gives no intervals") {
  const NetworkShape shape = OneTarget(spec::Loss::kMse);
  for (const double bad : {1e30, std::nan(""), std::numeric_limits<double>::infinity()}) {
    auto pass = PassOf(shape, {1, 2, bad});
    std::vector<double> sums(ResidualsSize(shape));
    pass->Residuals(kFirst.data(), 3, sums.data());
    CHECK(HalfWidths(shape, 0.5, sums));
    CHECK(!HalfWidths(shape, 0.75, sums));
  }
}

}  // namespace
}  // namespace espalier::model
