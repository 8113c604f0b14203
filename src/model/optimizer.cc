#include "src/model/optimizer.h"

#include <algorithm>
#include <cmath>

#include "src/model/vector_math.h"

namespace espalier {
namespace {

// The arrays of one run of parameters that share a weight decay.
template <typename T>
struct Run {
  int64_t size = 0;
  T* __restrict parameter = nullptr;
  T* __restrict first = nullptr;   // velocity or first moment
  T* __restrict second = nullptr;  // second moment
  const T* __restrict gradient = nullptr;
};

// Everything else an update needs, already in T.
template <typename T>
struct Rates {
  T scale, decay, rate;
  T momentum;
  T beta1, rest1, beta2, rest2, inverse_root2, epsilon, adam_rate;
  T keep;  // adamw: 1 - rate * decay
};

template <typename T>
Rates<T> MakeRates(const TrainSpec& train, double scale, double decay, double rate, int64_t step) {
  const OptimizerSpec& o = train.optimizer;
  const double correction1 = 1 - IntegerPower(o.beta1, step);
  const double correction2 = 1 - IntegerPower(o.beta2, step);
  return {static_cast<T>(scale),
          static_cast<T>(decay),
          static_cast<T>(rate),
          static_cast<T>(o.momentum),
          static_cast<T>(o.beta1),
          static_cast<T>(1 - o.beta1),
          static_cast<T>(o.beta2),
          static_cast<T>(1 - o.beta2),
          static_cast<T>(1 / std::sqrt(correction2)),
          static_cast<T>(o.epsilon),
          static_cast<T>(rate / correction1),
          static_cast<T>(1 - rate * decay)};
}

template <typename T>
void Sgd(const Run<T>& run, const Rates<T>& r) {
  T* __restrict p = run.parameter;
  const T* __restrict sum = run.gradient;
  for (int64_t i = 0; i < run.size; ++i) {
    const T g = sum[i] * r.scale + r.decay * p[i];
    p[i] -= r.rate * g;
  }
}

template <typename T, bool nesterov>
void Momentum(const Run<T>& run, const Rates<T>& r) {
  T* __restrict p = run.parameter;
  T* __restrict v = run.first;
  const T* __restrict sum = run.gradient;
  for (int64_t i = 0; i < run.size; ++i) {
    const T g = sum[i] * r.scale + r.decay * p[i];
    const T velocity = r.momentum * v[i] + g;
    v[i] = velocity;
    p[i] -= r.rate * (nesterov ? g + r.momentum * velocity : velocity);
  }
}

template <typename T, bool decoupled>
void Adam(const Run<T>& run, const Rates<T>& r) {
  T* __restrict p = run.parameter;
  T* __restrict m = run.first;
  T* __restrict v = run.second;
  const T* __restrict sum = run.gradient;
  for (int64_t i = 0; i < run.size; ++i) {
    const T g = decoupled ? sum[i] * r.scale : sum[i] * r.scale + r.decay * p[i];
    const T mean = r.beta1 * m[i] + r.rest1 * g;
    const T square = r.beta2 * v[i] + r.rest2 * (g * g);
    m[i] = mean;
    v[i] = square;
    const T step = r.adam_rate * mean / (std::sqrt(square) * r.inverse_root2 + r.epsilon);
    p[i] = (decoupled ? p[i] * r.keep : p[i]) - step;
  }
}

template <typename T>
void Update(OptimizerKind kind, const Run<T>& run, const Rates<T>& rates) {
  switch (kind) {
    case OptimizerKind::kSgd:
      return Sgd(run, rates);
    case OptimizerKind::kMomentum:
      return Momentum<T, false>(run, rates);
    case OptimizerKind::kNesterov:
      return Momentum<T, true>(run, rates);
    case OptimizerKind::kAdam:
      return Adam<T, false>(run, rates);
    case OptimizerKind::kAdamW:
      return Adam<T, true>(run, rates);
  }
}

}  // namespace

int64_t SlotCount(const OptimizerSpec& optimizer) {
  switch (optimizer.kind) {
    case OptimizerKind::kSgd:
      return 0;
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov:
      return 1;
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      return 2;
  }
  return 0;
}

template <typename T>
void ApplyUpdate(const TrainSpec& train, const NetworkShape& shape, const Chunk& chunk,
                 T* parameters, T* const* slots, const T* gradient_sum, double inverse_weight,
                 double clip_scale, double learning_rate, int64_t step) {
  const int64_t slot_count = SlotCount(train.optimizer);
  const int64_t weights = (chunk.out_end - chunk.out_begin) * shape.layers[chunk.layer].in;
  const double scale = inverse_weight * clip_scale;
  const auto run = [&](int64_t begin, int64_t end, double decay) {
    const int64_t at = chunk.offset + begin;
    const Run<T> part{end - begin, parameters + at, slot_count > 0 ? slots[0] + at : nullptr,
                      slot_count > 1 ? slots[1] + at : nullptr, gradient_sum + begin};
    Update(train.optimizer.kind, part, MakeRates<T>(train, scale, decay, learning_rate, step));
  };
  run(0, weights, train.weight_decay);
  run(weights, chunk.size, train.decay_biases ? train.weight_decay : 0);
}

template <typename T>
double SquaredNorm(const Chunk& chunk, const T* gradient_sum, double inverse_weight) {
  constexpr int64_t kLanes = 16, kTile = 4096;
  double total = 0;
  for (int64_t begin = 0; begin < chunk.size; begin += kTile) {
    const int64_t end = std::min(begin + kTile, chunk.size);
    double sums[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) {
        const double g = gradient_sum[i + j];
        sums[j] += g * g;
      }
    }
    for (int64_t j = 0; i < end; ++i, ++j) {
      const double g = gradient_sum[i];
      sums[j] += g * g;
    }
    double tile = 0;
    for (double sum : sums) tile += sum;
    total += tile;
  }
  return total * inverse_weight * inverse_weight;
}

double ClipScale(double norm_squared, double clip_norm) {
  if (clip_norm <= 0) return 1;
  const double scale = clip_norm / (std::sqrt(norm_squared) + 1e-6);
  return scale < 1 ? scale : 1;
}

#define ESPALIER_INSTANTIATE(T)                                                                    \
  template void ApplyUpdate<T>(const TrainSpec&, const NetworkShape&, const Chunk&, T*, T* const*, \
                               const T*, double, double, double, int64_t);                         \
  template double SquaredNorm<T>(const Chunk&, const T*, double);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier
