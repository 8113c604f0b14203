// In which order workers become members, when some pairs of them cannot reach each other.
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

// Pairs of workers whose link broke though both live; each pair in ascending order.
using WorkerPairs = std::set<std::pair<WorkerId, WorkerId>>;

inline std::pair<WorkerId, WorkerId> PairOf(WorkerId a, WorkerId b) {
  return a < b ? std::pair(a, b) : std::pair(b, a);
}

// An order of `workers` in which no pair of `broken` exchanges messages in the tree (or the star,
// as EdgesOf tells) over `ownership` (the i-th worker has the i-th interval), as near to the given
// order as was found: that one itself, else one with two workers in each other's place, else one of
// some hundred permutations. None: there seems to be no such order. REQUIRES: as many workers as
// intervals.
std::optional<std::vector<WorkerId>> ArrangeMembers(std::vector<WorkerId> workers,
                                                    const plan::Ownership& ownership,
                                                    int32_t leaves, bool star,
                                                    const WorkerPairs& broken);

// From whom each member takes the job state, when their states are at `rounds`: itself at the
// newest round; else one that is, or one that will be by taking it itself, not across a pair of
// `broken`. (Across one all the same when there is no other way.) REQUIRES: as many rounds as
// members, not none.
std::vector<int32_t> StateSources(const std::vector<WorkerId>& members,
                                  const std::vector<uint64_t>& rounds, const WorkerPairs& broken);

// Leaves dealt out by what each member takes for one.
struct BetterPlan {
  plan::Ownership ownership;
  double gain = 0;  // of a step's time, as a share of it, by the slowest member
};
// None: a step would be shorter by less than 15 %. `leaf_ms`: what a leaf takes each member (> 0).
// REQUIRES: as many as intervals.
std::optional<BetterPlan> BetterOwnership(const std::vector<LeafInterval>& leaves,
                                          const std::vector<double>& leaf_ms);

}  // namespace espalier::cluster
