#include "src/model/sparse_layer.h"

#include <algorithm>
#include <array>

namespace espalier::model {
namespace {

// Independent sums, so that additions do not wait for each other.
constexpr int64_t kLanes = 16;

// Returns the product of the base with a row of the weight, first by lanes and then over the lanes.
template <typename T>
T BaseSum(std::span<const T> base, const T* weight) {
  std::array<T, kLanes> lanes = {};
  const auto in = static_cast<int64_t>(base.size());
  const int64_t whole = in / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lanes[j] += base[i + j] * weight[i + j];
  }
  for (int64_t i = whole; i < in; ++i) lanes[i - whole] += base[i] * weight[i];
  T sum = 0;
  for (const T lane : lanes) sum += lane;
  return sum;
}

// Processes kRows rows of the weight at once.
template <int64_t kRows, typename T>
void MultiplyRows(const spec::SparseRows<T>& rows, int64_t count, const T* weight, int64_t in,
                  T* sums, int64_t pitch) {
  std::array<T, kRows> first = {};
  for (int64_t o = 0; o < kRows; ++o) first[o] = BaseSum(rows.base, weight + o * in);
  const int32_t* const columns = rows.columns.data();
  const T* const values = rows.values.data();
  for (int64_t r = 0, e = 0; r < count; ++r) {
    std::array<T, kRows> sum = first;
    for (; e < rows.ends[r]; ++e) {
      const T* column = weight + columns[e];
      for (int64_t o = 0; o < kRows; ++o) sum[o] += values[e] * column[o * in];
    }
    std::copy(sum.begin(), sum.end(), sums + r * pitch);
  }
}

}  // namespace

template <typename T>
void MultiplySparse(const spec::SparseRows<T>& rows, int64_t count, const T* weight, int64_t in,
                    int64_t out, T* sums, int64_t pitch) {
  constexpr int64_t kRows = 4;
  int64_t o = 0;
  for (; o + kRows <= out; o += kRows) {
    MultiplyRows<kRows>(rows, count, weight + o * in, in, sums + o, pitch);
  }
  for (; o < out; ++o) MultiplyRows<1>(rows, count, weight + o * in, in, sums + o, pitch);
}

template <typename T>
void SparseGradient(const spec::SparseRows<T>& rows, int64_t count, const T* deltas, int64_t pitch,
                    int64_t height, int64_t in, T* gradient) {
  for (int64_t o = 0; o < height; ++o, gradient += in) {
    const auto based = static_cast<int64_t>(rows.base.size());
    if (based > 0) {
      T sum = 0;
      for (int64_t r = 0; r < count; ++r) sum += deltas[r * pitch + o];
      for (int64_t i = 0; i < based; ++i) gradient[i] = rows.base[i] * sum;
    }
    std::fill(gradient + based, gradient + in, T{0});
    for (int64_t r = 0, e = 0; r < count; ++r) {
      const T delta = deltas[r * pitch + o];
      if (delta == 0) {  // true for every second unit of ReLU
        e = rows.ends[r];
        continue;
      }
      for (; e < rows.ends[r]; ++e) gradient[rows.columns[e]] += rows.values[e] * delta;
    }
  }
}

#define ESPALIER_INSTANTIATE(T)                                                                    \
  template void MultiplySparse<T>(const spec::SparseRows<T>&, int64_t, const T*, int64_t, int64_t, \
                                  T*, int64_t);                                                    \
  template void SparseGradient<T>(const spec::SparseRows<T>&, int64_t, const T*, int64_t, int64_t, \
                                  int64_t, T*);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::model
