#include "src/member/place.h"

#include <utility>

namespace espalier::member {
namespace {

Result<plan::Ownership> OwnershipOf(const cluster::StartTraining& order, int32_t leaves) {
  plan::Ownership ownership;
  int32_t at = 0;
  for (const cluster::LeafInterval& i : order.leaves) {
    if (i.begin != at || i.end <= i.begin) {
      return FailedPrecondition("the coordinator's leaf intervals do not follow each other");
    }
    ownership.intervals.push_back({i.begin, i.end});
    at = i.end;
  }
  if (at != leaves || ownership.intervals.size() != order.members.size()) {
    return FailedPrecondition("the coordinator's leaf intervals do not cover the job's " +
                              std::to_string(leaves) + " leaves");
  }
  return ownership;
}

}  // namespace

std::shared_ptr<const Tree> MakeTree(const plan::Ownership& ownership, int32_t leaves) {
  return std::make_shared<const Tree>(plan::PlanTree(ownership, leaves));
}

Result<std::shared_ptr<const Place>> PlaceIn(TrainingOrder order, int32_t leaves,
                                             const TreePlanner& plan_tree) {
  ESPALIER_ASSIGN_OR_RETURN(const plan::Ownership ownership, OwnershipOf(order.order, leaves));
  if (order.self < 0 || order.self >= static_cast<int32_t>(ownership.intervals.size())) {
    return FailedPrecondition("the coordinator's order has no member " +
                              std::to_string(order.self));
  }
  auto place = std::make_shared<Place>();
  place->own = ownership.intervals[static_cast<size_t>(order.self)];
  place->shared_tree = plan_tree(ownership, leaves);
  place->order = std::move(order);
  return std::shared_ptr<const Place>(std::move(place));
}

std::vector<uint32_t> PartnersOf(const Place& place, bool star) {
  std::vector<uint32_t> partners;
  for (const auto& [a, b] : plan::EdgesOf(place.tree(), star)) {
    if (a == place.self()) partners.push_back(static_cast<uint32_t>(b));
    if (b == place.self()) partners.push_back(static_cast<uint32_t>(a));
  }
  return partners;
}

}  // namespace espalier::member
