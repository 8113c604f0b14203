#include "src/model/network.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "src/base/random.h"
#include "src/base/text.h"

namespace espalier {
namespace {

bool IsReluFamily(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
    case Activation::kLeakyRelu:
    case Activation::kElu:
    case Activation::kGelu:
    case Activation::kSilu:
      return true;
    default:
      return false;
  }
}

Status CheckSizes(const ModelSpec& model, int64_t inputs) {
  if (inputs < 1 || inputs > kInputsMax) {
    return InvalidArgument("data.features: gives the network " + HumanCount(inputs) +
                           " inputs; 1 to " + HumanCount(kInputsMax) + " are possible");
  }
  const auto hidden = static_cast<int64_t>(model.hidden.size());
  if (hidden >= kLayersMax) {
    return InvalidArgument("model.hidden: has " + HumanCount(hidden) + " layers; at most " +
                           HumanCount(kLayersMax - 1) + " are possible");
  }
  for (int64_t width : model.hidden) {
    if (width < 1 || width > kWidthMax) {
      return InvalidArgument("model.hidden: a layer of " + HumanCount(width) + " units; 1 to " +
                             HumanCount(kWidthMax) + " are possible");
    }
  }
  const auto activations = static_cast<int64_t>(model.activation.size());
  if (hidden > 0 && activations != 1 && activations != hidden) {
    return InvalidArgument("model.activation: lists " + HumanCount(activations) +
                           " activations for " + HumanCount(hidden) +
                           " hidden layers; give one for all or one a layer");
  }
  const auto dropouts = static_cast<int64_t>(model.dropout.size());
  if (hidden > 0 && dropouts != 1 && dropouts != hidden) {
    return InvalidArgument("model.dropout: lists " + HumanCount(dropouts) + " numbers for " +
                           HumanCount(hidden) + " hidden layers; give one for all or one a layer");
  }
  for (double dropout : model.dropout) {
    if (!(dropout >= 0 && dropout < 1)) {
      return InvalidArgument("model.dropout: is " + ShortestDouble(dropout) +
                             "; it must be at least 0 and below 1");
    }
  }
  return {};
}

// The number of output units.
Result<int64_t> OutputUnits(const ModelSpec& model, int64_t count) {
  const Loss loss = EffectiveLoss(model);
  const bool class_loss = loss == Loss::kSoftmaxCrossEntropy || loss == Loss::kBinaryCrossEntropy;
  const bool classification = model.task == Task::kClassification;
  if (class_loss != classification) {
    return InvalidArgument(std::string("model.loss: ") + Name(loss) +
                           " does not fit model.task: " + Name(model.task));
  }
  if (classification && count < 2) {
    return InvalidArgument("data.label: has " + HumanCount(count) +
                           " class in the training rows; classification needs at least 2");
  }
  if (loss == Loss::kBinaryCrossEntropy && count != 2) {
    return InvalidArgument("model.loss: binary_cross_entropy needs 2 classes, the label has " +
                           HumanCount(count) + "; use softmax_cross_entropy");
  }
  if (loss == Loss::kHuber && !(model.huber_delta > 0 && std::isfinite(model.huber_delta))) {
    return InvalidArgument("model.huber_delta: is " + ShortestDouble(model.huber_delta) +
                           "; it must be above 0");
  }
  if (count < 1 || count > kWidthMax) {
    return InvalidArgument("data.label: gives the network " + HumanCount(count) +
                           " outputs; 1 to " + HumanCount(kWidthMax) + " are possible");
  }
  return loss == Loss::kBinaryCrossEntropy ? 1 : count;
}

// What the job says of its data, against what the data is.
Status CheckExpected(const ModelSpec& model, int64_t inputs, int64_t outputs_or_classes) {
  const std::string who = "compat.spark-mlp.layers: ";
  if (model.expected_inputs && *model.expected_inputs != inputs) {
    return InvalidArgument(who + "begins with " + HumanCount(*model.expected_inputs) +
                           "; data.features gives the network " + HumanCount(inputs) + " inputs");
  }
  if (model.expected_outputs && *model.expected_outputs != outputs_or_classes) {
    return InvalidArgument(who + "ends with " + HumanCount(*model.expected_outputs) +
                           "; data.label has " + HumanCount(outputs_or_classes) +
                           " classes in the training rows");
  }
  return {};
}

double InitialBound(const LayerShape& layer) {
  const auto in = static_cast<double>(layer.in), out = static_cast<double>(layer.out);
  return std::sqrt(6.0 / (layer.init == Init::kHe ? in : in + out));
}

}  // namespace

