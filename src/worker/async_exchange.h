// Letters: the messages between the members and the holder of asynchronous training, over the links
// of one generation. A letter is a header and parts. Each of them is one message of the reduce: a
// kDown from the holder (an order), or a kLeafUp to the holder (the answer). The order's number is
// the message's `round`. The place in the letter is its `bucket`, and 0 is the header.
//
//   order    header, then with kGradient and kEvaluation the parameters, cut like a gradient
//   answer   header, then a push: the gradient sum by buckets, with statistics at the end of the
//            last one; or an evaluation: one part of totals; or nothing
//
// The data from a partner is limited. A letter has at most as many parts and bytes as a step's
// sums. A second letter may not arrive before the first one was handed over.
//
// Thread rule: safe from any thread. Listen and Ignore are called from one thread, which handles no
// letter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/collective/message.h"
#include "src/collective/message_filter.h"
#include "src/training/async_holder.h"
#include "src/worker/event_drain.h"
#include "src/worker/exchange.h"

namespace espalier::worker {

// Places in the header. On the wire, the header is kLetterHeaderSize doubles.
enum LetterHeader : size_t {
  kLetterParts = 0,     // number of parts that follow
  kLetterTask = 1,      // AsyncTask
  kLetterSet = 2,       // FileRole; this and the following are only for orders
  kLetterAgain = 3,     // 1: repeat the rows of the last push
  kLetterStep = 4,      // committed steps
  kLetterAllBegan = 5,  // 1: every member has begun this generation
  kLetterNext = 6,      // kLevel: the next generation, or 0
  kLetterRound = 7,     // kLevel: round of the state to take
  kLetterHeaderSize = 8,
};

struct Letter {
  int32_t member = 0;  // sender of an answer, or receiver of an order
  uint64_t number = 0;
  std::vector<double> header = std::vector<double>(kLetterHeaderSize, 0.0);
  std::vector<collective::Payload> parts;
};

class AsyncExchange final : public Exchange {
 public:
  // `holder`: the member with the parameters, and the only one with which the others communicate.
  // `parts_max`, `bytes_max`: limits of one letter.
  AsyncExchange(collective::ReduceIdentity identity, int32_t self, int32_t holder,
                std::vector<std::string> names, int64_t parts_max, int64_t bytes_max,
                std::function<void(int32_t member, const Status& why)> on_broken = {});
  ~AsyncExchange() override;

  void Start(std::unique_ptr<collective::Links> links) override;
  void Abort(Status why) override;
  bool broken() const override;

  struct Listener {
    std::function<void(Letter)> on_letter;  // one call at a time, on any thread; must be quick
    std::function<void(const Status&)> on_failed;  // one call, on any thread
    // Returns whether that member has done its part, so that its link may break.
    std::function<bool(int32_t member)> is_done;
  };
  // Sets the listener for letters, including those that have arrived already.
  void Listen(Listener listener);
  // Removes the listener. Afterwards no call is in progress, and letters are kept again.
  void Ignore();

  // Sends a letter. One thread at a time.
  void Send(const Letter& letter);

  int32_t self() const { return self_; }
  int32_t holder() const { return holder_; }
  const std::string& NameOf(int32_t member) const { return names_[member]; }

  void OnMessage(collective::ReduceMessage message) override;
  void OnBroken(Generation generation, uint32_t member, Status why) override;

 private:
  // A letter that is being received.
  struct Incoming {
    Letter letter;
    bool begun = false, waits = false;  // waits: complete and not handled
    int64_t bytes = 0;
  };
  Status TakeLocked(collective::ReduceMessage& message, bool& whole) REQUIRES(mutex_);
  void HandOver(int32_t member);

  const collective::ReduceIdentity identity_;
  const int32_t self_, holder_;
  const std::vector<std::string> names_;
  const int64_t parts_max_, bytes_max_;
  const std::function<void(int32_t, const Status&)> on_broken_;
  std::unique_ptr<collective::Links> links_;

  // Held during calls of the listener for failures and questions. Taken before mutex_.
  Mutex listener_mutex_;
  std::shared_ptr<const Listener> listener_ GUARDED_BY(listener_mutex_);

  mutable Mutex mutex_;
  std::vector<Incoming> incoming_ GUARDED_BY(mutex_);  // indexed by member
  Status failure_ GUARDED_BY(mutex_);
  bool broken_ GUARDED_BY(mutex_) = false;

  EventDrain<int32_t> whole_;  // members whose letter is ready to be handed over
};

}  // namespace espalier::worker
