// The start of a training job at a member: from nothing, or from the state of a checkpoint.
//
// A job with `resume` continues that run, or its own newer checkpoints. Any job that has trained
// before and lost all its members continues from its own newest checkpoint. Each member reads for
// itself. The exchange of states then brings all members to the furthest one.
//
// Thread rule: re-entrant function.
#pragma once

#include <optional>
#include <string>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"
#include "src/training/step_machine.h"
#include "src/training/training_state.h"

namespace espalier::worker {

struct ResumeOptions {
  std::string data_fingerprint;
  std::string arithmetic_id;
  bool trained_before = false;  // members of an earlier generation may have written checkpoints
  bool reverts = false;  // states differed: only a checkpoint that members had compared is valid
  const spec::Preprocessing* preprocessing = nullptr;  // the job's, as fitted now
};

// Returns the state of the furthest checkpoint from which this job can continue. Logs the
// checkpoint, and the newer ones that were skipped with the reasons. None: the job starts from the
// beginning. Errors: the job has `resume` and no checkpoint fits (kNotFound, kFailedPrecondition,
// kDataLoss); errors of the storage.
template <typename T>
Result<std::optional<training::TrainingState<T>>> LoadCheckpoint(const storage::FileSystem& files,
                                                                 const spec::JobSpec& spec,
                                                                 const training::TrainingPlan& plan,
                                                                 const ResumeOptions& options);

}  // namespace espalier::worker
