// Who surveys which shards, and whether what a worker found can be true.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"

namespace espalier {

// Cuts the shards into one contiguous run a member, in order, balanced by bytes: a shard belongs to
// the member in whose equal share of all bytes its middle lies (by number, when all are empty). A
// member's run may be empty. Returns indices into `shards`, ascending, one list a member.
// REQUIRES: members >= 1.
std::vector<std::vector<int32_t>> AssignShards(const std::vector<Shard>& shards, int members);

// OK when `found` covers exactly the shards `expected`, in that order, with counts and statistics
// within their ranges. The message names the shard and what is wrong with it.
Status CheckSurvey(const InputPlan& input, const std::vector<int32_t>& expected,
                   const std::vector<ShardSurvey>& found);

}  // namespace espalier
