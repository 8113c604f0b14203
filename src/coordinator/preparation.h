// The parts of a job's life on the coordinator that read files or compute for long: on an I/O pool,
// never on the control loop.
//
// Thread rule: safe from any thread.
#pragma once

#include <functional>
#include <memory>

#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"
#include "src/storage/file_systems.h"

namespace espalier::coordinator {

// Parses the job, lists its input, fixes the schema and sees to the output: it must not exist
// (unless `overwrite`), and a bundle can be put there (bundle/output.h, ProbeOutput); there must be
// a checkpoint to resume from, or none that an unfinished run has left at the output
// (bundle/checkpoint_store.h); the input must fit into messages to workers. Of a job that scores
// the model's description is read in place of a schema, and the output is judged as that of a local
// prediction or report. (That no other live job has the same output is the core's to see.) When
// storage's `cancelled` becomes true, all but the probe ends at once.
Result<cluster::Submission> PrepareSubmission(const spec::SubmitRequest& request,
                                              const storage::StorageOptions& storage);

// What came of the profiling pass.
struct MergedShards {
  std::shared_ptr<const spec::TableProfile> profile;
  std::shared_ptr<const cluster::Replanned> replanned;  // in place of a profile
};
// The merged profile of all shards, in shard order, or if all rows are unlike the sample of them,
// the plan that follows from them. Takes the work, to free each shard's profile soon.
Result<MergedShards> MergeShards(cluster::MergeWork work, const storage::StorageOptions& storage);

// The same of a job that scores: adds up, and puts a prediction's output in place (staging.h), or
// writes the report of an evaluation, if it is still `wanted` then; asked on the calling thread.
Result<spec::ScoringResult> MergeScored(cluster::MergeWork work,
                                        const storage::StorageOptions& storage,
                                        const std::function<bool()>& wanted);

// Ends the right of a job's workers to write its output. Returns the generation that has put the
// model in place before, if one has.
Result<std::optional<Generation>> FenceJob(const cluster::FenceWork& work,
                                           const storage::StorageOptions& storage);

// Whether the output holds the model that a job's root has reported, or that of a later job. Over
// NFS another host's new file may be seen late: asks again for some seconds before it says no.
Result<bool> CheckJob(const cluster::CheckWork& work, const storage::StorageOptions& storage);

// Removes what a job has left beside its output (bundle/output_commit.h, scoring/staging.h).
Status ClearJob(const cluster::ClearWork& work, const storage::StorageOptions& storage);

}  // namespace espalier::coordinator
