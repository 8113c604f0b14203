// The abstract links of a TreeReducer to other members. The implementations are in memory for tests
// (memory_link.h) and over gRPC in production (rpc/peer.h). One conformance suite
// (tests/collective/link_suite.h) applies to both.
#pragma once

#include "src/base/status.h"
#include "src/collective/message.h"

namespace espalier::collective {

// Receives the events of a member's links, on the links' threads. An implementation may add and
// Send from within a call, but never waits and never destroys the links.
class LinkListener {
 public:
  virtual ~LinkListener() = default;
  // Handles a message. Messages from one member arrive in the order of sending, each once, or
  // OnBroken is called.
  virtual void OnMessage(ReduceMessage message) = 0;
  // Handles the loss of the link to member `member` of that generation. The link stays broken.
  virtual void OnBroken(Generation generation, uint32_t member, Status why) = 0;
};

// The links of one member for one generation of one job. Thread rule: Send from one thread at a
// time. Destruction is safe from any thread, and no call of the listener follows it.
class Links {
 public:
  virtual ~Links() = default;
  // Queues the message for member `message.to`. Never blocks. The reduce itself limits the queue to
  // one round's buckets on each edge. OnBroken reports failures.
  virtual void Send(ReduceMessage message) = 0;
};

}  // namespace espalier::collective
