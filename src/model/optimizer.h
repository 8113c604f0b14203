// Optimizers: one pass over a chunk turns a gradient sum into new parameters.
//
// Semantics are PyTorch's: the mean gradient g is first scaled by clipping, then (but for adamw)
// weight_decay * parameter is added; momentum keeps v = momentum v + g without dampening; adam
// keeps m and v with bias correction and adds epsilon outside the root (Kingma and Ba, 2015); adamw
// first shrinks the parameters by learning_rate * weight_decay (Loshchilov and Hutter, 2019).
// Biases are spared by weight decay unless decay_biases.
//
// Thread rule: pure functions over the caller's buffers; chunks may be updated concurrently.
#pragma once

#include <cstdint>

#include "src/model/network.h"
#include "src/plan/chunks.h"
#include "src/spec/job_spec.h"

namespace espalier {

// Flat vectors of state beside the parameters, all zero at the start: 0 (sgd), 1 (momentum,
// nesterov: velocity), 2 (adam, adamw: first and second moment).
int64_t SlotCount(const OptimizerSpec& optimizer);

// Applies update `step` (1 for the first applied one) to one chunk. `parameters` and `slots`
// [SlotCount] are whole flat vectors; `gradient_sum` holds the chunk alone. The mean gradient is
// gradient_sum * inverse_weight, clipped by the factor clip_scale.
template <typename T>
void ApplyUpdate(const TrainSpec& train, const NetworkShape& shape, const Chunk& chunk,
                 T* parameters, T* const* slots, const T* gradient_sum, double inverse_weight,
                 double clip_scale, double learning_rate, int64_t step);

// The sum of squares of a chunk's mean gradient, in double over fixed tiles. The squared norm of
// the whole gradient is the sum over chunks in their order.
template <typename T>
double SquaredNorm(const Chunk& chunk, const T* gradient_sum, double inverse_weight);

// min(1, clip_norm / (norm + 1e-6)); 1 when clip_norm is 0 (no clipping).
double ClipScale(double norm_squared, double clip_norm);

}  // namespace espalier
