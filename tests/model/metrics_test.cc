#include "src/model/metrics.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "src/base/random.h"
#include "src/model/loss.h"
#include "src/model/score_sketch.h"
#include "tests/model/support.h"

namespace espalier::model {
namespace {

NetworkShape Linear(spec::Task task, int64_t outputs,
                    std::optional<spec::Loss> loss = std::nullopt) {
  spec::ModelSpec model;
  model.task = task;
  model.loss = loss;
  return MakeShape(model, 2, outputs);
}

// The identity: the outputs of a row are its two inputs.
const std::vector<double> kIdentity = {1, 0, 0, 1, 0, 0};

std::vector<double> EvaluationTotals(LeafPass<double>& pass, const std::vector<double>& parameters,
                                     int64_t rows) {
  std::vector<double> totals(TotalsSize(pass.shape(), TotalsKind::kEvaluation));
  pass.Evaluate(parameters.data(), rows, totals.data());
  return totals;
}

TEST_CASE("classification metrics follow from the confusion matrix") {
  LeafPass<double> pass(Linear(spec::Task::kClassification, 2), 5);
  // Scores are input 1 - input 0.
  const double scores[] = {2, -1, 3, -2, 1};
  const int32_t labels[] = {1, 1, 1, 0, 0};
  const double weights[] = {1, 2, 1, 4, 2};
  for (int64_t r = 0; r < 5; ++r) {
    pass.inputs()[2 * r] = 0;
    pass.inputs()[2 * r + 1] = scores[r];
    pass.labels()[r] = labels[r];
    pass.weights()[r] = weights[r];
  }
  const auto totals = EvaluationTotals(pass, kIdentity, 5);
  const spec::Metrics m = MetricsFromTotals(pass.shape(), {}, TotalsKind::kEvaluation, totals);
  CHECK(m.rows == 5);
  CHECK(m.weight == 10);
  CHECK(m.confusion == std::vector<double>{4, 2, 2, 2});
  CHECK(m.accuracy == Approx(0.6));
  REQUIRE(m.classes.size() == 2);
  CHECK(m.classes[0].precision == Approx(4.0 / 6));
  CHECK(m.classes[0].recall == Approx(4.0 / 6));
  CHECK(m.classes[1].f1 == Approx(0.5));
  CHECK(m.f1 == Approx(0.6 * 4 / 6 + 0.4 * 0.5));
  // Weighted pairs: score 2 is above both zeros, score -1 only above -2, score 3 above both.
  CHECK(*m.auc == Approx((1 * 6 + 2 * 4 + 1 * 6) / 24.0));
  double loss = 0;
  for (int r = 0; r < 5; ++r) {
    loss += weights[r] * std::log1p(std::exp(labels[r] ? -scores[r] : scores[r]));
  }
  CHECK(m.loss == Approx(loss / 10));
}

TEST_CASE("binary cross-entropy counts like softmax of two classes") {
  const NetworkShape soft = Linear(spec::Task::kClassification, 2);
  const NetworkShape binary =
      Linear(spec::Task::kClassification, 2, spec::Loss::kBinaryCrossEntropy);
  LeafPass<double> a(soft, 300), b(binary, 300);
  FillBatch(a, 300, 4);
  FillBatch(b, 300, 4);
  const auto p = EvaluationTotals(a, {0, 0, 3, -2, 0, 0.25}, 300);
  const auto q = EvaluationTotals(b, {3, -2, 0.25}, 300);
  REQUIRE(p.size() == q.size());
  for (size_t i = 0; i < p.size(); ++i) CHECK(p[i] == Approx(q[i]).epsilon(1e-12));
}

TEST_CASE("with thresholds the largest multiple decides the class") {
  spec::ModelSpec model;
  model.thresholds = {0.6, 0.1, 0.3};
  LeafPass<double> pass(MakeShape(model, 4, 3), 200);
  FillBatch(pass, 200, 3);
  const auto parameters = StartOf<double>(pass.shape(), 1);
  const auto totals = EvaluationTotals(pass, parameters, 200);
  std::vector<double> probabilities(600);
  pass.Predict(parameters.data(), 200, probabilities.data());
  std::vector<double> confusion(9);
  int changed = 0;
  for (int64_t r = 0; r < 200; ++r) {
    const double* p = probabilities.data() + 3 * r;
    const double multiples[] = {p[0] / 0.6, p[1] / 0.1, p[2] / 0.3};
    const auto expected = std::max_element(multiples, multiples + 3) - multiples;
    CHECK(PredictedClass(pass.shape(), p) == expected);
    confusion[3 * pass.labels()[r] + expected] += pass.weights()[r];
    changed += std::max_element(p, p + 3) - p != expected;
  }
  CHECK(changed > 20);
  for (int i = 0; i < 9; ++i) CHECK(totals[kTotalsFixed + i] == Approx(confusion[i]));
  NetworkShape shape = pass.shape();
  shape.thresholds = {0.5, 0, 0.5};
  const double certain[] = {0.9, 0.0, 0.1}, likely[] = {0.9, 0.001, 0.099};
  CHECK(PredictedClass(shape, certain) == 0);
  CHECK(PredictedClass(shape, likely) == 1);
}

TEST_CASE("with costs the lowest expected cost decides the class") {
  LeafPass<double> pass(MakeShape(spec::ModelSpec(), 4, 3), 200);
  NetworkShape shape = pass.shape();
  shape.costs = {{2, 0, 5}, {2, 1, 0.5}, {0, 2, 0}};
  LeafPass<double> costly(shape, 200);
  FillBatch(costly, 200, 3);
  const auto parameters = StartOf<double>(shape, 1);
  const auto totals = EvaluationTotals(costly, parameters, 200);
  std::vector<double> probabilities(600);
  costly.Predict(parameters.data(), 200, probabilities.data());
  const double matrix[3][3] = {{0, 1, 0}, {1, 0, 1}, {5, 0.5, 0}};  // [true][predicted]
  std::vector<double> confusion(9);
  int changed = 0;
  for (int64_t r = 0; r < 200; ++r) {
    const double* p = probabilities.data() + 3 * r;
    double expected[3] = {};
    for (int t = 0; t < 3; ++t) {
      for (int k = 0; k < 3; ++k) expected[k] += p[t] * matrix[t][k];
    }
    const auto cheapest = std::min_element(expected, expected + 3) - expected;
    CHECK(PredictedClass(shape, p) == cheapest);
    confusion[3 * costly.labels()[r] + cheapest] += costly.weights()[r];
    changed += std::max_element(p, p + 3) - p != cheapest;
  }
  CHECK(changed > 20);
  for (int i = 0; i < 9; ++i) CHECK(totals[kTotalsFixed + i] == Approx(confusion[i]));
}

TEST_CASE("equal scores count half in the AUC, which needs both classes") {
  const NetworkShape shape = Linear(spec::Task::kClassification, 2);
  std::vector<double> totals(TotalsSize(shape, TotalsKind::kEvaluation));
  totals[kTotalWeight] = 4;
  for (int32_t label : {0, 1}) totals[ScoreBinIndex(shape, 0.5, label)] += 2;
  CHECK(*MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, totals).auc == 0.5);
  totals[ScoreBinIndex(shape, 0.5, 1)] = 0;
  CHECK_FALSE(MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, totals).auc);
  for (double score : {-1e300, 1e300, std::nan("")}) {
    const int64_t index = ScoreBinIndex(shape, score, 1);
    CHECK((index >= kTotalsFixed && index < static_cast<int64_t>(totals.size())));
  }
}

