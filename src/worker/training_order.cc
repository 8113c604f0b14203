#include "src/worker/training_order.h"

#include "src/worker/reducer.h"

namespace espalier {

Result<Ownership> OwnershipOf(const StartTraining& order, int64_t leaves) {
  Ownership ownership;
  int32_t at = 0;
  for (const LeafInterval& i : order.leaves) {
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

LinksRequest LinksOf(const TrainingOrder& order, const std::vector<TreePlace>& places, bool star,
                     int64_t round_bytes) {
  LinksRequest request;
  request.incarnation = order.order.incarnation;
  request.job = order.order.job;
  request.generation = order.order.generation;
  request.self = static_cast<uint32_t>(order.self);
  for (const Member& m : order.order.members) {
    request.addresses.push_back(m.address);
    request.names.push_back(m.name);
  }
  for (const auto& [a, b] : EdgesOf(places, star)) {
    if (a == order.self) request.partners.push_back(static_cast<uint32_t>(b));
    if (b == order.self) request.partners.push_back(static_cast<uint32_t>(a));
  }
  request.queue_bytes_max = 2 * kVectorsARoundMax * round_bytes;
  return request;
}

std::vector<std::string> NamesOf(const StartTraining& order) {
  std::vector<std::string> names;
  for (const Member& m : order.members) names.push_back(m.name + " (" + m.address + ")");
  return names;
}

}  // namespace espalier
