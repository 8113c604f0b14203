#include "src/model/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "src/base/aligned.h"
#include "src/model/vector_math.h"

namespace espalier::model {
namespace {

constexpr double kEpsilon = 1e-5;

// Returns the sum of f(i) over a padded row: one running sum per position in a piece, then the sum
// of these in order.
template <typename T, typename F>
T Sum(int64_t size, F f) {
  alignas(kBufferAlignment) T sums[kPadding] = {};
  for (int64_t i = 0; i < size; i += kPadding) {
    for (int64_t j = 0; j < kPadding; ++j) sums[j] += f(i + j);
  }
  T total = 0;
  for (const T sum : sums) total += sum;
  return total;
}

}  // namespace

template <typename T>
T NormRow(const T* bias, const T* gain, int64_t width, int64_t size, T* z, T* normed) {
  for (int64_t i = 0; i < size; ++i) z[i] += bias[i];
  std::fill(z + width, z + size, T{0});
  const T share = T{1} / static_cast<T>(width);
  const T mean = Sum<T>(size, [z](int64_t i) { return z[i]; }) * share;
  for (int64_t i = 0; i < size; ++i) normed[i] = z[i] - mean;
  std::fill(normed + width, normed + size, T{0});
  const T variance = Sum<T>(size, [normed](int64_t i) { return normed[i] * normed[i]; }) * share;
  const T inverse = T{1} / std::sqrt(variance + static_cast<T>(kEpsilon));
  for (int64_t i = 0; i < size; ++i) {
    normed[i] *= inverse;
    z[i] = normed[i] * gain[i];
  }
  return inverse;
}

template <typename T>
void NormBackRow(const T* gain, const T* normed, T inverse, int64_t width, int64_t size, T* delta) {
  const T share = T{1} / static_cast<T>(width);
  for (int64_t i = 0; i < size; ++i) delta[i] *= gain[i];
  const T mean = Sum<T>(size, [delta](int64_t i) { return delta[i]; }) * share;
  const T along = Sum<T>(size, [=](int64_t i) { return delta[i] * normed[i]; }) * share;
  for (int64_t i = 0; i < size; ++i) delta[i] = inverse * (delta[i] - mean - normed[i] * along);
  std::fill(delta + width, delta + size, T{0});
}

#define ESPALIER_INSTANTIATE(T)                                        \
  template T NormRow<T>(const T*, const T*, int64_t, int64_t, T*, T*); \
  template void NormBackRow<T>(const T*, const T*, T, int64_t, int64_t, T*);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::model
