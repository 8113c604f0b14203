#include "src/training/step_machine.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "src/base/check.h"
#include "src/model/decision.h"
#include "src/model/metrics.h"
#include "src/model/optimizer.h"
#include "src/model/schedule.h"
#include "src/plan/rows.h"

namespace espalier::training {

namespace {

constexpr int kFirstMark = 512;  // exponent of leaf 0's mark

FailAction Weightless() {
  return {
      BadInput("the training rows have no weight above 0; see data.weight and train.class_weight")};
}

}  // namespace

double NonfiniteMark(int32_t leaf) { return std::ldexp(1.0, kFirstMark - leaf); }

int64_t TrainingPlan::FitRows() const { return spec::FitRows(train, train_rows); }

int64_t TrainingPlan::StepsPerEpoch() const {
  return espalier::plan::StepsPerEpoch(FitRows(), train.batch);
}

int64_t TrainingPlan::StepsTotal() const {
  int64_t steps = 0;
  if (const auto epochs = spec::EpochLimit(train)) {
    steps = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(*epochs * StepsPerEpoch())));
  }
  if (train.steps) steps = steps == 0 ? *train.steps : std::min(steps, *train.steps);
  return steps;
}

int64_t TrainingPlan::StepsPerUpdate() const {
  const bool whole = train.optimizer.kind == spec::OptimizerKind::kGd || Searches();
  return whole ? StepsPerEpoch() : train.accumulate_steps;
}

int64_t TrainingPlan::EvaluationNumbersMax() const {
  int64_t most =
      std::max(model::TotalsSize(shape, model::TotalsKind::kEvaluation), model::TrialsMost());
  if (train.intervals > 0) most = std::max(most, model::ResidualsSize(shape));
  return most;
}

template <typename T>
StepMachine<T>::StepMachine(TrainingPlan plan) : plan_(std::move(plan)) {
  BeginFit();
}

template <typename T>
StepMachine<T>::StepMachine(TrainingPlan plan, TrainingState<T> state)
    : plan_(std::move(plan)), state_(std::move(state)) {}

template <typename T>
Action StepMachine<T>::Begin() {
  ++state_.round;
  return Resume();
}

template <typename T>
Action StepMachine<T>::Resume() const {
  const int64_t per_epoch = plan_.StepsPerEpoch();
  const spec::FileRole held_out =
      spec::FoldsOf(plan_.train) > 0 ? spec::FileRole::kTrain : spec::FileRole::kValidation;
  switch (state_.phase) {
    case TrainingPhase::kSteps:
      return GradientAction{state_.step, FitStep() / per_epoch, FitStep() % per_epoch,
                            state_.ensemble.fit};
    case TrainingPhase::kEpochEvaluation:
    case TrainingPhase::kFinalValidation:
    case TrainingPhase::kOutOfFold:
      return EvaluateAction{held_out};
    case TrainingPhase::kTrials:
      return EvaluateAction{held_out, Measure::kTrials};
    case TrainingPhase::kDecision:
      return EvaluateAction{held_out,
                            plan_.train.intervals > 0 ? Measure::kResiduals : Measure::kTotals};
    case TrainingPhase::kFinalTraining:
      return EvaluateAction{spec::FileRole::kTrain};
    case TrainingPhase::kFinalTest:
      return EvaluateAction{spec::FileRole::kTest};
    case TrainingPhase::kFinished:
      return Finished();
  }
  return Finished();
}

template <typename T>
double StepMachine<T>::LearningRateNow() const {
  return model::LearningRate(plan_.train, FitStep(), plan_.StepsPerEpoch(), plan_.StepsTotal(),
                             state_.rate_left);
}

template <typename T>
spec::Metrics StepMachine<T>::EpochMetrics() const {
  return model::MetricsFromTotals(plan_.shape, plan_.targets, model::TotalsKind::kTraining,
                                  state_.epoch_totals);
}

template <typename T>
Action StepMachine<T>::OnGradient(const std::vector<double>& stats) {
  const size_t size = state_.epoch_totals.size();
  ESPALIER_CHECK(stats.size() == size + kStepExtras, std::to_string(stats.size()) + " statistics");
  state_.time_is_up = state_.time_is_up || stats[size + kExtraEnds] > 0;
  state_.notes.by_request = state_.notes.by_request ||
                            stats[size + kExtraEnds] == static_cast<double>(StepEnds::kByRequest);
  if (stats[model::kTotalNonfinite] != 0 || !std::isfinite(stats[model::kTotalLoss])) {
    const double marks = stats[size + kExtraNonfiniteLeaves];
    if (!(marks > 0)) return NonfiniteStep("the sum of all leaves: the loss");
    const int leaf = kFirstMark - std::ilogb(marks);
    return NonfiniteStep("leaf " + std::to_string(leaf) + ": the loss or a gradient");
  }
  model::AddTotals(state_.epoch_totals.data(), stats.data(), static_cast<int64_t>(size));
  const double weight = stats[model::kTotalWeight];
  if (weight == 0) return LeftOut();
  step_weight_ = weight;
  return MakeUpdate(!state_.accumulated.empty());
}

