// Where the parts of a distributed prediction lie until all of them are there, and how they become
// its output: beside it, hidden, in a directory of this job alone.
//
//   .OUT.scoring-ID/g3/part-00000.csv   what members of the job's generation 3 have written; of an
//                                       evaluation residuals (residual_file.h), and nothing else
//   .OUT.scoring-ID/whole/              the output, while it is put together
//   .OUT.scoring-ID/success             when the _SUCCESS in it was written
//
// So the output appears by one rename, with all of its parts and _SUCCESS, or not at all. Where a
// directory stands already it stays, for it may be a link, or have an owner and quotas of its own:
// what was in it is moved out, _SUCCESS first, and the files of `whole` are moved in, _SUCCESS
// last.
//
//   OUT/.filling-ID                     from just before what is in OUT is touched, until all is
//                                       there, or again what was
//   .OUT.scoring-ID/replaced/           what was in it, when that may be overwritten
//   .OUT.scoring-ID/emptied             all of that; what lies in OUT from now on is this job's
//
// Whether OUT is this job's is told by OUT itself: `.filling-ID` is in it, or a _SUCCESS of that
// time. Somebody else may have taken the place since, when a job could not be cleared away for
// long: then neither is there, and nothing of OUT is touched.
//
// Only parts that the results name are moved, each from the generation that told of it: what a
// member writes late, that was given up, is never among them.
//
// Thread rule: re-entrant functions; one caller at a time for a job.
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

// `request_id`: of the submission, which tells this job from all others.
std::string StagingDirectory(const std::string& output, const std::string& request_id);
// Where members of a generation write.
std::string PartsDirectory(const std::string& staging, uint64_t generation);

// Puts the output in place; `shards` in their order. Again, after a caller that was broken off
// anywhere (and when the parts were written once more), it comes to the same. `wanted`, which may
// be empty, is asked before each file is moved and before the output appears; no: kCancelled.
// Errors: storage's own, and those of CheckPredictions when something else has taken the output's
// place.
Status PutPredictions(const storage::FileSystem& files, const PredictSpec& spec,
                      const std::string& staging, const std::vector<spec::ShardScore>& shards,
                      const std::function<bool()>& wanted = {});

// Before the job begins: whether files can be moved from there into the output, if a directory
// stands there (it may be on another disk). `who` tells this call from all others, of the same
// submission too. The error names the output.
Status ProbeStaging(const storage::FileSystem& files, const std::string& output,
                    const std::string& staging, const std::string& who);

// After the job's end: removes what is left of it. Unless it `succeeded`, also an output that it
// has put in place; what that replaced comes back, also where somebody has moved the emptied output
// away. It may be done again, also after it was broken off, and at any later time; it must be after
// kResourceExhausted: there is no room for what it writes, or another job is filling the output,
// and may yet give it back.
Status RemoveStaging(const storage::FileSystem& files, const std::string& output,
                     const std::string& staging, bool succeeded);

}  // namespace espalier::scoring
