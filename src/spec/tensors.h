// The list of parameter tensors of a network: their names, shapes and places in the one flat
// vector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::spec {

// Row-major; `offset` counts elements in the flat vector.
struct TensorInfo {
  std::string name;  // "layers.0.weight" ([out, in]), "layers.0.bias" ([out])
  std::vector<int64_t> shape;
  int64_t offset = 0;
  int64_t size = 0;  // elements
  bool operator==(const TensorInfo&) const = default;
};

using TensorList = std::vector<TensorInfo>;

// First values of one tensor that come from an earlier model; double holds those of float exactly.
struct InitialTensor {
  int64_t offset = 0;          // in the flat vector
  std::vector<double> values;  // NaN: the drawn value stays
  // The fits that begin with it, of a model of several: those whose number modulo `fits` is `fit`.
  int64_t fit = 0, fits = 1;
};

}  // namespace espalier::spec
