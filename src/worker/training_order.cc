#include "src/worker/training_order.h"

#include "src/worker/reducer.h"

namespace espalier::worker {

Result<plan::Ownership> OwnershipOf(const cluster::StartTraining& order, int64_t leaves) {
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

rpc::LinksRequest LinksOf(const TrainingOrder& order, const std::vector<plan::TreePlace>& places,
                          bool star, int64_t round_bytes) {
  rpc::LinksRequest request;
  request.incarnation = order.order.incarnation;
  request.job = order.order.job;
  request.generation = order.order.generation;
  request.self = static_cast<uint32_t>(order.self);
  for (const cluster::Member& m : order.order.members) {
    request.addresses.push_back(m.address);
    request.names.push_back(m.name);
  }
  for (const auto& [a, b] : plan::EdgesOf(places, star)) {
    if (a == order.self) request.partners.push_back(static_cast<uint32_t>(b));
    if (b == order.self) request.partners.push_back(static_cast<uint32_t>(a));
  }
  request.queue_bytes_max = 2 * kVectorsARoundMax * round_bytes;
  return request;
}

std::vector<std::string> NamesOf(const cluster::StartTraining& order) {
  std::vector<std::string> names;
  for (const cluster::Member& m : order.members) names.push_back(m.name + " (" + m.address + ")");
  return names;
}

}  // namespace espalier::worker
