#include "src/training/step_machine.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "src/model/metrics.h"
#include "tests/model/golden.h"
#include "tests/testing/says.h"
#include "tests/training/driven_machine.h"

namespace espalier::training {
namespace {

TEST_CASE("a job is steps, an evaluation for each epoch, and the test") {
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
  CHECK(history[1].train.rows == 40);  // this epoch only
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

TEST_CASE("the end of the time ends the job after the step") {
  StepMachine<float> machine(SmallPlan());
  const Script s = Drive(machine, One, [](int64_t step, std::vector<double>& stats) {
    if (step == 5) stats[stats.size() - kStepExtras + kExtraEnds] = 1;
  });
  CHECK(s.letters == "GUGUGUGUVGUGUV");
  CHECK(s.finish.stopped_because == "time");
}

TEST_CASE("a request ends the job like the end of the time") {
  StepMachine<float> machine(SmallPlan());
  const Script s = Drive(machine, One, [](int64_t step, std::vector<double>& stats) {
    if (step == 5)
      stats[stats.size() - kStepExtras + kExtraEnds] = static_cast<double>(StepEnds::kByRequest);
  });
  CHECK(s.letters == "GUGUGUGUVGUGUV");
  CHECK(s.finish.stopped_because == "request");
}

TEST_CASE("early stopping has patience and restores the best weights") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 100;
  plan.train.early_stopping =
      spec::EarlyStopping{.metric = "val_loss", .patience = 2, .min_delta = 0.05};
  StepMachine<float> machine(plan);
  const double losses[] = {1.0, 0.5, 0.48, 0.9, 0.7};  // 0.48 gains less than min_delta
  const Script s = Drive(machine, [&](int k) { return losses[k]; });
  CHECK(s.finish.stopped_because == "early stopping");
  CHECK(s.finish.steps == 16);
  // min_delta decides when to stop, not which weights are best.
  CHECK(machine.state().best_step == 8);
  CHECK(machine.state().parameters[0] == 12.0f);
  CHECK(s.finish.best_epochs == std::vector{3.0});
  // The saved weights are evaluated again.
  CHECK(s.letters.substr(s.letters.size() - 3) == "VLV");
  CHECK(s.finish.train.loss == 5.0);
  CHECK(s.finish.validation->loss == 0.7);
}

TEST_CASE("early stopping by the training rows needs no validation rows") {
  TrainingPlan plan = SmallPlan();
  plan.validation_rows = GENERATE(0, 8);
  plan.test_rows = 5;
  plan.train.epochs = 100;
  plan.train.early_stopping = spec::EarlyStopping{.metric = "loss", .patience = 2};
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, One, [](int64_t step, std::vector<double>& stats) {
    stats[model::kTotalLoss] = (step / 4 == 1 ? 0.5 : 0.75) * 10;  // the second epoch is the best
  });
  CHECK(s.finish.stopped_because == "early stopping");
  CHECK(s.finish.steps == 16);
  CHECK(machine.state().best_step == 8);
  CHECK(machine.state().parameters[0] == 8);
  const std::string epoch = plan.validation_rows > 0 ? "GUGUGUGUV" : "GUGUGUGU";
  CHECK(s.letters == epoch + epoch + epoch + epoch + (plan.validation_rows > 0 ? "LVT" : "LT"));
  CHECK(s.finish.validation.has_value() == (plan.validation_rows > 0));
}

TEST_CASE("restore_best: false keeps the last weights") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 100;
  plan.train.early_stopping = spec::EarlyStopping{.patience = 1, .restore_best = false};
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, [](int k) { return 1.0 + k; });
  CHECK(machine.state().parameters[0] == 8.0f);
  CHECK(s.letters.substr(s.letters.size() - 2) == "UV");
}

TEST_CASE("weights of the last evaluation are not validated again") {
  TrainingPlan plan = SmallPlan();
  plan.train.early_stopping = spec::EarlyStopping{.patience = 5};
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, [](int k) { return 1.0 - 0.1 * k; });
  // The training metrics are of these weights too, not of the epoch.
  CHECK(s.letters == "GUGUGUGUVGUGUGUGUVGUGUGUGUVL");
  CHECK(s.finish.best_epochs == std::vector{3.0});
  CHECK(s.finish.train.loss == 5.0);
  CHECK(s.finish.validation->loss == 0.8);
}