// Returns the AUC by its definition, over all pairs of rows of both classes.
double ExactAuc(const std::vector<double>& zeros, const std::vector<double>& ones) {
  double pairs = 0;
  for (const double one : ones) {
    for (const double zero : zeros) pairs += one > zero ? 1 : one == zero ? 0.5 : 0;
  }
  return pairs / static_cast<double>(zeros.size() * ones.size());
}

TEST_CASE("the AUC is right for scores of any size") {
  const NetworkShape shape = Linear(spec::Task::kClassification, 2);
  const auto [scale, offset] = GENERATE(table<double, double>(
      {{1e-3, 0}, {0.01, 0}, {1, 0}, {1, -8}, {100, 0}, {100, 300}, {1e4, 0}}));
  CAPTURE(scale, offset);
  std::vector<double> scores[2], totals(TotalsSize(shape, TotalsKind::kEvaluation));
  for (uint64_t i = 0; i < 4000; ++i) {
    double sum = i % 2 == 0 ? -0.5 : 0.5;  // bell curves of deviation 1 around -0.5 and 0.5
    for (uint64_t k = 0; k < 12; ++k) {
      sum += UnitDouble(RandomBits(MakeKey(7, RandomUse::kSample), i, k)) - 0.5;
    }
    const double score = offset + scale * sum;
    scores[i % 2].push_back(score);
    totals[kTotalWeight] += 1;
    totals[ScoreBinIndex(shape, score, static_cast<int32_t>(i % 2))] += 1;
  }
  const spec::Metrics m = MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, totals);
  CHECK(*m.auc == Approx(ExactAuc(scores[0], scores[1])).margin(1e-3).epsilon(0));
}

