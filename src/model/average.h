// The predictions of several fits, averaged, and a constant answer that has a share in them. The
// average is turned back into outputs, so that losses, metrics and predictions follow from it as
// from the outputs of one network.
//
// Averaged are probabilities (softmax, sigmoid), the exp of outputs (poisson), and else outputs.
// Internal to model/. Thread rule: pure functions over the caller's buffers.
#pragma once

#include <cstdint>

#include "src/model/loss.h"

namespace espalier::model {

// Numbers that a row has in `sums` below. Of a sigmoid both probabilities are kept, because 1 - p
// has no digits where p is near 1.
int64_t AveragedNumbers(const NetworkShape& shape);

// Adds share * the predictions of these outputs to `sums` [rows, AveragedNumbers]. `scratch` is
// laid out as the outputs.
template <typename T>
void AddPredictions(const NetworkShape& shape, const OutputRows<T>& rows, T share, T* scratch,
                    T* sums);
// Adds share * answer; `answer` [shape.answers()] is a prediction.
template <typename T>
void AddConstant(const NetworkShape& shape, const T* answer, T share, int64_t rows, T* sums);

// Writes the outputs [rows, pitch] whose predictions are `sums`, zeros in the padding.
template <typename T>
void OutputsOf(const NetworkShape& shape, const T* sums, int64_t rows, int64_t pitch, T* outputs);

}  // namespace espalier::model
