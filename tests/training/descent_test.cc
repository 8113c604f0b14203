// Gradient descent over all rows that ends by the tolerance of its steps.
#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "src/training/state_codec.h"
#include "src/training/step_machine.h"
#include "src/training/update.h"
#include "tests/training/spark_example.h"

namespace espalier::training {
namespace {

using namespace golden;

// Spark's example by its solver gd, in passes of one or several steps.
TrainingPlan SparkPlan(double step_size, double tolerance) {
  TrainingPlan plan;
  plan.shape = SparkShape();
  plan.train_rows = 87;
  plan.train.batch = GENERATE(87, 20);
  plan.train.epochs = 100;
  plan.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kGd);
  plan.train.optimizer.learning_rate = step_size;
  plan.train.optimizer.step_tolerance = tolerance;
  return plan;
}

Json RowsOfStep(const TrainingPlan& plan, int64_t step_of_epoch) {
  Json rows = Json::array();
  const Json& all = LbfgsGolden()["mllib"]["train_rows"];
  const int64_t begin = step_of_epoch * plan.train.batch;
  for (int64_t i = begin; i < std::min<int64_t>(begin + plan.train.batch, 87); ++i) {
    rows.push_back(all[i]);
  }
  return rows;
}

// Answers a gradient action and performs its update.
Action Step(StepMachine<double>& machine, const GradientAction& step) {
  const TrainingPlan& plan = machine.plan();
  TrainingState<double>& state = machine.state();
  const Sums sums = SparkSums(plan.shape, {state.parameters.begin(), state.parameters.end()},
                              RowsOfStep(plan, step.step_of_epoch));
  std::vector<double> stats(
      model::TotalsSize(plan.shape, model::TotalsKind::kTraining) + kStepExtras, 0.0);
  stats[model::kTotalRows] = stats[model::kTotalWeight] = sums.weight;
  stats[model::kTotalLoss] = sums.loss;
  const auto update = std::get<UpdateAction>(machine.OnGradient(stats));
  const auto chunks = model::ChunksOf<double>(plan.shape, 64);
  const auto total_of = [&](int64_t c) { return sums.gradient.data() + chunks[c].offset; };
  const auto each = [](int64_t count, const std::function<void(int64_t)>& body) {
    for (int64_t i = 0; i < count; ++i) body(i);
  };
  REQUIRE(PerformUpdate<double>(plan, update, chunks, total_of, each, state));
  return machine.OnUpdated();
}

Action Evaluate(StepMachine<double>& machine) {
  std::vector<double> totals(
      model::TotalsSize(machine.plan().shape, model::TotalsKind::kEvaluation), 0.0);
  totals[model::kTotalRows] = totals[model::kTotalWeight] = totals[model::kTotalLoss] = 1;
  return machine.OnEvaluation(totals);
}

// Expected results of Spark 3.5 with `solver="gd"` and one block of all rows: the number of
// updates, and the loss of the final weights.
TEST_CASE("gradient descent converges at the same update as Spark's") {
  struct Golden {
    double step_size, tolerance;
    int64_t updates;
    double loss;
  };
  const Golden golden = GENERATE(
      Golden{0.5, 1, 2, 1.1064636396863228},  // the first update has no predecessor to compare with
      Golden{0.5, 0.05, 2, 1.1064636396863228}, Golden{0.5, 0.01, 4, 1.1013409391512503},
      Golden{0.03, 0.001, 28, 1.111287590995759}, Golden{0.5, 0.003, 100, 0.6718028164130563},
      Golden{0.5, 0, 100, 0.6718028164130563});
  StepMachine<double> machine(SparkPlan(golden.step_size, golden.tolerance));
  const TrainingPlan& plan = machine.plan();
  TrainingState<double>& state = machine.state();
  const Numbers start = FromSpark(plan.shape, LbfgsGolden()["mllib"]["initial_weights"]);
  state.parameters.assign(start.begin(), start.end());
  Action action = machine.Begin();
  while (auto* step = std::get_if<GradientAction>(&action)) action = Step(machine, *step);
  const auto& finish = std::get<FinishAction>(action);
  CHECK(state.updates == golden.updates);
  CHECK(finish.epochs == static_cast<double>(golden.updates));
  CHECK(finish.stopped_because == (golden.updates < 100 ? "convergence" : "epochs"));
  const Sums end = SparkSums(plan.shape, {state.parameters.begin(), state.parameters.end()},
                             LbfgsGolden()["mllib"]["train_rows"]);
  CHECK(end.loss / end.weight == Approx(golden.loss).epsilon(1e-13));
}

TEST_CASE("a converged state can be handed over before an evaluation") {
  TrainingPlan plan = SparkPlan(0.5, 0.02);
  plan.validation_rows = 1;
  StepMachine<double> whole(plan);
  Action action = whole.Begin();
  std::vector<std::string> states;
  const auto next = [](StepMachine<double>& machine, const Action& now) {
    const auto* step = std::get_if<GradientAction>(&now);
    return step != nullptr ? Step(machine, *step) : Evaluate(machine);
  };
  while (!std::holds_alternative<FinishAction>(action)) {
    states.push_back(EncodeState(whole.state()));
    action = next(whole, action);
  }
  CHECK(std::get<FinishAction>(action).stopped_because == "convergence");
  CHECK(whole.state().descent.converged);
  for (const std::string& bytes : states) {
    auto state = DecodeState<double>(bytes, plan);
    REQUIRE(state.status().ToString() == "OK");
    StepMachine<double> heir(plan, *std::move(state));
    Action after = heir.Resume();
    while (!std::holds_alternative<FinishAction>(after)) after = next(heir, after);
    CHECK(EncodeState(heir.state()) == EncodeState(whole.state()));
  }
  plan.train.optimizer.step_tolerance = 0;
  CHECK_THAT(DecodeState<double>(EncodeState(whole.state()), plan).status().message(),
             Catch::Contains("it has converged"));
}

}  // namespace
}  // namespace espalier::training