// Returns the AUC of rows with these scores, each with a weight from `weight(row)`.
template <typename W>
spec::Metrics Measured(const NetworkShape& shape, const std::vector<double>& scores, W weight) {
  std::vector<double> halves[2], totals(TotalsSize(shape, TotalsKind::kEvaluation));
  for (std::vector<double>& half : halves) half = totals;
  for (size_t i = 0; i < scores.size(); ++i) {
    halves[i % 3 == 0][kTotalWeight] += weight(i);
    AddScore(shape, scores[i], static_cast<int32_t>(i % 2), weight(i), halves[i % 3 == 0].data());
  }
  for (const std::vector<double>& half : halves) {
    AddTotals(totals.data(), half.data(), static_cast<int64_t>(totals.size()));
  }
  return MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, totals);
}

TEST_CASE("the AUC of a few scores in the same bin is exact") {
  NetworkShape shape = Linear(spec::Task::kClassification, 2);
  const auto one = [](size_t) { return 1; };
  // Rows of class 0 and of class 1 take turns. Ties count half, so 10 of 16 pairs are in order.
  const std::vector<double> scores = {1, 1.001, 1, 1, 1.002, 1.003, 1.001, 1.001};
  CHECK(*Measured(shape, scores, one).auc == Approx(10.0 / 16).epsilon(1e-15));
  const double average = *Measured(shape, scores, one).average_precision;
  CHECK(average == Approx((1.0 + 2.0 * 3 / 5 + 4.0 / 8) / 4).epsilon(1e-15));
  shape.positive = 0;
  CHECK(*Measured(shape, scores, one).auc == Approx(10.0 / 16).epsilon(1e-15));
  const double other = *Measured(shape, scores, one).average_precision;
  CHECK(other == Approx(1.0 / 3 + 1.0 / 8 + 1.0 / 7).epsilon(1e-15));
}

TEST_CASE("the AUC of a thousand scores is exact with any weights") {
  const NetworkShape shape = Linear(spec::Task::kClassification, 2);
  const auto random = [](size_t i) {
    return UnitDouble(RandomBits(MakeKey(7, RandomUse::kSample), i, 0));
  };
  const auto weight = [](size_t i) { return i % 7 == 0 ? 0 : 0.1 + static_cast<double>(i % 11); };
  const int different = GENERATE(1, 2, 6, 30, 300, 600);
  CAPTURE(different);
  std::vector<double> scores;
  for (size_t i = 0; i < 5000; ++i) {
    const double kind = std::floor(random(i) * different);
    scores.push_back(2 + kind * 1e-5 * (i % 2 == 0 ? 1 : 1 + std::floor(random(i + 5000) * 1.5)));
  }
  double pairs = 0, ones = 0, zeros = 0;
  for (size_t i = 0; i < scores.size(); ++i) (i % 2 == 0 ? zeros : ones) += weight(i);
  for (size_t i = 1; i < scores.size(); i += 2) {
    for (size_t j = 0; j < scores.size(); j += 2) {
      const auto a = static_cast<float>(scores[i]), b = static_cast<float>(scores[j]);
      pairs += weight(i) * weight(j) * (a > b ? 1 : a == b ? 0.5 : 0);
    }
  }
  CHECK(*Measured(shape, scores, weight).auc == Approx(pairs / (zeros * ones)).epsilon(1e-9));
}

