// Export of a trained model, including its preprocessing, to an ONNX file.
//
// Thread rule: a pure function.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/scoring/trained_model.h"

namespace espalier::scoring {

// Encodes the model. Inputs, for any number of rows:
//   numbers  double [rows, K], if the model has numeric columns. The metadata `numbers` lists the
//            columns, one name per line. Values are unscaled. Null is NaN. A boolean (metadata
//            `booleans`) is 1 or 0. A date (metadata `dates`) is in seconds since 1970 (UTC).
//   texts    string [rows, M], if the model has categorical columns. The metadata `texts` lists
//            them. Values have no surrounding spaces, and integers have no decimal point. Null is
//            the empty text.
// Outputs:
//   label          string [rows], and
//   probabilities  float [rows, classes] in the order of the metadata `classes`
//   values         double [rows, targets] (regression, autoencoder), in the units of the targets
//   lower, upper   double [rows, targets], if the model has prediction intervals: their ends; the
//                  metadata `interval_level` is the share of rows in them
//   labels         int64 [rows, labels] (multilabel), 0 or 1, and `probabilities` of 1; the
//                  metadata `labels` lists their names
//
// Some rows have no prediction, and `predict` rejects them: rows with a null in a column that was
// trained with `nulls: fail` or `drop`, and rows with a number that has no logarithm under `log1p`.
// Their numbers are NaN, their label is the empty text, and their labels are -1.
//
// Hashed categories need ONNX Runtime's operator MurmurHash3. Everything else is standard ONNX. The
// network is computed in float32.
//
// kUnimplemented: the weights exceed the limit of an ONNX file (2 GB).
Result<std::string> EncodeOnnx(const TrainedModel& model);

}  // namespace espalier::scoring
