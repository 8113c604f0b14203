// TrainedModel: a trained model from its bundle, ready to compute.
//
// Thread rule: values and a re-entrant function.
#pragma once

#include <string>
#include <variant>

#include "src/base/aligned.h"
#include "src/base/status.h"
#include "src/scoring/model_outline.h"
#include "src/storage/file_system.h"

namespace espalier::scoring {

struct TrainedModel : ModelOutline {
  // Flat, in the layout of Tensors(shape), in the model's precision.
  std::variant<AlignedVector<float>, AlignedVector<double>> parameters;
};

// Reads model.json and the weights of the bundle in `directory`, and checks that they belong
// together: the SHA-256 of the weights, the name, shape and type of each tensor, and finite values.
//
// Errors begin with the directory or the file:
// - kNotFound, with the list of a bundle's files, and the errors of storage
// - kBadInput: a file does not have the right format
// - kFailedPrecondition: the bundle has another version, or is not the model with `sha256`
//   (LoadModelOutline)
// - kDataLoss: the weights are not those in model.json
// - kResourceExhausted: this machine does not have enough memory for the weights
Result<TrainedModel> LoadTrainedModel(const storage::FileSystem& files,
                                      const std::string& directory, const std::string& sha256 = {});

}  // namespace espalier::scoring
