// The network: its layers, its parameters' names and places, and their first values.
//
// The parameters are one flat vector: per layer the weight [out, in] row-major, then the bias
// [out], then the gain and the shift of its layer norm, if it has one; then the tables, each
// [codes, width] row-major (src/plan/chunks.h). A hidden layer is x -> dropout(activation(norm(
// weight x + bias))), with a residual link plus x. The last layer has neither norm nor activation:
// the losses include softmax, sigmoid and exp.
//
// Each coded input of a row (spec/input.h) picks a row of its table. An embedding's is appended to
// the row's numbers and makes the first layer's input with them. Of one-hot inputs the table is the
// transposed part of the first layer's weight that they would meet, and its row is added to that
// layer's sums: the zeros are never stored nor multiplied.
//
// Numbers with a piecewise-linear embedding come after the other numbers of a row, each as its
// scaled value x and its place among its bins, bin t and the share e of it as t + e. They give the
// first layer `width` inputs each, between the other numbers and the embeddings of categories:
// slope x + bias + the sum of the weights of the bins before t + e times the weight of bin t. Of a
// scaling layer each input of the first layer, one-hot ones too, is multiplied by a trained factor.
//
// A model of several fits of a network averages their predictions (average.h). The parameters of
// its fits follow one another, then with a constant answer that answer and its share.
//
// Thread rule: values and pure functions.
#pragma once

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
inline constexpr int64_t kWidthMax = 1 << 17;  // units of a layer: a bias then fits into one chunk

struct LayerShape {
  int64_t in = 0;
  int64_t out = 0;
  spec::Activation activation = spec::Activation::kIdentity;
  spec::Init init = spec::Init::kXavier;
  double dropout = 0;     // of the activations; in [0, 1)
  bool norm = false;      // layer normalisation before the activation
  bool residual = false;  // adds its input, which is the layer below's output, as wide as its own
  bool frozen = false;    // keeps its first parameters; its gradient is zero
};

// The parameters of one coded input, all of the first layer's: frozen with it.
struct TableShape {
  int64_t codes = 0;
  int64_t width = 0;     // of the embedding; of one-hot inputs the units of the first layer
  bool one_hot = false;  // else an embedding
  int64_t input = 0;     // embedding: where it begins among the inputs of the first layer
};

struct NetworkShape {
  std::vector<LayerShape> layers;  // at least one
  std::vector<TableShape> tables;  // one a coded input
  spec::Loss loss = spec::Loss::kSoftmaxCrossEntropy;
  double label_smoothing = 0;  // cross-entropies
  double huber_delta = 1;
  double quantile = 0.5;
  std::vector<double> thresholds;  // ModelSpec's: of softmax_cross_entropy, one a class, or none
  int32_t positive = 1;            // position of the positive class, of two
  // Half-widths of prediction intervals, in the units of training, one a target; or none.
  std::vector<double> half_widths;
  // Multilabel: what a 1 of each output weighs in the loss of training; none: 1.
  std::vector<double> positive_weights;
  spec::Task task = spec::Task::kClassification;
  // A row's numbers come without those that are 0 (spec/sparse_rows.h); the parameters are the
  // same. REQUIRES: not an autoencoder, no embedded number, no scaling layer.
  bool sparse = false;
  spec::EmbeddedNumbers numbers;
  bool scaling_layer = false;
  spec::Parametrization parametrization = spec::Parametrization::kStandard;
  int64_t fits = 1;       // trainings have one
  bool constant = false;  // a constant answer has a share in each prediction

  bool averages() const { return fits > 1 || constant; }

  // Numbers a row without an embedding, which come first in the input of the first layer.
  int64_t inputs() const;
  // Numbers a row as a pass is given them.
  int64_t row_numbers() const { return inputs() + 2 * numbers.count; }
  // Inputs of a layer, of the first one with one-hot inputs spelled out.
  int64_t fan_in(size_t layer) const;
  int64_t outputs() const { return layers.back().out; }
  // Classification: 2 with binary_cross_entropy (one output unit), else the outputs. Else 0.
  int64_t classes() const;
  // Numbers that a prediction has: the classes, or the outputs.
  int64_t answers() const;
};

// `outputs_or_classes`: the number of classes, or of targets (AnswersOf). Errors (kInvalidArgument)
// name the field of the spec and what it is at odds with.
Result<NetworkShape> MakeNetworkShape(const spec::ModelSpec& model, const spec::InputShape& inputs,
                                      int64_t outputs_or_classes);
// The network of a job, with its frozen layers.
Result<NetworkShape> MakeNetworkShape(const spec::JobSpec& job, const spec::InputShape& inputs,
                                      int64_t outputs_or_classes);

// "layers.0.weight" [out, in], "layers.0.bias" [out], with a norm "layers.0.norm.weight" [out] (the
// gain) and "layers.0.norm.bias" [out] (the shift), "layers.1.weight", ..., then of coded input k
// "layers.0.embeddings.k.weight" [codes, width] or "layers.0.one_hot.k.weight" [codes, out], then
// of embedded numbers "layers.0.numbers.slope" and ".bias" [count, width] and ".weight" [count,
// bins, width], then "layers.0.scale" [fan_in(0)], which has one-hot inputs last; in flat order.
// With several fits, names begin with "fits.0." and so on. "constant.answer" [answers] and
// "constant.share" [1] come last.
spec::TensorList Tensors(const NetworkShape& shape);
int64_t ParameterCount(const NetworkShape& shape);
// Of one fit, without the constant answer.
int64_t FitParameterCount(const NetworkShape& shape);
// Multiplies all outputs of a fit before softmax or sigmoid by `factor`.
template <typename T>
void ScaleOutputs(const NetworkShape& shape, double factor, T* parameters);
// Of the layers, then of the tables and the parts of numbers and scaling, which have no bias.
std::vector<plan::LayerDims> Dims(const NetworkShape& shape);
// What the layers of Dims are.
enum class PartKind { kLayer, kTable, kSlope, kNumberBias, kBins, kScale };
struct Part {
  PartKind kind = PartKind::kLayer;
  size_t index = 0;  // of the layer or table
};
Part PartOf(const NetworkShape& shape, const plan::Chunk& chunk);
// Whether a chunk's layer or table keeps its first parameters.
bool IsFrozen(const NetworkShape& shape, const plan::Chunk& chunk);
// How many of a chunk's parameters, the first ones, are weights, which decay; biases and norms
// follow, and of an embedded number its slope and bias are as these.
int64_t WeightsOf(const NetworkShape& shape, const plan::Chunk& chunk);

// Fills `out` [ParameterCount]. Each value is a function of (seed, layer, index) alone: uniform
// with variance 2 / in (He et al., "Delving deep into rectifiers", 2015) or bound sqrt(6 / (in +
// out)) (Glorot and Bengio, 2010); biases and shifts are 0, gains 1. One-hot inputs, of which one
// is not 0, count as one to the `in` of the first layer. Embeddings are uniform within 0.05. With
// kNtp weights have the variance 1 / fan_in and embeddings 1, both as sums of twelve uniform
// numbers. Slopes of embedded numbers always have the variance 1, their biases and bins are 0; the
// factors of a scaling layer are 1.
template <typename T>
void InitialParameters(const NetworkShape& shape, uint64_t seed, T* out);

}  // namespace espalier::model
