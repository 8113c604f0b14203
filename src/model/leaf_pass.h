// The arithmetic of one leaf batch: forward, loss, backward, and the weight gradient chunk by
// chunk.
//
// A leaf batch is processed in micro-batches of at most kMicroBatchRows rows. Each is a fixed
// sequence of BLAS calls on the caller's thread. The result is a function of (shape, parameters,
// rows, dropout key) only. It does not depend on rows_max, on the thread or on earlier computations
// of the object. Nothing here divides by the number of rows. Gradients and losses are sums over
// rows times their weights. The optimizer divides them once by the total weight.
//
// Order of calls in a step:
//   fill inputs(), codes(), labels() or targets(), weights() -> ForwardBackward -> WeightGradient
//   per chunk
//
// A model of several fits, or with a constant prediction, supports only evaluation and prediction.
//
// Thread rule: one thread at a time. After ForwardBackward, WeightGradient is safe from several
// threads at once. Every computing thread has called PrepareComputeThread.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/aligned.h"
#include "src/model/blas.h"
#include "src/model/dropout.h"
#include "src/model/loss.h"
#include "src/model/metrics.h"
#include "src/model/network.h"
#include "src/model/trials.h"
#include "src/plan/chunks.h"
#include "src/spec/sparse_rows.h"

namespace espalier::model {

// Upper limit of the rows of a step in one leaf, exclusive, because BLAS counts elements in 32
// bits.
inline constexpr int64_t kLeafRowsMax = 1 << 24;

template <typename T>
class LeafPass {
 public:
  // Allocates buffers for batches of at most `rows_max` rows and tests whether BLAS may accumulate.
  // REQUIRES: a shape of MakeNetworkShape, 0 <= rows_max < 2^24.
  LeafPass(const NetworkShape& shape, int64_t rows_max);

  const NetworkShape& shape() const { return shape_; }
  int64_t rows_max() const { return rows_max_; }

  // Buffers that the caller fills before each pass. They are 64-byte aligned and owned by this
  // object.
  // [rows, row_numbers]; empty for a sparse shape.
  T* inputs() { return inputs_.data(); }
  spec::SparseRows<T>& sparse() { return sparse_; }  // inputs of a sparse shape
  // [rows, tables]. A code is below the table's codes, or -1 for no table row.
  int32_t* codes() { return codes_.data(); }
  int32_t* labels() { return labels_.data(); }  // [rows], classification: class index
  // [rows, outputs], regression and multilabel. Empty for an autoencoder, whose targets are its
  // inputs.
  T* targets() { return targets_.data(); }
  T* weights() { return weights_.data(); }  // [rows]

  // Runs forward with dropout, the loss and all deltas for the first `rows` rows. Adds to `totals`
  // (TotalsKind::kTraining). Zero rows add nothing.
  void ForwardBackward(const T* parameters, int64_t rows, const DropoutKey& key, double* totals);

  // Sets `out` [chunk.size] to the gradient sum of the last ForwardBackward for one chunk, or with
  // `accumulate` adds it. The sum is zero without rows. REQUIRES: no Evaluate or Predict since
  // then; accumulate only if AccumulateIsExact(chunk, rows of that pass).
  void WeightGradient(const plan::Chunk& chunk, T* out, bool accumulate) const;

  // Returns whether accumulating onto a sibling's gradient gives the same bits as adding this
  // leaf's separate gradient. That is the case for a single micro-batch of a layer, if BLAS passed
  // the self-test for this shape.
  bool AccumulateIsExact(const plan::Chunk& chunk, int64_t rows) const;

  // Runs forward without dropout. Adds to `totals` (TotalsKind::kEvaluation).
  void Evaluate(const T* parameters, int64_t rows, double* totals);

  // Runs forward without dropout. Adds the losses of the trials to `sums` [trials.size()].
  void Try(const T* parameters, int64_t rows, const Trials& trials, double* sums);

  // Runs forward without dropout. Adds the residuals of a regression to `sums`
  // [ResidualsSize(shape)] (model/decision.h).
  void Residuals(const T* parameters, int64_t rows, double* sums);

  // Runs forward without dropout. Writes probabilities [rows, classes] (classification),
  // probabilities of 1 [rows, outputs] (multilabel), or values [rows, outputs] in the units of
  // training.
  void Predict(const T* parameters, int64_t rows, T* predictions);

 private:
  // Buffers of one layer. Rows have `pitch` elements, and their padding does not affect any result.
  struct Layer {
    int64_t pitch = 0;
    int64_t weight_offset = 0;     // in the flat vector
    AlignedVector<T> bias;         // padded with zeros
    AlignedVector<T> activations;  // [rows_max, pitch]; of the last layer, the outputs
    AlignedVector<T> derivatives;  // the same, if the activation needs them
    AlignedVector<T> deltas;       // the same, with respect to the sums weight x + bias
    // With a layer norm: its parameters, padded with zeros. For each row: the normalized sums, the
    // deltas with respect to the norm's output, and the result of NormRow.
    AlignedVector<T> gain, shift, normed, norm_deltas, inverses;
  };

