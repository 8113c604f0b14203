// The learning rate as a function of the step. With base the optimizer's rate, w the warm-up's
// steps:
//
//   s < w      base * (s + 1) / w
//   constant   base
//   step       base * factor^floor((s - w) / every)
//   exponential  base * factor^((s - w) / every)
//   cosine     from base at s = w to base * final_fraction at the last step's end, along half a
//              cosine (Loshchilov and Hutter, "SGDR", 2017); stays there afterwards
//   polynomial   the same ends, along (1 - t)^power
//   plateau    base times what the reductions so far have left of it, at least min_learning_rate;
//              judged at evaluations by training/step_machine
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "src/spec/job_spec.h"

namespace espalier::model {

// A span in steps, to the nearest. REQUIRES: steps_per_epoch > 0.
int64_t SpanSteps(const spec::Span& span, int64_t steps_per_epoch);

// The rate for step `step` (0-based, over the whole job) of `total_steps`. A cosine and a
// polynomial need a known end: with total_steps <= 0 they keep the base rate. `left`: what a
// plateau schedule's reductions have left, 1 for the others.
double LearningRate(const spec::TrainSpec& train, int64_t step, int64_t steps_per_epoch,
                    int64_t total_steps, double left = 1);

// The share of weight_decay that is in effect at a step, by weight_decay_schedule. kFlatCos: 1 over
// the first half of total_steps, then down to 0 along half a cosine.
double DecayShare(const spec::TrainSpec& train, int64_t step, int64_t total_steps);

}  // namespace espalier::model
