// The order of members and the sources of the job state when some pairs of workers cannot reach
// each other. Also the split of leaves when members differ in speed.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "src/base/ids.h"
#include "src/cluster/messages.h"
#include "src/plan/ownership.h"

namespace espalier::cluster {

// Pairs of live workers whose link broke. Each pair is in ascending order.
using WorkerPairs = std::set<std::pair<WorkerId, WorkerId>>;

inline std::pair<WorkerId, WorkerId> PairOf(WorkerId a, WorkerId b) {
  return a < b ? std::pair(a, b) : std::pair(b, a);
}

// Returns an order of `workers` in which no pair of `broken` exchanges messages, or nothing if the
// search finds none. The pairs that exchange messages are the edges of the tree, or of the star,
// over `ownership` (plan::EdgesOf). The i-th worker has the i-th interval. The search tries the
// given order, then each order with two workers swapped, then some hundred permutations. REQUIRES:
// as many workers as intervals.
std::optional<std::vector<WorkerId>> ArrangeMembers(std::vector<WorkerId> workers,
                                                    const plan::Ownership& ownership,
                                                    int32_t leaves, bool star,
                                                    const WorkerPairs& broken);

// Returns for each member the index of the member from which it takes the job state, given the
// round of each member's state. A member at the newest round is its own source. Any other member
// takes the state from a member that is at the newest round or gets there by taking it too. The
// link must not be a pair of `broken`, unless no other way exists. REQUIRES: as many rounds as
// members, at least one.
std::vector<int32_t> StateSources(const std::vector<WorkerId>& members,
                                  const std::vector<uint64_t>& rounds, const WorkerPairs& broken);

// A split of the leaves by each member's time per leaf.
struct BetterPlan {
  plan::Ownership ownership;
  double gain = 0;  // saving of the slowest member, as a share of a step's time
};
// Returns the better split, or nothing if it shortens a step by less than 15 %. `leaf_ms`: time per
// leaf of each member, in milliseconds (> 0). REQUIRES: as many times as intervals.
std::optional<BetterPlan> BetterOwnership(const std::vector<LeafInterval>& leaves,
                                          const std::vector<double>& leaf_ms);

}  // namespace espalier::cluster
