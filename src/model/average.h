// Averages of the predictions of several fits, with an optional share of a constant prediction. The
// average is converted back to outputs. Losses, metrics and predictions then follow from it as from
// the outputs of one network.
//
// The averaged numbers are probabilities (softmax, sigmoid), the exp of outputs (poisson), or
// otherwise outputs. Internal to model/.
//
// Thread rule: pure functions over the caller's buffers.
#pragma once

#include <cstdint>

#include "src/model/loss.h"

namespace espalier::model {

// Returns the number of values per row in `sums` below. A sigmoid has both probabilities, because 1
// - p loses all digits if p is near 1.
int64_t AveragedNumbers(const NetworkShape& shape);

// Adds share * the predictions of these outputs to `sums` [rows, AveragedNumbers]. `scratch` has
// the layout of the outputs.
template <typename T>
void AddPredictions(const NetworkShape& shape, const OutputRows<T>& rows, T share, T* scratch,
                    T* sums);
// Adds share * answer. `answer` [shape.answers()] is a prediction.
template <typename T>
void AddConstant(const NetworkShape& shape, const T* answer, T share, int64_t rows, T* sums);

// Writes the outputs [rows, pitch] whose predictions are `sums`, with zeros in the padding.
template <typename T>
void OutputsOf(const NetworkShape& shape, const T* sums, int64_t rows, int64_t pitch, T* outputs);

}  // namespace espalier::model