template <typename T>
bool StepMachine<T>::EndsGroup() const {
  const int64_t next = FitStep() + 1, total = plan_.StepsTotal();
  const int64_t of_epoch = next % plan_.StepsPerEpoch();
  if (plan_.Searches()) return of_epoch == 0;
  return state_.time_is_up || (total > 0 && next >= total) || of_epoch == 0 ||
         of_epoch % plan_.StepsPerUpdate() == 0;
}

template <typename T>
UpdateAction StepMachine<T>::MakeUpdate(bool add) const {
  UpdateAction update;
  update.add = add;
  update.apply = EndsGroup();
  const double weight = state_.accumulated_weight + step_weight_;
  update.inverse_weight = weight > 0 ? 1.0 / weight : 0;
  update.learning_rate = LearningRateNow();
  update.decay_share = model::DecayShare(plan_.train, FitStep(), plan_.StepsTotal());
  update.update = state_.updates + 1;
  const spec::Averaging& averaging = plan_.train.averaging;
  const bool averages = averaging.kind != spec::AveragingKind::kNone &&
                        FitStep() >= model::SpanSteps(averaging.start, plan_.StepsPerEpoch());
  if (update.apply && averages) update.averaged = state_.averaged_updates + 1;
  return update;
}

template <typename T>
Action StepMachine<T>::LeftOut() {
  step_weight_ = 0;
  const bool due = state_.accumulated_weight > 0 || state_.lbfgs.nonfinite;
  if (due && EndsGroup()) return MakeUpdate(false);
  if (plan_.Searches() && EndsGroup()) return Weightless();
  ++state_.step;
  return AfterStep();
}

template <typename T>
Action StepMachine<T>::OnNonfiniteGradient() {
  return NonfiniteStep("the sum of all leaves: the gradient");
}

template <typename T>
Action StepMachine<T>::NonfiniteStep(const std::string& where) {
  if (state_.lbfgs.begun && plan_.train.optimizer.line_search != spec::LineSearchKind::kNone) {
    state_.lbfgs.nonfinite = true;  // the point is too far
    return LeftOut();
  }
  if (!plan_.train.skip_nonfinite) {
    if (!state_.best_parameters.empty()) return End("divergence");
    if (state_.ensemble.fit > 0) return LeaveFitOut();
    return FailAction{Status(
        StatusCode::kBadInput,
        "step " + std::to_string(state_.step + 1) + ", " + where + " is not a finite number; " +
            (state_.lbfgs.begun ? "choose line_search: strong_wolfe in train.optimizer"
             : plan_.Searches()
                 ? "look for extreme values in the data (espalier check) or in train.initial"
                 : "lower train.optimizer's learning_rate, set train.clip_norm, look for extreme "
                   "values in the data (espalier check), or choose train.on_nonfinite: skip"))};
  }
  ++state_.notes.skipped_steps;
  return LeftOut();
}

template <typename T>
Action StepMachine<T>::OnUpdated() {
  const UpdateAction done = MakeUpdate(!state_.accumulated.empty());
  if (done.apply) {
    state_.updates = plan_.Searches() ? state_.lbfgs.iterations : done.update;
    state_.averaged_updates = std::max(state_.averaged_updates, done.averaged);
    state_.accumulated_weight = 0;
  } else {
    state_.accumulated_weight += step_weight_;
  }
  ++state_.step;
  return plan_.Searches() && done.apply ? AfterPass() : AfterStep();
}

template <typename T>
std::optional<std::string> StepMachine<T>::EndNow() const {
  const int64_t total = plan_.StepsTotal();
  if (state_.descent.converged) return "convergence";
  if (plan_.Searches()) {
    const model::LbfgsState& s = state_.lbfgs;
    if (s.verdict == model::LbfgsVerdict::kConverged) return "convergence";
    if (s.verdict == model::LbfgsVerdict::kStuck) return "line search";
    if (s.iterations >= plan_.train.optimizer.max_iterations) return "iterations";
  }
  if (total > 0 && FitStep() >= total) {
    return plan_.train.steps == total ? "steps" : "epochs";
  }
  if (state_.time_is_up) return state_.notes.by_request ? "request" : "time";
  return std::nullopt;
}

