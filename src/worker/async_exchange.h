// What members and the holder of asynchronous training say to each other over the links of one
// generation: letters. A letter is a header and parts; each is one message of the reduce, a kDown
// from the holder (an order) or a kLeafUp to it (the answer): the order's number is its `round`,
// the place in the letter its `bucket`, 0 being the header.
//
//   order    header, then with kGradient and kEvaluation the parameters, cut like a gradient
//   answer   header, then a push: the gradient sum by buckets, statistics at the end of the last;
//            or an evaluation: one part of totals; or nothing
//
// What a partner may have sent is bounded: a letter has at most as many parts and bytes as a step's
// sums, and there is no second one before the first was handed over.
//
// Thread rule: any thread; Listen and Ignore from one, which handles no letter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/collective/fate.h"
#include "src/collective/message.h"
#include "src/training/async_holder.h"
#include "src/worker/event_drain.h"
#include "src/worker/exchange.h"

namespace espalier::worker {

// As on the wire: so many doubles.
enum LetterHeader : size_t {
  kLetterParts = 0,     // that follow
  kLetterTask = 1,      // AsyncTask
  kLetterSet = 2,       // FileRole; orders alone have what follows
  kLetterAgain = 3,     // 1: the rows of the last push once more
  kLetterStep = 4,      // committed steps
  kLetterAllBegan = 5,  // 1: every member has begun this generation
  kLetterNext = 6,      // kLevel: the next generation, or 0
  kLetterRound = 7,     // kLevel: of the state to take
  kLetterHeaderSize = 8,
};

struct Letter {
  int32_t member = 0;  // who has sent it; of an order: who gets it
  uint64_t number = 0;
  std::vector<double> header = std::vector<double>(kLetterHeaderSize, 0.0);
  std::vector<collective::Payload> parts;
};

class AsyncExchange final : public Exchange {
 public:
  // `holder` is the member that has the parameters: the only one that others talk to.
  // `parts_max`, `bytes_max`: of one letter.
  AsyncExchange(collective::ReduceIdentity identity, int32_t self, int32_t holder,
                std::vector<std::string> names, int64_t parts_max, int64_t bytes_max,
                std::function<void(int32_t member, const Status& why)> on_broken = {});
  ~AsyncExchange() override;

  void Start(std::unique_ptr<collective::Links> links) override;
  void Abort(Status why) override;
  bool broken() const override;

  struct Listener {
    std::function<void(Letter)> on_letter;         // one at a time, on any thread; quick
    std::function<void(const Status&)> on_failed;  // once, on any thread
    // Whose link may break: that member has done its part.
    std::function<bool(int32_t member)> is_done;
  };
  // From now on these hear of letters, of those too that have come already.
  void Listen(Listener listener);
  // Nobody is called any more when this returns; letters are kept again.
  void Ignore();

  // One thread at a time.
  void Send(const Letter& letter);

  int32_t self() const { return self_; }
  int32_t holder() const { return holder_; }
  const std::string& NameOf(int32_t member) const { return names_[member]; }

  void OnMessage(collective::ReduceMessage message) override;
  void OnBroken(Generation generation, uint32_t member, Status why) override;

 private:
  // A letter that is coming in.
  struct Incoming {
    Letter letter;
    bool begun = false, waits = false;  // waits: it is whole and not handled
    int64_t bytes = 0;
  };
  Status TakeLocked(collective::ReduceMessage& message, bool& whole);
  void HandOver(int32_t member);

  const collective::ReduceIdentity identity_;
  const int32_t self_, holder_;
  const std::vector<std::string> names_;
  const int64_t parts_max_, bytes_max_;
  const std::function<void(int32_t, const Status&)> on_broken_;
  std::unique_ptr<collective::Links> links_;

  // Guards the next, and is held while it is told of failures or asked. Taken before mutex_.
  std::mutex listener_mutex_;
  std::shared_ptr<const Listener> listener_;

  mutable std::mutex mutex_;        // guards all below but whole_
  std::vector<Incoming> incoming_;  // by member
  Status failure_;
  bool broken_ = false;

  EventDrain<int32_t> whole_;  // members whose letter is to be handed over
};

}  // namespace espalier::worker