TEST_CASE("too many scores are counted by bins") {
  std::vector<double> sketch(kSketchSize);
  for (int i = 0; i < kExactScores; ++i) AddToSketch(0.5 + i, i % 2, 0.5, sketch.data());
  const auto scores = ScoresInSketch(sketch.data());
  REQUIRE(scores);
  CHECK(scores->size() == static_cast<size_t>(kExactScores));
  CHECK(scores->front().score == 0.5);
  CHECK(scores->front().zero == 0.5);
  for (int i = 0; i < 3 * kExactScores; ++i) AddToSketch(-0.5 - i, i % 2, 0.5, sketch.data());
  CHECK_FALSE(ScoresInSketch(sketch.data()));
}

TEST_CASE("a sketch holds extreme scores and no rows without weight") {
  std::vector<double> sketch(kSketchSize);
  CHECK(ScoresInSketch(sketch.data())->empty());
  AddToSketch(3, 1, 0, sketch.data());
  CHECK(ScoresInSketch(sketch.data())->empty());
  for (const double score : {0.0, -0.0, 1e300, std::nan(""), 1e-50}) {
    AddToSketch(score, 1, 2, sketch.data());
  }
  const auto scores = ScoresInSketch(sketch.data());
  REQUIRE(scores->size() == 3);
  CHECK(std::isinf((*scores)[0].score));
  CHECK((*scores)[1].score == 0);
  CHECK((*scores)[1].one == 6);
  CHECK((*scores)[2].score == std::numeric_limits<float>::infinity());
}

TEST_CASE("the bins of scores ascend with them, through zero") {
  const NetworkShape shape = Linear(spec::Task::kClassification, 2);
  const double sizes[] = {0, 1.6e-5, 0.01, 0.0101, 1, 1.01, 16, 17, 65000};
  for (size_t i = 1; i < std::size(sizes); ++i) {
    CHECK(ScoreBinIndex(shape, sizes[i], 1) > ScoreBinIndex(shape, sizes[i - 1], 1));
    CHECK(ScoreBinIndex(shape, -sizes[i], 1) < ScoreBinIndex(shape, -sizes[i - 1], 1));
  }
  CHECK(ScoreBinIndex(shape, 1.0, 1) - ScoreBinIndex(shape, 1.0, 0) == 1);
  CHECK(ScoreBinIndex(shape, 2.0, 0) - ScoreBinIndex(shape, 1.0, 0) == 2 * kScoreBinsPerOctave);
  CHECK(ScoreBinIndex(shape, -0.0, 0) == ScoreBinIndex(shape, 0.0, 0));
}

