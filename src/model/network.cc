#include "src/model/network.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "src/base/random.h"
#include "src/base/text.h"
#include "src/spec/names.h"

namespace espalier::model {
namespace {

bool IsReluFamily(spec::Activation activation) {
  switch (activation) {
    case spec::Activation::kRelu:
    case spec::Activation::kLeakyRelu:
    case spec::Activation::kElu:
    case spec::Activation::kGelu:
    case spec::Activation::kSilu:
      return true;
    default:
      return false;
  }
}

// Returns the inputs of the first layer: numbers, then embeddings.
int64_t FirstInputs(const spec::InputShape& inputs) {
  int64_t count = inputs.dense + inputs.numbers.count * inputs.numbers.width;
  for (const spec::CodedInput& coded : inputs.coded) count += coded.embedding;
  return count;
}

// Returns the inputs including all one-hot inputs.
int64_t Width(const spec::InputShape& inputs) {
  int64_t count = inputs.dense + inputs.numbers.count * inputs.numbers.width;
  for (const spec::CodedInput& coded : inputs.coded) {
    count += std::max(coded.codes, coded.embedding);  // a sum of 2^20 of these does not overflow
  }
  return count;
}

Status CheckSizes(const spec::ModelSpec& model, const spec::InputShape& shape) {
  const int64_t inputs = Width(shape);
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
                           " hidden layers; give one for all or one per layer");
  }
  const auto dropouts = static_cast<int64_t>(model.dropout.size());
  if (hidden > 0 && dropouts != 1 && dropouts != hidden) {
    return InvalidArgument("model.dropout: lists " + HumanCount(dropouts) + " numbers for " +
                           HumanCount(hidden) +
                           " hidden layers; give one for all or one per layer");
  }
  for (double dropout : model.dropout) {
    if (!(dropout >= 0 && dropout < 1)) {
      return InvalidArgument("model.dropout: is " + ShortestDouble(dropout) +
                             "; it must be at least 0 and below 1");
    }
  }
  return {};
}

// Returns the number of output units.
Result<int64_t> OutputUnits(const spec::ModelSpec& model, int64_t count) {
  const spec::Loss loss = spec::EffectiveLoss(model);
  const bool classification = model.task == spec::Task::kClassification;
  if (!spec::LossFits(loss, model.task)) {
    return InvalidArgument(std::string("model.loss: ") + spec::NameOf(loss) +
                           " does not fit model.task: " + spec::NameOf(model.task));
  }
  if (classification && count < 2) {
    return InvalidArgument("data.label: has " + HumanCount(count) +
                           " class in the training rows; classification needs at least 2");
  }
  const bool binary = classification && loss == spec::Loss::kBinaryCrossEntropy;
  if (binary && count != 2) {
    return InvalidArgument("model.loss: binary_cross_entropy needs 2 classes, the label has " +
                           HumanCount(count) + "; use softmax_cross_entropy");
  }
  if (loss == spec::Loss::kHuber && !(model.huber_delta > 0 && std::isfinite(model.huber_delta))) {
    return InvalidArgument("model.huber_delta: is " + ShortestDouble(model.huber_delta) +
                           "; it must be above 0");
  }
  if (count < 1 || count > kWidthMax) {
    return InvalidArgument("data.label: gives the network " + HumanCount(count) +
                           " outputs; 1 to " + HumanCount(kWidthMax) + " are possible");
  }
  return binary ? 1 : count;
}

// Compares the job's expectations with the data.
Status CheckExpected(const spec::ModelSpec& model, int64_t inputs, int64_t outputs_or_classes) {
  const auto differs = [](const char* key, const char* place, int64_t found, int64_t given,
                          const std::string& source) {
    return InvalidArgument(std::string(key) + ": found " + HumanCount(found) + ", but " + source +
                           " " + HumanCount(given) + ". Set it, or the " + place +
                           " number of compat.spark-mlp.layers, to " + std::to_string(given) +
                           ", or change the data");
  };
  if (model.expected_inputs && *model.expected_inputs != inputs) {
    return differs("model.inputs", "first", *model.expected_inputs, inputs,
                   "the inputs that data.features gives are");
  }
  if (model.expected_outputs && *model.expected_outputs != outputs_or_classes) {
    return differs("model.outputs", "last", *model.expected_outputs, outputs_or_classes,
                   "the classes or targets of data.label are");
  }
  return {};
}

double InitialBound(const NetworkShape& shape, size_t index) {
  const LayerShape& layer = shape.layers[index];
  auto in = static_cast<double>(layer.in);
  for (const TableShape& table : shape.tables) in += index == 0 && table.one_hot;
  const auto out = static_cast<double>(layer.out);
  return std::sqrt(6.0 / (layer.init == spec::Init::kHe ? in : in + out));
}

constexpr double kEmbeddingBound = 0.05;

// Fills uniform numbers between -bound and bound. `number` counts the layers, then the tables.
template <typename T>
T* FillUniform(const PhiloxKey& key, uint64_t number, int64_t count, double bound, T* out) {
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = RandomBits(key, number, static_cast<uint64_t>(i));
    out[i] = static_cast<T>((2 * UnitDouble(bits) - 1) * bound);
  }
  return out + count;
}

