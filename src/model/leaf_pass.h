// The arithmetic of one leaf batch: forward, loss, backward, and the weight gradient chunk by
// chunk.
//
// A leaf batch is worked through in micro-batches of at most kMicroBatchRows rows, each a fixed
// sequence of BLAS calls on the caller's thread. The result is a function of (shape, parameters,
// rows, dropout key) alone: not of rows_max, of the thread or of what the object computed before.
// Nothing here divides by the number of rows: gradients and losses are sums over rows times their
// weights, divided once by the total weight in the optimizer.
//
// Life of a step:
//   fill inputs(), codes(), labels() or targets(), weights() -> ForwardBackward -> WeightGradient
//   per chunk
//
// A model of several fits, or with a constant answer, can only be evaluated and predict.
//
// Thread rule: one thread at a time; WeightGradient, once ForwardBackward is done, is safe from
// several threads at once. Every computing thread has called PrepareComputeThread.
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

// A leaf has fewer rows of a step: BLAS counts elements in 32 bits.
inline constexpr int64_t kLeafRowsMax = 1 << 24;

template <typename T>
class LeafPass {
 public:
  // Allocates for batches of at most `rows_max` rows and tests whether BLAS may accumulate.
  // REQUIRES: a shape of MakeNetworkShape, 0 <= rows_max < 2^24.
  LeafPass(const NetworkShape& shape, int64_t rows_max);

  const NetworkShape& shape() const { return shape_; }
  int64_t rows_max() const { return rows_max_; }

  // Filled by the caller before each pass; 64-byte aligned, owned here.
  T* inputs() { return inputs_.data(); }             // [rows, row_numbers]; of a sparse shape empty
  spec::SparseRows<T>& sparse() { return sparse_; }  // the inputs of a sparse shape
  // [rows, tables]; a code is below the table's codes, or -1: no row of it.
  int32_t* codes() { return codes_.data(); }
  int32_t* labels() { return labels_.data(); }  // [rows], classification: class index
  // [rows, outputs], regression and multilabel; an autoencoder's are its inputs, this is empty.
  T* targets() { return targets_.data(); }
  T* weights() { return weights_.data(); }  // [rows]

  // Forward with dropout, loss and all deltas for the first `rows` rows; adds to `totals`
  // (TotalsKind::kTraining). Zero rows add nothing.
  void ForwardBackward(const T* parameters, int64_t rows, const DropoutKey& key, double* totals);

  // The gradient sum of the last ForwardBackward for one chunk: `out` [chunk.size] is set to it, or
  // with `accumulate` added to. Without rows it is zero. REQUIRES: no Evaluate or Predict since;
  // accumulate only if AccumulateIsExact(chunk, rows of that pass).
  void WeightGradient(const plan::Chunk& chunk, T* out, bool accumulate) const;

  // Whether accumulating onto a sibling's gradient yields the same bits as computing this leaf's
  // apart and adding: for a single micro-batch of a layer, where BLAS passed this shape's
  // self-test.
  bool AccumulateIsExact(const plan::Chunk& chunk, int64_t rows) const;

  // Forward without dropout; adds to `totals` (TotalsKind::kEvaluation).
  void Evaluate(const T* parameters, int64_t rows, double* totals);

  // Forward without dropout; adds the losses of the trials to `sums` [trials.size()].
  void Try(const T* parameters, int64_t rows, const Trials& trials, double* sums);

  // Forward without dropout; adds the residuals of a regression to `sums` [ResidualsSize(shape)]
  // (model/decision.h).
  void Residuals(const T* parameters, int64_t rows, double* sums);

  // Forward without dropout; classification: probabilities [rows, classes], multilabel: those
  // of 1 [rows, outputs], else values [rows, outputs] in the units of training.
  void Predict(const T* parameters, int64_t rows, T* predictions);

 private:
  // Buffers of one layer: rows of `pitch` elements, whose padding stays out of every result.
  struct Layer {
    int64_t pitch = 0;
    int64_t weight_offset = 0;     // in the flat vector
    AlignedVector<T> bias;         // padded with zeros
    AlignedVector<T> activations;  // [rows_max, pitch]; the last layer's are the outputs
    AlignedVector<T> derivatives;  // the same, where the activation needs them
    AlignedVector<T> deltas;       // the same, by the sums weight x + bias
    // With a layer norm: its parameters, padded with zeros, and of each row the normalised sums,
    // the deltas by the norm's output, and what NormRow returned.
    AlignedVector<T> gain, shift, normed, norm_deltas, inverses;
  };

  // A table of parameters, and what of the first layer it meets.
  struct Table {
    int64_t offset = 0;  // in the flat vector
    int64_t code = 0;    // its place in a row of codes
  };