  // A parameter table and its place among the codes.
  struct Table {
    int64_t offset = 0;  // in the flat vector
    int64_t code = 0;    // its index in a row of codes
  };

  void CheckRows(int64_t rows) const;
  // Appends the rows' embeddings to their numbers and applies the scaling layer. For sparse inputs,
  // only the embeddings.
  void Embed(const T* parameters, int64_t begin, int64_t rows);
  // Writes the embeddings of a row's embedded numbers, whose pairs are at `pairs`, to `to`.
  T* EmbedNumbers(const T* parameters, const T* pairs, T* to) const;
  // Computes the sum of the bins before each bin, once for all rows.
  void LoadNumbers(const T* parameters);
  // Computes the first layer's products of all rows, for sparse inputs.
  void MultiplyFirst(const T* parameters, int64_t rows);
  // Adds the terms of one-hot inputs to the sums of the first layer.
  void AddOneHot(const T* parameters, int64_t begin, int64_t rows);
  void TableGradient(const plan::Chunk& chunk, T* out) const;
  // Compute the gradients of the slopes and biases of embedded numbers, of their bins, and of a
  // scaling layer.
  void NumberGradient(const plan::Chunk& chunk, bool slope, T* out) const;
  void BinGradient(const plan::Chunk& chunk, T* out) const;
  void ScaleGradient(const plan::Chunk& chunk, T* out) const;
  // Converts deltas by scaled inputs to deltas by the inputs, and computes the terms of each row in
  // the gradients of the factors.
  void BackThroughScale(const T* parameters, int64_t begin, int64_t rows);
  bool assembles() const { return embedded_ > 0 || shape_.scaling_layer; }
  // Returns the deltas of a row by the first layer's inputs from `shape_.inputs()` on.
  const T* EmbeddingDeltas(int64_t row) const {
    return embedding_deltas_.data() + row * delta_inputs_ + (delta_inputs_ - embedded_);
  }
  void LoadBiases(const T* parameters);
  // Runs forward. If `key` is null, there is no dropout.
  void Forward(const T* parameters, int64_t begin, int64_t rows, const DropoutKey* key);
  void Activate(int64_t index, int64_t begin, int64_t rows, const DropoutKey* key);
  void Backward(const T* parameters, int64_t begin, int64_t rows, double* totals);
  // Runs forward without dropout, for a model that averages with all its fits. Calls body(begin,
  // rows) for each micro-batch when its outputs are complete.
  template <typename Body>
  void ForOutputs(const T* parameters, int64_t rows, const Body& body);
  void TryAverages(const T* parameters, int64_t rows, const Trials& trials, double* sums);
  // Averages the fits. The outputs of each fit are divided by `temperature` first.
  void AverageFits(const T* parameters, int64_t rows, double temperature = 1);
  // Converts the deltas of a row of layer `index` from its output to its sums.
  void BackThrough(int64_t index, int64_t row);
  OutputRows<T> Outputs(int64_t begin, int64_t rows) const;
  // Returns the input of a layer. For sparse inputs, the first layer's input is the embeddings.
  Matrix<T> Input(int64_t index, int64_t begin) const;

  NetworkShape shape_;
  int64_t rows_max_;
  int64_t rows_ = -1;  // rows of the last pass; -1 unless it was ForwardBackward
  bool blas_accumulates_;
  int64_t lowest_ = 0;  // lowest layer that is not frozen; deltas are computed down to it
  std::vector<Layer> layers_;
  std::vector<Table> tables_;
  int64_t inputs_a_row_;  // dense numbers per row
  int64_t plain_;         // those among them that are inputs of the first layer
  int64_t embedded_;      // inputs of the first layer that are embeddings, the last ones
  AlignedVector<T> inputs_, targets_, weights_;
  AlignedVector<int32_t> labels_, codes_;
  spec::SparseRows<T> sparse_;
  // With embeddings: the first layer's inputs [rows_max, in] (for sparse inputs only the
  // embeddings, [rows_max, embedded_]), and the deltas by its embeddings [rows_max, embedded_].
  AlignedVector<T> first_inputs_, embedding_deltas_;
  int64_t delta_inputs_;          // deltas per row in embedding_deltas_: the last inputs, or all
  int64_t number_offset_;         // in the flat vector: slopes, then biases and bins
  AlignedVector<T> before_bins_;  // [count, bins, width]: the bias plus the weights of earlier bins
  AlignedVector<T> averaged_;     // [rows, AveragedNumbers], for a model that averages
  // With a scaling layer: its factors, and the inputs before it [rows_max, in]. Backward turns
  // these inputs into the gradients of the factors, and those of one-hot inputs [rows_max, tables].
  int64_t scale_offset_ = 0;  // in the flat vector
  AlignedVector<T> factors_, unscaled_, one_hot_terms_;
  std::vector<int64_t> one_hot_factor_;  // by table: its first factor; -1 for embeddings
};

}  // namespace espalier::model