// Fills sums of twelve uniform numbers of 16 bits each, with variance `scale`^2.
template <typename T>
T* FillNormal(const PhiloxKey& key, uint64_t number, int64_t count, double scale, T* out) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t sum = 0;
    for (int64_t part = 3 * i; part < 3 * i + 3; ++part) {
      for (uint64_t bits = RandomBits(key, number, static_cast<uint64_t>(part)), k = 0; k < 4;
           ++k) {
        sum += static_cast<int64_t>(bits >> (16 * k) & 0xFFFF);
      }
    }
    // The mean of 16 bits is 32,767.5.
    out[i] = static_cast<T>((static_cast<double>(sum) - 12 * 32'767.5) / 65'536 * scale);
  }
  return out + count;
}

Status CheckThresholds(const spec::ModelSpec& model, int64_t outputs) {
  const auto& t = model.thresholds;
  if (t.empty()) return {};
  const bool sound = spec::EffectiveLoss(model) == spec::Loss::kSoftmaxCrossEntropy &&
                     static_cast<int64_t>(t.size()) == outputs &&
                     std::all_of(t.begin(), t.end(), [](double v) { return v >= 0; }) &&
                     std::count(t.begin(), t.end(), 0.0) <= 1;
  if (sound) return {};
  return InvalidArgument("model.thresholds: found " + std::to_string(t.size()) +
                         " numbers; expected none, or with softmax_cross_entropy one per class, " +
                         std::to_string(outputs) + ": each at least 0, one at most 0");
}

}  // namespace

int64_t NetworkShape::inputs() const {
  int64_t count = layers.front().in - numbers.count * numbers.width;
  for (const TableShape& table : tables) count -= table.one_hot ? 0 : table.width;
  return count;
}

int64_t NetworkShape::fan_in(size_t layer) const {
  int64_t count = layers[layer].in;
  for (const TableShape& table : tables) count += layer == 0 && table.one_hot ? table.codes : 0;
  return count;
}

int64_t NetworkShape::classes() const {
  if (task != spec::Task::kClassification) return 0;
  return loss == spec::Loss::kBinaryCrossEntropy ? 2 : outputs();
}

int64_t NetworkShape::answers() const {
  return task == spec::Task::kClassification ? classes() : outputs();
}

void LimitPredictions(const std::vector<spec::FittedTarget>& targets, NetworkShape* shape) {
  for (const spec::FittedTarget& t : targets) {
    if (t.range.empty()) continue;  // all targets have a range, or none has
    shape->least.push_back((t.range[0] - t.shift) * t.factor);
    shape->most.push_back((t.range[1] - t.shift) * t.factor);
  }
}

Result<NetworkShape> MakeNetworkShape(const spec::ModelSpec& model, const spec::InputShape& inputs,
                                      int64_t outputs_or_classes) {
  ESPALIER_RETURN_IF_ERROR(CheckSizes(model, inputs));
  ESPALIER_RETURN_IF_ERROR(CheckExpected(model, Width(inputs), outputs_or_classes));
  ESPALIER_ASSIGN_OR_RETURN(const int64_t outputs, OutputUnits(model, outputs_or_classes));
  ESPALIER_RETURN_IF_ERROR(CheckThresholds(model, outputs));
  if (model.task == spec::Task::kAutoencoder &&
      (!inputs.coded.empty() || inputs.numbers.count > 0 || inputs.dense != outputs)) {
    return InvalidArgument("data.features: give the network inputs that are not the " +
                           HumanCount(outputs) + " numbers that an autoencoder gives back");
  }
  NetworkShape shape;
  shape.loss = spec::EffectiveLoss(model);
  shape.label_smoothing = model.label_smoothing;
  shape.huber_delta = model.huber_delta;
  shape.quantile = model.quantile;
  shape.thresholds = model.thresholds;
  shape.task = model.task;
  shape.numbers = inputs.numbers;
  shape.scaling_layer = model.scaling_layer;
  shape.parametrization = model.parametrization;
  int64_t in = FirstInputs(inputs);
  for (size_t i = 0; i < model.hidden.size(); ++i) {
    const spec::Activation activation = model.activation[model.activation.size() == 1 ? 0 : i];
    const spec::Init init = IsReluFamily(activation) ? spec::Init::kHe : spec::Init::kXavier;
    const double dropout = model.dropout[model.dropout.size() == 1 ? 0 : i];
    const bool residual = model.residual && i > 0 && in == model.hidden[i];
    shape.layers.push_back({in, model.hidden[i], activation, model.init.value_or(init), dropout,
                            model.layer_norm, residual});
    in = model.hidden[i];
  }
  shape.layers.push_back(
      {in, outputs, spec::Activation::kIdentity, model.init.value_or(spec::Init::kXavier), 0});
  int64_t at = inputs.dense + inputs.numbers.count * inputs.numbers.width;
  for (const spec::CodedInput& coded : inputs.coded) {
    const bool one_hot = coded.embedding == 0;
    const int64_t width = one_hot ? shape.layers[0].out : coded.embedding;
    shape.tables.push_back({coded.codes, width, one_hot, one_hot ? 0 : at});
    at += coded.embedding;
  }
  if (const int64_t count = ParameterCount(shape); count > kParametersMax) {
    return InvalidArgument("model.hidden: the network has " + HumanCount(count) +
                           " parameters, at most " + HumanCount(kParametersMax) +
                           " are possible; take narrower layers, fewer inputs, or code categories "
                           "by fewer values (`hash`, `min_count`) or narrower embeddings");
  }
  return shape;
}

