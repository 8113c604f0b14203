// A trained model as an ONNX file, preprocessing included. Thread rule: a pure function.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/scoring/trained_model.h"

namespace espalier::scoring {

// Inputs, of any number of rows:
//   numbers  double [rows, K], where the model has numeric columns: the columns that the metadata
//            `numbers` lists, one name a line, as they stand; null is NaN, a boolean (those of the
//            metadata `booleans`) 1 or 0, a date (those of `dates`) the seconds since 1970 (UTC)
//   texts    string [rows, M], where the model has categorical columns: those of the metadata
//            `texts`, without spaces around them, whole numbers without a point; null is the empty
//            text
// Outputs:
//   label          string [rows], and
//   probabilities  float [rows, classes] in the order of the metadata `classes`
//   values         double [rows, targets] (regression, autoencoder), in the units of the targets
//   labels         int64 [rows, labels] (multilabel), 0 or 1, and `probabilities`, of 1; the
//                  metadata `labels` names them
// A row with a null in a column that was trained with `nulls: fail` or `drop`, or with a number of
// which `log1p` has no logarithm, has no answer, as `predict` rejects it: its numbers are NaN, its
// label is the empty text, its labels are -1. Hashed categories need ONNX Runtime's operator
// MurmurHash3; all else is standard. The network is computed in float32.
//
// kUnimplemented: the weights exceed what an ONNX file can hold (2 GB).
Result<std::string> EncodeOnnx(const TrainedModel& model);

}  // namespace espalier::scoring
