#include "src/model/leaf_pass.h"

#include <algorithm>
#include <string>

#include "src/base/check.h"
#include "src/model/accumulation.h"
#include "src/model/activation.h"
#include "src/model/average.h"
#include "src/model/decision.h"
#include "src/model/layer_norm.h"
#include "src/model/sparse_layer.h"
#include "src/model/vector_math.h"

namespace espalier::model {
namespace {

// Calls f(begin, rows) for each micro-batch.
template <typename F>
void ForMicroBatches(int64_t rows, F f) {
  for (int64_t begin = 0; begin < rows; begin += kMicroBatchRows) {
    f(begin, std::min(kMicroBatchRows, rows - begin));
  }
}

// Sets or adds to out[j] the sum of column j over the rows, in row order. With `times`, sums the
// products with that matrix's elements.
template <typename T>
void SumColumns(const T* deltas, const T* times, int64_t pitch, int64_t rows, int64_t width,
                bool accumulate, T* out) {
  for (int64_t begin = 0; begin < width; begin += kPadding) {
    alignas(kBufferAlignment) T sums[kPadding] = {};
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = deltas + r * pitch + begin;
      if (times == nullptr) {
        for (int64_t j = 0; j < kPadding; ++j) sums[j] += row[j];
      } else {
        const T* factor = times + r * pitch + begin;
        for (int64_t j = 0; j < kPadding; ++j) sums[j] += row[j] * factor[j];
      }
    }
    const int64_t count = std::min(kPadding, width - begin);
    for (int64_t j = 0; j < count; ++j) {
      out[begin + j] = accumulate ? out[begin + j] + sums[j] : sums[j];
    }
  }
}

// A place among `bins` bins: the bin, and the fraction of it.
struct BinPlace {
  int64_t bin = 0;
  double share = 0;
};
template <typename T>
BinPlace PlaceOf(T place, int64_t bins) {
  const auto last = static_cast<T>(bins - 1);
  const auto bin = static_cast<int64_t>(place > 0 ? (place < last ? place : last) : T{0});
  return {bin, static_cast<double>(place) - static_cast<double>(bin)};
}

}  // namespace

template <typename T>
LeafPass<T>::LeafPass(const NetworkShape& shape, int64_t rows_max)
    : shape_(shape),
      rows_max_(rows_max),
      blas_accumulates_(true),
      layers_(shape.layers.size()),
      inputs_a_row_(shape.sparse ? 0 : shape.row_numbers()),
      plain_(shape.sparse ? 0 : shape.inputs()),
      embedded_(shape.layers.front().in - shape.inputs()),
      inputs_(rows_max * inputs_a_row_),
      targets_(shape.task == spec::Task::kRegression || shape.task == spec::Task::kMultilabel
                   ? rows_max * shape.outputs()
                   : 0),
      weights_(rows_max),
      labels_(shape.task == spec::Task::kClassification ? rows_max : 0),
      codes_(rows_max * static_cast<int64_t>(shape.tables.size())),
      first_inputs_(assembles() ? rows_max * (plain_ + embedded_) : 0),
      delta_inputs_(shape.scaling_layer ? plain_ + embedded_ : embedded_) {
  embedding_deltas_.resize(rows_max * delta_inputs_);
  ESPALIER_CHECK(rows_max >= 0 && rows_max < kLeafRowsMax, std::to_string(rows_max));
  ESPALIER_CHECK(!shape.sparse || shape.task != spec::Task::kAutoencoder,
                 "sparse inputs as targets");
  ESPALIER_CHECK(!shape.sparse || (shape.numbers.count == 0 && !shape.scaling_layer),
                 "sparse inputs that are embedded or scaled");
  const auto trained = [](const LayerShape& layer) { return !layer.frozen; };
  lowest_ =
      std::find_if(shape_.layers.begin(), shape_.layers.end(), trained) - shape_.layers.begin();
  int64_t offset = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerShape& dims = shape_.layers[i];
    Layer& layer = layers_[i];
    layer.pitch = Padded(dims.out);
    layer.weight_offset = offset;
    layer.bias.resize(layer.pitch);
    layer.activations.resize(rows_max * layer.pitch);
    layer.deltas.resize(rows_max * layer.pitch);
    if (StoresDerivative(dims.activation, dims.dropout, dims.residual)) {
      layer.derivatives.resize(rows_max * layer.pitch);
    }
    if (dims.norm) {
      for (auto* vector : {&layer.gain, &layer.shift}) vector->resize(layer.pitch);
      for (auto* rows : {&layer.normed, &layer.norm_deltas}) rows->resize(rows_max * layer.pitch);
      layer.inverses.resize(rows_max);
    }
    offset += dims.in * dims.out + (dims.norm ? 3 : 1) * dims.out;
    for (int64_t rows : {int64_t{37}, kMicroBatchRows}) {
      blas_accumulates_ = blas_accumulates_ && AccumulatesExactly<T>(dims.in, dims.out, rows);
    }
  }
  for (const TableShape& table : shape_.tables) {
    tables_.push_back({offset, static_cast<int64_t>(tables_.size())});
    offset += table.codes * table.width;
  }
  const spec::EmbeddedNumbers& numbers = shape_.numbers;
  number_offset_ = offset;
  offset += numbers.count * numbers.width * (2 + numbers.bins);
  before_bins_.resize(numbers.count * numbers.width * numbers.bins);
  if (!shape_.scaling_layer) return;
  scale_offset_ = offset;
  factors_.resize(shape_.fan_in(0));
  unscaled_.resize(rows_max * (plain_ + embedded_));
  one_hot_terms_.resize(rows_max * static_cast<int64_t>(tables_.size()));
  int64_t factor = plain_ + embedded_;
  for (const TableShape& table : shape_.tables) {
    one_hot_factor_.push_back(table.one_hot ? factor : -1);
    factor += table.one_hot ? table.codes : 0;
  }
}

