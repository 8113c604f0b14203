// The sequence of one training job: which step, which update, which evaluation comes next, when it
// ends and with which weights. Pure: computing, sending and writing are actions that the trainer
// performs (src/worker/trainer.h); what they yield comes back in. Every member runs the same
// machine on the same totals and so decides alike.
//
//   Begin -> Gradient -> (OnGradient) -> Update -> (OnUpdated) -> Gradient ...
//                                                 after an epoch, and at the end:
//                                              -> Evaluate(validation) -> (OnEvaluation) -> ...
//   at the end, with the weights to be saved:  -> Evaluate(train, validation, test) -> Finish
//
// Several fits follow one another in the same way. Then come the trials of temperatures and of
// shares of the constant answer, the choice of a threshold or of intervals, and the evaluations of
// the model that all fits make.
//
// With lbfgs an update comes after each pass over all rows, and moves to the next point that it
// wants to know of (model/lbfgs.h); an evaluation comes with each new iterate, the start included.
//
// A round that was begun and never answered (the generation ended) is begun again by Resume, on
// this machine or on another one with the same state.
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
#include "src/training/training_state.h"

namespace espalier::training {

// Compute and reduce the gradient of `step` (0-based, over all fits), which is step `step_of_epoch`
// of `epoch` of the fit.
struct GradientAction {
  int64_t step = 0, epoch = 0, step_of_epoch = 0;
  int64_t fit = 0;
};
// Apply the total to state().parameters and state().slots: the commit (training/update.h). Where
// several steps make an update, `add` only adds the total to state().accumulated, and the last of
// them also applies that. With lbfgs, applying is Advance.
struct UpdateAction {
  bool add = false, apply = true;
  double inverse_weight = 0;  // of the weight of all rows whose gradients are applied
  double learning_rate = 0;
  double decay_share = 1;  // of weight_decay
  int64_t update = 0;      // 1-based count of updates, this one included
  int64_t averaged = 0;    // 1-based count of those that are averaged, or 0: this one is not
};
// Sums of an evaluation over rows: TotalsKind::kEvaluation, the sums of the machine's Trials()
// (model/trials.h), or residuals (model/decision.h).
enum class Measure { kTotals, kTrials, kResiduals };
// Evaluate the machine's EvaluationParts() on a set and reduce EvaluationSize(measure) sums.
struct EvaluateAction {
  spec::FileRole set = spec::FileRole::kValidation;
  Measure measure = Measure::kTotals;
};
// Weights to evaluate, and the rows.
template <typename T>
struct EvaluationPart {
  model::NetworkShape shape;
  AlignedVector<T> made;          // the weights, where no vector of the state has them
  const T* parameters = nullptr;  // into the state, or `made`
  int64_t fold = -1;              // of the training rows; -1: all rows of the set
};
// The job is over; state().parameters are the weights to save.
struct FinishAction {
  int64_t steps = 0;
  double epochs = 0;
  spec::Metrics train;
  std::optional<spec::Metrics> validation, test;
  // Of the evaluation whose weights these are, by fit, where the best are restored. All metrics are
  // of these weights.
  std::vector<double> best_epochs;
  std::optional<spec::ChosenThreshold> threshold;
  std::optional<spec::PredictionIntervals> intervals;
  int64_t skipped_steps = 0;  // that were not finite
  // "epochs", "steps", "time", "request", "early stopping"; gd, lbfgs: "convergence"; lbfgs:
  // "iterations", "line search"; where weights were restored: "divergence"
  std::string stopped_because;
};
struct FailAction {
  Status error;
};
using Action = std::variant<GradientAction, UpdateAction, EvaluateAction, FinishAction, FailAction>;

// What the members' leaves add to the totals of a step, after model/metrics.h's kTraining part.
enum StepExtra : int64_t {
  kExtraNonfiniteLeaves = 0,  // sum of NonfiniteMark over leaves with a non-finite row
  kExtraTimeIsUp = 1,         // from the root: kEndedByTime or kEndedByRequest, else 0
  kExtraSwitch = 2,           // from the root: the generation that begins after this step, else 0
  kExtraAgree = 3,            // 1 from the root: the states are compared in the next step too
  kStepExtras = 4,
};

// Why the step is the last one: `max_time` is over, or a client wants the weights as they are.
inline constexpr double kEndedByTime = 1, kEndedByRequest = 2;

// 2^(512 - leaf), for leaves below 1024: the sum of distinct marks keeps the first leaf as its
// exponent, and no mark is too small for a normal number.
double NonfiniteMark(int32_t leaf);

// What the machine needs to know of the job.
struct TrainingPlan {
  spec::TrainSpec train;
  model::NetworkShape shape;
  std::vector<spec::FittedTarget> targets;
  int64_t train_rows = 0, validation_rows = 0, test_rows = 0;
  std::vector<double> class_weights = {};  // Preprocessing's, of classes
  // What training begins with in place of the seed's parameters; null: nothing.
  std::shared_ptr<const std::vector<spec::InitialTensor>> initial = nullptr;

