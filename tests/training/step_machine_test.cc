#include "src/training/step_machine.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "src/model/metrics.h"

namespace espalier {
namespace {

// A job of 2 inputs and 2 classes, its totals made up by the test.
TrainingPlan SmallPlan() {
  TrainingPlan plan;
  plan.shape = *MakeNetworkShape(ModelSpec{}, 2, 2);
  plan.train.batch = 10;
  plan.train.epochs = 3;
  plan.train_rows = 40;
  plan.validation_rows = 8;
  return plan;
}

std::vector<double> StepStats(const TrainingPlan& plan, double loss) {
  std::vector<double> stats(TotalsSize(plan.shape, TotalsKind::kTraining) + kStepExtras, 0.0);
  stats[kTotalRows] = stats[kTotalWeight] = 10;
  stats[kTotalLoss] = loss * 10;
  return stats;
}

std::vector<double> EvaluationTotals(const TrainingPlan& plan, double loss) {
  std::vector<double> totals(TotalsSize(plan.shape, TotalsKind::kEvaluation), 0.0);
  totals[kTotalRows] = totals[kTotalWeight] = 8;
  totals[kTotalLoss] = loss * 8;
  return totals;
}

// Runs the machine to its end; `validation_loss(k)` is the loss of the k-th evaluation. Returns the
// sequence of actions as letters: G gradient, U update, V validation, T test.
struct Script {
  std::string letters;
  FinishAction finish;
  Status error;
};
Script Drive(StepMachine<float>& machine, const std::function<double(int)>& validation_loss,
             const std::function<void(int64_t, std::vector<double>&)>& change_stats = {}) {
  Script script;
  int evaluations = 0;
  Action action = machine.Begin();
  while (script.letters.size() < 10'000) {
    if (auto* g = std::get_if<GradientAction>(&action)) {
      script.letters += 'G';
      auto stats = StepStats(machine.plan(), 1.0);
      if (change_stats) change_stats(g->step, stats);
      action = machine.OnGradient(stats);
    } else if (std::get_if<UpdateAction>(&action)) {
      script.letters += 'U';
      machine.state().parameters[0] = static_cast<float>(machine.state().step + 1);
      action = machine.OnUpdated();
    } else if (auto* e = std::get_if<EvaluateAction>(&action)) {
      const bool validation = e->set == FileRole::kValidation;
      script.letters += validation ? 'V' : 'T';
      action = machine.OnEvaluation(
          EvaluationTotals(machine.plan(), validation ? validation_loss(evaluations++) : 5.0));
    } else if (auto* f = std::get_if<FinishAction>(&action)) {
      script.finish = *f;
      return script;
    } else {
      script.error = std::get<FailAction>(action).error;
      return script;
    }
  }
  FAIL("the machine does not end");
  return script;
}

double One(int) { return 1.0; }

TEST_CASE("a job is steps, an evaluation after each epoch, and the test at the end") {
  TrainingPlan plan = SmallPlan();
  plan.test_rows = 5;
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, One);
  CHECK(s.letters ==
        "GUGUGUGUV"
        "GUGUGUGUV"
        "GUGUGUGUV"
        "T");
  CHECK(s.finish.steps == 12);
  CHECK(s.finish.epochs == 3);
  CHECK(s.finish.stopped_because == "epochs");
  CHECK(s.finish.test->loss == 5.0);
  const auto& history = machine.state().history;
  REQUIRE(history.size() == 3);
  CHECK(history[1].epoch == 2);
  CHECK(history[1].train.rows == 40);  // of that epoch alone
}

TEST_CASE("without validation an epoch ends with its running values") {
  TrainingPlan plan = SmallPlan();
  plan.validation_rows = 0;
  plan.train.epochs = 1;
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, One);
  CHECK(s.letters == "GUGUGUGU");
  CHECK(!s.finish.validation);
  CHECK(s.finish.train.loss == 1.0);
}

TEST_CASE("steps end a job within an epoch, with an evaluation") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs.reset();
  plan.train.steps = 6;
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, One);
  CHECK(s.letters == "GUGUGUGUVGUGUV");
  CHECK(s.finish.epochs == 1.5);
  CHECK(s.finish.stopped_because == "steps");
}

TEST_CASE("the end of the time rides on the total and stops after that step") {
  StepMachine<float> machine(SmallPlan());
  const Script s = Drive(machine, One, [](int64_t step, std::vector<double>& stats) {
    if (step == 5) stats[stats.size() - kStepExtras + kExtraTimeIsUp] = 1;
  });
  CHECK(s.letters == "GUGUGUGUVGUGUV");
  CHECK(s.finish.stopped_because == "time");
}

TEST_CASE("early stopping waits for its patience and restores the best weights") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 100;
  plan.train.early_stopping = EarlyStopping{.metric = "val_loss", .patience = 2, .min_delta = 0.05};
  StepMachine<float> machine(plan);
  const double losses[] = {1.0, 0.5, 0.48, 0.9, 0.7};  // 0.48 gains less than min_delta
  const Script s = Drive(machine, [&](int k) { return losses[k]; });
  CHECK(s.finish.stopped_because == "early stopping");
  CHECK(s.finish.steps == 16);
  CHECK(machine.state().best_step == 8);
  CHECK(machine.state().parameters[0] == 8.0f);
  // The saved weights are evaluated again.
  CHECK(s.letters.substr(s.letters.size() - 2) == "VV");
  CHECK(s.finish.validation->loss == 0.7);
}

TEST_CASE("restore_best: false keeps the last weights") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 100;
  plan.train.early_stopping = EarlyStopping{.patience = 1, .restore_best = false};
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, [](int k) { return 1.0 + k; });
  CHECK(machine.state().parameters[0] == 8.0f);
  CHECK(s.letters.substr(s.letters.size() - 2) == "UV");
}

TEST_CASE("a loss that is not a number never counts as a gain") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 100;
  plan.train.early_stopping = EarlyStopping{.patience = 3};
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, [](int) { return std::numeric_limits<double>::quiet_NaN(); });
  CHECK(s.finish.steps == 12);
  CHECK(s.finish.stopped_because == "early stopping");
}

TEST_CASE("a non-finite gradient fails the job and names step and leaf") {
  StepMachine<float> machine(SmallPlan());
  const Script s = Drive(machine, One, [](int64_t step, std::vector<double>& stats) {
    if (step != 2) return;
    stats[kTotalNonfinite] = 2;
    stats[kTotalLoss] = std::numeric_limits<double>::quiet_NaN();
    stats[stats.size() - kStepExtras + kExtraNonfiniteLeaves] =
        NonfiniteMark(3) + NonfiniteMark(1000);
  });
  CHECK(s.error.message().find("step 3, leaf 3: the loss or a gradient is not a finite number") ==
        0);
}

TEST_CASE("on_nonfinite: skip counts the step and updates nothing") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 1;
  plan.train.skip_nonfinite = true;
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, One, [](int64_t step, std::vector<double>& stats) {
    if (step == 1) stats[kTotalNonfinite] = 1;
  });
  CHECK(s.letters == "GUGGUGUV");
  CHECK(s.finish.steps == 4);
  CHECK(machine.state().updates == 3);
  CHECK(s.finish.train.rows == 30);
}

TEST_CASE("a step of weight 0 counts and updates nothing") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 1;
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, One, [](int64_t step, std::vector<double>& stats) {
    if (step == 0) stats[kTotalWeight] = stats[kTotalLoss] = 0;
  });
  CHECK(s.letters == "GGUGUGUV");
}

}  // namespace
}  // namespace espalier
