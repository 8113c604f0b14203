// Initial weights of a new model, taken from an earlier model.
//
// Thread rule: re-entrant.
#pragma once

#include <optional>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/spec/tensors.h"
#include "src/storage/file_system.h"

namespace espalier::bundle {

// Returns the tensors of `network` that `initial` selects. The source is
//   *.safetensors           a file
//   *.ckpt, *.checkpoints   a checkpoint, or the newest complete one of a directory: the weights of
//                           its step, neither averages nor the best so far
//   other paths             the directory of a model
//   initial.spark           numbers in Spark's layout: initial.values, or the text at initial.from,
//                           separated by blanks, commas or brackets; for all of `network`
// The fits of the job take those of a model of several fits in turn. A file may have further
// tensors, which are ignored. A model may not, unless initial.layers is given.
// Categories and classes that only `fitted` has keep their drawn weights. A checkpoint must have
// the same ones.
//
// Errors begin with "train.initial" or "compat.spark-mlp.initialWeights":
//   kFailedPrecondition   A tensor is missing or has another shape; the error states both shapes.
//                         `fitted` does not have a category or a class of the model. Inputs or
//                         targets have other names or another order. A file of safetensors does not
//                         contain names, so they are not compared.
//   kBadInput             A value is not finite.
//   kDataLoss             The weights of a model are not those of its model.json.
// and those of FindCheckpoint, DecodeCheckpoint, DecodeSafetensors, DecodeModelJson and storage.
Result<std::vector<spec::InitialTensor>> ReadInitialWeights(const storage::FileSystem& files,
                                                            const spec::InitialSpec& initial,
                                                            const spec::TensorList& network,
                                                            const spec::Preprocessing& fitted);

// Returns the preprocessing that the job keeps from the model or run at train.initial. Absent if
// the job has no train.initial, sets refit_preprocessing, or starts with weights alone. Errors are
// the same.
Result<std::optional<spec::EarlierFit>> ReadEarlierFit(const storage::FileSystem& files,
                                                       const spec::JobSpec& job);

// Returns the parts of the model at train.initial that decide about the job. Absent for weights
// alone and for a checkpoint, which does not name its columns. A model that cannot be read is
// absent too, because ReadInitialWeights reports it.
std::optional<spec::EarlierModel> ReadEarlierModel(const storage::FileSystem& files,
                                                   const spec::JobSpec& job);

}  // namespace espalier::bundle