template <typename T>
void LeafPass<T>::CheckRows(int64_t rows) const {
  ESPALIER_CHECK(rows >= 0 && rows <= rows_max_,
                 std::to_string(rows) + " rows of at most " + std::to_string(rows_max_));
}

template <typename T>
void LeafPass<T>::LoadBiases(const T* parameters) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerShape& dims = shape_.layers[i];
    const T* bias = parameters + layers_[i].weight_offset + dims.in * dims.out;
    std::copy(bias, bias + dims.out, layers_[i].bias.begin());
    if (!dims.norm) continue;
    std::copy(bias + dims.out, bias + 2 * dims.out, layers_[i].gain.begin());
    std::copy(bias + 2 * dims.out, bias + 3 * dims.out, layers_[i].shift.begin());
  }
  LoadNumbers(parameters);
  std::copy_n(parameters + scale_offset_, factors_.size(), factors_.begin());
}

template <typename T>
void LeafPass<T>::LoadNumbers(const T* parameters) {
  const auto [count, bins, width] = shape_.numbers;
  const T* bias = parameters + number_offset_ + count * width;
  const T* weight = bias + count * width;
  T* __restrict to = before_bins_.data();
  for (int64_t number = 0; number < count; ++number, bias += width) {
    std::copy_n(bias, width, to);
    for (int64_t i = 0; i < (bins - 1) * width; ++i) to[width + i] = to[i] + weight[i];
    weight += bins * width;
    to += bins * width;
  }
}

template <typename T>
Matrix<T> LeafPass<T>::Input(int64_t index, int64_t begin) const {
  if (index == 0) {
    const int64_t width = plain_ + embedded_;
    return {(assembles() ? first_inputs_ : inputs_).data() + begin * width, width};
  }
  const Layer& below = layers_[index - 1];
  return {below.activations.data() + begin * below.pitch, below.pitch};
}

template <typename T>
OutputRows<T> LeafPass<T>::Outputs(int64_t begin, int64_t rows) const {
  const Layer& last = layers_.back();
  const bool classes = shape_.task == spec::Task::kClassification;
  const auto& targets = shape_.task == spec::Task::kAutoencoder ? inputs_ : targets_;
  return {rows,
          last.pitch,
          last.activations.data() + begin * last.pitch,
          classes ? labels_.data() + begin : nullptr,
          classes ? nullptr : targets.data() + begin * shape_.outputs(),
          weights_.data() + begin};
}

