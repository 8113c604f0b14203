// Assignment of shards to workers for the profiling pass, and validation of the workers' results.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/spec/input.h"
#include "src/spec/scoring_spec.h"
#include "src/spec/shard_hosts.h"
#include "src/spec/shard_sums.h"

namespace espalier::cluster {

// Cuts the shards into one contiguous run per member, in order, balanced by bytes. A shard belongs
// to the member whose equal share of all bytes contains the middle of the shard. If all shards are
// empty, the balance is by number. A member's run may be empty. Returns indices into `shards`,
// ascending, one list per member. REQUIRES: members >= 1.
std::vector<std::vector<int32_t>> AssignShards(const std::vector<spec::Shard>& shards, int members);

// Returns the worker (an index into `names`) that profiles each run, each worker once. In order of
// the runs, each run goes to the worker whose disks hold most of its bytes. The order of the
// workers breaks ties. `names[w]`: possible names of the host of worker w. REQUIRES: as many runs
// as workers.
std::vector<size_t> PlaceRuns(const spec::InputPlan& input,
                              const std::vector<std::vector<int32_t>>& runs,
                              const std::vector<std::vector<std::string>>& names);

// Returns OK if the shards of `found` are among those of `given` (ascending) and their values are
// in range. The values are counts and statistics, or the score of a scoring job. The error names
// the shard and the problem.
Status CheckProfile(const spec::InputPlan& input, spec::JobKind kind,
                    const std::vector<int32_t>& given, const ShardResults& found);

// Returns the memory of a shard's result, in bytes.
int64_t MemoryBytes(const spec::ShardResult& result);

// Returns kInvalidArgument, with the setting to change, if the statistics of all shards will take
// more than `bytes_max`.
Status CheckProfileSize(const spec::InputPlan& input, int64_t bytes_max);

}  // namespace espalier::cluster
