// A machine that the test drives with synthetic results of workers.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "src/model/metrics.h"
#include "src/training/step_machine.h"

namespace espalier::training {

// Returns a job of 2 inputs and 2 classes. The test makes up its totals.
inline TrainingPlan SmallPlan() {
  TrainingPlan plan;
  plan.shape = *model::MakeNetworkShape(spec::ModelSpec{}, 2, 2);
  plan.train.batch = 10;
  plan.train.epochs = 3;
  plan.train_rows = 40;
  plan.validation_rows = 8;
  return plan;
}

inline std::vector<double> StepStats(const TrainingPlan& plan, double loss) {
  std::vector<double> stats(
      model::TotalsSize(plan.shape, model::TotalsKind::kTraining) + kStepExtras, 0.0);
  stats[model::kTotalRows] = stats[model::kTotalWeight] = 10;
  stats[model::kTotalLoss] = loss * 10;
  return stats;
}

inline std::vector<double> EvaluationTotals(const TrainingPlan& plan, double loss) {
  std::vector<double> totals(model::TotalsSize(plan.shape, model::TotalsKind::kEvaluation), 0.0);
  totals[model::kTotalRows] = totals[model::kTotalWeight] = 8;
  totals[model::kTotalLoss] = loss * 8;
  return totals;
}

// Result of Drive, which runs a machine to its end. `letters` has one letter for each action: G
// gradient, U update, L training rows with the restored weights, V validation, T test.
// `validation_loss(k)` gives the loss of evaluation k.
struct Script {
  std::string letters;
  FinishAction finish;
  Status error;
};
inline Script Drive(StepMachine<float>& machine, const std::function<double(int)>& validation_loss,
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
      const bool validation = e->set == spec::FileRole::kValidation;
      script.letters += "LVT"[static_cast<int>(e->set)];
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

inline double One(int) { return 1.0; }

}  // namespace espalier::training
