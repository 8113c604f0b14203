// The list of a network's parameter tensors: their names, shapes and offsets in the flat vector.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::spec {

// One tensor, row-major. `offset` counts elements in the flat vector.
struct TensorInfo {
  std::string name;  // "layers.0.weight" ([out, in]), "layers.0.bias" ([out])
  std::vector<int64_t> shape;
  int64_t offset = 0;
  int64_t size = 0;  // elements
  bool operator==(const TensorInfo&) const = default;
};

using TensorList = std::vector<TensorInfo>;

// Initial values of one tensor from an earlier model. A double represents every float exactly.
struct InitialTensor {
  int64_t offset = 0;          // in the flat vector
  std::vector<double> values;  // NaN: the random value stays
  // Fits of an ensemble that start with these values: those whose number modulo `fits` is `fit`.
  int64_t fit = 0, fits = 1;
};

}  // namespace espalier::spec
