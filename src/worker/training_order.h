// The coordinator's order to take part in a generation, as its member needs it: who owns which
// leaves, and whom to connect to.
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

// A generation to take part in, as order.members[self].
struct TrainingOrder {
  cluster::StartTraining order;
  int32_t self = 0;
};

// kFailedPrecondition: the intervals are not those of all `leaves`, one a member.
Result<plan::Ownership> OwnershipOf(const cluster::StartTraining& order, int64_t leaves);

// The links to the member's neighbours in `places`, the generation's tree, or with `star` between
// its root and all others. `round_bytes`: of the messages of a round at most.
rpc::LinksRequest LinksOf(const TrainingOrder& order, const std::vector<plan::TreePlace>& places,
                          bool star, int64_t round_bytes);

// A member as the writer of files of the job.
inline bundle::WriterName WriterOf(const cluster::StartTraining& order, int32_t self) {
  return {order.job, order.generation, self, order.submitted_ms};
}

// The members as people shall see them, in their order.
std::vector<std::string> NamesOf(const cluster::StartTraining& order);

}  // namespace espalier::worker
