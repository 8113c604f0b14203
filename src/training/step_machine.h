// The sequence of one training job. StepMachine decides which step, update or evaluation comes
// next, when the job ends, and with which weights. It does no I/O. Computing, sending and writing
// are actions that the trainer performs (src/worker/trainer.h), and their results come back in.
// Every member runs the same machine on the same totals and so makes the same decisions.
//
//   Begin -> Gradient -> (OnGradient) -> Update -> (OnUpdated) -> Gradient ...
//                                                 after an epoch, and at the end:
//                                              -> Evaluate(validation) -> (OnEvaluation) -> ...
//   at the end, with the weights to be saved:  -> Evaluate(train, validation, test) -> Finish
//
// Several fits follow one another in the same way. Trials of temperatures and of shares of the
// constant answer follow. Then come the choice of a threshold or of intervals, and the evaluations
// of the model made from all fits.
//
// With lbfgs, an update follows each pass over all rows, and moves to the next point that the
// optimizer needs (model/lbfgs.h). An evaluation follows each new iterate, including the start.
//
// If the generation ended during a round, Resume begins the round again, on this machine or on
// another one with the same state.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/status.h"
#include "src/model/network.h"
#include "src/model/trials.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/spec/metrics.h"
#include "src/spec/tensors.h"
#include "src/training/step_signals.h"
#include "src/training/training_state.h"

namespace espalier::training {

// Computes and reduces the gradient of `step` (0-based, over all fits), which is step
// `step_of_epoch` of `epoch` of the fit.
struct GradientAction {
  int64_t step = 0, epoch = 0, step_of_epoch = 0;
  int64_t fit = 0;
};
// Applies the total to state().parameters and state().slots, which is the commit
// (training/update.h). If several steps make an update, `add` only adds the total to
// state().accumulated, and the last of them also applies the sum. With lbfgs, Advance applies it.
struct UpdateAction {
  bool add = false, apply = true;
  double inverse_weight = 0;  // 1 / weight of all rows whose gradients are applied
  double learning_rate = 0;
  double decay_share = 1;  // factor for weight_decay
  int64_t update = 0;      // 1-based number of this update
  int64_t averaged = 0;    // 1-based number among the averaged updates; 0: not averaged
};
// Sums of an evaluation over rows: TotalsKind::kEvaluation, the sums of the machine's Trials()
// (model/trials.h), or residuals (model/decision.h).
enum class Measure { kTotals, kTrials, kResiduals };
// Evaluates the machine's EvaluationParts() on a set and reduces EvaluationSize(measure) sums.
struct EvaluateAction {
  spec::FileRole set = spec::FileRole::kValidation;
  Measure measure = Measure::kTotals;
};
// The weights and the rows of one part of an evaluation.
template <typename T>
struct EvaluationPart {
  model::NetworkShape shape;
  AlignedVector<T> made;          // the weights, if no vector of the state has them
  const T* parameters = nullptr;  // points into the state or to `made`
  int64_t fold = -1;              // fold of the training rows; -1: all rows of the set
};
// The job is over. state().parameters are the weights to save.
struct FinishAction {
  int64_t steps = 0;
  double epochs = 0;
  spec::Metrics train;
  std::optional<spec::Metrics> validation, test;
  // Epochs of the evaluation with the saved weights, by fit, if the best weights are restored. All
  // metrics are of these weights.
  std::vector<double> best_epochs;
  std::optional<spec::ChosenThreshold> threshold;
  std::optional<spec::PredictionIntervals> intervals;
  int64_t skipped_steps = 0;  // steps that were not finite
  // "epochs", "steps", "time", "request" or "early stopping"; with gd and lbfgs also "convergence";
  // with lbfgs also "iterations" and "line search"; with restored weights also "divergence".
  std::string stopped_because;
};
struct FailAction {
  Status error;
};
using Action = std::variant<GradientAction, UpdateAction, EvaluateAction, FinishAction, FailAction>;

// Returns 2^(512 - leaf), for leaves below 1024. The sum of distinct marks has the first leaf as
// its exponent, and every mark is a normal number.
double NonfiniteMark(int32_t leaf);

// The properties of the job that the machine needs.
struct TrainingPlan {
  spec::TrainSpec train;
  model::NetworkShape shape;
  std::vector<spec::FittedTarget> targets;
  int64_t train_rows = 0, validation_rows = 0, test_rows = 0;
  std::vector<double> class_weights = {};  // weights of Preprocessing, by class
  // Initial parameters in place of the seed's. Null: none.
  std::shared_ptr<const std::vector<spec::InitialTensor>> initial = nullptr;
  bool starts_at_constant = false;  // FittedTarget::start is set

  // Returns the training rows of a fit. With folds, the number is approximate.
  int64_t FitRows() const;
  bool HoldsOut() const { return validation_rows > 0 || spec::FoldsOf(train) > 0; }
  // Returns whether the model consists of the weights of several fits.
  bool Averages() const { return spec::HasFits(train); }
  bool Assembles() const { return spec::Assembles(train); }
  // Returns the maximum number of sums that an evaluation of any kind reduces.
  int64_t EvaluationNumbersMax() const;
  // Returns whether the job chooses a threshold or intervals by the held-out rows.
  bool Decides() const {
    return train.threshold.kind != spec::ThresholdKind::kNone || train.intervals > 0;
  }

