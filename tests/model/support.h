// Helpers of the model tests: networks, random batches and whole gradients.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "src/base/random.h"
#include "src/model/leaf_pass.h"

namespace espalier::model {

inline NetworkShape MakeShape(const spec::ModelSpec& model, const spec::InputShape& inputs,
                              int64_t outputs) {
  return MakeNetworkShape(model, inputs, outputs).value();
}

inline double TestNumber(uint64_t seed, uint64_t i) {
  return 2 * UnitDouble(Mix64(seed * 7919 + i)) - 1;
}

// Fills the pass's buffers with a batch that depends only on `seed` and the row.
template <typename T>
void FillBatch(LeafPass<T>& pass, int64_t rows, uint64_t seed) {
  const NetworkShape& shape = pass.shape();
  for (int64_t i = 0; i < rows * shape.row_numbers(); ++i) {
    pass.inputs()[i] = static_cast<T>(TestNumber(seed, i));
  }
  for (int64_t i = 0; i < rows * shape.numbers.count; ++i) {  // places from 0 to the last bin's end
    const int64_t row = i / shape.numbers.count, number = i % shape.numbers.count;
    const double share = 0.55 + 0.55 * TestNumber(seed + 3, i);
    pass.inputs()[row * shape.row_numbers() + shape.inputs() + 2 * number + 1] = static_cast<T>(
        std::min(1.0, std::max(0.0, share)) * static_cast<double>(shape.numbers.bins));
  }
  const auto tables = static_cast<int64_t>(shape.tables.size());
  for (int64_t i = 0; i < rows * tables; ++i) {  // some are -1
    const auto codes = static_cast<uint64_t>(shape.tables[i % tables].codes);
    pass.codes()[i] = static_cast<int32_t>(Mix64(seed * 131 + i) % (codes + 1)) - 1;
  }
  for (int64_t r = 0; r < rows; ++r) {
    pass.weights()[r] = static_cast<T>(0.5 + UnitDouble(Mix64(seed + 31 * r)));
    if (shape.task == spec::Task::kClassification) {
      pass.labels()[r] = static_cast<int32_t>(Mix64(seed ^ (77 + r)) % shape.classes());
      continue;
    }
    if (shape.task == spec::Task::kAutoencoder) continue;
    for (int64_t k = 0; k < shape.outputs(); ++k) {
      const double number = TestNumber(seed + 5, r * shape.outputs() + k);
      pass.targets()[r * shape.outputs() + k] = shape.task == spec::Task::kMultilabel
                                                    ? static_cast<T>(number > 0)
                                                    : static_cast<T>(3 * number);
    }
  }
}

template <typename T>
std::vector<plan::Chunk> ChunksOf(const NetworkShape& shape,
                                  int64_t chunk_bytes = plan::kChunkBytes) {
  const std::vector<plan::LayerDims> dims = Dims(shape);
  return plan::MakeChunks(dims, sizeof(T), chunk_bytes);
}

// Returns the gradient sum over the last rows as one flat vector.
template <typename T>
std::vector<T> WholeGradient(const LeafPass<T>& pass, int64_t chunk_bytes = plan::kChunkBytes) {
  std::vector<T> gradient(ParameterCount(pass.shape()));
  for (const plan::Chunk& chunk : ChunksOf<T>(pass.shape(), chunk_bytes)) {
    pass.WeightGradient(chunk, gradient.data() + chunk.offset, false);
  }
  return gradient;
}

template <typename T>
std::vector<double> TrainingTotals(LeafPass<T>& pass, const std::vector<T>& parameters,
                                   int64_t rows, const DropoutKey& key = {}) {
  std::vector<double> totals(TotalsSize(pass.shape(), TotalsKind::kTraining));
  pass.ForwardBackward(parameters.data(), rows, key, totals.data());
  return totals;
}

template <typename T>
std::vector<T> StartOf(const NetworkShape& shape, uint64_t seed) {
  std::vector<T> parameters(ParameterCount(shape));
  InitialParameters<T>(shape, seed, parameters.data());
  return parameters;
}

// Compares the gradient over the first `rows` rows of the pass with finite differences.
inline void CheckFiniteDifferences(LeafPass<double>& pass, int64_t rows, double margin,
                                   const DropoutKey& key = {}) {
  constexpr double kDifference = 1e-6;
  std::vector<double> parameters = StartOf<double>(pass.shape(), 5);
  for (size_t i = 0; i < parameters.size(); ++i) parameters[i] += 0.1 * TestNumber(9, i);
  TrainingTotals(pass, parameters, rows, key);
  const std::vector<double> gradient = WholeGradient(pass);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const double at = parameters[i];
    parameters[i] = at + kDifference;
    const double above = TrainingTotals(pass, parameters, rows, key)[kTotalLoss];
    parameters[i] = at - kDifference;
    const double below = TrainingTotals(pass, parameters, rows, key)[kTotalLoss];
    parameters[i] = at;
    CHECK((above - below) / (2 * kDifference) == Approx(gradient[i]).epsilon(1e-5).margin(margin));
  }
}

}  // namespace espalier::model
