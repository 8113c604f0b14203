// L-BFGS through the machine, compared with PyTorch's and Spark's, and its ends.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "src/model/metrics.h"
#include "src/training/step_machine.h"
#include "src/training/update.h"
#include "tests/training/spark_example.h"

namespace espalier::training {
namespace {

using namespace golden;

void Serially(int64_t count, const std::function<void(int64_t)>& body) {
  for (int64_t i = 0; i < count; ++i) body(i);
}

using Rows = std::function<Sums(const GradientAction&, const Numbers& at)>;

// Losses and parameters of the iterates, including the start, and results of a run.
struct Run {
  Numbers losses;
  std::vector<Numbers> iterates;
  FinishAction finish;
  Status error;
  int64_t evaluations = 0;
  Numbers saved;
};

Run Drive(StepMachine<double>& machine, const Rows& rows) {
  const TrainingPlan& plan = machine.plan();
  TrainingState<double>& state = machine.state();
  const auto chunks = model::ChunksOf<double>(plan.shape, 64);
  Run run;
  Sums sums;
  Action action = machine.Begin();
  while (run.evaluations < 10'000) {
    if (auto* g = std::get_if<GradientAction>(&action)) {
      sums = rows(*g, Numbers(state.parameters.begin(), state.parameters.end()));
      std::vector<double> stats(
          model::TotalsSize(plan.shape, model::TotalsKind::kTraining) + kStepExtras, 0.0);
      stats[model::kTotalRows] = stats[model::kTotalWeight] = sums.weight;
      stats[model::kTotalLoss] = sums.loss;
      stats[model::kTotalCorrect] = sums.correct;
      action = machine.OnGradient(stats);
    } else if (auto* u = std::get_if<UpdateAction>(&action)) {
      if (UsesTotal(*u, state)) {
        for (const plan::Chunk& c : chunks) {
          AccumulateChunk(*u, c, sums.gradient.data() + c.offset, state);
        }
      }
      if (u->apply) {
        Advance<double>(plan, *u, chunks, Serially, state);
        ++run.evaluations;
      }
      action = machine.OnUpdated();
      if (state.history.size() <= run.losses.size()) continue;
      run.losses.push_back(state.history.back().train.loss);
      const auto& x = state.slots[model::kLbfgsIterate];
      run.iterates.emplace_back(x.begin(), x.end());
    } else if (auto* f = std::get_if<FinishAction>(&action)) {
      run.finish = *f;
      run.saved.assign(state.parameters.begin(), state.parameters.end());
      return run;
    } else {
      run.error = std::get<FailAction>(action).error;
      return run;
    }
  }
  FAIL("the machine does not end");
  return run;
}

TrainingPlan PlanOf(const model::NetworkShape& shape, int64_t rows) {
  TrainingPlan plan;
  plan.shape = shape;
  plan.train_rows = rows;
  plan.train.batch = rows;
  plan.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kLbfgs);
  return plan;
}

// Returns a function of the eight fixture rows, in batches of plan.train.batch.
Rows FixtureRows(const TrainingPlan& plan) {
  return [&plan](const GradientAction& step, const Numbers& at) {
    const int64_t begin = step.step_of_epoch * plan.train.batch;
    const int64_t end = std::min<int64_t>(8, begin + plan.train.batch);
    Mean mean = MeanGradient(plan.shape, at, begin, end);
    const auto weight = static_cast<double>(end - begin);
    for (double& g : mean.gradient) g *= weight;
    return Sums{weight, mean.loss * weight, 0, std::move(mean.gradient)};
  };
}

Run RunFixture(const TrainingPlan& plan) {
  StepMachine<double> machine(plan);
  const Numbers start = Golden()["fixture"]["weights"];
  machine.state().parameters.assign(start.begin(), start.end());
  machine.state().slots[model::kLbfgsIterate].assign(start.begin(), start.end());
  return Drive(machine, FixtureRows(plan));
}

TEST_CASE("without a line search the steps equal PyTorch's") {
  const int64_t batch = GENERATE(8, 3);  // all rows, or three a pass
  int cases = 0;
  for (const Json& c : LbfgsGolden()["torch"]) {
    if (c["line_search"] != "none") continue;
    INFO(c["hidden"] << " " << c["head"]);
    TrainingPlan plan = PlanOf(ShapeOf(c["hidden"], c["head"]), 8);
    plan.train.batch = batch;
    plan.train.optimizer.learning_rate = c["lr"];
    plan.train.optimizer.history = c["history"];
    plan.train.optimizer.line_search = spec::LineSearchKind::kNone;
    plan.train.optimizer.max_iterations = 5;
    const Run run = RunFixture(plan);
    const Numbers losses = c["losses"];
    REQUIRE(run.losses.size() == 6);
    for (size_t k = 0; k < 6; ++k) CHECK(run.losses[k] == Approx(losses[k]).epsilon(1e-9));
    for (size_t k = 0; k < 5; ++k) {
      CheckNear(run.iterates[k + 1], c["weights_after_first_5"][k], 1e-9);
    }
    CHECK(run.saved == run.iterates[5]);
    CHECK(run.finish.stopped_because == "iterations");
    CHECK(run.finish.epochs == 6);
    ++cases;
  }
  CHECK(cases == 3);
}

TEST_CASE("with a line search 30 iterates match 20 of PyTorch's") {
  int cases = 0;
  for (const Json& c : LbfgsGolden()["torch"]) {
    if (c["line_search"] == "none") continue;
    INFO(c["hidden"] << " " << c["head"]);
    TrainingPlan plan = PlanOf(ShapeOf(c["hidden"], c["head"]), 8);
    plan.train.optimizer.max_iterations = 30;
    plan.train.optimizer.tolerance = 0;
    const Run run = RunFixture(plan);
    const Numbers losses = c["losses"];
    CHECK(run.losses[0] == Approx(losses[0]).epsilon(1e-12));
    for (size_t k = 1; k < run.losses.size(); ++k) CHECK(run.losses[k] < run.losses[k - 1]);
    CHECK(run.losses.back() <= 1.02 * losses[20]);
    CHECK(run.evaluations < 60);
    ++cases;
  }
  CHECK(cases == 3);
}

TEST_CASE("L-BFGS follows Spark's from the same start") {
  const Json& spark = LbfgsGolden()["mllib"];
  const Json& golden = spark["runs"]["lbfgs"];
  const model::NetworkShape shape = SparkShape();
  TrainingPlan plan = PlanOf(shape, 87);
  StepMachine<double> machine(plan);
  const Numbers start = FromSpark(shape, spark["initial_weights"]);
  machine.state().parameters.assign(start.begin(), start.end());
  machine.state().slots[model::kLbfgsIterate].assign(start.begin(), start.end());
  const Run run = Drive(machine, [&](const GradientAction&, const Numbers& at) {
    return SparkSums(shape, at, spark["train_rows"]);
  });
  const Numbers objective = golden["objective"];
  REQUIRE(run.losses.size() > 40);
  CHECK(run.losses[0] == Approx(objective[0]).epsilon(1e-12));
  for (size_t k = 1; k <= 20; ++k) {
    INFO("iteration " << k);
    CHECK(run.losses[k] == Approx(objective[k]).epsilon(1e-8));
  }
  CHECK(run.finish.stopped_because == "convergence");
  CHECK(run.finish.train.accuracy == golden["train_accuracy"].get<double>());
  const Sums test = SparkSums(shape, run.saved, spark["test_rows"]);
  CHECK(test.correct / test.weight == Approx(golden["test_accuracy"].get<double>()));
}

TEST_CASE("a convex job ends where loss and penalty gradients cancel") {
  TrainingPlan plan = PlanOf(model::MakeShape(spec::ModelSpec{}, 5, 3), 8);  // linear
  plan.train.weight_decay = 0.05;
  plan.train.decay_biases = GENERATE(false, true);
  plan.train.optimizer.tolerance = 0;
  StepMachine<double> machine(plan);
  const Run run = Drive(machine, FixtureRows(plan));
  CHECK(run.finish.stopped_because == "convergence");
  Sums sums = FixtureRows(plan)({}, run.saved);
  for (size_t i = 0; i < run.saved.size(); ++i) {
    const bool decays = i < 15 || plan.train.decay_biases;
    CHECK(std::fabs(sums.gradient[i] / 8 + (decays ? 0.05 * run.saved[i] : 0)) < 1e-7);
  }
}

TEST_CASE("an l1 penalty shrinks weights, and the objective falls") {
  TrainingPlan plan = PlanOf(ShapeOf("tanh", "softmax_ce"), 8);
  const auto size = [](const Run& run) {
    double sum = 0;
    for (int i = 0; i < 20; ++i) sum += std::fabs(run.saved[i]);
    return sum;
  };
  plan.train.optimizer.max_iterations = 15;
  const double plain = size(RunFixture(plan));
  plan.train.l1 = 0.02;
  const Run run = RunFixture(plan);
  CHECK(size(run) < 0.7 * plain);
  const auto objective = [&](size_t k) {
    double sum = run.losses[k];
    for (int i = 0; i < 39; ++i) {
      const bool bias = (i >= 20 && i < 24) || i >= 36;
      sum += bias ? 0 : 0.02 * std::fabs(run.iterates[k][i]);
    }
    return sum;
  };
  REQUIRE(run.losses.size() > 3);
  for (size_t k = 1; k < run.losses.size(); ++k) CHECK(objective(k) < objective(k - 1));
}

TEST_CASE("frozen layers do not change") {
  TrainingPlan plan = PlanOf(ShapeOf("tanh", "softmax_ce"), 8);
  plan.shape.layers[0].frozen = true;
  plan.train.weight_decay = 0.1;
  plan.train.optimizer.max_iterations = 5;
  const Run run = RunFixture(plan);
  const Numbers start = Golden()["fixture"]["weights"];
  CHECK(std::equal(start.begin(), start.begin() + 24, run.saved.begin()));
  CHECK_FALSE(std::equal(start.begin() + 24, start.end(), run.saved.begin() + 24));
}

// Returns Rosenbrock's function of the first two parameters. The network is not computed.
Sums Valley(const Numbers& at) {
  const double x = at[0], y = at[1], a = 1 - x, b = y - x * x;
  Sums sums{1, a * a + 100 * b * b, 0, Numbers(at.size())};
  sums.gradient[0] = -2 * a - 400 * x * b;
  sums.gradient[1] = 200 * b;
  return sums;
}

StepMachine<double> InTheValley(const std::function<void(spec::TrainSpec&)>& change = {}) {
  TrainingPlan plan = PlanOf(model::MakeShape(spec::ModelSpec{}, 2, 2), 1);
  if (change) change(plan.train);
  StepMachine<double> machine(plan);
  for (auto* v : {&machine.state().parameters, &machine.state().slots[model::kLbfgsIterate]}) {
    *v = {-1.2, 1, 0, 0, 0, 0};
  }
  return machine;
}

TEST_CASE("L-BFGS minimizes Rosenbrock's function") {
  StepMachine<double> machine = InTheValley([](spec::TrainSpec& t) { t.optimizer.tolerance = 0; });
  const Run run =
      Drive(machine, [](const GradientAction&, const Numbers& at) { return Valley(at); });
  CHECK(run.finish.stopped_because == "convergence");
  CHECK(run.saved[0] == Approx(1).epsilon(1e-8));
  CHECK(run.saved[1] == Approx(1).epsilon(1e-8));
  CHECK(run.losses.size() < 50);
  CHECK(run.evaluations < 80);
}

TEST_CASE("the search steps back from a nonfinite loss") {
  StepMachine<double> machine =
      InTheValley([](spec::TrainSpec& t) { t.optimizer.learning_rate = 100; });
  const Run run = Drive(machine, [](const GradientAction&, const Numbers& at) {
    Sums sums = Valley(at);
    if (std::fabs(at[0]) > 2) sums.loss = std::numeric_limits<double>::quiet_NaN();
    return sums;
  });
  CHECK(run.error.ToString() == "OK");
  CHECK(run.losses.back() < run.losses.front());
}

TEST_CASE("a nonfinite loss at the start or without a search fails") {
  const bool at_start = GENERATE(false, true);
  StepMachine<double> machine = InTheValley(
      [](spec::TrainSpec& t) { t.optimizer.line_search = spec::LineSearchKind::kNone; });
  const Run run = Drive(machine, [&](const GradientAction& g, const Numbers& at) {
    Sums sums = Valley(at);
    if (at_start || g.step == 3) sums.loss = std::numeric_limits<double>::infinity();
    return sums;
  });
  CHECK_THAT(run.error.message(), Catch::Contains("is not a finite number; "));
  CHECK_THAT(run.error.message(),
             Catch::Contains(at_start ? "train.initial" : "line_search: strong_wolfe"));
}

TEST_CASE("a false gradient ends the job after a second search") {
  StepMachine<double> machine = InTheValley();
  const Run run = Drive(machine, [](const GradientAction& g, const Numbers& at) {
    Sums sums = Valley(at);
    if (g.step >= 8) sums.loss = 1e6 + static_cast<double>(g.step);
    return sums;
  });
  CHECK(run.finish.stopped_because == "line search");
  CHECK(run.saved == run.iterates.back());
  CHECK(run.evaluations > 8 + 11);
}

TEST_CASE("rows without weight, steps and time end the job correctly") {
  StepMachine<double> weightless = InTheValley();
  const auto nothing = [](const GradientAction&, const Numbers& at) {
    return Sums{0, 0, 0, Numbers(at.size())};
  };
  CHECK_THAT(Drive(weightless, nothing).error.message(), Catch::Contains("have no weight above 0"));
  const auto valley = [](const GradientAction&, const Numbers& at) { return Valley(at); };
  for (int64_t steps = 1; steps < 12; ++steps) {
    StepMachine<double> machine = InTheValley([&](spec::TrainSpec& t) { t.steps = steps; });
    const Run run = Drive(machine, valley);
    CHECK(run.finish.stopped_because == "steps");
    CHECK(run.finish.steps == steps);
    CHECK(run.saved == run.iterates.back());
    CHECK(run.finish.train.loss == run.losses.back());
  }
  TrainingPlan plan = PlanOf(ShapeOf("tanh", "softmax_ce"), 8);
  plan.train.batch = 2;
  plan.train.steps = 2;  // half of the first pass
  const Run run = RunFixture(plan);
  CHECK(run.finish.stopped_because == "steps");
  CHECK(run.saved == Golden()["fixture"]["weights"].get<Numbers>());
}

}  // namespace
}  // namespace espalier::training
