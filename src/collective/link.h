// How a TreeReducer reaches other members: an abstract link, in memory for tests (memory_link.h)
// and over gRPC in production (rpc/peer.h). One conformance suite (tests/collective/link_suite.h)
// holds for both.
#pragma once

#include "src/base/status.h"
#include "src/collective/message.h"

namespace espalier::collective {

// What a member's links tell it. Called from the link's own threads. An
// implementation may add and Send from within, but never waits and never destroys the links.
class LinkListener {
 public:
  virtual ~LinkListener() = default;
  // Messages from one member arrive in the order it sent them, each once, or OnBroken comes.
  virtual void OnMessage(ReduceMessage message) = 0;
  // The link to member `member` of that generation broke and stays broken.
  virtual void OnBroken(Generation generation, uint32_t member, Status why) = 0;
};

// The links of one member for one generation of one job. Thread rule: Send from one thread at a
// time; destruction from any thread, after which the listener is not called any more.
class Links {
 public:
  virtual ~Links() = default;
  // Queues the message for member `message.to`; never blocks. What may be queued is bounded by the
  // reduce itself: one round's buckets on each edge. Failure comes by OnBroken.
  virtual void Send(ReduceMessage message) = 0;
};

}  // namespace espalier::collective