  // Training rows of a fit; with folds, about.
  int64_t FitRows() const;
  bool HoldsOut() const { return validation_rows > 0 || spec::FoldsOf(train) > 0; }
  // Whether the model is made of the weights of several fits.
  bool Averages() const { return spec::HasFits(train); }
  bool Assembles() const { return spec::Assembles(train); }
  // Returns the most numbers that an evaluation of any kind reduces.
  int64_t EvaluationNumbersMax() const;
  // Whether a threshold or intervals are chosen by the held-out rows.
  bool Decides() const {
    return train.threshold.kind != spec::ThresholdKind::kNone || train.intervals > 0;
  }

  int64_t StepsPerEpoch() const;
  // Steps of a fit at the most, by epochs and steps; 0 when only time ends the job.
  int64_t StepsTotal() const;
  // Whose gradients make one update; an epoch's last update may be of fewer.
  int64_t StepsPerUpdate() const;
  // Whether the optimizer asks for evaluations at points: lbfgs.
  bool Searches() const { return train.optimizer.kind == spec::OptimizerKind::kLbfgs; }
  bool Accumulates() const { return Searches() || StepsPerUpdate() > 1; }
};

// The network that state.parameters are of: that of a fit, or in the end the model.
template <typename T>
model::NetworkShape ShapeOfParameters(const TrainingPlan& plan, const TrainingState<T>& state);

template <typename T>
class StepMachine {
 public:
  // Starts from the seed's initial parameters and those of plan.initial.
  explicit StepMachine(TrainingPlan plan);
  // Goes on from a state; Resume comes first.
  StepMachine(TrainingPlan plan, TrainingState<T> state);

  // The state of a run that has got another end, from which it goes on. With several fits, some of
  // them finished before a later end: each fit goes on from its weights, with a new optimizer.
  static TrainingState<T> WithEnd(TrainingPlan plan, TrainingState<T> state);

  Action Begin();
  // The action of the round in flight, once more.
  Action Resume() const;
  // `stats`: TotalsSize(shape, kTraining) + kStepExtras values.
  Action OnGradient(const std::vector<double>& stats);
  Action OnUpdated();
  // Instead of OnUpdated: the total of the gradient holds a value that is no finite number, and
  // nothing was applied.
  Action OnNonfiniteGradient();
  // `totals`: EvaluationSize(measure) values.
  Action OnEvaluation(const std::vector<double>& totals);

  TrainingState<T>& state() { return state_; }
  const TrainingState<T>& state() const { return state_; }
  const TrainingPlan& plan() const { return plan_; }
  // The weights that EvaluateAction is about: the averaged ones, once there are any; those of the
  // newest iterate, while lbfgs is at work.
  const AlignedVector<T>& Evaluated() const {
    if (plan_.Searches() && state_.stopped_because.empty())
      return state_.slots[model::kLbfgsIterate];
    return state_.averaged_updates > 0 ? state_.averaged : state_.parameters;
  }
  // What an EvaluateAction is about: of the weights above, or of all fits. Valid until the state
  // changes.
  std::vector<EvaluationPart<T>> EvaluationParts() const;
  model::Trials Trials() const;
  int64_t EvaluationSize(Measure measure) const;
  // Steps of this fit and of the ones after it, at the most, and those before; 0: unknown.
  int64_t AllSteps() const;
  // Running metrics of the current epoch.
  spec::Metrics EpochMetrics() const;
  double LearningRateNow() const;

 private:
  Action NonfiniteStep(const std::string& where);
  Action EndWithoutStep();
  Status Diverged() const;
  // The step in flight adds nothing; an update of the steps before it may be due.
  Action LeftOut();
  UpdateAction MakeUpdate(bool add) const;
  bool EndsGroup() const;  // the step in flight, of those that make an update
  Action AfterStep();
  Action AfterPass();  // of lbfgs
  Action EvaluateEpoch();
  Action AfterEvaluation();
  // Why the job is over, if it is.
  std::optional<std::string> EndNow() const;
  Action End(std::string why);
  // step_machine_fits.cc
  int64_t FitStep() const { return state_.step - state_.ensemble.begun_step; }
  Action EndFit();
  Action LeaveFitOut();
  void BeginFit();
  Action AfterFits();
  Action OnOutOfFold(const std::vector<double>& totals);
  Action OnTrials(const std::vector<double>& sums);
  Action Assemble();
  Action OnDecision(const std::vector<double>& sums);
  Action FinalValidation();
  Action FinalTestOrFinish();
  Action Finish();
  FinishAction Finished() const;
  std::optional<spec::PredictionIntervals> Intervals() const;
  void Record();
  // The value of a metric of the last evaluation ("val_loss") or epoch ("loss").
  std::optional<double> Value(std::string_view metric) const;
  // Keeps the best; true when patience is over.
  Status CheckMetrics() const;
  bool JudgeEarlyStopping();
  void JudgePlateau();

  TrainingPlan plan_;
  TrainingState<T> state_;
  double step_weight_ = 0;  // between OnGradient and OnUpdated: of the step's total
};

}  // namespace espalier::training
