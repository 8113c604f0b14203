// Models of several fits with a constant answer, and the trials that choose their mixture.
#include "src/model/average.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "src/model/arithmetic.h"
#include "src/model/trials.h"
#include "src/spec/names.h"
#include "tests/model/support.h"

namespace espalier::model {
namespace {

constexpr int64_t kRows = 150;  // more than one micro-batch

struct Kind {
  spec::Task task;
  spec::Loss loss;
  int64_t outputs;
};
const std::vector<Kind> kKinds = {
    {spec::Task::kClassification, spec::Loss::kSoftmaxCrossEntropy, 3},
    {spec::Task::kClassification, spec::Loss::kBinaryCrossEntropy, 2},
    {spec::Task::kMultilabel, spec::Loss::kBinaryCrossEntropy, 4},
    {spec::Task::kRegression, spec::Loss::kMse, 2},
    {spec::Task::kRegression, spec::Loss::kHuber, 1},
    {spec::Task::kRegression, spec::Loss::kPoisson, 2},
};

NetworkShape ShapeOf(const Kind& kind, std::vector<int64_t> hidden = {9}) {
  spec::ModelSpec model;
  model.task = kind.task;
  model.loss = kind.loss;
  model.hidden = std::move(hidden);
  model.activation = {spec::Activation::kTanh};
  spec::InputShape inputs(4);
  inputs.coded = {{5, 0}, {6, 3}};
  return MakeShape(model, inputs, kind.outputs);
}

std::vector<double> Initial(const NetworkShape& shape, uint64_t seed) {
  std::vector<double> parameters(FitParameterCount(shape));
  InitialParameters(shape, seed, parameters.data());
  return parameters;
}

// Returns a constant prediction: shares of classes, or numbers.
std::vector<double> AnswerOf(const NetworkShape& shape) {
  std::vector<double> answer;
  for (int64_t k = 0; k < shape.answers(); ++k) answer.push_back(static_cast<double>(k + 1));
  double sum = 0;
  for (const double a : answer) sum += a;
  for (double& a : answer) a /= shape.task == spec::Task::kRegression ? 1 : sum;
  return answer;
}

std::vector<double> Predicted(const NetworkShape& shape, const std::vector<double>& parameters) {
  LeafPass<double> pass(shape, kRows);
  FillBatch(pass, kRows, 3);
  std::vector<double> predictions(kRows * shape.answers());
  pass.Predict(parameters.data(), kRows, predictions.data());
  return predictions;
}

double LossOf(const NetworkShape& shape, const std::vector<double>& parameters) {
  LeafPass<double> pass(shape, kRows);
  FillBatch(pass, kRows, 3);
  std::vector<double> totals(TotalsSize(shape, TotalsKind::kEvaluation));
  pass.Evaluate(parameters.data(), kRows, totals.data());
  return totals[kTotalLoss];
}

TEST_CASE("a model of several fits predicts their mean") {
  InitArithmetic();
  for (const Kind& kind : kKinds) {
    INFO(spec::NameOf(kind.loss) << ", " << kind.outputs << " outputs");
    const NetworkShape fit = ShapeOf(kind);
    NetworkShape shape = fit;
    shape.fits = 3;
    shape.constant = true;
    const std::vector<double> answer = AnswerOf(shape);
    std::vector<double> parameters, expected(kRows * shape.answers());
    for (const uint64_t seed : {1, 2, 3}) {
      const std::vector<double> one = Initial(fit, seed);
      parameters.insert(parameters.end(), one.begin(), one.end());
      const std::vector<double> predicted = Predicted(fit, one);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += 0.8 / 3 * predicted[i];
    }
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += 0.2 * answer[i % answer.size()];
    parameters.insert(parameters.end(), answer.begin(), answer.end());
    parameters.push_back(0.2);
    REQUIRE(std::ssize(parameters) == ParameterCount(shape));
    const std::vector<double> predicted = Predicted(shape, parameters);
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK(predicted[i] == Approx(expected[i]).epsilon(1e-12));
    }
  }
}

TEST_CASE("one fit that is averaged is that fit") {
  InitArithmetic();
  for (const Kind& kind : kKinds) {
    INFO(spec::NameOf(kind.loss));
    const NetworkShape fit = ShapeOf(kind);
    NetworkShape twice = fit;
    twice.fits = 2;
    const std::vector<double> one = Initial(fit, 7);
    std::vector<double> both = one;
    both.insert(both.end(), one.begin(), one.end());
    CHECK(LossOf(twice, both) == Approx(LossOf(fit, one)).epsilon(1e-12));
  }
}

TEST_CASE("tensors of fits are numbered, and the answer is last") {
  NetworkShape shape = ShapeOf(kKinds[0], {});
  const size_t of_fit = Tensors(shape).size();
  shape.fits = 2;
  shape.constant = true;
  const spec::TensorList tensors = Tensors(shape);
  REQUIRE(tensors.size() == 2 * of_fit + 2);
  CHECK(tensors[0].name == "fits.0.layers.0.weight");
  CHECK(tensors[of_fit].name == "fits.1.layers.0.weight");
  CHECK(tensors[2 * of_fit].name == "constant.answer");
  CHECK(tensors.back().name == "constant.share");
  CHECK(tensors.back().offset + 1 == ParameterCount(shape));
  int64_t at = 0;
  for (const spec::TensorInfo& t : tensors) {
    CHECK(t.offset == at);
    at += t.size;
  }
}

// Compares the loss of each trial with the loss of the model that it would make.
TEST_CASE("trials have the losses of the models they would make") {
  InitArithmetic();
  for (const Kind& kind : kKinds) {
    for (const bool hidden : {true, false}) {
      const NetworkShape fit =
          ShapeOf(kind, hidden ? std::vector<int64_t>{9} : std::vector<int64_t>{});
      const bool classes = kind.task != spec::Task::kRegression;
      const Trials trials = MakeTrials(classes, AnswerOf(fit));
      REQUIRE(trials.size() <= TrialsMost());
      const std::vector<double> one = Initial(fit, 5);
      LeafPass<double> pass(fit, kRows);
      FillBatch(pass, kRows, 3);
      std::vector<double> sums(trials.size());
      pass.Try(one.data(), kRows, trials, sums.data());
      NetworkShape shape = fit;
      shape.constant = true;
      const size_t shares = trials.shares.size();
      for (size_t t = 0; t < trials.temperatures.size(); t += 3) {
        for (size_t s = 0; s < shares; s += 4) {
          INFO(spec::NameOf(kind.loss) << " " << trials.temperatures[t] << " " << trials.shares[s]);
          std::vector<double> made = one;
          ScaleOutputs(fit, 1 / trials.temperatures[t], made.data());
          made.insert(made.end(), trials.answer.begin(), trials.answer.end());
          made.push_back(trials.shares[s]);
          CHECK(sums[t * shares + s] == Approx(LossOf(shape, made)).epsilon(1e-9));
        }
      }
    }
  }
}

TEST_CASE("the best trial has the least loss") {
  const Trials trials = MakeTrials(true, {0.5, 0.5});
  const size_t shares = trials.shares.size();
  std::vector<double> sums(trials.size(), 100.0);
  CHECK(BestTrial(trials, sums).temperature == 1);
  CHECK(BestTrial(trials, sums).share == 0);
  sums[10 * shares + 3] = 50;  // 2^(2/4)
  CHECK(BestTrial(trials, sums).temperature == Approx(std::sqrt(2.0)));
  CHECK(BestTrial(trials, sums).share == 0.15);
  sums.assign(sums.size(), NAN);
  CHECK(BestTrial(trials, sums).temperature == 1);
  CHECK(MakeTrials(false, {}).size() == 1);
}

TEST_CASE("trials of several fits are those of their average") {
  InitArithmetic();
  for (const Kind& kind : kKinds) {
    if (kind.task == spec::Task::kRegression) continue;
    INFO(spec::NameOf(kind.loss));
    NetworkShape shape = ShapeOf(kind);
    std::vector<double> weights = Initial(shape, 5), second = Initial(shape, 6);
    const int64_t size = FitParameterCount(shape);
    weights.insert(weights.end(), second.begin(), second.end());
    const Trials trials = MakeTrials(true, {});
    shape.fits = 2;
    LeafPass<double> pass(shape, kRows);
    FillBatch(pass, kRows, 3);
    std::vector<double> sums(trials.size());
    pass.Try(weights.data(), kRows, trials, sums.data());
    for (size_t t = 0; t < trials.temperatures.size(); t += 4) {
      std::vector<double> made = weights;
      for (int64_t k = 0; k < 2; ++k) {
        ScaleOutputs(shape, 1 / trials.temperatures[t], made.data() + k * size);
      }
      CHECK(sums[t] == Approx(LossOf(shape, made)).epsilon(1e-9));
    }
  }
}

TEST_CASE("a row of weight 0 changes no trial") {
  InitArithmetic();
  const NetworkShape shape = ShapeOf(kKinds[0]);
  LeafPass<double> pass(shape, kRows);
  FillBatch(pass, kRows, 3);
  const std::vector<double> weights = Initial(shape, 5);
  const Trials trials = MakeTrials(true, {});
  const auto tried = [&](int64_t rows) {
    std::vector<double> sums(trials.size());
    pass.Try(weights.data(), rows, trials, sums.data());
    return sums;
  };
  const std::vector<double> before = tried(10);
  pass.weights()[10] = 0;
  const std::vector<double> without = tried(11);
  pass.inputs()[10 * shape.row_numbers()] = NAN;
  CHECK(tried(11) == without);
  for (size_t t = 0; t < before.size(); ++t) CHECK(without[t] == Approx(before[t]));
}

// Only rows predicted correctly would move the temperature to its bound.
TEST_CASE("few rows predicted correctly keep a model modest") {
  const Trials trials = MakeTrials(true, {});
  const auto best = [&](double rows) {
    std::vector<double> sums;
    for (const double t : trials.temperatures) sums.push_back(rows * std::log1p(std::exp(-3 / t)));
    return BestTrial(trials, sums).temperature;
  };
  CHECK(best(20) > 0.6);
  CHECK(best(100'000) < 0.3);
}

}  // namespace
}  // namespace espalier::model