// Expected values: accuracy_score, precision_recall_fscore_support and log_loss of scikit-learn
// 1.5.2 for each label, with the same sample weights.
TEST_CASE("multilabel metrics equal scikit-learn's") {
  const NetworkShape shape = Linear(spec::Task::kMultilabel, 2);
  LeafPass<double> pass(shape, 6);
  const double scores[] = {2, -1, 0.5, 3, -2, -0.25, 1, 1, -3, 2, 0.75, -4};
  const double truth[] = {1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0};
  const double weights[] = {1, 2, 0.5, 1, 4, 1.5};
  std::copy(scores, scores + 12, pass.inputs());
  std::copy(truth, truth + 12, pass.targets());
  std::copy(weights, weights + 6, pass.weights());
  const auto totals = EvaluationTotals(pass, kIdentity, 6);
  const spec::Metrics m = MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, totals);
  CHECK(m.classification);
  CHECK(m.rows == 6);
  CHECK(m.accuracy == Approx(0.35));
  REQUIRE(m.classes.size() == 2);
  CHECK(m.classes[0].precision == Approx(0.636363636363636));
  CHECK(m.classes[0].recall == Approx(0.466666666666667));
  CHECK(m.classes[0].f1 == Approx(0.538461538461538));
  CHECK(m.classes[0].weight == Approx(7.5));
  CHECK(m.classes[1].f1 == Approx(0.571428571428571));
  CHECK(m.f1 == Approx(0.548951048951049));
  CHECK(*m.f1_micro == Approx(0.553191489361702));
  CHECK(*m.f1_macro == Approx(0.554945054945055));
  CHECK(m.loss == Approx(1.24490341560411));
  CHECK(m.confusion.empty());
  CHECK_FALSE(m.auc);
  const spec::Metrics running = MetricsFromTotals(shape, {}, TotalsKind::kTraining,
                                                  {totals.begin(), totals.begin() + kTotalsFixed});
  CHECK(running.accuracy == m.accuracy);
  CHECK_FALSE(running.f1_micro);
}

TEST_CASE("an autoencoder is measured in the units of its inputs") {
  const NetworkShape shape = Linear(spec::Task::kAutoencoder, 2);
  LeafPass<double> pass(shape, 3);
  const double rows[] = {1, 0, 2, 1, 4, 0};
  std::copy(rows, rows + 6, pass.inputs());
  std::fill(pass.weights(), pass.weights() + 3, 1.0);
  const std::vector<spec::FittedTarget> scaled = {{"a", 5, 0.5}, {"b", 0, 0.1}};
  const auto metrics = [&](const std::vector<double>& parameters) {
    return MetricsFromTotals(shape, scaled, TotalsKind::kEvaluation,
                             EvaluationTotals(pass, parameters, 3));
  };
  CHECK(metrics(kIdentity).rmse == 0);
  CHECK(metrics(kIdentity).r2 == 1);
  const spec::Metrics m = metrics({1, 0, 0, 1, 1, 0});  // the first output is 1 too large
  CHECK_FALSE(m.classification);
  CHECK(m.loss == Approx(0.5));
  CHECK(m.mae == Approx(1.0));
  CHECK(m.rmse == Approx(std::sqrt(2.0)));
}

TEST_CASE("regression metrics are in the units of the target") {
  LeafPass<double> pass(Linear(spec::Task::kRegression, 2), 3);
  const double predicted[] = {1, 0, 2, 1, 4, 0}, target[] = {0, 1, 2, 2, 1, 0};
  std::copy(predicted, predicted + 6, pass.inputs());
  std::copy(target, target + 6, pass.targets());
  std::fill(pass.weights(), pass.weights() + 3, 1.0);
  const auto totals = EvaluationTotals(pass, kIdentity, 3);
  const std::vector<spec::FittedTarget> scaled = {{"a", 5, 0.5}, {"b", 0, 0.1}};
  const spec::Metrics m = MetricsFromTotals(pass.shape(), scaled, TotalsKind::kEvaluation, totals);
  CHECK_FALSE(m.classification);
  CHECK(m.rmse == Approx(std::sqrt((10.0 / 3 * 4 + 2.0 / 3 * 100) / 2)));
  CHECK(m.mae == Approx((4.0 / 3 * 2 + 2.0 / 3 * 10) / 2));
  CHECK(m.r2 == Approx(((1 - 10.0 / 2) + (1 - 2.0 / 2)) / 2));
  CHECK(m.loss == Approx((10.0 + 2) / 2 / 3));
  REQUIRE(m.targets.size() == 2);
  CHECK(m.targets[0].name == "a");
  CHECK(m.targets[0].rmse == Approx(std::sqrt(10.0 / 3 * 4)));
  CHECK(m.targets[1].mae == Approx(2.0 / 3 * 10));
  CHECK(m.targets[0].r2 == Approx(1 - 10.0 / 2));
  CHECK(m.targets[1].r2 == Approx(1 - 2.0 / 2));
  CHECK(spec::MetricNotes(m, {}).empty());
  const auto running = MetricsFromTotals(pass.shape(), scaled, TotalsKind::kTraining, totals);
  CHECK(running.targets.empty());
}

