// What a member begins a training job with: nothing, or the state of a checkpoint.
//
// A job that says `resume` goes on with that run, or with what it has itself written since. Any job
// that has trained before and lost all its members goes on with its own newest checkpoint. Each
// member reads for itself; the hand-over of states then brings all to the furthest.
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
  bool reverts = false;  // states differed: only one that members had compared will do, or none
  const spec::Preprocessing* preprocessing = nullptr;  // of the job, as it is fitted now
};

// The furthest of the checkpoints that this job can go on with; logs which, and which newer ones
// were passed over and why. Nothing: the job begins anew. Errors: the job asks to be resumed and
// there is nothing that it can go on with (kNotFound, kFailedPrecondition, kDataLoss); storage's
// own.
template <typename T>
Result<std::optional<training::TrainingState<T>>> LoadCheckpoint(const storage::FileSystem& files,
                                                                 const spec::JobSpec& spec,
                                                                 const training::TrainingPlan& plan,
                                                                 const ResumeOptions& options);

}  // namespace espalier::worker
