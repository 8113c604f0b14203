// A member's place in a generation: the coordinator's order, the owners of the leaves, and the tree
// that sums their gradients.
//
// Thread rule: pure functions. A Place does not change after it is made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/cluster/message_filter.h"
#include "src/cluster/messages.h"
#include "src/plan/ownership.h"

namespace espalier::member {

// A generation in which to take part, as order.members[self].
struct TrainingOrder {
  cluster::StartTraining order;
  int32_t self = 0;
};

using Tree = std::vector<plan::TreePlace>;  // one place per member

struct Place {
  TrainingOrder order;
  std::shared_ptr<const Tree> shared_tree;
  plan::LeafSpan own;  // leaves of this member

  const Tree& tree() const { return *shared_tree; }
  const cluster::StartTraining& start() const { return order.order; }
  cluster::JobPoint at() const { return {start().job, start().generation}; }
  int32_t self() const { return order.self; }
  int32_t own_leaves() const { return own.end - own.begin; }
  int32_t members() const { return static_cast<int32_t>(start().members.size()); }
  bool alone() const { return tree().size() == 1; }
  bool root() const { return tree()[static_cast<size_t>(self())].is_root(); }
};

// Returns the tree over given intervals (plan::PlanTree). Many members in one process can share it.
using TreePlanner =
    std::function<std::shared_ptr<const Tree>(const plan::Ownership& ownership, int32_t leaves)>;
std::shared_ptr<const Tree> MakeTree(const plan::Ownership& ownership, int32_t leaves);

// Returns the place of order.self. kFailedPrecondition: the leaf intervals do not cover all
// `leaves`, one per member, or the member does not exist.
Result<std::shared_ptr<const Place>> PlaceIn(TrainingOrder order, int32_t leaves,
                                             const TreePlanner& plan_tree);

// Returns the members to which the place has links: its neighbors in the tree. With `star`, the
// links are between the tree's root and all other members.
std::vector<uint32_t> PartnersOf(const Place& place, bool star = false);

}  // namespace espalier::member