// Handles the end of a pass of lbfgs. Only an iterate has metrics. A point on the way to one has
// none, and neither does an interrupted pass, unless it is the only one.
template <typename T>
Action StepMachine<T>::AfterPass() {
  const model::LbfgsVerdict verdict = state_.lbfgs.verdict;
  if (verdict == model::LbfgsVerdict::kMoved || verdict == model::LbfgsVerdict::kConverged) {
    return EvaluateEpoch();
  }
  std::fill(state_.epoch_totals.begin(), state_.epoch_totals.end(), 0.0);
  if (auto why = EndNow()) return End(*std::move(why));
  return Begin();
}

template <typename T>
Action StepMachine<T>::AfterStep() {
  auto why = EndNow();
  if (!why && FitStep() % plan_.StepsPerEpoch() != 0) return Begin();
  if (why && state_.lbfgs.begun) return End(*std::move(why));
  return EvaluateEpoch();
}

// If no row had a weight, the model has learned nothing, and its initial weights must not count as
// a result.
template <typename T>
Action StepMachine<T>::EvaluateEpoch() {
  const auto rows = static_cast<int64_t>(state_.epoch_totals[model::kTotalRows]);
  const bool all = plan_.train.mode == spec::TrainMode::kSync && rows >= plan_.FitRows();
  const bool last = rows > 0 && EndNow().has_value();
  if (state_.updates == 0 && (all || last) && state_.epoch_totals[model::kTotalWeight] == 0) {
    return Weightless();
  }
  if (rows == 0 && state_.notes.skipped_steps > 0 && EndNow()) return EndWithoutStep();
  state_.train = EpochMetrics();
  if (plan_.HoldsOut()) {
    state_.phase = TrainingPhase::kEpochEvaluation;
    return Begin();
  }
  return AfterEvaluation();
}

// Handles a last epoch without a finite step.
template <typename T>
Action StepMachine<T>::EndWithoutStep() {
  if (!state_.best_parameters.empty()) return End("divergence");
  if (state_.ensemble.fit > 0) return LeaveFitOut();
  return FailAction{BadInput(
      "step " + std::to_string(state_.step) +
      ": all steps of the last epoch were skipped, because their loss or gradient was not finite; "
      "lower train.optimizer's learning_rate, set train.clip_norm, or look for extreme values in "
      "the data (espalier check)")};
}

template <typename T>
Status StepMachine<T>::Diverged() const {
  return BadInput(
      std::string("the loss of the ") +
      (state_.phase == TrainingPhase::kFinalTest ? "test" : "validation") + " rows after step " +
      std::to_string(state_.step) +
      " is not a number: the training has diverged, or a value in these rows is extreme; " +
      (plan_.Searches() ? "look at the data (espalier check), or at train.initial"
                        : "lower train.optimizer's learning_rate, set train.clip_norm, look at the "
                          "data (espalier check), or choose train.on_nonfinite: skip"));
}

template <typename T>
Action StepMachine<T>::OnEvaluation(const std::vector<double>& totals) {
  if (state_.phase == TrainingPhase::kTrials) return OnTrials(totals);
  if (state_.phase == TrainingPhase::kDecision) return OnDecision(totals);
  spec::Metrics metrics = model::MetricsFromTotals(ShapeOfParameters(plan_, state_), plan_.targets,
                                                   model::TotalsKind::kEvaluation, totals);
  if (!std::isfinite(metrics.weight)) {  // the profiling pass added up those of training rows
    return FailAction{BadInput(std::string("data.weight: the weights of all ") +
                               (state_.phase == TrainingPhase::kFinalTest ? "test" : "validation") +
                               " rows have no finite sum; look for extreme ones in the data")};
  }
  // A loss that is NaN means that the weights have diverged. After the last step this may be the
  // only sign, and the accuracies would look like a result. If validation rows have a finite loss,
  // the test rows are the cause.
  const bool sound = state_.phase == TrainingPhase::kFinalTest && plan_.HoldsOut();
  if (metrics.weight > 0 && std::isnan(metrics.loss) && !plan_.train.skip_nonfinite && !sound) {
    const bool restores = state_.phase == TrainingPhase::kEpochEvaluation;
    if (restores && !state_.best_parameters.empty()) return End("divergence");
    if (restores && state_.ensemble.fit > 0) return LeaveFitOut();
    return FailAction{Diverged()};
  }
  switch (state_.phase) {
    case TrainingPhase::kEpochEvaluation:
      state_.validation = std::move(metrics);
      return AfterEvaluation();
    case TrainingPhase::kFinalTraining:
      state_.train = std::move(metrics);
      return FinalValidation();
    case TrainingPhase::kFinalValidation:
      state_.final_validation = std::move(metrics);
      return FinalTestOrFinish();
    case TrainingPhase::kFinalTest:
      state_.test = std::move(metrics);
      return Finish();
    case TrainingPhase::kOutOfFold:
      return OnOutOfFold(totals);
    case TrainingPhase::kTrials:
    case TrainingPhase::kDecision:
    case TrainingPhase::kSteps:
    case TrainingPhase::kFinished:
      break;
  }
  ESPALIER_CHECK(false, "an evaluation that was not requested");
}

