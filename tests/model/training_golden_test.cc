// Comparison with PyTorch in addition to golden_test.cc, with the values of torch_training.json.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "src/model/schedule.h"
#include "tests/model/golden.h"

namespace espalier::model {
namespace {

using namespace golden;

// Returns the fixture's network with relu.
NetworkShape Relu() { return ShapeOf("relu", "softmax_ce"); }

TEST_CASE("smoothed, weighted and other losses equal PyTorch's") {
  const Json& cases = MoreGolden()["losses"];
  REQUIRE(cases.size() == 10);
  for (const Json& c : cases) {
    const std::string hidden = c["hidden"], head = c["head"];
    INFO(hidden << " " << head);
    const bool binary = head.starts_with("binary");
    const Json& start = Golden()["fixture"][binary ? "weights_binary_5_4_1" : "weights"];
    const Rows rows = head == "poisson"                    ? Rows::kCounts
                      : head == "softmax_ce_class_weights" ? Rows::kWeightedClasses
                                                           : Rows::kPlain;
    const Mean mean = MeanGradient(ShapeOf(hidden, head), start, 0, 8, rows);
    CHECK(mean.loss == Approx(c["loss"].get<double>()).epsilon(1e-12));
    CheckNear(mean.gradient, c["grad"], 1e-12);
  }
}

TEST_CASE("layer norms and residual links equal PyTorch's") {
  const Json& cases = MoreGolden()["layers"];
  REQUIRE(cases.size() == 9);
  for (const Json& c : cases) {
    INFO(c["hidden"] << " norm " << c["layer_norm"] << " residual " << c["residual"]);
    spec::ModelSpec model;
    model.hidden = {4, 4};
    model.activation = {ActivationOf(c["hidden"])};
    model.layer_norm = c["layer_norm"];
    model.residual = c["residual"];
    const Mean mean = MeanGradient(MakeShape(model, 5, 3), c["weights"], 0, 8);
    CHECK(mean.loss == Approx(c["loss"].get<double>()).epsilon(1e-12));
    CheckNear(mean.gradient, c["grad"], 1e-12);
  }
}

TEST_CASE("adagrad and rmsprop follow PyTorch's") {
  const Json& cases = MoreGolden()["optimizers"];
  REQUIRE(cases.size() == 14);
  for (const Json& c : cases) {
    INFO(c["name"] << " " << c["hidden"] << " " << c["head"]);
    Trainer trainer(ShapeOf(c["hidden"], c["head"]), TrainOf(c));
    for (size_t step = 0; step < c["weights_after"].size(); ++step) {
      CHECK(trainer.Step(0, 8, c["parameters"]["lr"]) ==
            Approx(c["losses"][step].get<double>()).epsilon(1e-12));
      CheckNear(trainer.parameters, c["weights_after"][step], 1e-12);
    }
  }
}

// Trains the fixture from its start and compares the weights after each step.
void CheckTraining(const spec::TrainSpec& train, const Json& weights_after) {
  Trainer trainer(Relu(), train);
  REQUIRE(weights_after.size() >= 3);
  for (const Json& expected : weights_after) {
    trainer.Step(0, 8, train.optimizer.learning_rate);
    CheckNear(trainer.parameters, expected, 1e-12);
  }
}

TEST_CASE("rmsprop with all options and adagrad follow PyTorch's") {
  spec::TrainSpec train;
  train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kRmsprop);
  train.optimizer.alpha = 0.9;
  train.optimizer.momentum = 0.8;
  train.optimizer.centered = true;
  train.optimizer.epsilon = 1e-6;
  CHECK(SlotCount(train.optimizer) == 3);
  CheckTraining(train, MoreGolden()["rmsprop_all"]);
  train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kAdagrad);
  train.optimizer.learning_rate = 0.1;
  train.optimizer.initial_accumulator_value = 0.1;
  CheckTraining(train, MoreGolden()["adagrad_initial"]);
}

TEST_CASE("l1 adds the sign of each weight, except biases") {
  spec::TrainSpec train;
  train.l1 = 0.02;
  train.optimizer.learning_rate = 0.05;
  CheckTraining(train, MoreGolden()["l1"]["adam"]);
  train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kSgd);
  train.optimizer.learning_rate = 0.1;
  CheckTraining(train, MoreGolden()["l1"]["sgd"]);
}

