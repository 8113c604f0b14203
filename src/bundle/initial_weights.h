// The weights of an earlier model as the first ones of a new one. Thread rule: re-entrant.
#pragma once

#include <optional>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/spec/tensors.h"
#include "src/storage/file_system.h"

namespace espalier::bundle {

// The tensors of `network` that `initial` names, from a file of safetensors (a path that ends in
// `.safetensors`) or the one in a model's directory, or from a checkpoint of a network of the same
// layers and inputs (a path that ends in `.ckpt`, or a directory of them in `.checkpoints`: the
// newest whole one). The fits of the job take those of a model of several fits in turn. Tensors of
// the file that the network does not ask for are left alone; of a checkpoint they are the weights
// of its step, not averages nor the best so far. With `initial.spark`, all of `network` from
// numbers in Spark's layout: initial.values, or the text at initial.from, in which blanks, commas
// and brackets divide them. Categories and classes that only `fitted` has keep their drawn weights.
//
// Errors begin with "train.initial" (or "compat.spark-mlp.initialWeights"): kFailedPrecondition for
// a tensor that the file lacks or has in another shape, with both, or for a category or a class of
// the model's directory or the checkpoint that `fitted` has not, or for inputs or targets that are
// named otherwise there or stand in another order (a file of safetensors does not tell them: there
// they are taken to be the same; nor do checkpoints of before they were written down, which are
// refused for categories); FindCheckpoint's and DecodeCheckpoint's; kBadInput for values that are
// no finite numbers; DecodeSafetensors', DecodeModelJson's and storage's own.
Result<std::vector<spec::InitialTensor>> ReadInitialWeights(const storage::FileSystem& files,
                                                            const spec::InitialSpec& initial,
                                                            const spec::TensorList& network,
                                                            const spec::Preprocessing& fitted);

// The preprocessing that the job keeps of the model or run at train.initial. Absent: the job has
// none, fits its own (refit_preprocessing), or begins with weights alone. Errors as above.
Result<std::optional<spec::EarlierFit>> ReadEarlierFit(const storage::FileSystem& files,
                                                       const spec::JobSpec& job);

}  // namespace espalier::bundle
