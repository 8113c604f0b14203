// Losses at the output layer: the loss of each row, its derivative by the outputs, the totals of
// src/model/metrics.h, and predictions. Internal to model/.
//
//   softmax_cross_entropy  log(sum exp z) - z[label]; with label_smoothing e it is 1 - e of that
//                          and e of its mean over all labels
//   binary_cross_entropy   for one output z: max(z, 0) - z y + log(1 + exp(-|z|)); with
//                          label_smoothing e the label y is (1 - e) y + e / 2
//                          Multilabel: the mean of that over outputs, with y the target of each.
//                          With positive_weights w, in training: w y log(1 + exp(-z)) + (1 - y)
//                          log(1 + exp(z)), PyTorch's pos_weight
//   mse, mae, huber        the mean over outputs of d^2, |d|, and d^2/2 if |d| < delta, otherwise
//                          delta (|d| - delta/2), with d = output - target
//   poisson                the mean over outputs of exp(z) - target z: the negative log likelihood
//                          of a count with mean exp(z), without a term that depends only on the
//                          target; exp(z) is the prediction, which rmse, mae and r2 measure
//   quantile               the mean over outputs of (1 - q) d for d > 0, otherwise -q d (pinball
//                          loss)
//
// Thread rule: pure functions over the caller's buffers.
#pragma once

#include <cstdint>

#include "src/model/metrics.h"
#include "src/model/network.h"

namespace espalier::model {

// Rows of one micro-batch at the output layer.
template <typename T>
struct OutputRows {
  int64_t rows = 0;                 // at most kMicroBatchRows
  int64_t pitch = 0;                // elements between rows of `outputs`; a multiple of kPadding
  const T* outputs = nullptr;       // before softmax or sigmoid; zeros between width and pitch
  const int32_t* labels = nullptr;  // [rows], classification
  const T* targets = nullptr;       // [rows, width], all tasks except classification
  const T* weights = nullptr;       // [rows]
};

inline constexpr int64_t kMicroBatchRows = 128;

// Adds the rows to `totals` and writes weight * derivative of the loss to `deltas` (in the layout
// of the outputs, zeros in the padding). REQUIRES: labels in [0, classes).
template <typename T>
void LossAndDeltas(const NetworkShape& shape, const OutputRows<T>& rows, TotalsKind kind, T* deltas,
                   double* totals);

// Returns the loss of one output of a regression without poisson, from its difference to the
// target.
double PenaltyValue(const NetworkShape& shape, double difference);

// Returns the predicted class: with costs the one with the lowest expected cost, with thresholds
// the one with the largest multiple of its threshold, otherwise the most probable one. `shares`
// [classes] are the probabilities times any positive number. REQUIRES: with costs, at most
// spec::kCostClassesMax classes.
template <typename T>
int64_t PredictedClass(const NetworkShape& shape, const T* shares);

// Writes predictions without padding. Classification: probabilities [rows, classes]. Multilabel:
// probabilities of 1 [rows, width]. Otherwise: the outputs [rows, width], and for poisson their
// exp. `scratch` has the layout of the outputs.
template <typename T>
void Predictions(const NetworkShape& shape, const OutputRows<T>& rows, T* scratch, T* predictions);

}  // namespace espalier::model