TEST_CASE("a job that diverges ends with the best weights") {
  TrainingPlan plan = SmallPlan();
  plan.train.early_stopping = spec::EarlyStopping{.patience = 5};
  const bool by_gradient = GENERATE(true, false);
  StepMachine<float> machine(plan);
  const Script s = Drive(
      machine,
      [&](int k) {
        return k == 1 && !by_gradient ? std::numeric_limits<double>::quiet_NaN() : 1.0 + k;
      },
      [&](int64_t step, std::vector<double>& stats) {
        if (by_gradient && step == 5) stats[model::kTotalNonfinite] = 1;
      });
  CHECK(s.error.ok());
  CHECK(s.finish.stopped_because == "divergence");
  CHECK(s.finish.best_epochs == std::vector{1.0});
  CHECK(machine.state().parameters[0] == 4.0f);
  CHECK(s.letters.ends_with("LV"));
}

TEST_CASE("a job whose last epoch was skipped fails") {
  TrainingPlan plan = SmallPlan();
  plan.train.skip_nonfinite = true;
  const auto skip = [](int64_t step, std::vector<double>& stats) {
    if (step < 8) return;
    std::fill(stats.begin(), stats.end(), 0.0);
    stats[model::kTotalNonfinite] = 1;
  };
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, One, skip);
  CHECK_THAT(s.error.message(), Says("step 12: all steps ... skipped"));
  plan.train.early_stopping = spec::EarlyStopping{.patience = 5};
  StepMachine<float> restoring(plan);
  const Script kept = Drive(restoring, One, skip);
  CHECK(kept.finish.stopped_because == "divergence");
  CHECK(kept.finish.skipped_steps == 4);
  CHECK(restoring.state().parameters[0] == 4.0f);
}

TEST_CASE("a loss that is not a number never counts as a gain") {
  TrainingPlan plan = SmallPlan();
  plan.train.skip_nonfinite = true;
  plan.train.epochs = 100;
  plan.train.early_stopping = spec::EarlyStopping{.patience = 3};
  StepMachine<float> machine(plan);
  const Script s = Drive(machine, [](int) { return std::numeric_limits<double>::quiet_NaN(); });
  CHECK(s.finish.steps == 12);
  CHECK(s.finish.stopped_because == "early stopping");
}

TEST_CASE("a metric without a value fails the job by name") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 100;
  plan.train.early_stopping = spec::EarlyStopping{.metric = "val_auc", .patience = 3};
  StepMachine<float> stopping(plan);
  const Script s = Drive(stopping, One);  // rows without classes
  CHECK(s.letters == "GUGUGUGUV");
  CHECK_THAT(
      s.error.ToString(),
      Says("train.early_stopping.metric: val_auc has no value ... two classes ... val_loss"));
  plan.train.early_stopping.reset();
  plan.train.schedule.kind = spec::ScheduleKind::kPlateau;
  plan.train.schedule.plateau.metric = "val_auc";
  StepMachine<float> plateau(plan);
  CHECK_THAT(Drive(plateau, One).error.message(),
             Catch::StartsWith("train.schedule.plateau.metric: val_auc has no value"));
}

TEST_CASE("a non-finite gradient fails the job and names step and leaf") {
  StepMachine<float> machine(SmallPlan());
  const Script s = Drive(machine, One, [](int64_t step, std::vector<double>& stats) {
    if (step != 2) return;
    stats[model::kTotalNonfinite] = 2;
    stats[model::kTotalLoss] = std::numeric_limits<double>::quiet_NaN();
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
    if (step == 1) stats[model::kTotalNonfinite] = 1;
  });
  CHECK(s.letters == "GUGGUGUV");
  CHECK(s.finish.steps == 4);
  CHECK(machine.state().updates == 3);
  CHECK(s.finish.skipped_steps == 1);
  CHECK(s.finish.train.rows == 30);
}

TEST_CASE("training starts with given weights and drawn others") {
  TrainingPlan plan = SmallPlan();
  const StepMachine<float> seeded(plan);
  plan.initial = std::make_shared<const std::vector<spec::InitialTensor>>(
      std::vector<spec::InitialTensor>{{1, {0.25, -3}}, {4, {7}}});
  const StepMachine<float> machine(plan);
  AlignedVector<float> expected = seeded.state().parameters;
  expected[1] = 0.25f, expected[2] = -3, expected[4] = 7;
  CHECK(machine.state().parameters == expected);
}