TEST_CASE("metrics use predictions within limits, the loss does not") {
  NetworkShape shape = Linear(spec::Task::kRegression, 2);
  const std::vector<spec::FittedTarget> targets = {
      {.name = "a", .shift = 1, .factor = 0.5, .range = {1, 5}},  // 0 to 2 in the units of training
      {.name = "b", .range = {-1, 1}}};
  LimitPredictions(targets, &shape);
  LeafPass<double> pass(shape, 3);
  const double predicted[] = {1, 0, 9, 5, -4, -3}, target[] = {0, 1, 2, 1, 1, -1};
  std::copy(predicted, predicted + 6, pass.inputs());
  std::copy(target, target + 6, pass.targets());
  std::fill(pass.weights(), pass.weights() + 3, 1.0);
  const auto totals = EvaluationTotals(pass, kIdentity, 3);
  const spec::Metrics m = MetricsFromTotals(shape, targets, TotalsKind::kEvaluation, totals);
  // Within the limits, the predictions are 1, 2, 0 and 0, 1, -1.
  CHECK(m.targets[0].mae == Approx(2.0 / 3 * 2));
  CHECK(m.targets[1].mae == Approx(1.0 / 3));
  CHECK(m.targets[0].rmse == Approx(std::sqrt(2.0 / 3) * 2));
  CHECK(m.loss == Approx((1 + 49 + 25 + 1 + 16 + 4) / 6.0));
}

TEST_CASE("metrics without a value have a note") {
  const NetworkShape numbers = Linear(spec::Task::kRegression, 1);
  const std::vector<spec::FittedTarget> target = {{"y", 0, 1}};
  const auto of = [&](const std::vector<double>& totals) {
    return MetricsFromTotals(numbers, target, TotalsKind::kEvaluation, totals);
  };
  const spec::Metrics constant = of({2, 2, 1, 0, 0, 1, 1, 4, 8});
  CHECK(constant.targets[0].constant);
  REQUIRE(spec::MetricNotes(constant, {}).size() == 1);
  CHECK(spec::MetricNotes(constant, {})[0].starts_with("r2 of 'y' is 0 by convention"));
  const spec::Metrics one = of({1, 1, 1, 0, 0, 1, 1, 4, 16});
  CHECK(std::isnan(one.r2));
  CHECK(spec::MetricNotes(one, {})[0].starts_with("r2 has no value"));
  CHECK(spec::MetricNotes(of(std::vector<double>(9)), {}).empty());

  spec::Metrics classes;
  classes.rows = 3, classes.weight = 3;
  classes.classes = {{0, 0, 0, 0}, {1, 1, 1, 3}};
  const std::vector<std::string> names = {"n", "p"};
  REQUIRE(spec::MetricNotes(classes, names).size() == 1);
  CHECK(spec::MetricNotes(classes, names)[0] == "auc has no value: all rows are of the class 'p'");
  classes.auc = 0.5;
  CHECK(spec::MetricNotes(classes, names).empty());
  classes.unknown_labels = 2;
  CHECK(spec::MetricNotes(classes, names)[0].starts_with("2 rows have a label"));
}

TEST_CASE("unknown labels are a class that is never predicted") {
  const NetworkShape shape = Linear(spec::Task::kClassification, 3);
  const int64_t size = TotalsSize(shape, TotalsKind::kScoring);
  CHECK(size == TotalsSize(shape, TotalsKind::kEvaluation) + 1 + 3);
  std::vector<double> totals(static_cast<size_t>(size));
  totals[kTotalRows] = 4, totals[kTotalWeight] = 4, totals[kTotalLoss] = 2;
  totals[kTotalCorrect] = 3;
  const double confusion[] = {2, 0, 0, 0, 1, 0, 1, 0, 0};
  std::copy(confusion, confusion + 9, totals.begin() + kTotalsFixed);
  AddUnknownLabel(shape, 1, 1, &totals);
  AddUnknownLabel(shape, 1, 0.5, &totals);
  const spec::Metrics m = MetricsFromTotals(shape, {}, TotalsKind::kScoring, totals);
  CHECK(m.rows == 6);
  CHECK(m.unknown_labels == 2);
  CHECK(m.weight == 5.5);
  CHECK(m.loss == 0.5);
  CHECK(m.accuracy == Approx(3 / 5.5));
  CHECK(m.classes[1].precision == Approx(1 / 2.5));
  CHECK(m.classes[1].recall == 1);
  // Expected: scikit-learn's weighted means with the unknown label as a fourth class.
  CHECK(m.precision == Approx((2 * 2.0 / 3 + 1 / 2.5) / 5.5));
  CHECK(m.recall == Approx(3 / 5.5));
}

