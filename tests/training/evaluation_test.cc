// Evaluations in the machine, and rows without weight.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/testing/says.h"
#include "tests/training/driven_machine.h"

namespace espalier::training {
namespace {

// Returns the action of a job of one epoch after its test evaluation with changed totals.
Action AfterTest(TrainingPlan plan, const std::function<void(std::vector<double>&)>& change) {
  plan.train.epochs = 1;
  plan.test_rows = 8;
  StepMachine<float> machine(plan);
  Action action = machine.Begin();
  for (;;) {
    const auto* evaluation = std::get_if<EvaluateAction>(&action);
    if (evaluation != nullptr && evaluation->set == spec::FileRole::kTest) break;
    action = evaluation != nullptr ? machine.OnEvaluation(EvaluationTotals(plan, 1.0))
             : std::holds_alternative<GradientAction>(action)
                 ? machine.OnGradient(StepStats(plan, 1.0))
                 : machine.OnUpdated();
  }
  auto totals = EvaluationTotals(plan, 1.0);
  change(totals);
  return machine.OnEvaluation(totals);
}

void NoNumber(std::vector<double>& totals) { totals[model::kTotalLoss] = std::nan(""); }

TEST_CASE("a nonfinite evaluation loss fails the job unless skipped") {
  TrainingPlan plan = SmallPlan();
  plan.validation_rows = 0;
  const Action failed = AfterTest(plan, NoNumber);
  REQUIRE(std::holds_alternative<FailAction>(failed));
  CHECK_THAT(std::get<FailAction>(failed).error.message(),
             Catch::StartsWith("the loss of the test rows after step") &&
                 Catch::Contains("the training has diverged") && Catch::Contains("on_nonfinite"));
  plan.train.skip_nonfinite = true;
  CHECK_FALSE(std::holds_alternative<FailAction>(AfterTest(plan, NoNumber)));
  // The advice for L-BFGS names neither a rate nor on_nonfinite.
  plan.train.skip_nonfinite = false;
  plan.train.optimizer.kind = spec::OptimizerKind::kLbfgs;
  StepMachine<float> searching(plan);
  searching.state().phase = TrainingPhase::kFinalTest;
  auto totals = EvaluationTotals(plan, 1.0);
  NoNumber(totals);
  CHECK_THAT(std::get<FailAction>(searching.OnEvaluation(totals)).error.message(),
             Catch::Contains("diverged") && !Catch::Contains("on_nonfinite"));
}

TEST_CASE("nonfinite test rows do not fail a job with validation rows") {
  const Action ended = AfterTest(SmallPlan(), NoNumber);
  REQUIRE(std::holds_alternative<FinishAction>(ended));
  CHECK(std::isnan(std::get<FinishAction>(ended).test->loss));
}

TEST_CASE("evaluation weights without a finite sum fail the job by name") {
  const Action failed = AfterTest(SmallPlan(), [](auto& totals) {
    totals[model::kTotalWeight] = std::numeric_limits<double>::infinity();
  });
  REQUIRE(std::holds_alternative<FailAction>(failed));
  CHECK_THAT(std::get<FailAction>(failed).error.ToString(),
             Says("data.weight: ... test rows ... no finite sum"));
}

TEST_CASE("a step of weight 0 counts and updates nothing") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 1;
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, One, [](int64_t step, std::vector<double>& stats) {
    if (step == 0) stats[model::kTotalWeight] = stats[model::kTotalLoss] = 0;
  });
  CHECK(s.letters == "GGUGUGUV");
}

TEST_CASE("a job without any row weight fails and saves nothing") {
  for (const double epochs : {2.0, 0.5}) {
    TrainingPlan plan = SmallPlan();
    plan.train.epochs = epochs;
    StepMachine<float> machine(plan);
    const Script s = Drive(machine, One, [](int64_t, std::vector<double>& stats) {
      stats[model::kTotalWeight] = stats[model::kTotalLoss] = 0;
    });
    CHECK(s.letters == (epochs < 1 ? "GG" : "GGGG"));
    CHECK_THAT(
        s.error.message(),
        Says("the training rows ... no weight above 0 ... data.weight ... train.class_weight"));
  }
}

TEST_CASE("metrics of classes are kept for the last evaluation only") {
  StepMachine<float> machine(SmallPlan());
  const Script s = Drive(machine, One);
  REQUIRE(s.finish.validation);
  CHECK(s.finish.validation->classes.size() == 2);
  CHECK(s.finish.validation->confusion.size() == 4);
  REQUIRE(machine.state().history.size() == 3);
  for (const spec::HistoryRow& row : machine.state().history) {
    REQUIRE(row.validation);
    CHECK(row.validation->weight == 8);
    CHECK(row.validation->classes.empty());
    CHECK(row.validation->confusion.empty());
  }
}

TEST_CASE("async jobs need a row weight in the whole job only") {
  TrainingPlan plan = SmallPlan();
  plan.train.mode = spec::TrainMode::kAsync;
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, One, [](int64_t step, std::vector<double>& stats) {
    if (step < 4) stats[model::kTotalWeight] = stats[model::kTotalLoss] = 0;  // an epoch of pushes
  });
  CHECK(s.error.ok());
  CHECK(machine.state().updates == 8);
  plan.train.epochs = 20;
  plan.train.early_stopping = spec::EarlyStopping{.metric = "val_loss", .patience = 2};
  StepMachine<float> weightless(plan);
  const auto none = [](int64_t, std::vector<double>& stats) {
    stats[model::kTotalWeight] = stats[model::kTotalLoss] = 0;
  };
  CHECK(Drive(weightless, One, none).error.message().find("no weight above 0") !=
        std::string::npos);
}

}  // namespace
}  // namespace espalier::training
