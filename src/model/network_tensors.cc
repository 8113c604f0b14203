#include <string>
#include <utility>

#include "src/model/network.h"

namespace espalier::model {
namespace {

// Returns the tensors of one fit.
spec::TensorList FitTensors(const NetworkShape& shape) {
  spec::TensorList tensors;
  int64_t offset = 0;
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    const LayerShape& layer = shape.layers[i];
    const std::string name = "layers." + std::to_string(i);
    const int64_t weights = layer.in * layer.out;
    tensors.push_back({name + ".weight", {layer.out, layer.in}, offset, weights});
    offset += weights;
    const auto add = [&](const char* part) {
      tensors.push_back({name + part, {layer.out}, offset, layer.out});
      offset += layer.out;
    };
    add(".bias");
    if (layer.norm) add(".norm.weight"), add(".norm.bias");
  }
  for (size_t k = 0; k < shape.tables.size(); ++k) {
    const TableShape& table = shape.tables[k];
    const std::string kind = table.one_hot ? "layers.0.one_hot." : "layers.0.embeddings.";
    const int64_t size = table.codes * table.width;
    tensors.push_back(
        {kind + std::to_string(k) + ".weight", {table.codes, table.width}, offset, size});
    offset += size;
  }
  const spec::EmbeddedNumbers& numbers = shape.numbers;
  const auto add = [&](const char* name, std::vector<int64_t> dims) {
    int64_t size = 1;
    for (const int64_t dim : dims) size *= dim;
    tensors.push_back({name, std::move(dims), offset, size});
    offset += size;
  };
  if (numbers.count > 0) {
    add("layers.0.numbers.slope", {numbers.count, numbers.width});
    add("layers.0.numbers.bias", {numbers.count, numbers.width});
    add("layers.0.numbers.weight", {numbers.count, numbers.bins, numbers.width});
  }
  if (shape.scaling_layer) add("layers.0.scale", {shape.fan_in(0)});
  return tensors;
}

}  // namespace

spec::TensorList Tensors(const NetworkShape& shape) {
  const spec::TensorList fit = FitTensors(shape);
  spec::TensorList tensors;
  int64_t offset = 0;
  for (int64_t k = 0; k < shape.fits; ++k) {
    const std::string prefix = shape.fits > 1 ? "fits." + std::to_string(k) + "." : "";
    for (const spec::TensorInfo& t : fit) {
      tensors.push_back({prefix + t.name, t.shape, offset, t.size});
      offset += t.size;
    }
  }
  if (!shape.constant) return tensors;
  const int64_t answers = shape.answers();
  tensors.push_back({"constant.answer", {answers}, offset, answers});
  tensors.push_back({"constant.share", {1}, offset + answers, 1});
  return tensors;
}

int64_t FitParameterCount(const NetworkShape& shape) {
  int64_t count = 0;
  for (const plan::LayerDims& layer : Dims(shape)) count += layer.in * layer.out + layer.tail();
  return count;
}

int64_t ParameterCount(const NetworkShape& shape) {
  return shape.fits * FitParameterCount(shape) + (shape.constant ? shape.answers() + 1 : 0);
}

// The outputs are the sums of the last layer. One-hot inputs add to them if it is also the first
// layer.
template <typename T>
void ScaleOutputs(const NetworkShape& shape, double factor, T* parameters) {
  const std::string last = "layers." + std::to_string(shape.layers.size() - 1) + ".";
  for (const spec::TensorInfo& t : FitTensors(shape)) {
    const bool adds = t.name == last + "weight" || t.name == last + "bias" ||
                      (shape.layers.size() == 1 && t.name.starts_with("layers.0.one_hot."));
    for (int64_t i = t.offset; adds && i < t.offset + t.size; ++i) {
      parameters[i] = static_cast<T>(static_cast<double>(parameters[i]) * factor);
    }
  }
}

template void ScaleOutputs<float>(const NetworkShape&, double, float*);
template void ScaleOutputs<double>(const NetworkShape&, double, double*);

}  // namespace espalier::model
