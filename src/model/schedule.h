// The learning rate as a function of the step s. With base the optimizer's rate and w the warm-up
// steps:
//
//   s < w      base * (s + 1) / w
//   constant   base
//   step       base * factor^floor((s - w) / every)
//   exponential  base * factor^((s - w) / every)
//   cosine     from base at s = w to base * final_fraction at the last step's end, along half a
//              cosine (Loshchilov and Hutter, "SGDR", 2017); constant afterwards
//   polynomial   the same ends, along (1 - t)^power
//   plateau    base times the product of the reductions so far, at least min_learning_rate;
//              training/step_machine decides on them at evaluations
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "src/spec/job_spec.h"

namespace espalier::model {

// Returns a span in steps, rounded to the nearest. REQUIRES: steps_per_epoch > 0.
int64_t SpanSteps(const spec::Span& span, int64_t steps_per_epoch);

// Returns the rate for step `step` (0-based, over the whole job) of `total_steps`. Cosine and
// polynomial schedules need a known end. With total_steps <= 0, they keep the base rate. `left` is
// the product of a plateau schedule's reductions, and 1 for other schedules.
double LearningRate(const spec::TrainSpec& train, int64_t step, int64_t steps_per_epoch,
                    int64_t total_steps, double left = 1);

// Returns the share of weight_decay in effect at a step, by weight_decay_schedule. kFlatCos: 1 over
// the first half of total_steps, then down to 0 along half a cosine.
double DecayShare(const spec::TrainSpec& train, int64_t step, int64_t total_steps);

}  // namespace espalier::model
