// The job state: all data that a member needs to continue a job. It is one struct, so that a
// joiner, a checkpoint and a resumed run always have all parts.
//
// Thread rule: owned by the trainer's thread. Its pool writes `parameters` and `slots` during an
// update, and no thread reads them in the meantime.
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

// Purpose of the round in flight.
enum class TrainingPhase : uint8_t {
  kSteps,            // the gradient of step `step`
  kEpochEvaluation,  // the validation set, after an epoch
  kFinalValidation,  // the validation set with the restored weights
  kFinalTest,        // the test set
  kFinished,         // no round: the job is over
  kFinalTraining,    // the training set with the best weights, or with the model of all fits
  kOutOfFold,        // the rows that each fit holds out, with that fit
  kTrials,           // the same rows, or the validation set: model/trials.h
  kDecision,         // the same rows, with the model of all fits: model/decision.h
};

// State of gradient descent over all rows.
struct DescentState {
  bool converged = false;  // the newest update moved the parameters less than step_tolerance
};

// Information about the run for the result.
struct TrainingNotes {
  // The best evaluation by the metric of early stopping. Its step is the one whose weights are
  // restored.
  std::optional<double> kept_value;
  int64_t kept_step = -1;
  int64_t skipped_steps = 0;  // counted with on_nonfinite: skip
  bool by_request = false;    // a client ends the job early
};

// A fit that is over, or that a run with a later end continues.
struct FitRecord {
  double steps = 0;  // taken, over all runs
  // The best evaluation of the fit, counted in its own steps, if its weights are kept; otherwise -1
  // and 0, and the weights are the last ones.
  double kept_step = -1;
  double kept_value = 0;
  bool operator==(const FitRecord&) const = default;
};

// Results of the fits before this one.
template <typename T>
struct EnsembleState {
  int64_t fit = 0;                  // current fit, from 0; number of fits once they are over
  int64_t begun_step = 0;           // TrainingState::step at the start of this fit
  AlignedVector<T> weights;         // weights of the finished fits, one after another
  std::vector<FitRecord> finished;  // by finished fit
  std::vector<double> answer;       // the constant answer; empty unless the job shrinks
  double temperature = 1;           // divisor of the outputs
  double share = 0;                 // share of the constant answer
  // Choices by the held-out rows: a threshold between two classes, and half-widths of prediction
  // intervals by target, in the units of training.
  std::optional<spec::ChosenThreshold> threshold;
  std::vector<double> thresholds;  // NetworkShape::thresholds
  std::vector<double> half_widths;
  // After a run got a later end: the weights from which its fits continue, one after another, and
  // the record of each fit.
  AlignedVector<T> earlier;
  std::vector<FitRecord> earlier_fits;
};

// A member's state is always between two rounds: all totals before `round` are applied, none of
// `round` is.
template <typename T>
struct TrainingState {
  AlignedVector<T> parameters;          // flat, see plan/chunks.h; with lbfgs, the point of the
                                        // next loss and gradient until the job ends; with several
                                        // fits, those of the current fit, and at the end those of
                                        // the model
  std::vector<AlignedVector<T>> slots;  // optimizer slots, each like parameters
  int64_t step = 0;                     // committed steps
  int64_t updates = 0;                  // steps that changed the parameters; with lbfgs: its
                                        // iterations
  uint64_t round = 0;  // reductions begun, which is the number of the newest one, in flight; once
                       // the job is finished, the number of the next one
  TrainingPhase phase = TrainingPhase::kSteps;
  bool time_is_up = false;
  std::vector<double> epoch_totals;         // sums over the steps of this epoch (model/metrics.h)
  std::optional<spec::Metrics> train;       // last finished epoch (or, at the end, part of one)
  std::optional<spec::Metrics> validation;  // last evaluation
  std::vector<spec::HistoryRow> history;    // all evaluations, without confusion matrices
  std::vector<std::string> accepted;        // differences accepted when the job was resumed
  // Early stopping. A gain is more than min_delta. The best evaluation may be a later one.
  int64_t evaluations_without_gain = 0;
  std::optional<double> best_value;
  int64_t best_step = -1;
  AlignedVector<T> best_parameters;  // empty unless the job restores them
  // Sum of the gradients whose update is still to come, like parameters, and the weight of its
  // rows. The sum is empty if each step updates, except with lbfgs.
  AlignedVector<T> accumulated;
  double accumulated_weight = 0;
  // Averaged weights, like parameters (empty unless the job averages), and the number of updates in
  // the average. The number is 0 again once they have become the parameters, at the end.
  AlignedVector<T> averaged;
  int64_t averaged_updates = 0;
  // A plateau schedule: its best value, the evaluations since then, the evaluations left in the
  // cooldown, and the remaining factor of the learning rate after its reductions.
  std::optional<double> plateau_best;
  int64_t plateau_evaluations = 0, plateau_cooldown = 0;
  double rate_left = 1;
  model::LbfgsState lbfgs;  // only for that optimizer
  spec::AsyncCounts async;  // only for asynchronous training
  DescentState descent;
  TrainingNotes notes;
  EnsembleState<T> ensemble;
  // The end of the job.
  std::string stopped_because;
  std::optional<spec::Metrics> final_validation, test;

  // Calls visit(field) for each field, in an order that never changes. A missing field is a compile
  // error.
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
