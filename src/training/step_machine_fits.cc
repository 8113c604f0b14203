// StepMachine: several fits, and the model made from them.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "src/model/decision.h"
#include "src/model/metrics.h"
#include "src/model/optimizer.h"
#include "src/training/step_machine.h"

namespace espalier::training {
namespace {

// Returns the offset of the last layer's biases in the parameters.
size_t OutputBiases(const model::NetworkShape& shape) {
  const std::string name = "layers." + std::to_string(shape.layers.size() - 1) + ".bias";
  for (const spec::TensorInfo& t : model::Tensors(shape)) {
    if (t.name == name) return static_cast<size_t>(t.offset);
  }
  return 0;
}

// Returns a prediction that is the same for all rows: the shares of the classes or labels, or the
// means of the targets, in the units of training. `totals`: sums of an evaluation of these rows.
// With the losses mae, huber and quantile, it is the constant at which training starts, if the job
// has one.
std::vector<double> ConstantAnswer(const TrainingPlan& plan, const std::vector<double>& totals) {
  const model::NetworkShape& shape = plan.shape;
  const spec::Loss loss = shape.loss;
  const bool by_rank =
      loss == spec::Loss::kMae || loss == spec::Loss::kHuber || loss == spec::Loss::kQuantile;
  if (by_rank && plan.starts_at_constant) {
    std::vector<double> answer;
    for (const spec::FittedTarget& target : plan.targets) answer.push_back(target.start);
    return answer;
  }
  const double* parts = totals.data() + model::kTotalsFixed;
  const double weight = totals[model::kTotalWeight];
  const int64_t answers = shape.answers();
  const bool confusion = answers <= model::kConfusionClassesMax;
  std::vector<double> answer(static_cast<size_t>(answers));
  for (int64_t k = 0; k < answers; ++k) {
    if (shape.task == spec::Task::kClassification && confusion) {
      for (int64_t j = 0; j < answers; ++j) answer[k] += parts[k * answers + j];
    } else if (spec::PredictsNumbers(shape.task)) {
      answer[k] = parts[4 * k + 2];
    } else {
      answer[k] = parts[3 * k];
    }
    answer[k] /= weight;
  }
  return answer;
}

}  // namespace

template <typename T>
model::NetworkShape ShapeOfParameters(const TrainingPlan& plan, const TrainingState<T>& state) {
  model::NetworkShape shape = plan.shape;
  switch (state.phase) {
    case TrainingPhase::kSteps:
    case TrainingPhase::kEpochEvaluation:
    case TrainingPhase::kOutOfFold:
    case TrainingPhase::kTrials:
      return shape;
    case TrainingPhase::kDecision:
    case TrainingPhase::kFinalTraining:
    case TrainingPhase::kFinalValidation:
    case TrainingPhase::kFinalTest:
    case TrainingPhase::kFinished:
      break;
  }
  if (plan.Assembles()) shape.fits = std::max<int64_t>(1, state.ensemble.fit);
  shape.constant = state.ensemble.share > 0;
  if (state.ensemble.threshold) shape.thresholds = state.ensemble.thresholds;
  shape.half_widths = state.ensemble.half_widths;
  return shape;
}
template model::NetworkShape ShapeOfParameters(const TrainingPlan&, const TrainingState<float>&);
template model::NetworkShape ShapeOfParameters(const TrainingPlan&, const TrainingState<double>&);

// Resets the state except for the number of rounds and steps, the results of earlier fits, and the
// history.
template <typename T>
void StepMachine<T>::BeginFit() {
  TrainingState<T> begun;
  const auto size = static_cast<size_t>(model::ParameterCount(plan_.shape));
  const auto fit = static_cast<size_t>(state_.ensemble.fit);
  const bool goes_on = fit < state_.ensemble.earlier_fits.size();
  begun.parameters.resize(size);
  model::InitialParameters<T>(plan_.shape, spec::FitSeed(plan_.train.seed, state_.ensemble.fit),
                              begun.parameters.data());
  const bool starts = plan_.shape.task == spec::Task::kRegression &&
                      std::ssize(plan_.targets) == plan_.shape.outputs() &&
                      !plan_.shape.layers.back().frozen;
  for (size_t k = 0; starts && k < plan_.targets.size(); ++k) {
    if (plan_.targets[k].start == 0) continue;
    begun.parameters[OutputBiases(plan_.shape) + k] = static_cast<T>(plan_.targets[k].start);
  }
  if (plan_.initial) {
    for (const spec::InitialTensor& t : *plan_.initial) {
      const bool other = state_.ensemble.fit % t.fits != t.fit;
      for (size_t i = 0; !other && i < t.values.size(); ++i) {
        if (!std::isnan(t.values[i])) begun.parameters[t.offset + i] = static_cast<T>(t.values[i]);
      }
    }
  }
  if (goes_on) {
    std::copy_n(state_.ensemble.earlier.begin() + static_cast<int64_t>(fit * size), size,
                begun.parameters.begin());
  }
  begun.slots.assign(model::SlotCount(plan_.train.optimizer), AlignedVector<T>(size, T{0}));
  if (plan_.Searches()) begun.slots[model::kLbfgsIterate] = begun.parameters;
  if (plan_.Accumulates()) begun.accumulated.assign(size, T{0});
  if (plan_.train.averaging.kind != spec::AveragingKind::kNone) begun.averaged.assign(size, T{0});
  begun.epoch_totals.assign(model::TotalsSize(plan_.shape, model::TotalsKind::kTraining), 0.0);
  begun.step = state_.step;
  begun.round = state_.round;
  begun.history = std::move(state_.history);
  begun.accepted = std::move(state_.accepted);
  begun.notes.skipped_steps = state_.notes.skipped_steps;
  begun.ensemble = std::move(state_.ensemble);
  const FitRecord earlier = goes_on ? begun.ensemble.earlier_fits[fit] : FitRecord();
  begun.ensemble.begun_step = state_.step - static_cast<int64_t>(earlier.steps);
  const std::optional<spec::EarlyStopping>& rule = plan_.train.early_stopping;
  if (earlier.kept_step >= 0 && rule && rule->restore_best) {
    begun.best_parameters = begun.parameters;
    begun.best_value = begun.notes.kept_value = earlier.kept_value;
    begun.best_step = begun.notes.kept_step =
        begun.ensemble.begun_step + static_cast<int64_t>(earlier.kept_step);
  }
  state_ = std::move(begun);
}

template <typename T>
FitRecord StepMachine<T>::RecordOfFit() const {
  FitRecord record{.steps = static_cast<double>(FitStep())};
  if (!state_.best_parameters.empty() && state_.notes.kept_value) {
    record.kept_step = static_cast<double>(state_.notes.kept_step - state_.ensemble.begun_step);
    record.kept_value = *state_.notes.kept_value;
  }
  return record;
}

template <typename T>
TrainingState<T> StepMachine<T>::WithEnd(TrainingPlan plan, TrainingState<T> state) {
  const auto total = static_cast<double>(plan.StepsTotal());
  StepMachine<T> machine(std::move(plan), std::move(state));
  EnsembleState<T>& e = machine.state_.ensemble;
  const TrainingPhase phase = machine.state_.phase;
  const bool trains = phase == TrainingPhase::kSteps || phase == TrainingPhase::kEpochEvaluation;
  const bool more = std::all_of(e.finished.begin(), e.finished.end(),
                                [total](const FitRecord& fit) { return fit.steps < total; });
  if (e.fit == 0 || !more) return std::move(machine.state_);
  EnsembleState<T> next{.earlier = std::move(e.weights), .earlier_fits = std::move(e.finished)};
  if (trains && e.fit < machine.plan_.train.ensemble.fits) {
    FitRecord record = machine.RecordOfFit();
    record.steps = std::min(record.steps, total - 1);
    record.kept_step = std::min(record.kept_step, record.steps);
    const AlignedVector<T>& weights =
        record.kept_step < 0 ? machine.state_.parameters : machine.state_.best_parameters;
    next.earlier.insert(next.earlier.end(), weights.begin(), weights.end());
    next.earlier_fits.push_back(record);
  }
  // Fits of an earlier run that this one has not reached.
  const size_t reached = next.earlier_fits.size();
  if (e.earlier_fits.size() > reached) {
    const auto size = static_cast<size_t>(model::ParameterCount(machine.plan_.shape));
    next.earlier.insert(next.earlier.end(),
                        e.earlier.begin() + static_cast<int64_t>(reached * size), e.earlier.end());
    next.earlier_fits.insert(next.earlier_fits.end(),
                             e.earlier_fits.begin() + static_cast<int64_t>(reached),
                             e.earlier_fits.end());
  }
  e = std::move(next);
  machine.state_.phase = TrainingPhase::kSteps;
  machine.BeginFit();
  return std::move(machine.state_);
}

// Ends a fit. A fit that time or a request interrupts is left out if there are others.
template <typename T>
Action StepMachine<T>::EndFit() {
  EnsembleState<T>& e = state_.ensemble;
  const bool cut = state_.stopped_because == "time" || state_.stopped_because == "request";
  if (!cut || e.fit == 0) {
    const size_t fits = static_cast<size_t>(plan_.train.ensemble.fits);
    e.weights.reserve(fits * state_.parameters.size());
    e.weights.insert(e.weights.end(), state_.parameters.begin(), state_.parameters.end());
    ++e.fit;
    e.finished.push_back(RecordOfFit());
  }
  if (cut || e.fit >= plan_.train.ensemble.fits) return AfterFits();
  state_.phase = TrainingPhase::kSteps;
  BeginFit();
  return Begin();
}

// Leaves out a fit that diverges before it has good weights, and all fits after it.
template <typename T>
Action StepMachine<T>::LeaveFitOut() {
  state_.stopped_because = "divergence";
  if (!state_.train) state_.train = EpochMetrics();
  return AfterFits();
}

template <typename T>
Action StepMachine<T>::AfterFits() {
  const bool shrinks = plan_.train.ensemble.shrink;
  if (!shrinks && !plan_.train.calibrate) return Assemble();
  state_.phase = shrinks ? TrainingPhase::kOutOfFold : TrainingPhase::kTrials;
  return Begin();
}

template <typename T>
Action StepMachine<T>::OnOutOfFold(const std::vector<double>& totals) {
  if (!(totals[model::kTotalWeight] > 0)) return Assemble();
  state_.ensemble.answer = ConstantAnswer(plan_, totals);
  state_.phase = TrainingPhase::kTrials;
  return Begin();
}

template <typename T>
model::Trials StepMachine<T>::Trials() const {
  const bool frozen = plan_.shape.layers.back().frozen;  // keeps its weights
  return model::MakeTrials(plan_.train.calibrate && !frozen, state_.ensemble.answer);
}

template <typename T>
Action StepMachine<T>::OnTrials(const std::vector<double>& sums) {
  // The prior counts rows, so sums by weight are converted to rows.
  std::vector<double> by_rows = sums;
  if (state_.validation && state_.validation->weight > 0) {
    const double rows = static_cast<double>(state_.validation->rows);
    for (double& sum : by_rows) sum *= rows / state_.validation->weight;
  }
  const model::Trial best = model::BestTrial(Trials(), by_rows);
  state_.ensemble.temperature = best.temperature;
  state_.ensemble.share = best.share;
  return Assemble();
}

// Builds the model: all fits, with outputs divided by the temperature, and the constant answer.
template <typename T>
Action StepMachine<T>::Assemble() {
  EnsembleState<T>& e = state_.ensemble;
  state_.parameters.clear();
  state_.parameters.reserve(e.weights.size() + e.answer.size() + 1);
  state_.parameters.insert(state_.parameters.end(), e.weights.begin(), e.weights.end());
  const int64_t size = model::FitParameterCount(plan_.shape);
  for (int64_t k = 0; e.temperature != 1 && k < e.fit; ++k) {
    model::ScaleOutputs(plan_.shape, 1 / e.temperature, state_.parameters.data() + k * size);
  }
  if (e.share > 0) {
    for (const double a : e.answer) state_.parameters.push_back(static_cast<T>(a));
    state_.parameters.push_back(static_cast<T>(e.share));
  }
  state_.phase = plan_.Decides() ? TrainingPhase::kDecision : TrainingPhase::kFinalTraining;
  return Begin();
}

template <typename T>
Action StepMachine<T>::OnDecision(const std::vector<double>& sums) {
  EnsembleState<T>& e = state_.ensemble;
  if (plan_.train.intervals > 0) {
    // Too few rows with a weight give no intervals. Time may have interrupted fits.
    const auto widths = model::HalfWidths(plan_.shape, plan_.train.intervals, sums);
    e.half_widths = widths.value_or(std::vector<double>());
  } else {
    model::ThresholdChoice choice =
        model::ChooseThreshold(plan_.shape, plan_.train.threshold, sums);
    e.threshold = std::move(choice.chosen);
    e.thresholds = std::move(choice.thresholds);
  }
  state_.phase = TrainingPhase::kFinalTraining;
  return Begin();
}

template <typename T>
std::optional<spec::PredictionIntervals> StepMachine<T>::Intervals() const {
  if (plan_.train.intervals == 0) return std::nullopt;
  spec::PredictionIntervals intervals{.level = plan_.train.intervals};
  for (size_t k = 0; k < state_.ensemble.half_widths.size(); ++k) {
    const double factor = k < plan_.targets.size() ? plan_.targets[k].factor : 1;
    intervals.half_widths.push_back(state_.ensemble.half_widths[k] / std::fabs(factor));
  }
  return intervals;
}

template <typename T>
int64_t StepMachine<T>::EvaluationSize(Measure measure) const {
  if (measure == Measure::kTrials) return Trials().size();
  if (measure == Measure::kResiduals) return model::ResidualsSize(plan_.shape);
  return model::TotalsSize(ShapeOfParameters(plan_, state_), model::TotalsKind::kEvaluation);
}

template <typename T>
std::vector<EvaluationPart<T>> StepMachine<T>::EvaluationParts() const {
  const EnsembleState<T>& e = state_.ensemble;
  const bool folds = spec::FoldsOf(plan_.train) > 0;
  const int64_t size = model::FitParameterCount(plan_.shape);
  std::vector<EvaluationPart<T>> parts;
  const TrainingPhase phase = state_.phase;
  if (phase == TrainingPhase::kEpochEvaluation) {
    parts.push_back({plan_.shape, {}, Evaluated().data(), folds ? e.fit : -1});
    return parts;
  }
  const bool finished =
      phase == TrainingPhase::kFinalValidation || phase == TrainingPhase::kDecision;
  const bool of_model = phase == TrainingPhase::kFinalTraining ||
                        phase == TrainingPhase::kFinalTest || (finished && !folds);
  if (of_model) {
    parts.push_back({ShapeOfParameters(plan_, state_), {}, state_.parameters.data(), -1});
    return parts;
  }
  if (!folds) {  // the trials of a model that averages
    parts.push_back({plan_.shape, {}, e.weights.data(), -1});
    parts.back().shape.fits = e.fit;
    return parts;
  }
  // Evaluates each fit separately, on the rows that it holds out.
  const AlignedVector<T>& weights = finished ? state_.parameters : e.weights;
  for (int64_t k = 0; k < e.fit; ++k) {
    EvaluationPart<T> part{plan_.shape, {}, weights.data() + k * size, k};
    if (finished) {
      if (e.threshold) part.shape.thresholds = e.thresholds;
      part.shape.half_widths = e.half_widths;
    }
    if (finished && e.share > 0) {
      part.shape.constant = true;
      part.made.assign(part.parameters, part.parameters + size);
      part.made.insert(part.made.end(), weights.begin() + e.fit * size, weights.end());
      part.parameters = part.made.data();
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

template <typename T>
int64_t StepMachine<T>::AllSteps() const {
  const int64_t fits = std::max<int64_t>(1, plan_.train.ensemble.fits - state_.ensemble.fit);
  const int64_t each = plan_.StepsTotal();
  return each == 0 ? 0 : state_.ensemble.begun_step + fits * each;
}

template <typename T>
int64_t StepMachine<T>::CurrentFit() const {
  return std::min(state_.ensemble.fit + 1, plan_.train.ensemble.fits);
}

template <typename T>
double StepMachine<T>::FitEpoch() const {
  return static_cast<double>(FitStep()) / static_cast<double>(plan_.StepsPerEpoch());
}

#define ESPALIER_INSTANTIATE(T)                                                        \
  template void StepMachine<T>::BeginFit();                                            \
  template TrainingState<T> StepMachine<T>::WithEnd(TrainingPlan, TrainingState<T>);   \
  template Action StepMachine<T>::EndFit();                                            \
  template Action StepMachine<T>::LeaveFitOut();                                       \
  template Action StepMachine<T>::AfterFits();                                         \
  template Action StepMachine<T>::OnOutOfFold(const std::vector<double>&);             \
  template model::Trials StepMachine<T>::Trials() const;                               \
  template Action StepMachine<T>::OnTrials(const std::vector<double>&);                \
  template Action StepMachine<T>::Assemble();                                          \
  template Action StepMachine<T>::OnDecision(const std::vector<double>&);              \
  template std::optional<spec::PredictionIntervals> StepMachine<T>::Intervals() const; \
  template int64_t StepMachine<T>::EvaluationSize(Measure) const;                      \
  template std::vector<EvaluationPart<T>> StepMachine<T>::EvaluationParts() const;     \
  template int64_t StepMachine<T>::AllSteps() const;                                   \
  template int64_t StepMachine<T>::CurrentFit() const;                                 \
  template double StepMachine<T>::FitEpoch() const;
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::training