// Returns the 1-based steps after which the parameters change.
std::vector<int64_t> UpdatesOf(StepMachine<float>& machine,
                               const std::function<void(int64_t, std::vector<double>&)>& change) {
  std::vector<int64_t> applied;
  Action action = machine.Begin();
  while (!std::holds_alternative<FinishAction>(action)) {
    if (auto* g = std::get_if<GradientAction>(&action)) {
      auto stats = StepStats(machine.plan(), 1.0);
      if (change) change(g->step, stats);
      action = machine.OnGradient(stats);
    } else if (auto* u = std::get_if<UpdateAction>(&action)) {
      if (u->apply) {
        applied.push_back(machine.state().step + 1);
        CHECK(u->update == static_cast<int64_t>(applied.size()));
      }
      action = machine.OnUpdated();
    } else {
      action = machine.OnEvaluation(EvaluationTotals(machine.plan(), 1.0));
    }
  }
  return applied;
}

TEST_CASE("accumulated steps make an update, also at an epoch's end") {
  TrainingPlan plan = SmallPlan();
  plan.train_rows = 50;  // five steps an epoch
  plan.train.accumulate_steps = 2;
  plan.train.epochs = 1.6;
  StepMachine<float> machine(plan);
  CHECK(machine.state().accumulated.size() == machine.state().parameters.size());
  CHECK(UpdatesOf(machine, {}) == std::vector<int64_t>{2, 4, 5, 7, 8});
  CHECK(machine.state().updates == 5);
}

TEST_CASE("gradient descent over all rows makes one update an epoch") {
  TrainingPlan plan = SmallPlan();
  plan.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kGd);
  StepMachine<float> machine(plan);
  CHECK(UpdatesOf(machine, {}) == std::vector<int64_t>{4, 8, 12});
}

TEST_CASE("an accumulated update covers only the rows that counted") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 1;
  plan.train.accumulate_steps = 2;
  plan.train.skip_nonfinite = true;
  StepMachine<float> machine(plan);
  std::vector<double> shares;
  Action action = machine.Begin();
  while (!std::holds_alternative<FinishAction>(action)) {
    if (auto* g = std::get_if<GradientAction>(&action)) {
      auto stats = StepStats(plan, 1.0);
      stats[model::kTotalWeight] = 10 + static_cast<double>(g->step);
      if (g->step == 1) stats[model::kTotalNonfinite] = 1;  // skipped; ends an update of two steps
      if (g->step == 2)
        stats[model::kTotalWeight] = stats[model::kTotalLoss] = 0;  // nothing to add
      action = machine.OnGradient(stats);
    } else if (auto* u = std::get_if<UpdateAction>(&action)) {
      CHECK(u->add == (machine.state().step != 1));
      CHECK(u->apply == (machine.state().step % 2 == 1));
      if (u->apply) shares.push_back(1 / u->inverse_weight);
      action = machine.OnUpdated();
    } else {
      action = machine.OnEvaluation(EvaluationTotals(plan, 1.0));
    }
  }
  CHECK(shares == std::vector<double>{10, 13});  // from step 0; from step 3
  CHECK(machine.state().accumulated_weight == 0);
}

TEST_CASE("the end of the time ends accumulated steps, too") {
  TrainingPlan plan = SmallPlan();
  plan.train.accumulate_steps = 4;
  StepMachine<float> machine(plan);
  CHECK(UpdatesOf(machine, [](int64_t step, std::vector<double>& stats) {
          if (step == 5) stats[stats.size() - kStepExtras + kExtraEnds] = 1;
        }) == std::vector<int64_t>{4, 6});
}

// Drives a machine with synthetic weights. After update k, parameters[0] is k and, if requested,
// averaged[0] is 100 + count.
Script DriveAveraged(StepMachine<float>& machine, const std::function<double(int)>& loss) {
  Script script;
  int evaluations = 0;
  Action action = machine.Begin();
  for (;;) {
    if (std::get_if<GradientAction>(&action)) {
      action = machine.OnGradient(StepStats(machine.plan(), 1.0));
    } else if (auto* u = std::get_if<UpdateAction>(&action)) {
      machine.state().parameters[0] = static_cast<float>(u->update);
      if (u->averaged > 0) machine.state().averaged[0] = 100.0f + static_cast<float>(u->averaged);
      action = machine.OnUpdated();
    } else if (std::get_if<EvaluateAction>(&action)) {
      script.letters += std::to_string(static_cast<int>(machine.Evaluated()[0])) + " ";
      action = machine.OnEvaluation(EvaluationTotals(machine.plan(), loss(evaluations++)));
    } else {
      script.finish = std::get<FinishAction>(action);
      return script;
    }
  }
}

