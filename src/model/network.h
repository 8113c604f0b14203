// The network: its layers, the names and places of its parameters, and their initial values.
//
// The parameters are one flat vector. Each layer has the weight [out, in] row-major, then the bias
// [out]. If the layer has a norm, its gain and shift come next. The tables follow, each [codes,
// width] row-major (src/plan/chunks.h). A hidden layer is x -> dropout(activation(norm(weight x +
// bias))), with a residual link plus x. The last layer has neither norm nor activation, because the
// losses include softmax, sigmoid and exp.
//
// Each coded input of a row (spec/input.h) selects a row of its table. The row of an embedding is
// appended to the numbers, and together they are the first layer's input. For a one-hot input, the
// table is the transposed part of the first layer's weight that applies to it. Its row is added to
// that layer's sums, so the zeros are never stored or multiplied.
//
// Numbers with a piecewise-linear embedding come after the other numbers of a row. Each has two
// values: its scaled value x, and its place among its bins, t + e for bin t and the fraction e of
// it. Each gives the first layer `width` inputs, between the other numbers and the embeddings of
// categories: slope x + bias + the sum of the weights of the bins before t + e times the weight of
// bin t. A scaling layer multiplies each input of the first layer, including one-hot ones, by a
// trained factor.
//
// A model of several fits of a network averages their predictions (average.h). The parameters of
// its fits follow one another, then the constant prediction and its share, if it has one.
//
// Thread rule: values and pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/plan/chunks.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/spec/tensors.h"

namespace espalier::model {

inline constexpr int64_t kLayersMax = 200;
inline constexpr int64_t kInputsMax = 1 << 24;
inline constexpr int64_t kParametersMax = int64_t{1} << 31;
// Units of a layer; a bias of this size fits into one chunk.
inline constexpr int64_t kWidthMax = 1 << 17;

struct LayerShape {
  int64_t in = 0;
  int64_t out = 0;
  spec::Activation activation = spec::Activation::kIdentity;
  spec::Init init = spec::Init::kXavier;
  double dropout = 0;  // of the activations; in [0, 1)
  bool norm = false;   // layer normalization before the activation
  // Adds its input, which is the output of the layer below and has the same width.
  bool residual = false;
  bool frozen = false;  // keeps its initial parameters; its gradient is zero
};

// The parameters of one coded input. They belong to the first layer and are frozen with it.
struct TableShape {
  int64_t codes = 0;
  int64_t width = 0;     // width of the embedding; for one-hot inputs, units of the first layer
  bool one_hot = false;  // false: an embedding
  int64_t input = 0;     // embedding: its first position among the inputs of the first layer
};

struct NetworkShape {
  std::vector<LayerShape> layers;  // at least one
  std::vector<TableShape> tables;  // one per coded input
  spec::Loss loss = spec::Loss::kSoftmaxCrossEntropy;
  double label_smoothing = 0;  // cross-entropies
  double huber_delta = 1;
  double quantile = 0.5;
  // ModelSpec::thresholds: for softmax_cross_entropy, one per class; or empty.
  std::vector<double> thresholds;
  // ModelSpec::costs: for softmax_cross_entropy and without thresholds; or empty.
  std::vector<spec::CostOfClass> costs;
  int32_t positive = 1;  // index of the positive class, with two classes
  // Half-widths of prediction intervals, in the units of training, one per target. May be empty.
  std::vector<double> half_widths;
  // Smallest and largest prediction of each output, in the units of training. Empty: no limits.
  std::vector<double> least, most;
  // Multilabel: weight of a 1 of each output in the training loss. Empty: 1.
  std::vector<double> positive_weights;
  spec::Task task = spec::Task::kClassification;
  // A row's numbers do not include zeros (spec/sparse_rows.h). The parameters are the same.
  // REQUIRES: not an autoencoder, no embedded number, no scaling layer.
  bool sparse = false;
  spec::EmbeddedNumbers numbers;
  bool scaling_layer = false;
  spec::Parametrization parametrization = spec::Parametrization::kStandard;
  int64_t fits = 1;       // number of fits; 1 in training
  bool constant = false;  // a constant prediction has a share in each prediction

  // Returns whether the most probable class is predicted.
  bool decides_plainly() const { return thresholds.empty() && costs.empty(); }
  bool averages() const { return fits > 1 || constant; }
  // Returns a prediction of output `k` within its limits.
  double Limited(int64_t k, double prediction) const {
    if (least.empty()) return prediction;
    const auto i = static_cast<size_t>(k);
    return std::clamp(prediction, least[i], most[i]);
  }