TEST_CASE("metrics are defined without rows and for constant targets") {
  const NetworkShape shape = Linear(spec::Task::kRegression, 1);
  std::vector<double> totals(TotalsSize(shape, TotalsKind::kEvaluation));
  const spec::Metrics none = MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, totals);
  for (double value : {none.loss, none.rmse, none.mae, none.r2}) CHECK(std::isnan(value));
  CHECK(none.weight == 0);
  const std::vector<double> constant = {2, 2, 1, 0, 0, 1, 1, 4, 8};
  CHECK(MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, constant).r2 == 0);
  const std::vector<double> perfect = {2, 2, 0, 0, 0, 0, 0, 4, 8};
  CHECK(MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, perfect).r2 == 1);
  // The sums of 1000 times 0.1f are rounded.
  LeafPass<float> pass(Linear(spec::Task::kRegression, 1), 1000);
  std::fill(pass.inputs(), pass.inputs() + 2000, 0.0f);
  std::fill(pass.targets(), pass.targets() + 1000, 0.1f);
  std::fill(pass.weights(), pass.weights() + 1000, 1.0f);
  std::vector<double> sums(totals.size());
  for (const float answer : {0.1f, 0.2f}) {
    std::fill(sums.begin(), sums.end(), 0.0);
    pass.Evaluate(std::vector<float>{0, 0, answer}.data(), 1000, sums.data());
    CHECK(MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, sums).r2 == (answer == 0.1f));
  }
}

TEST_CASE("with many classes the totals hold three weights a class") {
  spec::ModelSpec model;
  const NetworkShape shape = MakeShape(model, 3, 1500);
  CHECK(TotalsSize(shape, TotalsKind::kEvaluation) == kTotalsFixed + 3 * 1500);
  LeafPass<double> pass(shape, 40);
  FillBatch(pass, 40, 6);
  const auto totals = EvaluationTotals(pass, StartOf<double>(shape, 2), 40);
  const spec::Metrics m = MetricsFromTotals(shape, {}, TotalsKind::kEvaluation, totals);
  CHECK(m.confusion.empty());
  CHECK(m.recall == Approx(m.accuracy));
  CHECK(m.classes.size() == 1500);
}

TEST_CASE("training totals of parts add up to those of the whole") {
  const NetworkShape shape = Linear(spec::Task::kClassification, 2);
  CHECK(TotalsSize(shape, TotalsKind::kTraining) == kTotalsFixed);
  LeafPass<double> whole(shape, 30), part(shape, 15);
  FillBatch(whole, 30, 1);
  const auto expected = TrainingTotals(whole, kIdentity, 30);
  std::vector<double> sum(expected.size());
  for (int64_t begin : {0, 15}) {
    std::copy(whole.inputs() + 2 * begin, whole.inputs() + 2 * begin + 30, part.inputs());
    std::copy(whole.labels() + begin, whole.labels() + begin + 15, part.labels());
    std::copy(whole.weights() + begin, whole.weights() + begin + 15, part.weights());
    AddTotals(sum.data(), TrainingTotals(part, kIdentity, 15).data(), kTotalsFixed);
  }
  for (size_t i = 0; i < sum.size(); ++i) CHECK(sum[i] == Approx(expected[i]).epsilon(1e-13));
}

}  // namespace
}  // namespace espalier::model