  void CheckRows(int64_t rows) const;
  // Appends the rows' embeddings to their numbers, of sparse inputs without these, and applies the
  // scaling layer.
  void Embed(const T* parameters, int64_t begin, int64_t rows);
  // The embeddings of a row's embedded numbers, whose pairs are at `pairs`, to `to`.
  T* EmbedNumbers(const T* parameters, const T* pairs, T* to) const;
  // What rows before each bin add to it, once for all rows.
  void LoadNumbers(const T* parameters);
  // Of sparse inputs: the first layer's products of all rows.
  void MultiplyFirst(const T* parameters, int64_t rows);
  // Adds what one-hot inputs give to the sums of the first layer.
  void AddOneHot(const T* parameters, int64_t begin, int64_t rows);
  void TableGradient(const plan::Chunk& chunk, T* out) const;
  // Of the slopes and biases of embedded numbers, of their bins, and of a scaling layer.
  void NumberGradient(const plan::Chunk& chunk, bool slope, T* out) const;
  void BinGradient(const plan::Chunk& chunk, T* out) const;
  void ScaleGradient(const plan::Chunk& chunk, T* out) const;
  // From deltas by scaled inputs to deltas by the inputs, and what each row adds to the factors.
  void BackThroughScale(const T* parameters, int64_t begin, int64_t rows);
  bool assembles() const { return embedded_ > 0 || shape_.scaling_layer; }
  // Deltas of a row by the first layer's inputs from number `shape_.inputs()` on.
  const T* EmbeddingDeltas(int64_t row) const {
    return embedding_deltas_.data() + row * delta_inputs_ + (delta_inputs_ - embedded_);
  }
  void LoadBiases(const T* parameters);
  // `key` null: no dropout.
  void Forward(const T* parameters, int64_t begin, int64_t rows, const DropoutKey* key);
  void Activate(int64_t index, int64_t begin, int64_t rows, const DropoutKey* key);
  void Backward(const T* parameters, int64_t begin, int64_t rows, double* totals);
  // Forward without dropout, of a model that averages all its fits; calls body(begin, rows) for
  // each micro-batch when its outputs are there.
  template <typename Body>
  void ForOutputs(const T* parameters, int64_t rows, const Body& body);
  void TryAverages(const T* parameters, int64_t rows, const Trials& trials, double* sums);
  // The outputs of each fit are divided by `temperature` first.
  void AverageFits(const T* parameters, int64_t rows, double temperature = 1);
  // Turns the deltas of a row of layer `index`, by its output, into those by its sums.
  void BackThrough(int64_t index, int64_t row);
  OutputRows<T> Outputs(int64_t begin, int64_t rows) const;
  // Of sparse inputs the first layer's are the embeddings.
  Matrix<T> Input(int64_t index, int64_t begin) const;

  NetworkShape shape_;
  int64_t rows_max_;
  int64_t rows_ = -1;  // of the last pass; -1 unless that was ForwardBackward
  bool blas_accumulates_;
  int64_t lowest_ = 0;  // the lowest layer that is not frozen: deltas are needed down to it
  std::vector<Layer> layers_;
  std::vector<Table> tables_;
  int64_t inputs_a_row_;  // numbers that come with their zeros
  int64_t plain_;         // those among them that are inputs of the first layer
  int64_t embedded_;      // inputs of the first layer that are embeddings: the last ones
  AlignedVector<T> inputs_, targets_, weights_;
  AlignedVector<int32_t> labels_, codes_;
  spec::SparseRows<T> sparse_;
  // With embeddings: the first layer's inputs [rows_max, in], of sparse inputs the embeddings alone
  // [rows_max, embedded_], and the deltas by its embeddings [rows_max, embedded_].
  AlignedVector<T> first_inputs_, embedding_deltas_;
  int64_t delta_inputs_;          // deltas of a row in embedding_deltas_: the last inputs, or all
  int64_t number_offset_;         // in the flat vector: slopes, then biases and bins
  AlignedVector<T> before_bins_;  // [count, bins, width]: the bias and the weights of earlier bins
  AlignedVector<T> averaged_;     // [rows, AveragedNumbers] of a model that averages
  // With a scaling layer: its factors, the inputs before it [rows_max, in], which Backward turns
  // into the gradients of the factors, and those of one-hot inputs [rows_max, tables].
  int64_t scale_offset_ = 0;  // in the flat vector
  AlignedVector<T> factors_, unscaled_, one_hot_terms_;
  std::vector<int64_t> one_hot_factor_;  // by table: its first factor; embeddings: -1
};

}  // namespace espalier::model