template <typename T>
void LeafPass<T>::Activate(int64_t index, int64_t begin, int64_t rows, const DropoutKey* key) {
  const LayerShape& dims = shape_.layers[index];
  Layer& layer = layers_[index];
  const bool drops = key != nullptr && dims.dropout > 0;
  const DropoutMask mask(drops ? *key : DropoutKey{}, index, drops ? dims.dropout : 0);
  for (int64_t row = begin; row < begin + rows; ++row) {
    T* z = layer.activations.data() + row * layer.pitch;
    T* derivative =
        layer.derivatives.empty() ? nullptr : layer.derivatives.data() + row * layer.pitch;
    if (dims.norm) {
      layer.inverses[row] = NormRow(layer.bias.data(), layer.gain.data(), dims.out, layer.pitch, z,
                                    layer.normed.data() + row * layer.pitch);
    }
    ActivateRow(dims.activation, dims.norm ? layer.shift.data() : layer.bias.data(), z, derivative,
                layer.pitch);
    if (drops) mask.Apply(row, z, derivative, layer.pitch);
    if (!dims.residual) continue;
    const T* input = layers_[index - 1].activations.data() + row * layer.pitch;
    for (int64_t i = 0; i < layer.pitch; ++i) z[i] += input[i];
  }
}

template <typename T>
T* LeafPass<T>::EmbedNumbers(const T* parameters, const T* pairs, T* __restrict to) const {
  const auto [count, bins, width] = shape_.numbers;
  const T* __restrict slope = parameters + number_offset_;
  const T* __restrict weights = slope + 2 * count * width;
  const T* __restrict before = before_bins_.data();
  for (int64_t number = 0; number < count; ++number, pairs += 2) {
    const BinPlace place = PlaceOf(pairs[1], bins);
    const T x = pairs[0], share = static_cast<T>(place.share);
    const int64_t at = (number * bins + place.bin) * width;
    for (int64_t i = 0; i < width; ++i) {
      to[i] = slope[i] * x + before[at + i] + share * weights[at + i];
    }
    slope += width;
    to += width;
  }
  return to;
}

template <typename T>
void LeafPass<T>::Embed(const T* parameters, int64_t begin, int64_t rows) {
  const int64_t width = plain_ + embedded_;
  for (int64_t row = begin; row < begin + rows; ++row) {
    T* const first = first_inputs_.data() + row * width;
    const T* numbers = inputs_.data() + row * inputs_a_row_;
    T* to = std::copy_n(numbers, plain_, first);
    to = EmbedNumbers(parameters, numbers + plain_, to);
    const int32_t* codes = codes_.data() + row * static_cast<int64_t>(tables_.size());
    for (const Table& table : tables_) {
      const TableShape& shape = shape_.tables[table.code];
      if (shape.one_hot) continue;
      if (codes[table.code] < 0) {
        to = std::fill_n(to, shape.width, T{0});
      } else {
        const T* from = parameters + table.offset + codes[table.code] * shape.width;
        to = std::copy_n(from, shape.width, to);
      }
    }
    if (!shape_.scaling_layer) continue;
    std::copy_n(first, width, unscaled_.data() + row * width);
    for (int64_t i = 0; i < width; ++i) first[i] *= factors_[i];
  }
}

template <typename T>
void LeafPass<T>::AddOneHot(const T* parameters, int64_t begin, int64_t rows) {
  const Layer& first = layers_.front();
  for (int64_t row = begin; row < begin + rows; ++row) {
    T* __restrict sums = layers_.front().activations.data() + row * first.pitch;
    const int32_t* codes = codes_.data() + row * static_cast<int64_t>(tables_.size());
    for (const Table& table : tables_) {
      const TableShape& shape = shape_.tables[table.code];
      if (!shape.one_hot || codes[table.code] < 0) continue;
      const T* __restrict from = parameters + table.offset + codes[table.code] * shape.width;
      if (shape_.scaling_layer) {
        const T factor = factors_[one_hot_factor_[table.code] + codes[table.code]];
        for (int64_t i = 0; i < shape.width; ++i) sums[i] += factor * from[i];
      } else {
        for (int64_t i = 0; i < shape.width; ++i) sums[i] += from[i];
      }
    }
  }
}

// Processes all rows at once, so that each row of the weight is read only once.
template <typename T>
void LeafPass<T>::MultiplyFirst(const T* parameters, int64_t rows) {
  if (!shape_.sparse || rows == 0) return;
  ESPALIER_CHECK(static_cast<int64_t>(sparse_.ends.size()) >= rows,
                 std::to_string(sparse_.ends.size()) + " sparse rows of " + std::to_string(rows));
  const LayerShape& dims = shape_.layers.front();
  MultiplySparse(sparse_, rows, parameters, dims.in, dims.out, layers_.front().activations.data(),
                 layers_.front().pitch);
}