TEST_CASE("averaged weights are evaluated once there are any, and saved") {
  TrainingPlan plan = SmallPlan();
  plan.test_rows = 5;
  plan.train.averaging = {spec::AveragingKind::kMean, 0.5, {1.5, true}};  // from the seventh step
  StepMachine<float> machine(plan);
  CHECK(DriveAveraged(machine, One).letters == "4 102 106 106 ");
  CHECK(machine.state().parameters[0] == 106);
}

TEST_CASE("the best weights are averaged ones, where there is averaging") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 100;
  plan.train.averaging = {spec::AveragingKind::kEma, 0.5, {}};
  plan.train.early_stopping = spec::EarlyStopping{.metric = "val_loss", .patience = 2};
  StepMachine<float> machine(plan);
  const double losses[] = {3, 1, 2, 2, 1, 1};
  const Script s = DriveAveraged(machine, [&](int k) { return losses[k]; });
  CHECK(s.letters == "104 108 112 116 108 108 ");  // restored weights, on two sets
  CHECK(machine.state().parameters[0] == 108);
}

// Returns the learning rates after each evaluation. `losses` are the results.
std::vector<double> RatesAfter(const TrainingPlan& plan, const std::vector<double>& losses) {
  StepMachine<float> machine(plan);
  std::vector<double> rates;
  Action action = machine.Begin();
  size_t evaluations = 0;
  while (!std::holds_alternative<FinishAction>(action)) {
    if (std::get_if<GradientAction>(&action)) {
      action = machine.OnGradient(StepStats(plan, losses[evaluations]));
    } else if (std::get_if<UpdateAction>(&action)) {
      action = machine.OnUpdated();
      if (plan.validation_rows == 0 && machine.state().step % 4 == 0) ++evaluations;
    } else {
      action = machine.OnEvaluation(EvaluationTotals(plan, losses[evaluations++]));
    }
    if (evaluations > rates.size()) rates.push_back(machine.LearningRateNow());
  }
  return rates;
}

TEST_CASE("a plateau lowers the rate like PyTorch's ReduceLROnPlateau") {
  const golden::Json& cases = golden::MoreGolden()["plateau"];
  REQUIRE(cases.size() == 4);
  for (const golden::Json& c : cases) {
    INFO("patience " << c["patience"] << " cooldown " << c["cooldown"]);
    const golden::Numbers values = c["values"], expected = c["rates"];
    TrainingPlan plan = SmallPlan();
    plan.train.epochs = static_cast<double>(values.size());
    plan.train.optimizer.learning_rate = 0.1;
    plan.train.schedule.kind = spec::ScheduleKind::kPlateau;
    plan.train.schedule.factor = 0.5;
    plan.train.schedule.plateau = {"val_loss", c["patience"], 1e-4, c["cooldown"],
                                   c["min_learning_rate"]};
    golden::CheckNear(RatesAfter(plan, values), expected, 1e-15);
    // The training loss as the metric has the same effect.
    plan.train.schedule.plateau.metric = "loss";
    plan.validation_rows = 0;
    golden::CheckNear(RatesAfter(plan, values), expected, 1e-15);
  }
}

TEST_CASE("a plateau is not judged during the warm-up") {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 5;
  plan.train.optimizer.learning_rate = 0.1;
  plan.train.schedule.kind = spec::ScheduleKind::kPlateau;
  plan.train.schedule.factor = 0.5;
  plan.train.schedule.plateau.patience = 1;
  plan.train.schedule.warmup = {3, true};
  const std::vector<double> rates = RatesAfter(plan, {1, 2, 3, 4, 5});
  // The third evaluation is the first to count and therefore the best so far.
  const std::vector<double> expected = {0.1 * 5 / 12, 0.1 * 9 / 12, 0.1, 0.05, 0.025};
  golden::CheckNear(rates, expected, 1e-15);
}

}  // namespace
}  // namespace espalier::training