  // Returns the numbers per row without an embedding, which come first in the input of the first
  // layer.
  int64_t inputs() const;
  // Returns the numbers per row in the input of a pass.
  int64_t row_numbers() const { return inputs() + 2 * numbers.count; }
  // Returns the inputs of a layer. For the first layer, this counts all one-hot inputs.
  int64_t fan_in(size_t layer) const;
  int64_t outputs() const { return layers.back().out; }
  // Returns the number of classes: 2 with binary_cross_entropy (one output unit), otherwise the
  // outputs. Returns 0 for other tasks.
  int64_t classes() const;
  // Returns the numbers in a prediction: the classes, or the outputs.
  int64_t answers() const;
};

// Makes the shape. `outputs_or_classes` is the number of classes or targets (AnswersOf). Errors
// (kInvalidArgument) name the field of the spec and the value that it conflicts with.
Result<NetworkShape> MakeNetworkShape(const spec::ModelSpec& model, const spec::InputShape& inputs,
                                      int64_t outputs_or_classes);
// Sets the limits of predictions to the ranges of the targets, if these have ranges.
void LimitPredictions(const std::vector<spec::FittedTarget>& targets, NetworkShape* shape);
// Makes the network of a job, with its frozen layers.
Result<NetworkShape> MakeNetworkShape(const spec::JobSpec& job, const spec::InputShape& inputs,
                                      int64_t outputs_or_classes);

// Returns the tensors in flat order:
// - "layers.0.weight" [out, in], "layers.0.bias" [out], with a norm "layers.0.norm.weight" [out]
//   (the gain) and "layers.0.norm.bias" [out] (the shift), then "layers.1.weight", ...
// - for coded input k, "layers.0.embeddings.k.weight" [codes, width] or "layers.0.one_hot.k.weight"
//   [codes, out]
// - for embedded numbers, "layers.0.numbers.slope" and ".bias" [count, width] and ".weight" [count,
//   bins, width]
// - "layers.0.scale" [fan_in(0)], with one-hot inputs last
// - "constant.answer" [answers] and "constant.share" [1]
//
// With several fits, names of their tensors begin with "fits.0." and so on.
spec::TensorList Tensors(const NetworkShape& shape);
int64_t ParameterCount(const NetworkShape& shape);
// Returns the parameters of one fit, without the constant prediction.
int64_t FitParameterCount(const NetworkShape& shape);
// Multiplies all outputs of a fit before softmax or sigmoid by `factor`.
template <typename T>
void ScaleOutputs(const NetworkShape& shape, double factor, T* parameters);
// Returns the dimensions of the layers, then of the tables and the parts of numbers and scaling,
// which have no bias.
std::vector<plan::LayerDims> Dims(const NetworkShape& shape);
// Kinds of the entries of Dims.
enum class PartKind { kLayer, kTable, kSlope, kNumberBias, kBins, kScale };
struct Part {
  PartKind kind = PartKind::kLayer;
  size_t index = 0;  // index of the layer or table
};
Part PartOf(const NetworkShape& shape, const plan::Chunk& chunk);
// Returns whether a chunk's layer or table keeps its initial parameters.
bool IsFrozen(const NetworkShape& shape, const plan::Chunk& chunk);
// Returns how many of a chunk's parameters are weights, which come first and decay. Biases and
// norms follow. The slope and bias of an embedded number count as biases.
int64_t WeightsOf(const NetworkShape& shape, const plan::Chunk& chunk);

// Fills `out` [ParameterCount]. Each value is a function of (seed, layer, index) only. Weights are
// uniform with variance 2 / in (He et al., "Delving deep into rectifiers", 2015) or with bound
// sqrt(6 / (in + out)) (Glorot and Bengio, 2010). Biases and shifts are 0, gains 1. A one-hot input
// counts as one in the `in` of the first layer, because one of its values is not 0. Embeddings are
// uniform within 0.05.
//
// With kNtp, weights have variance 1 / fan_in and embeddings 1, both as sums of twelve uniform
// numbers. Slopes of embedded numbers always have variance 1, and their biases and bins are 0. The
// factors of a scaling layer are 1.
template <typename T>
void InitialParameters(const NetworkShape& shape, uint64_t seed, T* out);

}  // namespace espalier::model
