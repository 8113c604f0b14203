// A member's place in a generation, in the form for its links and for messages to people.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/bundle/writer_name.h"
#include "src/cluster/messages.h"
#include "src/member/place.h"
#include "src/rpc/peer.h"

namespace espalier::worker {

// Returns the links to the member's neighbors in the generation's tree. With `star`, the links are
// between its root and all other members. `round_bytes`: limit for the messages of a round.
rpc::LinksRequest LinksOf(const member::Place& place, bool star, int64_t round_bytes);

// Returns a member as the writer of the job's files.
inline bundle::WriterName WriterOf(const cluster::StartTraining& order, int32_t self) {
  return {order.job, order.generation, self, order.submitted_ms};
}

// Returns the members' names for messages to people, in member order.
std::vector<std::string> NamesOf(const cluster::StartTraining& order);

}  // namespace espalier::worker
