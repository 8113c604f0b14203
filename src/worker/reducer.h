// One member's reduce for one generation: a TreeReducer and its links, fed from many threads. The
// compute pool hands in partial sums, the links hand in messages, and the trainer waits for totals.
//
// It has no thread of its own (event_drain.h). The daemon's loop never comes here.
//
// What a partner may have sent is bounded: it can be one round ahead of this member, and of each
// round it sends no more than a few times the round's sums. Who sends more breaks the protocol and
// ends the generation.
//
// Alone in a job there is nothing to send: the sums handed in are the totals.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/base/status.h"
#include "src/collective/tree_reducer.h"
#include "src/worker/event_drain.h"
#include "src/worker/exchange.h"

namespace espalier::worker {

// What one partner may send of a round, in vectors of all buckets: its nodes of both kinds (4 at
// most each, while leaves move), the other part of the top (4) and the total.
inline constexpr int64_t kVectorsARoundMax = 13;
// A message counts for at least so much.
inline constexpr int64_t kMessageBytesMin = 64;

class Reducer final : public Exchange {
 public:
  // `names[i]` is what member i is called in messages; `round_bytes_max` what the sums of any round
  // of the job take, one vector of each bucket (RoundBytesMax). `on_broken` is told of the first
  // link that breaks, on the link's thread, before any wait ends.
  Reducer(collective::ReduceIdentity identity, plan::TreePlace place,
          std::vector<std::string> names, int64_t round_bytes_max,
          std::function<void(int32_t member, const Status& why)> on_broken = {});
  // Waits for the thread that handles events, then destroys the links.
  ~Reducer() override;

  void Start(std::unique_ptr<collective::Links> links) override;

  // A round: the trainer calls BeginRound, its pool Contribute once a bucket (any thread, any
  // order), the trainer WaitTotals.
  void BeginRound(uint64_t round, collective::RoundShape shape);
  void Contribute(uint32_t bucket, collective::Payload own_nodes);
  // The totals of all buckets. An error: a link broke, a peer broke the protocol, Abort was called,
  // or nothing was finished within `timeout_ms` (it then names the members that were missing).
  // Failures stick.
  Result<std::vector<collective::Payload>> WaitTotals(int64_t timeout_ms);

  void Abort(Status why) override;
  bool broken() const override;

  void OnMessage(collective::ReduceMessage message) override;
  void OnBroken(Generation generation, uint32_t member, Status why) override;

 private:
  struct Begin {
    uint64_t round;
    collective::RoundShape shape;
  };
  struct Own {
    uint32_t bucket;
    collective::Payload nodes;
  };
  // The waiting trainer wants to know who is missing.
  struct WhoIsMissing {};
  using Event = std::variant<Begin, Own, collective::ReduceMessage, WhoIsMissing>;

  // OK when that member may have sent so much by now.
  Status CountLocked(const collective::ReduceMessage& message);
  void Handle(Event& event);
  void Perform(collective::ReduceActions actions);
  void Deliver(uint32_t bucket, collective::Payload payload);
  bool alone() const { return place_.leaves_to < 0 && !place_.top; }

  const plan::TreePlace place_;
  const std::vector<std::string> names_;
  collective::TreeReducer reducer_;  // of the thread that drains
  std::unique_ptr<collective::Links> links_;

  const int64_t round_bytes_max_;
  const std::function<void(int32_t, const Status&)> on_broken_;

  EventDrain<Event> events_;  // bounded by the protocol: a round's buckets on each edge

  std::mutex count_mutex_;  // guards the two below
  int64_t rounds_begun_ = 0;
  std::vector<int64_t> received_bytes_;  // by member

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<collective::Payload> totals_;
  size_t missing_ = 0;
  std::optional<std::vector<int32_t>> missing_members_;  // answer to WhoIsMissing
  Status failure_;
  bool broken_ = false;
};

}  // namespace espalier::worker
