// The coordinator's order to take part in a generation, in the form for a member: the owners of the
// leaves, and the links to open.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/bundle/writer_name.h"
#include "src/cluster/messages.h"
#include "src/plan/ownership.h"
#include "src/rpc/peer.h"

namespace espalier::worker {

// A generation in which to take part, as order.members[self].
struct TrainingOrder {
  cluster::StartTraining order;
  int32_t self = 0;
};

// Returns the owners of the leaves. kFailedPrecondition: the intervals do not cover all `leaves`,
// one per member.
Result<plan::Ownership> OwnershipOf(const cluster::StartTraining& order, int64_t leaves);

// Returns the links to the member's neighbours in `places`, the generation's tree. With `star`, the
// links are between its root and all other members. `round_bytes`: limit for the messages of a
// round.
rpc::LinksRequest LinksOf(const TrainingOrder& order, const std::vector<plan::TreePlace>& places,
                          bool star, int64_t round_bytes);

// Returns a member as the writer of the job's files.
inline bundle::WriterName WriterOf(const cluster::StartTraining& order, int32_t self) {
  return {order.job, order.generation, self, order.submitted_ms};
}

// Returns the members' names for messages to people, in member order.
std::vector<std::string> NamesOf(const cluster::StartTraining& order);

}  // namespace espalier::worker
