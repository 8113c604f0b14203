// The job state: all that a member must hold to go on with a job. One struct, so that a joiner, a
// checkpoint and a resumed run can never lack a part of it.
//
// Thread rule: owned by the trainer's thread; its pool writes `parameters` and `slots` during an
// update and nobody reads meanwhile.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "src/base/aligned.h"
#include "src/model/lbfgs.h"
#include "src/spec/metrics.h"

namespace espalier::training {

// What the round in flight is for.
enum class TrainingPhase : uint8_t {
  kSteps,            // the gradient of step `step`
  kEpochEvaluation,  // the validation set, after an epoch
  kFinalValidation,  // the validation set with the restored weights
  kFinalTest,        // the test set
  kFinished,         // none: the job is over
  kFinalTraining,    // the training set with the restored weights, or with the model of all fits
  kOutOfFold,        // the rows that each fit holds out, by that fit
  kTrials,           // the same, or the validation set: model/trials.h
  kDecision,         // the same, of the model of all fits: model/decision.h
};

// Of gradient descent over all rows.
struct DescentState {
  bool converged = false;  // the newest update moved the parameters less than step_tolerance asks
};

// What the result reports about the run.
struct TrainingNotes {
  // The best evaluation by early stopping's metric: the step whose weights are restored.
  std::optional<double> kept_value;
  int64_t kept_step = -1;
  int64_t skipped_steps = 0;  // with on_nonfinite: skip
  bool by_request = false;    // a client ends it early
};

// What the fits before this one have come to.
template <typename T>
struct EnsembleState {
  int64_t fit = 0;           // underway, counted from 0; once the fits are over, how many there are
  int64_t begun_step = 0;    // TrainingState::step at its beginning
  AlignedVector<T> weights;  // of the finished fits, one after another
  std::vector<double> best_epochs;  // of the finished fits, where the best weights are restored
  std::vector<double> steps;        // that each finished fit has taken, over all runs
  std::vector<double> answer;       // the constant one; empty unless the job shrinks
  double temperature = 1;           // that the outputs are divided by
  double share = 0;                 // of the constant answer
  // Choices by the held-out rows: a threshold between two classes, and half-widths of prediction
  // intervals by target, in the units of training.
  std::optional<spec::ChosenThreshold> threshold;
  std::vector<double> thresholds;  // NetworkShape::thresholds
  std::vector<double> half_widths;
  // Of a run that got a later end: the weights with which its fits go on, one after another, and
  // the steps that each of them has taken.
  AlignedVector<T> earlier;
  std::vector<double> earlier_steps;
};

// A member's state is always that of a moment between two rounds: all totals before `round` are
// applied, none of `round` is.
template <typename T>
struct TrainingState {
  AlignedVector<T> parameters;          // flat, see plan/chunks.h; with lbfgs, where loss and
                                        // gradient are asked for, until the job ends; of several
                                        // fits of the one underway, and then the model's
  std::vector<AlignedVector<T>> slots;  // the optimizer's, each like parameters
  int64_t step = 0;                     // committed steps
  int64_t updates = 0;                  // of them, those that changed the parameters; lbfgs:
                                        // its iterations
  uint64_t round = 0;  // reductions begun: the number of the newest, which is in flight; once the
                       // job is finished, of the one that would be next
  TrainingPhase phase = TrainingPhase::kSteps;
  bool time_is_up = false;
  std::vector<double> epoch_totals;    // what the steps of this epoch added up to (model/metrics.h)
  std::optional<spec::Metrics> train;  // of the last finished epoch (or the part of one at the end)
  std::optional<spec::Metrics> validation;  // of the last evaluation
  std::vector<spec::HistoryRow> history;    // of all evaluations, without confusion matrices
  std::vector<std::string> accepted;  // differences that were accepted when the job was resumed
  // Early stopping. A gain is more than min_delta; the best evaluation may be a later one.
  int64_t evaluations_without_gain = 0;
  std::optional<double> best_value;
  int64_t best_step = -1;
  AlignedVector<T> best_parameters;  // empty unless they are to be restored
  // Gradients of steps whose update is to come: their sum, like parameters (empty where each step
  // updates, but for lbfgs), and the weight of its rows.
  AlignedVector<T> accumulated;
  double accumulated_weight = 0;
  // Averaged weights, like parameters (empty unless the job averages), and how many updates they
  // are of; 0 also once they have become the parameters, at the end.
  AlignedVector<T> averaged;
  int64_t averaged_updates = 0;
  // A plateau schedule: its best value, the evaluations since then, those that are still not to
  // count, and what the reductions have left of the learning rate.
  std::optional<double> plateau_best;
  int64_t plateau_evaluations = 0, plateau_cooldown = 0;
  double rate_left = 1;
  model::LbfgsState lbfgs;  // of that optimizer alone
  spec::AsyncCounts async;  // of asynchronous training alone
  DescentState descent;
  TrainingNotes notes;
  EnsembleState<T> ensemble;
  // The end.
  std::string stopped_because;
  std::optional<spec::Metrics> final_validation, test;

  // Calls visit(field) for each, in an order that never changes. A field that is missing here does
  // not compile.
  template <typename State, typename Visitor>
  static void VisitFields(State& state, Visitor&& visit) {
    auto& [parameters, slots, step, updates, round, phase, time_is_up, epoch_totals, train,
           validation, history, accepted, evaluations_without_gain, best_value, best_step,
           best_parameters, accumulated, accumulated_weight, averaged, averaged_updates,
           plateau_best, plateau_evaluations, plateau_cooldown, rate_left, lbfgs, async, descent,
           notes, ensemble, stopped_because, final_validation, test] = state;
    visit(parameters), visit(slots), visit(step), visit(updates), visit(round), visit(phase);
    visit(time_is_up), visit(epoch_totals), visit(train), visit(validation);
    visit(history), visit(accepted);
    visit(evaluations_without_gain), visit(best_value), visit(best_step), visit(best_parameters);
    visit(accumulated), visit(accumulated_weight), visit(averaged), visit(averaged_updates);
    visit(plateau_best), visit(plateau_evaluations), visit(plateau_cooldown), visit(rate_left);
    visit(lbfgs), visit(async), visit(descent), visit(notes), visit(ensemble);
    visit(stopped_because), visit(final_validation), visit(test);
  }
};

}  // namespace espalier::training
