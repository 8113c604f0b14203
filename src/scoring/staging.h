// Staging of a distributed prediction: where its parts are until all of them exist, and how they
// become its output. They are in a hidden directory next to the output, which belongs to this job
// only.
//
//   .OUT.scoring-ID/g3/part-00000.csv   parts from members of the job's generation 3; for an
//                                       evaluation, residuals (residual_file.h) and nothing else
//   .OUT.scoring-ID/whole/              the output during its assembly
//   .OUT.scoring-ID/success             time at which its _SUCCESS was written
//
// The output therefore appears with one rename, with all its parts and _SUCCESS, or not at all. An
// existing directory remains, because it may be a link, or have its own owner and quotas. Its
// content is moved out, _SUCCESS first. Then the files of `whole` are moved in, _SUCCESS last.
//
//   OUT/.filling-ID                     exists from just before the first change of OUT until it is
//                                       complete, or restored
//   .OUT.scoring-ID/replaced/           previous content, if it may be overwritten
//   .OUT.scoring-ID/emptied             all previous content is out; later content is this job's
//
// OUT itself shows whether it belongs to this job: it contains `.filling-ID`, or a _SUCCESS with
// that time, and `whole` has no _SUCCESS. If a job could not be cleaned up for a long time, another
// user may have taken its place. Then OUT contains neither, and the job does not change it.
//
// Only parts that the results name are moved, each from the generation that reported it. Late files
// of a member that was given up are never among them.
//
// Thread rule: re-entrant functions. One caller at a time per job.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/scoring/prediction_plan.h"
#include "src/spec/shard_score.h"
#include "src/storage/file_system.h"

namespace espalier::scoring {

// Returns the staging directory. `request_id` is that of the submission and unique to the job.
std::string StagingDirectory(const std::string& output, const std::string& request_id);
// Returns the directory to which members of a generation write.
std::string PartsDirectory(const std::string& staging, uint64_t generation);

// Puts the output in place. `shards` are in order. A repeated call gives the same result, also
// after a caller was interrupted at any point, and if the parts were written again. `wanted` may be
// empty. It is checked before each file is moved and before the output appears; false: kCancelled.
// Errors: those of storage, and those of CheckPredictions if something else has taken the output's
// place.
Status PutPredictions(const storage::FileSystem& files, const PredictSpec& spec,
                      const std::string& staging, const std::vector<spec::ShardScore>& shards,
                      const std::function<bool()>& wanted = {});

// Checks whether files can be moved from staging into the output, if it is an existing directory
// (it may be on another disk). Call it before the job starts. `who` identifies this call, also
// among calls of the same submission. The error names the output.
Status ProbeStaging(const storage::FileSystem& files, const std::string& output,
                    const std::string& staging, const std::string& who);

// Removes the remains of a job after its end. Unless it `succeeded`, this also removes an output
// that it has put in place, and restores the content that the output replaced. The content is
// restored even if the emptied output was moved to another place. The call may be repeated, also
// after an interruption, and at any later time. kResourceExhausted: the call must be repeated.
// There is no space for the files it writes, or another job is filling the output and may still
// give it back.
Status RemoveStaging(const storage::FileSystem& files, const std::string& output,
                     const std::string& staging, bool succeeded);

}  // namespace espalier::scoring