Result<NetworkShape> MakeNetworkShape(const spec::JobSpec& job, const spec::InputShape& inputs,
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

std::vector<plan::LayerDims> Dims(const NetworkShape& shape) {
  std::vector<plan::LayerDims> dims;
  for (const LayerShape& layer : shape.layers) dims.push_back({layer.in, layer.out, layer.norm});
  for (const TableShape& table : shape.tables) {
    dims.push_back({.in = table.width, .out = table.codes, .bias = false});
  }
  if (const spec::EmbeddedNumbers& n = shape.numbers; n.count > 0) {
    for (const int64_t rows : {n.count, n.count, n.count * n.bins}) {
      dims.push_back({.in = n.width, .out = rows, .bias = false});
    }
  }
  if (shape.scaling_layer) dims.push_back({.in = 1, .out = shape.fan_in(0), .bias = false});
  return dims;
}

Part PartOf(const NetworkShape& shape, const plan::Chunk& chunk) {
  const auto layer = static_cast<size_t>(chunk.layer);
  const size_t tables = shape.layers.size(), parts = tables + shape.tables.size();
  if (layer < tables) return {PartKind::kLayer, layer};
  if (layer < parts) return {PartKind::kTable, layer - tables};
  if (shape.numbers.count == 0 || layer == parts + 3) return {PartKind::kScale};
  constexpr PartKind kNumbers[] = {PartKind::kSlope, PartKind::kNumberBias, PartKind::kBins};
  return {kNumbers[layer - parts]};
}

bool IsFrozen(const NetworkShape& shape, const plan::Chunk& chunk) {
  const auto layer = static_cast<size_t>(chunk.layer);
  return shape.layers[layer < shape.layers.size() ? layer : 0].frozen;
}

int64_t WeightsOf(const NetworkShape& shape, const plan::Chunk& chunk) {
  const int64_t rows = chunk.out_end - chunk.out_begin;
  const Part part = PartOf(shape, chunk);
  switch (part.kind) {
    case PartKind::kLayer:
      return rows * shape.layers[part.index].in;
    case PartKind::kTable:
      return rows * shape.tables[part.index].width;
    case PartKind::kSlope:
    case PartKind::kNumberBias:
      return 0;
    case PartKind::kBins:
    case PartKind::kScale:
      break;
  }
  return chunk.size;
}

template <typename T>
void InitialParameters(const NetworkShape& shape, uint64_t seed, T* out) {
  constexpr uint64_t kSlopes = uint64_t{1} << 40;  // above the numbers of layers and tables
  const PhiloxKey key = MakeKey(seed, RandomUse::kInitialWeights);
  const bool ntp = shape.parametrization == spec::Parametrization::kNtp;
  const auto normal = [&](size_t layer) {
    return 1 / std::sqrt(static_cast<double>(shape.fan_in(layer)));
  };
  for (size_t l = 0; l < shape.layers.size(); ++l) {
    const LayerShape& layer = shape.layers[l];
    const int64_t weights = layer.in * layer.out;
    out = ntp ? FillNormal(key, l, weights, normal(l), out)
              : FillUniform(key, l, weights, InitialBound(shape, l), out);
    out = std::fill_n(out, layer.out, T{0});
    if (!layer.norm) continue;
    out = std::fill_n(out, layer.out, T{1});
    out = std::fill_n(out, layer.out, T{0});
  }
  for (size_t k = 0; k < shape.tables.size(); ++k) {
    const TableShape& table = shape.tables[k];
    const int64_t weights = table.codes * table.width;
    if (ntp) {
      out = FillNormal(key, kLayersMax + k, weights, table.one_hot ? normal(0) : 1, out);
      continue;
    }
    const double bound = table.one_hot ? InitialBound(shape, 0) : kEmbeddingBound;
    out = FillUniform(key, kLayersMax + k, weights, bound, out);
  }
  const int64_t inputs = shape.numbers.count * shape.numbers.width;
  out = FillNormal(key, kSlopes, inputs, 1, out);
  out = std::fill_n(out, inputs * (1 + shape.numbers.bins), T{0});
  if (shape.scaling_layer) std::fill_n(out, shape.fan_in(0), T{1});
}

template void InitialParameters<float>(const NetworkShape&, uint64_t, float*);
template void InitialParameters<double>(const NetworkShape&, uint64_t, double*);

}  // namespace espalier::model
