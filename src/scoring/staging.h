// Where the parts of a distributed prediction lie until all of them are there, and how they become
// its output: beside it, hidden, in a directory of this job alone.
//
//   .OUT.scoring-ID/g3/part-00000.csv   what members of the job's generation 3 have written
//   .OUT.scoring-ID/whole/              the output, while it is put together
//   .OUT.scoring-ID/placing             from just before `whole` is renamed to OUT
//   .OUT.scoring-ID/placed              it was found to be there, by one who does it once more
//   .OUT.scoring-ID/replaced/           what OUT was before, when it may be overwritten
//
// So the output appears by one rename, with all of its parts and _SUCCESS, or not at all. Only
// parts that the results name are moved, each from the generation that told of it: what a member
// writes late, that was given up, is never among them.
//
// Thread rule: re-entrant functions; one caller at a time for a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/scoring/prediction_plan.h"
#include "src/spec/shard_score.h"
#include "src/storage/file_system.h"

namespace espalier {

// `request_id`: of the submission, which tells this job from all others.
std::string StagingDirectory(const std::string& output, const std::string& request_id);
// Where members of a generation write.
std::string PartsDirectory(const std::string& staging, uint64_t generation);

// Puts the output in place; `shards` in their order. Again, after a caller that was broken off
// anywhere (and when the parts were written once more), it comes to the same. Errors: storage's
// own, and those of CheckPredictions when something else has taken the output's place.
Status PutPredictions(const FileSystem& files, const PredictSpec& spec, const std::string& staging,
                      const std::vector<ShardScore>& shards);

// After the job's end: removes what is left of it. Unless it `succeeded`, also an output that it
// has put in place; what that replaced comes back.
Status RemoveStaging(const FileSystem& files, const std::string& output, const std::string& staging,
                     bool succeeded);

}  // namespace espalier
