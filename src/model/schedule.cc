#include "src/model/schedule.h"

#include <algorithm>

#include "src/model/vector_math.h"

namespace espalier {

int64_t SpanSteps(const Span& span, int64_t steps_per_epoch) {
  const double steps =
      span.epochs ? span.amount * static_cast<double>(steps_per_epoch) : span.amount;
  return static_cast<int64_t>(std::clamp(steps, 0.0, 1e15) + 0.5);
}

double LearningRate(const TrainSpec& train, int64_t step, int64_t steps_per_epoch,
                    int64_t total_steps) {
  const double base = train.optimizer.learning_rate;
  const ScheduleSpec& schedule = train.schedule;
  const int64_t warmup = SpanSteps(schedule.warmup, steps_per_epoch);
  if (step < warmup) {
    return base * (static_cast<double>(step + 1) / static_cast<double>(warmup));
  }
  const int64_t after = step - warmup;
  switch (schedule.kind) {
    case ScheduleKind::kConstant:
      return base;
    case ScheduleKind::kStep:
      return base *
             IntegerPower(schedule.factor,
                          after / std::max<int64_t>(1, SpanSteps(schedule.every, steps_per_epoch)));
    case ScheduleKind::kCosine: {
      if (total_steps <= warmup) return base;
      const double t = static_cast<double>(after) / static_cast<double>(total_steps - warmup);
      const double cosine = CosQuarterTurn(std::min(t, 1.0));  // (1 + cos(pi t)) / 2 is its square
      const double last = base * schedule.final_fraction;
      return last + (base - last) * (cosine * cosine);
    }
  }
  return base;
}

}  // namespace espalier