template <typename T>
void LeafPass<T>::Forward(const T* parameters, int64_t begin, int64_t rows, const DropoutKey* key) {
  if (assembles()) Embed(parameters, begin, rows);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerShape& dims = shape_.layers[i];
    Layer& layer = layers_[i];
    T* sums = layer.activations.data() + begin * layer.pitch;
    if (i == 0 && shape_.sparse) {
      // MultiplyFirst has computed the sparse part; embeddings are dense.
      if (embedded_ > 0) {
        Multiply(rows, dims.out, embedded_, Input(0, begin),
                 Matrix<T>{parameters + shape_.inputs(), dims.in, true}, true, sums, layer.pitch);
      }
    } else if (dims.in == 0) {
      std::fill_n(sums, rows * layer.pitch, T{0});
    } else {
      Multiply(rows, dims.out, dims.in, Input(i, begin),
               Matrix<T>{parameters + layer.weight_offset, dims.in, true}, false, sums,
               layer.pitch);
    }
    if (i == 0 && !tables_.empty()) AddOneHot(parameters, begin, rows);
    Activate(i, begin, rows, key);
  }
}

// The part that bypasses a residual layer is left in the deltas of the layer below, to which
// Backward adds.
template <typename T>
void LeafPass<T>::BackThrough(int64_t index, int64_t row) {
  const LayerShape& dims = shape_.layers[index];
  Layer& layer = layers_[index];
  const int64_t at = row * layer.pitch;
  T* delta = layer.deltas.data() + at;
  if (dims.residual) {
    std::copy(delta, delta + layer.pitch, layers_[index - 1].deltas.data() + at);
  }
  BackRow(dims.activation, layer.activations.data() + at,
          layer.derivatives.empty() ? nullptr : layer.derivatives.data() + at,
          static_cast<T>(1 / (1 - dims.dropout)), delta, layer.pitch);
  if (!dims.norm) return;
  std::copy(delta, delta + layer.pitch, layer.norm_deltas.data() + at);
  NormBackRow(layer.gain.data(), layer.normed.data() + at, layer.inverses[row], dims.out,
              layer.pitch, delta);
}

template <typename T>
void LeafPass<T>::Backward(const T* parameters, int64_t begin, int64_t rows, double* totals) {
  for (int64_t i = static_cast<int64_t>(layers_.size()) - 1; i > lowest_; --i) {
    const LayerShape& dims = shape_.layers[i];
    const Layer& layer = layers_[i];
    Layer& below = layers_[i - 1];
    Multiply(rows, dims.in, dims.out,
             Matrix<T>{layer.deltas.data() + begin * layer.pitch, layer.pitch},
             Matrix<T>{parameters + layer.weight_offset, dims.in}, dims.residual,
             below.deltas.data() + begin * below.pitch, below.pitch);
    for (int64_t row = begin; row < begin + rows; ++row) {
      BackThrough(i - 1, row);
      const T* delta = below.deltas.data() + row * below.pitch;
      if (!AllFinite(delta, below.pitch)) totals[kTotalNonfinite] += 1;
    }
  }
  if (!assembles() || shape_.layers.front().frozen) return;
  const LayerShape& dims = shape_.layers.front();
  const Layer& first = layers_.front();
  T* deltas = embedding_deltas_.data() + begin * delta_inputs_;
  if (delta_inputs_ > 0) {
    Multiply(rows, delta_inputs_, dims.out,
             Matrix<T>{first.deltas.data() + begin * first.pitch, first.pitch},
             Matrix<T>{parameters + first.weight_offset + dims.in - delta_inputs_, dims.in}, false,
             deltas, delta_inputs_);
  }
  if (shape_.scaling_layer) BackThroughScale(parameters, begin, rows);
  if (!AllFinite(deltas, rows * delta_inputs_)) totals[kTotalNonfinite] += 1;
}

