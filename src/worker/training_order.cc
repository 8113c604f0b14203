#include "src/worker/training_order.h"

#include "src/worker/reducer.h"

namespace espalier::worker {

rpc::LinksRequest LinksOf(const member::Place& place, bool star, int64_t round_bytes) {
  const cluster::StartTraining& start = place.start();
  rpc::LinksRequest request;
  request.incarnation = start.incarnation;
  request.job = start.job;
  request.generation = start.generation;
  request.self = static_cast<uint32_t>(place.self());
  for (const cluster::Member& m : start.members) {
    request.addresses.push_back(m.address);
    request.names.push_back(m.name);
  }
  request.partners = member::PartnersOf(place, star);
  request.queue_bytes_max = 2 * kVectorsARoundMax * round_bytes;
  return request;
}

std::vector<std::string> NamesOf(const cluster::StartTraining& order) {
  std::vector<std::string> names;
  for (const cluster::Member& m : order.members) names.push_back(m.name + " (" + m.address + ")");
  return names;
}

}  // namespace espalier::worker
