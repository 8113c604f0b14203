// The round in flight of one member: its result for the member core, and its commit. Computing the
// sums and waiting for the totals are the shell's part.
//
// Thread rule: functions of the machine, which one thread owns.
#pragma once

#include <vector>

#include "src/member/member_core.h"
#include "src/model/metrics.h"
#include "src/training/step_machine.h"

namespace espalier::member {

// Returns the event for the round that `action` begins.
template <typename T>
RoundReached ReachedOf(const training::TrainingState<T>& state, const training::Action& action) {
  using Kind = RoundReached::Kind;
  RoundReached reached;
  reached.round = state.round;
  reached.step = state.step;
  reached.evaluations = state.history.size();
  if (std::holds_alternative<training::EvaluateAction>(action)) reached.kind = Kind::kEvaluation;
  if (std::holds_alternative<training::FinishAction>(action)) reached.kind = Kind::kFinish;
  if (const auto* failed = std::get_if<training::FailAction>(&action)) {
    reached.kind = Kind::kFail;
    reached.error = failed->error;
  }
  return reached;
}

// Commits the complete totals of the round that `action` began, and returns the action of the next
// round. `numbers`: the doubles of the totals. `update` performs an UpdateAction, and returns the
// machine's next action: that of OnUpdated or OnNonfiniteGradient.
template <typename T, typename Update>
training::Action CommitRound(training::StepMachine<T>& machine, const training::Action& action,
                             const double* numbers, const Update& update) {
  training::Action next;
  if (const auto* evaluate = std::get_if<training::EvaluateAction>(&action)) {
    next = machine.OnEvaluation({numbers, numbers + machine.EvaluationSize(evaluate->measure)});
  } else {
    const int64_t size = model::TotalsSize(machine.plan().shape, model::TotalsKind::kTraining) +
                         training::kStepExtras;
    next = machine.OnGradient({numbers, numbers + size});
  }
  // A left-out step that ends a group of accumulated steps is followed by an update without totals.
  while (const auto* step = std::get_if<training::UpdateAction>(&next)) {
    next = update(training::UpdateAction(*step));
  }
  return next;
}

}  // namespace espalier::member