template <typename T>
Action StepMachine<T>::AfterEvaluation() {
  state_.phase = TrainingPhase::kSteps;
  Record();
  std::fill(state_.epoch_totals.begin(), state_.epoch_totals.end(), 0.0);
  if (Status s = CheckMetrics(); !s.ok()) return FailAction{std::move(s)};
  JudgePlateau();
  const bool patience_is_over = JudgeEarlyStopping();
  if (auto why = EndNow()) return End(*std::move(why));
  if (!patience_is_over) return Begin();
  const bool counted = state_.updates > 0 || state_.train->weight > 0;
  return counted ? End("early stopping") : Weightless();
}

template <typename T>
void StepMachine<T>::Record() {
  spec::HistoryRow row;
  row.step = state_.step;
  row.epoch = static_cast<double>(state_.step) / static_cast<double>(plan_.StepsPerEpoch());
  row.learning_rate =
      model::LearningRate(plan_.train, std::max<int64_t>(0, FitStep() - 1), plan_.StepsPerEpoch(),
                          plan_.StepsTotal(), state_.rate_left);
  row.train = *state_.train;
  row.validation = state_.validation;
  row.fit = CurrentFit();
  row.fit_epoch = FitEpoch();
  if (row.validation) {  // only the last evaluation keeps data that grows with the classes
    row.validation->classes = {};
    row.validation->confusion = {};
  }
  state_.history.push_back(std::move(row));
}

template <typename T>
Action StepMachine<T>::End(std::string why) {
  state_.final_validation = state_.validation;
  state_.parameters = Evaluated();  // the result is the averaged weights
  state_.stopped_because = std::move(why);
  state_.averaged_updates = 0;
  const bool keeps_best = !state_.best_parameters.empty();
  if (keeps_best && !KeepsLast()) state_.parameters = state_.best_parameters;
  if (plan_.Assembles()) return EndFit();
  if (!keeps_best) return FinalTestOrFinish();
  state_.phase = TrainingPhase::kFinalTraining;  // the running values are of other weights
  return Begin();
}

// Returns whether the best weights are those of the last evaluation.
template <typename T>
bool StepMachine<T>::KeepsLast() const {
  return state_.notes.kept_step == state_.step;
}

template <typename T>
Action StepMachine<T>::FinalValidation() {
  const bool evaluated = !plan_.Assembles() && KeepsLast();
  if (!plan_.HoldsOut() || evaluated) return FinalTestOrFinish();
  state_.phase = TrainingPhase::kFinalValidation;
  return Begin();
}

template <typename T>
Action StepMachine<T>::FinalTestOrFinish() {
  if (plan_.test_rows == 0) return Finish();
  state_.phase = TrainingPhase::kFinalTest;
  return Begin();
}

// Counts the last round as applied. A member whose last round is still in flight is behind, and the
// others must be able to see that.
template <typename T>
Action StepMachine<T>::Finish() {
  ++state_.round;
  state_.phase = TrainingPhase::kFinished;
  return Finished();
}

template <typename T>
FinishAction StepMachine<T>::Finished() const {
  const auto per_epoch = static_cast<double>(plan_.StepsPerEpoch());
  FinishAction finish;
  finish.steps = state_.step;
  finish.epochs = static_cast<double>(state_.step) / per_epoch;
  for (const FitRecord& fit : state_.ensemble.finished) {
    if (fit.kept_step >= 0) finish.best_epochs.push_back(fit.kept_step / per_epoch);
  }
  if (!plan_.Assembles() && !state_.best_parameters.empty()) {
    finish.best_epochs = {static_cast<double>(state_.notes.kept_step) / per_epoch};
  }
  finish.threshold = state_.ensemble.threshold;
  finish.intervals = Intervals();
  finish.skipped_steps = state_.notes.skipped_steps;
  finish.train = *state_.train;
  finish.validation = state_.final_validation;
  finish.test = state_.test;
  finish.stopped_because = state_.stopped_because;
  return finish;
}

template class StepMachine<float>;
template class StepMachine<double>;

}  // namespace espalier::training
