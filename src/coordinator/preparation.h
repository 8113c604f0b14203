// The parts of a job's life on the coordinator that read files or compute for long. They run on an
// I/O pool, never on the control loop.
//
// Thread rule: safe from any thread.
#pragma once

#include <functional>
#include <memory>

#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"
#include "src/storage/file_systems.h"

namespace espalier::coordinator {

// Parses the job, lists its input, fixes the schema and checks the output. Checks for training
// jobs:
// - The output must not exist (unless `overwrite`), and a bundle can be put there (bundle/output.h,
//   ProbeOutput).
// - A checkpoint to resume from must exist. Without `resume`, the output must hold no checkpoint of
//   an unfinished run (bundle/checkpoint_store.h).
// - The input must fit into messages to workers.
//
// For a scoring job, it reads the model's description in place of a schema, and checks the output
// like that of a local prediction or report. (The core checks that no other live job has the same
// output.) When `cancelled` of the storage options becomes true, everything except the probe ends
// at once.
Result<cluster::Submission> PrepareSubmission(const spec::SubmitRequest& request,
                                              const storage::StorageOptions& storage);

// Merges the profiles of all shards, in shard order. If all rows differ from the sample of them,
// the result is instead the plan that follows from all rows. It takes ownership of the work, to
// free each shard's profile soon. REQUIRES: the work is of a training job.
Result<cluster::MergedProfile> MergeShards(cluster::MergeWork work,
                                           const storage::StorageOptions& storage);

// Adds up the results of a scoring job. Then it puts a prediction's output in place (staging.h) or
// writes the report of an evaluation, if the job is still `wanted`. It calls `wanted` on the
// calling thread. REQUIRES: the work is of a scoring job.
Result<spec::ScoringResult> MergeScored(cluster::MergeWork work,
                                        const storage::StorageOptions& storage,
                                        const std::function<bool()>& wanted);

// Revokes the right of a job's workers to write its output. Returns the generation that has already
// put the model in place, if any.
Result<std::optional<Generation>> FenceJob(const cluster::FenceWork& work,
                                           const storage::StorageOptions& storage);

// Returns whether the output holds the model that a job's root has reported, or that of a later
// job. Over NFS, a new file of another host may appear late, so it retries for some seconds before
// it returns false.
Result<bool> CheckJob(const cluster::CheckWork& work, const storage::StorageOptions& storage);

// Removes a job's leftovers next to its output (bundle/output_commit.h, scoring/staging.h).
Status ClearJob(const cluster::ClearWork& work, const storage::StorageOptions& storage);

}  // namespace espalier::coordinator
