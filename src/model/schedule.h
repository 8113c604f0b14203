// The learning rate as a function of the step. With base the optimizer's rate, w the warm-up's
// steps:
//
//   s < w      base * (s + 1) / w
//   constant   base
//   step       base * factor^floor((s - w) / every)
//   cosine     from base at s = w to base * final_fraction at the last step's end, along half a
//              cosine (Loshchilov and Hutter, "SGDR", 2017); stays there afterwards
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "src/spec/job_spec.h"

namespace espalier {

// A span in steps, to the nearest. REQUIRES: steps_per_epoch > 0.
int64_t SpanSteps(const Span& span, int64_t steps_per_epoch);

// The rate for step `step` (0-based, over the whole job) of `total_steps`. A cosine needs a known
// end: with total_steps <= 0 it keeps the base rate.
double LearningRate(const TrainSpec& train, int64_t step, int64_t steps_per_epoch,
                    int64_t total_steps);

}  // namespace espalier