TEST_CASE("clipping by value follows PyTorch's") {
  spec::TrainSpec train;
  train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kSgd);
  train.optimizer.learning_rate = 0.5;
  train.clip_value = 0.02;
  CheckTraining(train, MoreGolden()["clip_value"][0]["weights_after"]);
}

TEST_CASE("averaged weights follow PyTorch's") {
  for (const auto kind : {spec::AveragingKind::kEma, spec::AveragingKind::kMean}) {
    spec::TrainSpec train;
    train.averaging = {kind, 0.9, {}};
    Trainer trainer(Relu(), train);
    Numbers average(trainer.parameters.size());
    int64_t count = 0;
    const Json& averages = MoreGolden()["averaging"];
    for (const Json& expected : averages[kind == spec::AveragingKind::kEma ? "ema_0.9" : "mean"]) {
      trainer.Step(0, 8, 0.05);
      ++count;
      for (const plan::Chunk& c : ChunksOf<double>(Relu(), 64)) {
        Average(train.averaging, c, trainer.parameters.data(), count, average.data());
      }
      CheckNear(average, expected, 1e-12);
    }
    CHECK(count == 6);
  }
}

spec::TrainSpec Scheduled(spec::ScheduleKind kind) {
  spec::TrainSpec train;
  train.optimizer.learning_rate = 0.1;
  train.schedule.kind = kind;
  return train;
}

TEST_CASE("exponential and polynomial schedules follow PyTorch's") {
  spec::TrainSpec exponential = Scheduled(spec::ScheduleKind::kExponential);
  exponential.schedule.every = {1, false};
  exponential.schedule.factor = 0.9;
  spec::TrainSpec polynomial = Scheduled(spec::ScheduleKind::kPolynomial);
  polynomial.schedule.power = 2;
  const Json& cases = MoreGolden()["schedules"];
  for (int64_t step = 0; step < 20; ++step) {
    const double fallen = cases["exponential"]["lr_at_step"][step];
    CHECK(LearningRate(exponential, step, 10, 20) == Approx(fallen).epsilon(1e-14));
    const double bent = cases["polynomial"]["lr_at_step"][step];
    CHECK(LearningRate(polynomial, step, 10, 20) == Approx(bent).epsilon(1e-14));
  }
  CHECK(LearningRate(polynomial, 20, 10, 20) == 0);
}

TEST_CASE("schedules are smooth, begin after the warm-up and end") {
  spec::TrainSpec train = Scheduled(spec::ScheduleKind::kExponential);
  train.schedule.every = {1, true};
  train.schedule.factor = 0.3;
  train.schedule.warmup = {5, false};
  CHECK(LearningRate(train, 0, 10, 0) == Approx(0.02));
  CHECK(LearningRate(train, 5, 10, 0) == 0.1);
  for (int64_t after = 0; after < 60; ++after) {
    const double expected = 0.1 * std::pow(0.3, static_cast<double>(after) / 10);
    CHECK(LearningRate(train, 5 + after, 10, 0) == Approx(expected).epsilon(1e-14));
  }
  train.schedule.kind = spec::ScheduleKind::kPolynomial;
  train.schedule.power = 0.7;
  train.schedule.final_fraction = 0.25;
  for (int64_t after = 0; after < 20; ++after) {
    const double left = std::pow(1 - static_cast<double>(after) / 20, 0.7);
    CHECK(LearningRate(train, 5 + after, 10, 25) == Approx(0.025 + 0.075 * left).epsilon(1e-14));
  }
  CHECK(LearningRate(train, 25, 10, 25) == Approx(0.025).epsilon(1e-15));
  CHECK(LearningRate(train, 400, 10, 25) == Approx(0.025).epsilon(1e-15));
}

TEST_CASE("a plateau schedule's rate follows its reductions and bound") {
  spec::TrainSpec train = Scheduled(spec::ScheduleKind::kPlateau);
  train.schedule.plateau.min_learning_rate = 0.03;
  CHECK(LearningRate(train, 7, 10, 0, 1) == 0.1);
  CHECK(LearningRate(train, 7, 10, 0, 0.5) == 0.05);
  CHECK(LearningRate(train, 7, 10, 0, 0.25) == 0.03);
}

}  // namespace
}  // namespace espalier::model
