#include "src/model/schedule.h"

#include <algorithm>

#include "src/model/vector_math.h"

namespace espalier::model {

namespace {

int64_t WholeSteps(double steps) {
  return static_cast<int64_t>(std::clamp(steps, 0.0, 1e15) + 0.5);
}

}  // namespace

int64_t SpanSteps(const spec::Span& span, int64_t steps_per_epoch) {
  return WholeSteps(span.epochs ? span.amount * static_cast<double>(steps_per_epoch) : span.amount);
}

namespace {

// Returns the completed fraction from the end of the warm-up to the end of the last step, 0 to 1.
double Progress(int64_t after, int64_t steps) {
  return std::min(static_cast<double>(after) / static_cast<double>(steps), 1.0);
}

// Returns factor^(after / every). Integer powers use multiplication, so the result is exact after a
// multiple of `every`.
double Decay(double factor, int64_t after, int64_t every) {
  const double part = static_cast<double>(after % every) / static_cast<double>(every);
  return IntegerPower(factor, after / every) * Power(factor, part);
}

}  // namespace

double LearningRate(const spec::TrainSpec& train, int64_t step, int64_t steps_per_epoch,
                    int64_t total_steps, double left) {
  const double base = train.optimizer.learning_rate;
  const spec::ScheduleSpec& schedule = train.schedule;
  const int64_t warmup = schedule.warmup_share > 0
                             ? WholeSteps(schedule.warmup_share * static_cast<double>(total_steps))
                             : SpanSteps(schedule.warmup, steps_per_epoch);
  if (step < warmup) {
    return base * (static_cast<double>(step + 1) / static_cast<double>(warmup));
  }
  const int64_t after = step - warmup;
  const int64_t every = std::max<int64_t>(1, SpanSteps(schedule.every, steps_per_epoch));
  const double last = base * schedule.final_fraction;
  switch (schedule.kind) {
    case spec::ScheduleKind::kConstant:
      return base;
    case spec::ScheduleKind::kStep:
      return base * IntegerPower(schedule.factor, after / every);
    case spec::ScheduleKind::kExponential:
      return base * Decay(schedule.factor, after, every);
    case spec::ScheduleKind::kCosine: {
      if (total_steps <= warmup) return base;
      // (1 + cos(pi t)) / 2 is the square of this value.
      const double cosine = CosQuarterTurn(Progress(after, total_steps - warmup));
      return last + (base - last) * (cosine * cosine);
    }
    case spec::ScheduleKind::kPolynomial:
      if (total_steps <= warmup) return base;
      return last +
             (base - last) * Power(1 - Progress(after, total_steps - warmup), schedule.power);
    case spec::ScheduleKind::kPlateau:
      return std::max(base * left, schedule.plateau.min_learning_rate);
  }
  return base;
}

double DecayShare(const spec::TrainSpec& train, int64_t step, int64_t total_steps) {
  if (train.weight_decay_schedule == spec::DecaySchedule::kConstant || total_steps <= 0) return 1;
  // (1 + cos(pi t)) / 2 is the square of this value.
  const double cosine = CosQuarterTurn(std::max(1.0, 2 * Progress(step, total_steps)) - 1);
  return cosine * cosine;
}

}  // namespace espalier::model
