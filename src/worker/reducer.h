// One member's reduce for one generation: a TreeReducer and its links, with input from many
// threads. The compute pool passes in partial sums, the links pass in messages, and the trainer
// waits for totals.
//
// It has no separate thread (event_drain.h). The daemon's loop never calls it.
//
// The data from a partner is limited. A partner can be one round ahead of this member, and for each
// round it sends no more than a few times the round's sums. A partner that sends more breaks the
// protocol and ends the generation.
//
// In a job with only one member, there is nothing to send: the sums passed in are the totals.
//
// Thread rule: BeginRound and WaitTotals on the trainer's thread. The others are safe from any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/collective/round_totals.h"
#include "src/collective/tree_reducer.h"
#include "src/worker/event_drain.h"
#include "src/worker/exchange.h"

namespace espalier::worker {

// Limit for one partner in a round, in vectors of all buckets: its nodes of both kinds (at most 4
// each, while leaves move), the other part of the top (4), and the total.
inline constexpr int64_t kVectorsARoundMax = 13;
// Minimum size that a message counts for.
inline constexpr int64_t kMessageBytesMin = 64;

class Reducer final : public Exchange {
 public:
  // `names[i]`: the name of member i in messages. `round_bytes_max`: maximum size of the sums of
  // any round of the job, in one vector of each bucket (RoundBytesMax). `on_broken` is called for
  // the first link that breaks, on the link's thread, before any wait ends.
  Reducer(collective::ReduceIdentity identity, plan::TreePlace place,
          std::vector<std::string> names, int64_t round_bytes_max,
          std::function<void(int32_t member, const Status& why)> on_broken = {});
  // Waits for the thread that handles events, then destroys the links.
  ~Reducer() override;

  void Start(std::unique_ptr<collective::Links> links) override;

  // Calls of a round: the trainer calls BeginRound, its pool calls Contribute once per bucket (any
  // thread, any order), and the trainer calls WaitTotals.
  void BeginRound(uint64_t round, collective::RoundShape shape);
  void Contribute(uint32_t bucket, collective::Payload own_nodes);
  // Returns the totals of all buckets. Returns an error if a link broke, a peer broke the protocol,
  // or Abort was called. It also returns one if the totals are not complete within `timeout_ms`.
  // That error names the missing members. After a failure, all calls fail.
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
  // A request of the waiting trainer for the missing members.
  struct WhoIsMissing {};
  using Event = std::variant<Begin, Own, collective::ReduceMessage, WhoIsMissing>;

  // Returns OK if that member may have sent this much by now.
  Status CountLocked(const collective::ReduceMessage& message) REQUIRES(count_mutex_);
  void Handle(Event& event);
  void Perform(collective::ReduceActions actions);
  void Deliver(uint32_t bucket, collective::Payload payload);
  bool alone() const { return place_.leaves_to < 0 && !place_.top; }

  const plan::TreePlace place_;
  const std::vector<std::string> names_;
  collective::TreeReducer reducer_;  // used only by the thread that drains
  std::unique_ptr<collective::Links> links_;

  const int64_t round_bytes_max_;
  const std::function<void(int32_t, const Status&)> on_broken_;

  EventDrain<Event> events_;  // limited by the protocol: a round's buckets on each edge

  Mutex count_mutex_;
  int64_t rounds_begun_ GUARDED_BY(count_mutex_) = 0;
  std::vector<int64_t> received_bytes_ GUARDED_BY(count_mutex_);  // indexed by member

  mutable Mutex mutex_;
  CondVar changed_;
  collective::RoundTotals totals_ GUARDED_BY(mutex_);
  // Answer to WhoIsMissing.
  std::optional<std::vector<int32_t>> missing_members_ GUARDED_BY(mutex_);
  bool broken_ GUARDED_BY(mutex_) = false;
};

}  // namespace espalier::worker