template <typename T>
void LeafPass<T>::BackThroughScale(const T* parameters, int64_t begin, int64_t rows) {
  const Layer& first = layers_.front();
  const int64_t width = delta_inputs_;
  for (int64_t row = begin; row < begin + rows; ++row) {
    T* __restrict deltas = embedding_deltas_.data() + row * width;
    T* __restrict terms = unscaled_.data() + row * width;
    for (int64_t i = 0; i < width; ++i) {
      terms[i] *= deltas[i];
      deltas[i] *= factors_[i];
    }
    const int32_t* codes = codes_.data() + row * static_cast<int64_t>(tables_.size());
    const T* sums = first.deltas.data() + row * first.pitch;
    for (const Table& table : tables_) {
      const TableShape& shape = shape_.tables[table.code];
      T& term = one_hot_terms_[row * static_cast<int64_t>(tables_.size()) + table.code];
      term = 0;
      if (!shape.one_hot || codes[table.code] < 0) continue;
      const T* weights = parameters + table.offset + codes[table.code] * shape.width;
      for (int64_t i = 0; i < shape.width; ++i) term += sums[i] * weights[i];
    }
  }
}

// Adds rows in their order.
template <typename T>
void LeafPass<T>::ScaleGradient(const plan::Chunk& chunk, T* __restrict out) const {
  const int64_t width = delta_inputs_, tables = static_cast<int64_t>(tables_.size());
  const int64_t begin = std::min(chunk.out_begin, width), end = std::min(chunk.out_end, width);
  std::fill_n(out, chunk.size, T{0});
  for (int64_t row = 0; row < rows_; ++row) {
    const T* __restrict terms = unscaled_.data() + row * width;
    for (int64_t i = begin; i < end; ++i) out[i - begin] += terms[i];
    for (int64_t k = 0; k < tables; ++k) {
      const int64_t code = codes_[row * tables + k], factor = one_hot_factor_[k] + code;
      const bool here = code >= 0 && factor >= chunk.out_begin && factor < chunk.out_end;
      if (one_hot_factor_[k] < 0 || !here) continue;
      out[factor - chunk.out_begin] += one_hot_terms_[row * tables + k];
    }
  }
}

// Adds rows in their order.
template <typename T>
void LeafPass<T>::NumberGradient(const plan::Chunk& chunk, bool slope, T* __restrict out) const {
  const int64_t width = shape_.numbers.width, size = chunk.size;
  std::fill_n(out, size, T{0});
  for (int64_t row = 0; row < rows_; ++row) {
    const T* __restrict deltas = EmbeddingDeltas(row) + chunk.out_begin * width;
    const T* pairs = inputs_.data() + row * inputs_a_row_ + plain_ + 2 * chunk.out_begin;
    if (!slope) {
      for (int64_t i = 0; i < size; ++i) out[i] += deltas[i];
      continue;
    }
    for (int64_t at = 0; at < size; at += width, pairs += 2) {
      for (int64_t i = at; i < at + width; ++i) out[i] += pairs[0] * deltas[i];
    }
  }
}

// A row adds its deltas to all bins before its own, and a fraction of them to its own bin. Both are
// first collected by the row's bin, in row order. The former are then added from the last bin down.
template <typename T>
void LeafPass<T>::BinGradient(const plan::Chunk& chunk, T* out) const {
  const auto [count, bins, width] = shape_.numbers;
  const int64_t first = chunk.out_begin / bins, last = (chunk.out_end - 1) / bins;
  const int64_t size = (last + 1 - first) * bins * width;
  AlignedVector<T> whole(size), shares(size);
  for (int64_t row = 0; row < rows_; ++row) {
    const T* __restrict deltas = EmbeddingDeltas(row) + first * width;
    const T* pairs = inputs_.data() + row * inputs_a_row_ + plain_ + 2 * first;
    for (int64_t number = 0; number <= last - first; ++number, pairs += 2, deltas += width) {
      const BinPlace place = PlaceOf(pairs[1], bins);
      const T share = static_cast<T>(place.share);
      const int64_t at = (number * bins + place.bin) * width;
      T* __restrict to = whole.data() + at;
      T* __restrict part = shares.data() + at;
      for (int64_t i = 0; i < width; ++i) {
        to[i] += deltas[i];
        part[i] += share * deltas[i];
      }
    }
  }
  for (int64_t number = first; number <= last; ++number) {
    std::vector<T> after(static_cast<size_t>(width));
    for (int64_t bin = bins - 1; bin >= 0; --bin) {
      const int64_t at = ((number - first) * bins + bin) * width, row = number * bins + bin;
      T* to = row < chunk.out_begin || row >= chunk.out_end ? nullptr
                                                            : out + (row - chunk.out_begin) * width;
      for (int64_t i = 0; i < width; ++i) {
        if (to != nullptr) to[i] = shares[at + i] + after[i];
        after[i] += whole[at + i];
      }
    }
  }
}