  int64_t StepsPerEpoch() const;
  // Returns the maximum steps of a fit, by epochs and steps. 0: only time ends the job.
  int64_t StepsTotal() const;
  // Returns the number of steps whose gradients make one update. The last update of an epoch may
  // have fewer.
  int64_t StepsPerUpdate() const;
  // Returns whether the optimizer requests evaluations at points: lbfgs.
  bool Searches() const { return train.optimizer.kind == spec::OptimizerKind::kLbfgs; }
  bool Accumulates() const { return Searches() || StepsPerUpdate() > 1; }
};

// Returns the network of state.parameters: that of a fit, or in the end that of the model.
template <typename T>
model::NetworkShape ShapeOfParameters(const TrainingPlan& plan, const TrainingState<T>& state);

template <typename T>
class StepMachine {
 public:
  // Starts from the seed's initial parameters and those of plan.initial.
  explicit StepMachine(TrainingPlan plan);
  // Continues from a state. Resume must be the first call.
  StepMachine(TrainingPlan plan, TrainingState<T> state);

  // Returns the state from which a finished run continues toward another end. With several fits,
  // some may have finished before a later end. Each fit then continues from its kept weights, with
  // a new optimizer, and they stay the best ones until an evaluation is better.
  static TrainingState<T> WithEnd(TrainingPlan plan, TrainingState<T> state);

  Action Begin();
  // Returns the action of the round in flight again.
  Action Resume() const;
  // `stats`: TotalsSize(shape, kTraining) + kStepExtras values.
  Action OnGradient(const std::vector<double>& stats);
  Action OnUpdated();
  // Replaces OnUpdated if the total of the gradient contains a non-finite value and nothing was
  // applied.
  Action OnNonfiniteGradient();
  // `totals`: EvaluationSize(measure) values.
  Action OnEvaluation(const std::vector<double>& totals);

  TrainingState<T>& state() { return state_; }
  const TrainingState<T>& state() const { return state_; }
  const TrainingPlan& plan() const { return plan_; }
  // Returns the weights for an EvaluateAction: the averaged ones, if any, or those of the newest
  // iterate while lbfgs runs.
  const AlignedVector<T>& Evaluated() const {
    if (plan_.Searches() && state_.stopped_because.empty())
      return state_.slots[model::kLbfgsIterate];
    return state_.averaged_updates > 0 ? state_.averaged : state_.parameters;
  }
  // Returns the parts of an EvaluateAction: the weights above, or all fits. Valid until the state
  // changes.
  std::vector<EvaluationPart<T>> EvaluationParts() const;
  model::Trials Trials() const;
  int64_t EvaluationSize(Measure measure) const;
  // Returns the maximum number of steps of this and later fits, plus the earlier steps. 0: unknown.
  int64_t AllSteps() const;
  // Returns the number of the current fit, from 1, and its completed epochs. After the last fit,
  // they are those of that fit.
  int64_t CurrentFit() const;
  double FitEpoch() const;
  // Returns the running metrics of the current epoch.
  spec::Metrics EpochMetrics() const;
  double LearningRateNow() const;

 private:
  Action NonfiniteStep(const std::string& where);
  Action EndWithoutStep();
  Status Diverged() const;
  // Ends a step that adds nothing. An update of the steps before it may be due.
  Action LeftOut();
  UpdateAction MakeUpdate(bool add) const;
  bool EndsGroup() const;  // the step in flight completes the steps of an update
  Action AfterStep();
  Action AfterPass();  // lbfgs only
  Action EvaluateEpoch();
  Action AfterEvaluation();
  // Returns the reason why the job is over, if it is.
  std::optional<std::string> EndNow() const;
  Action End(std::string why);
  // step_machine_fits.cc
  int64_t FitStep() const { return state_.step - state_.ensemble.begun_step; }
  FitRecord RecordOfFit() const;
  Action EndFit();
  Action LeaveFitOut();
  void BeginFit();
  Action AfterFits();
  Action OnOutOfFold(const std::vector<double>& totals);
  Action OnTrials(const std::vector<double>& sums);
  Action Assemble();
  Action OnDecision(const std::vector<double>& sums);
  bool KeepsLast() const;
  Action FinalValidation();
  Action FinalTestOrFinish();
  Action Finish();
  FinishAction Finished() const;
  std::optional<spec::PredictionIntervals> Intervals() const;
  void Record();
  // Returns a metric of the last evaluation ("val_loss") or epoch ("loss").
  std::optional<double> Value(std::string_view metric) const;
  // Returns an error if this data does not have a metric that the job is judged by.
  Status CheckMetrics() const;
  // Keeps the best evaluation. Returns true if patience is over.
  bool JudgeEarlyStopping();
  void JudgePlateau();

  TrainingPlan plan_;
  TrainingState<T> state_;
  double step_weight_ = 0;  // weight of the step's total, between OnGradient and OnUpdated
};

}  // namespace espalier::training
