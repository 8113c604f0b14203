#include "src/model/average.h"

#include <algorithm>
#include <limits>

#include "src/base/aligned.h"
#include "src/model/vector_math.h"

namespace espalier::model {
namespace {

bool IsSoftmax(const NetworkShape& shape) { return shape.loss == spec::Loss::kSoftmaxCrossEntropy; }

bool IsSigmoid(const NetworkShape& shape) { return shape.loss == spec::Loss::kBinaryCrossEntropy; }

// Computes the logarithms of a row of `count` numbers. For 0, it is that of the smallest normal
// number.
template <typename T>
void LogRow(const T* from, int64_t count, T* to) {
  alignas(kBufferAlignment) T part[kPadding];
  for (int64_t begin = 0; begin < count; begin += kPadding) {
    const int64_t size = std::min(kPadding, count - begin);
    std::fill(part, part + kPadding, T{1});
    for (int64_t i = 0; i < size; ++i) {
      part[i] = std::max(from[begin + i], std::numeric_limits<T>::min());
    }
    Log(part, part, kPadding);
    std::copy(part, part + size, to + begin);
  }
}

}  // namespace

int64_t AveragedNumbers(const NetworkShape& shape) {
  return IsSigmoid(shape) ? 2 * shape.outputs() : shape.outputs();
}

template <typename T>
void AddPredictions(const NetworkShape& shape, const OutputRows<T>& rows, T share, T* scratch,
                    T* sums) {
  const int64_t width = shape.outputs();
  const auto add = [&](const T* from) {
    for (int64_t i = 0; i < width; ++i) *sums++ += share * from[i];
  };
  if (IsSoftmax(shape)) {
    AlignedVector<T> predictions(static_cast<size_t>(rows.rows * width));
    Predictions(shape, rows, scratch, predictions.data());
    for (int64_t r = 0; r < rows.rows; ++r) add(predictions.data() + r * width);
    return;
  }
  for (int64_t r = 0; r < rows.rows; ++r) {
    const T* z = rows.outputs + r * rows.pitch;
    T* to = scratch + r * rows.pitch;
    if (IsSigmoid(shape)) {
      for (int64_t i = 0; i < rows.pitch; ++i) to[i] = -z[i];
      Sigmoid(to, to, rows.pitch);
      add(to);
      Sigmoid(z, to, rows.pitch);
      add(to);
    } else if (shape.loss == spec::Loss::kPoisson) {
      Exp(z, to, rows.pitch);
      add(to);
    } else {
      add(z);
    }
  }
}

template <typename T>
void AddConstant(const NetworkShape& shape, const T* answer, T share, int64_t rows, T* sums) {
  const int64_t width = shape.outputs();
  // Their answer contains only the probability of 1.
  const bool labels = shape.task == spec::Task::kMultilabel;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; labels && i < width; ++i) *sums++ += share * (T{1} - answer[i]);
    for (int64_t i = 0; i < shape.answers(); ++i) *sums++ += share * answer[i];
  }
}

template <typename T>
void OutputsOf(const NetworkShape& shape, const T* sums, int64_t rows, int64_t pitch, T* outputs) {
  const int64_t width = shape.outputs(), numbers = AveragedNumbers(shape);
  const bool logs = IsSoftmax(shape) || shape.loss == spec::Loss::kPoisson;
  AlignedVector<T> both(static_cast<size_t>(IsSigmoid(shape) ? numbers : 0));
  for (int64_t r = 0; r < rows; ++r, sums += numbers, outputs += pitch) {
    std::fill(outputs + width, outputs + pitch, T{0});
    if (logs) {
      LogRow(sums, width, outputs);
    } else if (IsSigmoid(shape)) {
      LogRow(sums, numbers, both.data());
      for (int64_t i = 0; i < width; ++i) outputs[i] = both[width + i] - both[i];
    } else {
      std::copy(sums, sums + width, outputs);
    }
  }
}

#define ESPALIER_INSTANTIATE(T)                                                          \
  template void AddPredictions<T>(const NetworkShape&, const OutputRows<T>&, T, T*, T*); \
  template void AddConstant<T>(const NetworkShape&, const T*, T, int64_t, T*);           \
  template void OutputsOf<T>(const NetworkShape&, const T*, int64_t, int64_t, T*);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::model
