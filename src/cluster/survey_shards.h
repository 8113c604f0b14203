// Who surveys which shards, and whether what a worker found can be true.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/spec/input.h"
#include "src/spec/scoring_spec.h"

namespace espalier {

// Cuts the shards into one contiguous run a member, in order, balanced by bytes: a shard belongs to
// the member in whose equal share of all bytes its middle lies (by number, when all are empty). A
// member's run may be empty. Returns indices into `shards`, ascending, one list a member.
// REQUIRES: members >= 1.
std::vector<std::vector<int32_t>> AssignShards(const std::vector<Shard>& shards, int members);

// What a worker's host may be called where the data lies: the hosts of its name ("host:pid" unless
// it was given one) and of its address ("host:port", or
// the path of a socket, which names none), each whole and, unless it is a number,
// without its domain.
std::vector<std::string> HostNames(const std::string& worker_name, const std::string& address);

// What lies on the disks of a host that may be called by any of `names`.
struct HeldShards {
  int64_t shards = 0;
  int64_t bytes = 0;
  bool operator==(const HeldShards&) const = default;
};
HeldShards HeldBy(const InputPlan& input, const std::vector<std::string>& names);

// Which worker surveys which run: the worker (an index into `names`) of each run, each once. A run
// goes to the worker whose disks hold most of its bytes, in order of the runs; the order of the
// workers decides where that says nothing. `names[w]`: what worker w's host may be called.
// REQUIRES: as many runs as workers.
std::vector<size_t> PlaceRuns(const InputPlan& input, const std::vector<std::vector<int32_t>>& runs,
                              const std::vector<std::vector<std::string>>& names);

// OK when the shards of `found` are among those `given` (ascending), with counts and statistics
// (or, of a job that scores, a score) within their ranges. The message names the shard and what is
// wrong with it.
Status CheckSurvey(const InputPlan& input, JobKind kind, const std::vector<int32_t>& given,
                   const ShardSurveys& found);

// Adds a sample to that of other shards: the `SampledRowsMax` rows with the smallest keys stay, in
// their order, whichever came first (data/row_sample.h says why that is the sample of all). The
// error: its rows have another width.
Status MergeSample(const RowSample& more, RowSample* into);
int64_t MemoryBytes(const RowSample& sample);

// Adds a shard's counts of categories to those of other shards (empty: there were none). Returns
// the memory that these take more. REQUIRES: they are of as many columns.
using CategoryCounts = std::vector<std::map<std::string, int64_t>>;
int64_t AddCategories(const CategoryCounts& more, CategoryCounts* into);

// Memory that the survey of a shard takes.
int64_t MemoryBytes(const ShardSurvey& survey);

// kInvalidArgument, with the setting that mends it, when the statistics of all shards will take
// more than `bytes_max`.
Status CheckSurveySize(const InputPlan& input, int64_t bytes_max);

}  // namespace espalier
