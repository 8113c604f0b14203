#include "src/model/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/check.h"
#include "src/model/lbfgs.h"
#include "src/model/tile_sum.h"
#include "src/model/vector_math.h"

namespace espalier::model {
namespace {

// The arrays of one run of parameters with the same weight decay.
template <typename T>
struct Run {
  int64_t size = 0;
  T* __restrict parameter = nullptr;
  T* __restrict slot[3] = {};  // in the order of SlotCount
  const T* __restrict gradient = nullptr;
};

// All other values that an update needs, converted to T.
template <typename T>
struct Rates {
  T scale, decay, rate;
  T l1, limit;  // only for `Gradient<true>`
  T momentum;
  T beta1, rest1, beta2, rest2, inverse_root2, epsilon, adam_rate;
  T keep;  // adamw: 1 - rate * decay
  T alpha, rest_alpha, initial;
};

// `ntp` is 1 / sqrt(fan-in), or 1.
template <typename T>
Rates<T> MakeRates(const spec::TrainSpec& train, double scale, double decay, double l1, double rate,
                   double ntp, int64_t step) {
  const spec::OptimizerSpec& o = train.optimizer;
  const double correction1 = 1 - IntegerPower(o.beta1, step);
  const double correction2 = 1 - IntegerPower(o.beta2, step);
  return {.scale = static_cast<T>(scale * ntp),
          .decay = static_cast<T>(decay / ntp),
          .rate = static_cast<T>(rate * ntp),
          .l1 = static_cast<T>(l1),
          .limit = train.clip_value > 0 ? static_cast<T>(train.clip_value)
                                        : std::numeric_limits<T>::infinity(),
          .momentum = static_cast<T>(o.momentum),
          .beta1 = static_cast<T>(o.beta1),
          .rest1 = static_cast<T>(1 - o.beta1),
          .beta2 = static_cast<T>(o.beta2),
          .rest2 = static_cast<T>(1 - o.beta2),
          .inverse_root2 = static_cast<T>(1 / std::sqrt(correction2)),
          .epsilon = static_cast<T>(o.epsilon),
          .adam_rate = static_cast<T>(rate * ntp / correction1),
          .keep = static_cast<T>(1 - rate * decay),
          .alpha = static_cast<T>(o.alpha),
          .rest_alpha = static_cast<T>(1 - o.alpha),
          .initial = static_cast<T>(o.initial_accumulator_value)};
}

// Returns the gradient of one parameter, from its sum. `more`: with l1 or a limit of values.
template <bool more, bool decays, typename T>
inline T Gradient(T sum, T p, const Rates<T>& r) {
  T g = sum * r.scale;
  if constexpr (more) {
    g = g > r.limit ? r.limit : g < -r.limit ? -r.limit : g;
    g += p > 0 ? r.l1 : p < 0 ? -r.l1 : T{0};
  }
  return decays ? g + r.decay * p : g;
}

template <bool more, typename T>
void Sgd(const Run<T>& run, const Rates<T>& r) {
  T* __restrict p = run.parameter;
  const T* __restrict sum = run.gradient;
  for (int64_t i = 0; i < run.size; ++i) p[i] -= r.rate * Gradient<more, true>(sum[i], p[i], r);
}

template <bool more, bool nesterov, typename T>
void Momentum(const Run<T>& run, const Rates<T>& r) {
  T* __restrict p = run.parameter;
  T* __restrict v = run.slot[0];
  const T* __restrict sum = run.gradient;
  for (int64_t i = 0; i < run.size; ++i) {
    const T g = Gradient<more, true>(sum[i], p[i], r);
    const T velocity = r.momentum * v[i] + g;
    v[i] = velocity;
    p[i] -= r.rate * (nesterov ? g + r.momentum * velocity : velocity);
  }
}

template <bool more, bool decoupled, typename T>
void Adam(const Run<T>& run, const Rates<T>& r) {
  T* __restrict p = run.parameter;
  T* __restrict m = run.slot[0];
  T* __restrict v = run.slot[1];
  const T* __restrict sum = run.gradient;
  for (int64_t i = 0; i < run.size; ++i) {
    const T g = Gradient<more, !decoupled>(sum[i], p[i], r);
    const T mean = r.beta1 * m[i] + r.rest1 * g;
    const T square = r.beta2 * v[i] + r.rest2 * (g * g);
    m[i] = mean;
    v[i] = square;
    const T step = r.adam_rate * mean / (std::sqrt(square) * r.inverse_root2 + r.epsilon);
    p[i] = (decoupled ? p[i] * r.keep : p[i]) - step;
  }
}

template <bool more, typename T>
void Adagrad(const Run<T>& run, const Rates<T>& r) {
  T* __restrict p = run.parameter;
  T* __restrict s = run.slot[0];
  const T* __restrict sum = run.gradient;
  for (int64_t i = 0; i < run.size; ++i) {
    const T g = Gradient<more, true>(sum[i], p[i], r);
    s[i] += g * g;
    p[i] -= r.rate * g / (std::sqrt(r.initial + s[i]) + r.epsilon);
  }
}

template <bool more, bool momentum, bool centered, typename T>
void Rmsprop(const Run<T>& run, const Rates<T>& r) {
  T* __restrict p = run.parameter;
  T* __restrict s = run.slot[0];
  T* __restrict v = run.slot[1];
  T* __restrict a = run.slot[momentum ? 2 : 1];
  const T* __restrict sum = run.gradient;
  for (int64_t i = 0; i < run.size; ++i) {
    const T g = Gradient<more, true>(sum[i], p[i], r);
    const T square = r.alpha * s[i] + r.rest_alpha * (g * g);
    s[i] = square;
    T spread = square;
    if constexpr (centered) {
      const T mean = a[i] + r.rest_alpha * (g - a[i]);
      a[i] = mean;
      spread = square - mean * mean;
      spread = spread > 0 ? spread : T{0};  // rounding may make it negative
    }
    T step = g / (std::sqrt(spread) + r.epsilon);
    if constexpr (momentum) {
      step = r.momentum * v[i] + step;
      v[i] = step;
    }
    p[i] -= r.rate * step;
  }
}

template <bool more, typename T>
void UpdateRmsprop(const spec::OptimizerSpec& o, const Run<T>& run, const Rates<T>& rates) {
  if (o.momentum > 0) {
    return o.centered ? Rmsprop<more, true, true>(run, rates)
                      : Rmsprop<more, true, false>(run, rates);
  }
  return o.centered ? Rmsprop<more, false, true>(run, rates)
                    : Rmsprop<more, false, false>(run, rates);
}

template <bool more, typename T>
void Update(const spec::OptimizerSpec& o, const Run<T>& run, const Rates<T>& rates) {
  switch (o.kind) {
    case spec::OptimizerKind::kSgd:
    case spec::OptimizerKind::kGd:
      return Sgd<more>(run, rates);
    case spec::OptimizerKind::kMomentum:
      return Momentum<more, false>(run, rates);
    case spec::OptimizerKind::kNesterov:
      return Momentum<more, true>(run, rates);
    case spec::OptimizerKind::kAdam:
      return Adam<more, false>(run, rates);
    case spec::OptimizerKind::kAdamW:
      return Adam<more, true>(run, rates);
    case spec::OptimizerKind::kAdagrad:
      return Adagrad<more>(run, rates);
    case spec::OptimizerKind::kRmsprop:
      return UpdateRmsprop<more>(o, run, rates);
    case spec::OptimizerKind::kLbfgs:
      ESPALIER_CHECK(false, "L-BFGS moves by AdvanceLbfgs");
  }
}

double RateFactor(const spec::TrainSpec& train, PartKind part, bool weights) {
  if (part == PartKind::kScale) return train.rate_factors.scaling_layer;
  return part == PartKind::kLayer && !weights ? train.rate_factors.biases : 1;
}

double NtpScale(const NetworkShape& shape, const Part& part) {
  const bool table = part.kind == PartKind::kTable && shape.tables[part.index].one_hot;
  if (shape.parametrization != spec::Parametrization::kNtp ||
      (part.kind != PartKind::kLayer && !table)) {
    return 1;
  }
  return 1 /
         std::sqrt(static_cast<double>(std::max<int64_t>(1, shape.fan_in(table ? 0 : part.index))));
}

}  // namespace

int64_t SlotCount(const spec::OptimizerSpec& optimizer) {
  switch (optimizer.kind) {
    case spec::OptimizerKind::kSgd:
    case spec::OptimizerKind::kGd:
      return 0;
    case spec::OptimizerKind::kMomentum:
    case spec::OptimizerKind::kNesterov:
    case spec::OptimizerKind::kAdagrad:
      return 1;
    case spec::OptimizerKind::kAdam:
    case spec::OptimizerKind::kAdamW:
      return 2;
    case spec::OptimizerKind::kRmsprop:
      return 1 + (optimizer.momentum > 0) + optimizer.centered;
    case spec::OptimizerKind::kLbfgs:
      return kLbfgsPairs + 2 * optimizer.history;
  }
  return 0;
}

template <typename T>
void ApplyUpdate(const spec::TrainSpec& train, const NetworkShape& shape, const plan::Chunk& chunk,
                 T* parameters, T* const* slots, const T* gradient_sum, double inverse_weight,
                 double clip_scale, double learning_rate, int64_t step, double decay_share) {
  if (IsFrozen(shape, chunk)) return;
  const int64_t slot_count = SlotCount(train.optimizer);
  const int64_t weights = WeightsOf(shape, chunk);
  const double scale = inverse_weight * clip_scale;
  const Part part_of = PartOf(shape, chunk);
  const double ntp = NtpScale(shape, part_of);
  const auto run = [&](int64_t begin, int64_t end, bool is_weight, bool decays) {
    const int64_t at = chunk.offset + begin;
    Run<T> part{
        .size = end - begin, .parameter = parameters + at, .gradient = gradient_sum + begin};
    for (int64_t k = 0; k < slot_count; ++k) part.slot[k] = slots[k] + at;
    const double l1 = decays ? train.l1 : 0;
    const double rate = learning_rate * RateFactor(train, part_of.kind, is_weight);
    const auto rates = MakeRates<T>(train, scale, decays ? train.weight_decay * decay_share : 0, l1,
                                    rate, is_weight ? ntp : 1, step);
    if (l1 > 0 || train.clip_value > 0) return Update<true>(train.optimizer, part, rates);
    Update<false>(train.optimizer, part, rates);
  };
  run(0, weights, true, true);
  run(weights, chunk.size, false, train.decay_biases);
}

template <typename T>
double SquaredNorm(const plan::Chunk& chunk, const T* gradient_sum, double inverse_weight) {
  const double total = TileSum(chunk.size, [=](int64_t i) {
    const double g = gradient_sum[i];
    return g * g;
  });
  return total * inverse_weight * inverse_weight;
}

template <typename T>
double SquaredDistance(const plan::Chunk& chunk, const T* before, const T* after) {
  return TileSum(chunk.size, [=](int64_t i) {
    const double d = static_cast<double>(after[i]) - static_cast<double>(before[i]);
    return d * d;
  });
}

double ClipScale(double norm_squared, double clip_norm) {
  if (clip_norm <= 0) return 1;
  const double scale = clip_norm / (std::sqrt(norm_squared) + 1e-6);
  return scale < 1 ? scale : 1;
}

template <typename T>
void Average(const spec::Averaging& averaging, const plan::Chunk& chunk, const T* parameters,
             int64_t count, T* average) {
  const T* __restrict p = parameters + chunk.offset;
  T* __restrict a = average + chunk.offset;
  if (count == 1) {
    std::copy(p, p + chunk.size, a);
    return;
  }
  const bool ema = averaging.kind == spec::AveragingKind::kEma;
  const T share = static_cast<T>(ema ? 1 - averaging.decay : 1 / static_cast<double>(count));
  for (int64_t i = 0; i < chunk.size; ++i) a[i] += (p[i] - a[i]) * share;
}

#define ESPALIER_INSTANTIATE(T)                                                                   \
  template void ApplyUpdate<T>(const spec::TrainSpec&, const NetworkShape&, const plan::Chunk&,   \
                               T*, T* const*, const T*, double, double, double, int64_t, double); \
  template double SquaredNorm<T>(const plan::Chunk&, const T*, double);                           \
  template double SquaredDistance<T>(const plan::Chunk&, const T*, const T*);                     \
  template void Average<T>(const spec::Averaging&, const plan::Chunk&, const T*, int64_t, T*);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::model
