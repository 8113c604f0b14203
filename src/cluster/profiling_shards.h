// Who profiles which shards, and whether what a worker found can be true.
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

// Cuts the shards into one contiguous run a member, in order, balanced by bytes: a shard belongs to
// the member in whose equal share of all bytes its middle lies (by number, when all are empty). A
// member's run may be empty. Returns indices into `shards`, ascending, one list a member.
// REQUIRES: members >= 1.
std::vector<std::vector<int32_t>> AssignShards(const std::vector<spec::Shard>& shards, int members);

// Which worker profiles which run: the worker (an index into `names`) of each run, each once. A run
// goes to the worker whose disks hold most of its bytes, in order of the runs; the order of the
// workers decides where that says nothing. `names[w]`: what worker w's host may be called.
// REQUIRES: as many runs as workers.
std::vector<size_t> PlaceRuns(const spec::InputPlan& input,
                              const std::vector<std::vector<int32_t>>& runs,
                              const std::vector<std::vector<std::string>>& names);

// OK when the shards of `found` are among those `given` (ascending), with counts and statistics
// (or, of a job that scores, a score) within their ranges. The message names the shard and what is
// wrong with it.
Status CheckProfile(const spec::InputPlan& input, spec::JobKind kind,
                    const std::vector<int32_t>& given, const ShardResults& found);

// Memory that the result of a shard takes.
int64_t MemoryBytes(const spec::ShardResult& result);

// kInvalidArgument, with the setting that mends it, when the statistics of all shards will take
// more than `bytes_max`.
Status CheckProfileSize(const spec::InputPlan& input, int64_t bytes_max);

}  // namespace espalier::cluster
