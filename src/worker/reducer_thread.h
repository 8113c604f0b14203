// The thread that reduces: it owns a TreeReducer and the links of one generation. The compute pool
// feeds it partial sums, the links feed it messages, and the trainer waits for totals.
//
// Alone in a job there is nothing to send: the sums handed in are the totals, and no thread runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "src/base/queue.h"
#include "src/base/status.h"
#include "src/collective/link.h"
#include "src/collective/tree_reducer.h"

namespace espalier {

class ReducerThread : public LinkListener {
 public:
  // `names[i]` is what member i is called in messages.
  ReducerThread(ReduceIdentity identity, TreePlace place, std::vector<std::string> names);
  // Destroys the links, then ends the thread.
  ~ReducerThread() override;
  ReducerThread(const ReducerThread&) = delete;
  ReducerThread& operator=(const ReducerThread&) = delete;

  // Takes the links, whose listener is this object, and starts. Not needed alone in a job.
  void Start(std::unique_ptr<Links> links);

  // A round: the trainer calls BeginRound, its pool Contribute once a chunk (any thread, any order),
  // the trainer WaitTotals.
  void BeginRound(uint64_t round, RoundShape shape);
  void Contribute(uint32_t chunk, Payload own_nodes);
  // The totals of all chunks. An error: a link broke, a peer broke the protocol, Abort was called, or
  // nothing was finished within `timeout_ms` (it then names the members that were missing). Failures
  // stick.
  Result<std::vector<Payload>> WaitTotals(int64_t timeout_ms);

  // Ends every wait with this error. Any thread.
  void Abort(Status why);
  // The member whose link broke first, or -1.
  int32_t broken_member() const;

  void OnMessage(ReduceMessage message) override;
  void OnBroken(Generation generation, uint32_t member, Status why) override;

 private:
  struct Begin {
    uint64_t round;
    RoundShape shape;
  };
  struct Own {
    uint32_t chunk;
    Payload nodes;
  };
  using Event = std::variant<Begin, Own, ReduceMessage>;

  void Run();
  void Perform(ReduceActions actions);
  void Deliver(uint32_t chunk, Payload payload);
  bool alone() const { return place_.leaves_to < 0; }

  const TreePlace place_;
  const std::vector<std::string> names_;
  TreeReducer reducer_;  // of the thread alone
  Queue<Event> queue_;   // bounded by the protocol: a round's chunks on each edge
  std::unique_ptr<Links> links_;
  std::thread thread_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Payload> totals_;
  size_t missing_ = 0;
  std::vector<int32_t> missing_members_;
  Status failure_;
  int32_t broken_member_ = -1;
};

}  // namespace espalier