int64_t NetworkShape::classes() const {
  if (task == Task::kRegression) return 0;
  return loss == Loss::kBinaryCrossEntropy ? 2 : outputs();
}

Result<NetworkShape> MakeNetworkShape(const ModelSpec& model, int64_t inputs,
                                      int64_t outputs_or_classes) {
  ESPALIER_RETURN_IF_ERROR(CheckSizes(model, inputs));
  ESPALIER_RETURN_IF_ERROR(CheckExpected(model, inputs, outputs_or_classes));
  ESPALIER_ASSIGN_OR_RETURN(const int64_t outputs, OutputUnits(model, outputs_or_classes));
  NetworkShape shape;
  shape.loss = EffectiveLoss(model);
  shape.label_smoothing = model.label_smoothing;
  shape.huber_delta = model.huber_delta;
  shape.quantile = model.quantile;
  shape.thresholds = model.thresholds;
  shape.task = model.task;
  int64_t in = inputs;
  for (size_t i = 0; i < model.hidden.size(); ++i) {
    const Activation activation = model.activation[model.activation.size() == 1 ? 0 : i];
    const Init init = IsReluFamily(activation) ? Init::kHe : Init::kXavier;
    const double dropout = model.dropout[model.dropout.size() == 1 ? 0 : i];
    const bool residual = model.residual && i > 0 && in == model.hidden[i];
    shape.layers.push_back({in, model.hidden[i], activation, model.init.value_or(init), dropout,
                            model.layer_norm, residual});
    in = model.hidden[i];
  }
  shape.layers.push_back(
      {in, outputs, Activation::kIdentity, model.init.value_or(Init::kXavier), 0});
  return shape;
}

Result<NetworkShape> MakeNetworkShape(const JobSpec& job, int64_t inputs,
                                      int64_t outputs_or_classes) {
  ESPALIER_ASSIGN_OR_RETURN(NetworkShape shape,
                            MakeNetworkShape(job.model, inputs, outputs_or_classes));
  for (int64_t layer : job.train.frozen) {
    if (layer < 0 || layer >= static_cast<int64_t>(shape.layers.size())) {
      return InvalidArgument("train.frozen: names layer " + std::to_string(layer) +
                             "; the network has " + std::to_string(shape.layers.size()) +
                             ", counted from 0");
    }
    shape.layers[layer].frozen = true;
  }
  return shape;
}

TensorList Tensors(const NetworkShape& shape) {
  TensorList tensors;
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
  return tensors;
}

int64_t ParameterCount(const NetworkShape& shape) {
  int64_t count = 0;
  for (const LayerDims& layer : Dims(shape)) count += layer.in * layer.out + layer.tail();
  return count;
}

std::vector<LayerDims> Dims(const NetworkShape& shape) {
  std::vector<LayerDims> dims;
  for (const LayerShape& layer : shape.layers) dims.push_back({layer.in, layer.out, layer.norm});
  return dims;
}

template <typename T>
void InitialParameters(const NetworkShape& shape, uint64_t seed, T* out) {
  const PhiloxKey key = MakeKey(seed, RandomUse::kInitialWeights);
  for (size_t l = 0; l < shape.layers.size(); ++l) {
    const LayerShape& layer = shape.layers[l];
    const double bound = InitialBound(layer);
    const int64_t weights = layer.in * layer.out;
    for (int64_t i = 0; i < weights; ++i) {
      out[i] = static_cast<T>((2 * UnitDouble(RandomBits(key, l, i)) - 1) * bound);
    }
    out += weights;
    out = std::fill_n(out, layer.out, T{0});
    if (!layer.norm) continue;
    out = std::fill_n(out, layer.out, T{1});
    out = std::fill_n(out, layer.out, T{0});
  }
}

template void InitialParameters<float>(const NetworkShape&, uint64_t, float*);
template void InitialParameters<double>(const NetworkShape&, uint64_t, double*);

}  // namespace espalier
