// StepMachine: decisions after evaluations, by early stopping and the plateau schedule.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "src/model/schedule.h"
#include "src/training/step_machine.h"

namespace espalier::training {
namespace {

// Returns whether `value` is better than `best` by more than min_delta. A non-finite value never
// is.
bool Gains(std::string_view metric, std::optional<double> value, std::optional<double> best,
           double min_delta) {
  if (metric.starts_with("val_")) metric.remove_prefix(4);
  const double sign = spec::HigherIsBetter(metric) ? 1 : -1;
  if (!value || !std::isfinite(*value)) return false;
  return !best || sign * (*value - *best) > std::max(0.0, min_delta);
}

}  // namespace

template <typename T>
std::optional<double> StepMachine<T>::Value(std::string_view metric) const {
  if (!metric.starts_with("val_")) return spec::MetricValue(*state_.train, metric);
  return state_.validation ? spec::MetricValue(*state_.validation, metric.substr(4)) : std::nullopt;
}

// Rejects a metric that this data does not have. It would look like a metric that never improves.
template <typename T>
Status StepMachine<T>::CheckMetrics() const {
  const auto check = [this](const char* field, const std::string& metric) -> Status {
    const bool of_validation = metric.starts_with("val_");
    if (of_validation && !state_.validation) return {};
    const bool weightless = of_validation && !(state_.validation->weight > 0);
    if (Value(metric) && !weightless) return {};
    const std::string why = weightless       ? "the weights of all validation rows are 0"
                            : !of_validation ? "it is computed only on the validation set"
                                             : "it requires two classes, with rows of both among "
                                               "the validation rows";
    return InvalidArgument(std::string(field) + ": " + metric + " has no value in this job: " +
                           why + "; choose another one, such as val_loss");
  };
  if (plan_.train.early_stopping) {
    ESPALIER_RETURN_IF_ERROR(
        check("train.early_stopping.metric", plan_.train.early_stopping->metric));
  }
  const spec::ScheduleSpec& schedule = plan_.train.schedule;
  if (schedule.kind != spec::ScheduleKind::kPlateau) return {};
  return check("train.schedule.plateau.metric", schedule.plateau.metric);
}

template <typename T>
bool StepMachine<T>::JudgeEarlyStopping() {
  if (!plan_.train.early_stopping) return false;
  const spec::EarlyStopping& rule = *plan_.train.early_stopping;
  if (rule.metric.starts_with("val_") && !state_.validation) return false;
  const auto value = Value(rule.metric);
  if (rule.restore_best && Gains(rule.metric, value, state_.notes.kept_value, 0)) {
    state_.notes.kept_value = value;
    state_.notes.kept_step = state_.step;
    state_.best_parameters = Evaluated();
  }
  if (!Gains(rule.metric, value, state_.best_value, rule.min_delta)) {
    return ++state_.evaluations_without_gain >= rule.patience;
  }
  state_.evaluations_without_gain = 0;
  state_.best_value = *value;
  state_.best_step = state_.step;
  return false;
}

// Applies the plateau schedule. As in PyTorch's ReduceLROnPlateau, evaluations during the cooldown
// do not count.
template <typename T>
void StepMachine<T>::JudgePlateau() {
  const spec::ScheduleSpec& schedule = plan_.train.schedule;
  if (schedule.kind != spec::ScheduleKind::kPlateau) return;
  if (FitStep() < model::SpanSteps(schedule.warmup, plan_.StepsPerEpoch())) return;
  const spec::PlateauRule& rule = schedule.plateau;
  const auto value = Value(rule.metric);
  if (Gains(rule.metric, value, state_.plateau_best, rule.min_delta)) {
    state_.plateau_best = value;
    state_.plateau_evaluations = 0;
  } else {
    ++state_.plateau_evaluations;
  }
  if (state_.plateau_cooldown > 0) {
    --state_.plateau_cooldown;
    state_.plateau_evaluations = 0;
  }
  if (state_.plateau_evaluations < rule.patience) return;
  state_.rate_left *= schedule.factor;
  state_.plateau_cooldown = rule.cooldown;
  state_.plateau_evaluations = 0;
}

#define ESPALIER_INSTANTIATE(T)                                                        \
  template std::optional<double> StepMachine<T>::Value(std::string_view metric) const; \
  template Status StepMachine<T>::CheckMetrics() const;                                \
  template bool StepMachine<T>::JudgeEarlyStopping();                                  \
  template void StepMachine<T>::JudgePlateau();
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::training
