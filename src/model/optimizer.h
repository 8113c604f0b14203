// Optimizers: one pass over a chunk turns a gradient sum into new parameters.
//
// The semantics are those of PyTorch. The mean gradient g is first clipped (scaled to a norm, then
// each element to +-clip_value). Then l1 * sign(parameter) and, except for adamw, weight_decay *
// parameter are added. With p the parameter and rate the learning rate:
//
//   sgd, gd    p -= rate g
//   momentum   v = momentum v + g, without dampening; p -= rate v; nesterov: rate (g + momentum v)
//   adam       m and v with bias correction, epsilon outside the root (Kingma and Ba, 2015)
//   adamw      the same, and p first shrinks by rate * weight_decay (Loshchilov and Hutter, 2019)
//   adagrad    s += g^2; p -= rate g / (sqrt(initial_accumulator_value + s) + epsilon) (Duchi et
//              al., 2011)
//   rmsprop    s = alpha s + (1 - alpha) g^2; d = g / (sqrt(s) + epsilon), centered: sqrt(s - a^2)
//              with a the corresponding mean of g (Graves, 2013); p -= rate d, or with momentum as
//              above
//
// weight_decay and l1 do not apply to biases and to the gains and shifts of layer norms, unless
// decay_biases is set. The rate is that of the schedule times rate_factors.
//
// With the parametrization ntp, the network computes W x / sqrt(n) + b, with n the fan-in. The
// rules above apply to W and its gradient, except for the decay of adamw, which is the same for
// both. The parameters are W / sqrt(n), so p moves by 1 / sqrt(n) of the step of W. clip_norm
// applies to the gradient by p.
//
// Thread rule: pure functions over the caller's buffers. Chunks may be updated concurrently.
#pragma once

#include <cstdint>

#include "src/model/network.h"
#include "src/plan/chunks.h"
#include "src/spec/job_spec.h"

namespace espalier::model {

// Returns the number of flat vectors of state in addition to the parameters, all zero at the start:
// - 0: sgd, gd
// - 1: momentum, nesterov (velocity); adagrad (sums of squares)
// - 2: adam, adamw (first and second moment)
// - 1 to 3: rmsprop (mean of squares; velocity, if it has momentum; mean, if centered)
// - 3 + 2 * history: lbfgs (LbfgsSlot)
int64_t SlotCount(const spec::OptimizerSpec& optimizer);
inline constexpr size_t kSlotsMax = 3;  // except for lbfgs, which ApplyUpdate does not support

// Applies update `step` (1 for the first one) of any optimizer except lbfgs to one chunk.
// `parameters` and `slots` [SlotCount] are whole flat vectors. `gradient_sum` contains only the
// chunk. The mean gradient is gradient_sum * inverse_weight, clipped by the factor clip_scale.
// `decay_share` multiplies weight_decay (schedule.h). A frozen layer does not change.
template <typename T>
void ApplyUpdate(const spec::TrainSpec& train, const NetworkShape& shape, const plan::Chunk& chunk,
                 T* parameters, T* const* slots, const T* gradient_sum, double inverse_weight,
                 double clip_scale, double learning_rate, int64_t step, double decay_share = 1);

// Returns the sum of squares of a chunk's mean gradient, in double over fixed tiles. The squared
// norm of the whole gradient is the sum over chunks in their order.
template <typename T>
double SquaredNorm(const plan::Chunk& chunk, const T* gradient_sum, double inverse_weight);

// Returns the sum of squares of after - before over a chunk, in double over fixed tiles.
template <typename T>
double SquaredDistance(const plan::Chunk& chunk, const T* before, const T* after);

// Returns min(1, clip_norm / (norm + 1e-6)), or 1 if clip_norm is 0 (no clipping).
double ClipScale(double norm_squared, double clip_norm);

// Applies one element-wise update of averaged weights (Averaging). ema: average + (1 - decay) *
// (parameter - average). mean: average + (parameter - average) / count. `count` is the number of
// this update, and the first one (1) copies. `average` and `parameters` are whole flat vectors.
template <typename T>
void Average(const spec::Averaging& averaging, const plan::Chunk& chunk, const T* parameters,
             int64_t count, T* average);

}  // namespace espalier::model
