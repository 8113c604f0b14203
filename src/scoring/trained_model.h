// A trained model as it lies in its bundle, ready to compute. Thread rule: values and a re-entrant
// function.
#pragma once

#include <string>
#include <variant>

#include "src/base/aligned.h"
#include "src/base/status.h"
#include "src/scoring/model_outline.h"
#include "src/storage/file_system.h"

namespace espalier::scoring {

struct TrainedModel : ModelOutline {
  // Flat, as Tensors(shape) lays them out, in the model's precision.
  std::variant<AlignedVector<float>, AlignedVector<double>> parameters;
};

// Reads model.json and the weights of the bundle in `directory`, and makes sure that they belong
// together: the SHA-256 of the weights, each tensor's name, shape and type, finite values.
//
// Errors begin with the directory or the file: kNotFound (with what a bundle holds) and storage's
// own; kBadInput, a file is no such file; kFailedPrecondition, of another version, or not the model
// that `sha256` asks for (LoadModelOutline); kDataLoss, the weights are not those that model.json
// speaks of; kResourceExhausted, this machine has not the memory for them.
Result<TrainedModel> LoadTrainedModel(const storage::FileSystem& files,
                                      const std::string& directory, const std::string& sha256 = {});

}  // namespace espalier::scoring