template <typename T>
void LeafPass<T>::ForwardBackward(const T* parameters, int64_t rows, const DropoutKey& key,
                                  double* totals) {
  CheckRows(rows);
  rows_ = rows;
  LoadBiases(parameters);
  MultiplyFirst(parameters, rows);
  ForMicroBatches(rows, [&](int64_t begin, int64_t count) {
    Forward(parameters, begin, count, &key);
    Layer& last = layers_.back();
    LossAndDeltas(shape_, Outputs(begin, count), TotalsKind::kTraining,
                  last.deltas.data() + begin * last.pitch, totals);
    Backward(parameters, begin, count, totals);
  });
}

template <typename T>
bool LeafPass<T>::AccumulateIsExact(const plan::Chunk& chunk, int64_t rows) const {
  const bool table = static_cast<size_t>(chunk.layer) >= layers_.size();
  const bool sparse = shape_.sparse && chunk.layer == 0;
  return !table && !sparse && rows <= kMicroBatchRows && blas_accumulates_;
}

// Adds rows that share a code in their order, starting at +0.
template <typename T>
void LeafPass<T>::TableGradient(const plan::Chunk& chunk, T* out) const {
  const Table& table = tables_[static_cast<size_t>(chunk.layer) - layers_.size()];
  const TableShape& shape = shape_.tables[table.code];
  const Layer& first = layers_.front();
  const T* deltas =
      shape.one_hot ? first.deltas.data() : EmbeddingDeltas(0) + (shape.input - shape_.inputs());
  const int64_t pitch = shape.one_hot ? first.pitch : delta_inputs_;
  const bool scales = shape.one_hot && shape_.scaling_layer;
  std::fill_n(out, chunk.size, T{0});
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t code = codes_[row * static_cast<int64_t>(tables_.size()) + table.code];
    if (code < chunk.out_begin || code >= chunk.out_end) continue;
    T* __restrict to = out + (code - chunk.out_begin) * shape.width;
    const T* __restrict from = deltas + row * pitch;
    const T factor = scales ? factors_[one_hot_factor_[table.code] + code] : T{1};
    for (int64_t i = 0; i < shape.width; ++i) to[i] += factor * from[i];
  }
}

template <typename T>
void LeafPass<T>::WeightGradient(const plan::Chunk& chunk, T* out, bool accumulate) const {
  ESPALIER_CHECK(rows_ >= 0, "no ForwardBackward before");
  ESPALIER_CHECK(!accumulate || AccumulateIsExact(chunk, rows_), std::to_string(rows_));
  if (rows_ == 0 || IsFrozen(shape_, chunk)) {
    if (!accumulate) std::fill(out, out + chunk.size, T{0});
    return;
  }
  switch (const Part part = PartOf(shape_, chunk); part.kind) {
    case PartKind::kTable:
      return TableGradient(chunk, out);
    case PartKind::kSlope:
    case PartKind::kNumberBias:
      return NumberGradient(chunk, part.kind == PartKind::kSlope, out);
    case PartKind::kBins:
      return BinGradient(chunk, out);
    case PartKind::kScale:
      return ScaleGradient(chunk, out);
    case PartKind::kLayer:
      break;
  }
  const LayerShape& dims = shape_.layers[chunk.layer];
  const Layer& layer = layers_[chunk.layer];
  const int64_t height = chunk.out_end - chunk.out_begin;
  const T* deltas = layer.deltas.data() + chunk.out_begin;
  const bool sparse = shape_.sparse && chunk.layer == 0;
  if (sparse) SparseGradient(sparse_, rows_, deltas, layer.pitch, height, dims.in, out);
  // Only the dense inputs, which are the last ones.
  const int64_t columns = sparse ? embedded_ : dims.in;
  if (height > 0 && (!sparse || columns > 0)) {
    ForMicroBatches(rows_, [&](int64_t begin, int64_t rows) {
      Multiply(height, columns, rows, Matrix<T>{deltas + begin * layer.pitch, layer.pitch, true},
               Input(chunk.layer, begin), accumulate || begin > 0, out + dims.in - columns,
               dims.in);
    });
  }
  if (!chunk.bias) return;
  auto sum = [&, to = out + height * dims.in](const T* deltas, const T* times) mutable {
    SumColumns(deltas, times, layer.pitch, rows_, dims.out, accumulate, to);
    to += dims.out;
  };
  sum(layer.deltas.data(), nullptr);
  if (!dims.norm) return;
  sum(layer.norm_deltas.data(), layer.normed.data());
  sum(layer.norm_deltas.data(), nullptr);
}

template <typename T>
template <typename Body>
void LeafPass<T>::ForOutputs(const T* parameters, int64_t rows, const Body& body) {
  CheckRows(rows);
  rows_ = -1;
  if (shape_.averages()) {
    AverageFits(parameters, rows);
    return ForMicroBatches(rows, body);
  }
  LoadBiases(parameters);
  MultiplyFirst(parameters, rows);
  ForMicroBatches(rows, [&](int64_t begin, int64_t count) {
    Forward(parameters, begin, count, nullptr);
    body(begin, count);
  });
}

// Adds fits in their order. The average then replaces the outputs of the last layer.
template <typename T>
void LeafPass<T>::AverageFits(const T* parameters, int64_t rows, double temperature) {
  const int64_t size = FitParameterCount(shape_), numbers = AveragedNumbers(shape_);
  const T* answer = parameters + shape_.fits * size;
  const T constant = shape_.constant ? answer[shape_.answers()] : T{0};
  const T share = (T{1} - constant) / static_cast<T>(shape_.fits);
  Layer& last = layers_.back();
  averaged_.assign(static_cast<size_t>(rows * numbers), T{0});
  for (int64_t k = 0; k < shape_.fits; ++k) {
    const T* fit = parameters + k * size;
    LoadBiases(fit);
    MultiplyFirst(fit, rows);
    ForMicroBatches(rows, [&](int64_t begin, int64_t count) {
      Forward(fit, begin, count, nullptr);
      T* outputs = last.activations.data() + begin * last.pitch;
      for (int64_t i = 0; temperature != 1 && i < count * last.pitch; ++i) {
        outputs[i] = static_cast<T>(static_cast<double>(outputs[i]) / temperature);
      }
      AddPredictions(shape_, Outputs(begin, count), share, last.deltas.data() + begin * last.pitch,
                     averaged_.data() + begin * numbers);
    });
  }
  if (shape_.constant) AddConstant(shape_, answer, constant, rows, averaged_.data());
  OutputsOf(shape_, averaged_.data(), rows, last.pitch, last.activations.data());
}

template <typename T>
void LeafPass<T>::Evaluate(const T* parameters, int64_t rows, double* totals) {
  ForOutputs(parameters, rows, [&](int64_t begin, int64_t count) {
    LossAndDeltas(shape_, Outputs(begin, count), TotalsKind::kEvaluation,
                  layers_.back().deltas.data() + begin * layers_.back().pitch, totals);
  });
}

template <typename T>
void LeafPass<T>::Try(const T* parameters, int64_t rows, const Trials& trials, double* sums) {
  if (shape_.averages()) return TryAverages(parameters, rows, trials, sums);
  ForOutputs(parameters, rows, [&](int64_t begin, int64_t count) {
    AddTrials(shape_, Outputs(begin, count), trials, sums);
  });
}

template <typename T>
void LeafPass<T>::Residuals(const T* parameters, int64_t rows, double* sums) {
  ForOutputs(parameters, rows, [&](int64_t begin, int64_t count) {
    AddResiduals(shape_, Outputs(begin, count), sums);
  });
}

// A temperature divides the outputs of each fit before they are averaged.
template <typename T>
void LeafPass<T>::TryAverages(const T* parameters, int64_t rows, const Trials& trials,
                              double* sums) {
  CheckRows(rows);
  rows_ = -1;
  const Trials one{.temperatures = {1}, .shares = trials.shares, .answer = trials.answer};
  for (const double temperature : trials.temperatures) {
    AverageFits(parameters, rows, temperature);
    ForMicroBatches(rows, [&](int64_t begin, int64_t count) {
      AddTrials(shape_, Outputs(begin, count), one, sums);
    });
    sums += one.size();
  }
}

template <typename T>
void LeafPass<T>::Predict(const T* parameters, int64_t rows, T* predictions) {
  const int64_t width = shape_.answers();
  ForOutputs(parameters, rows, [&](int64_t begin, int64_t count) {
    Predictions(shape_, Outputs(begin, count), layers_.back().deltas.data(),
                predictions + begin * width);
  });
}

template class LeafPass<float>;
template class LeafPass<double>;

}  // namespace espalier::model
