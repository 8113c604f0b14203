// The holder's side of asynchronous training: takes the members' answers, has AsyncHolder decide,
// and sends orders with the parameters that go with them. It has a thread of its own, which does
// that in the order in which answers come, while the holder's thread and pool compute its own push.
// There may always be one more answer that waits: applied on the threads that bring them (as sums
// are, event_drain.h), they would keep one of those for good, and with it a member's stream, or the
// holder's own loop.
//
// What waits is bounded: a member answers an order, and gets the next one after that.
//
// Thread rule: any thread, but Begin, which is called once and first.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/training/async_holder.h"
#include "src/worker/async_exchange.h"
#include "src/worker/leaf_work.h"
#include "src/worker/trainer.h"

namespace espalier::worker {

template <typename T>
class AsyncServer {
 public:
  struct Hooks {
    std::function<int64_t()> now_us;
    std::function<void(Letter)> on_own_order;     // the holder's own
    std::function<void(const Status&)> on_error;  // the job fails
  };
  // All references must outlive this, and the exchange's listener must be Ignored before its end.
  AsyncServer(training::StepMachine<T>& machine, const LeafWork<T>& work, AsyncExchange& exchange,
              int32_t members, int64_t staleness, StepTimes& times, Hooks hooks);
  // Drops what waits; the machine is as of a moment between two steps.
  ~AsyncServer();

  void Begin();
  void OnAnswer(Letter letter);  // of whoever it says, which is one of the members
  void OnOffered();
  void SwitchTo(Generation next);

  // Calls it, when its turn has come, between two answers: nothing is applied meanwhile. Not to be
  // called by hooks.
  void WithState(const std::function<void(training::AsyncHolder<T>&)>& what);
  // The member has said that it has done all that is to be done.
  bool IsDone(int32_t member) const { return inboxes_[member].done; }
  bool over() const { return over_; }
  // Grows with whatever comes: while it does, nobody is missed.
  int64_t events() const { return events_; }
  int64_t rows_done() const { return rows_done_; }

 private:
  // Of a member, for the threads that bring its answers.
  struct Inbox {
    std::atomic<bool> waits{false};  // there is an answer that was not taken yet
    std::atomic<bool> done{false};
  };
  void Do(std::function<void()> what);
  void Handle(Letter& letter);
  void Take(training::AsyncActions actions);
  Result<training::AsyncActions> TakeAnswer(Letter& letter);
  Status CheckParts(const Letter& letter, training::AsyncTask task) const;
  Letter MakeOrder(const training::AsyncOrder& order);
  const std::vector<collective::Payload>& Parameters();

  training::StepMachine<T>& machine_;
  const LeafWork<T>& work_;
  AsyncExchange& exchange_;
  StepTimes& times_;
  const Hooks hooks_;

  std::vector<Inbox> inboxes_;  // by member
  std::atomic<int64_t> events_{0}, rows_done_{0};
  std::atomic<bool> over_{false}, stopped_{false};

  // Of the thread, as are the machine and the times.
  training::AsyncHolder<T> holder_;
  std::vector<uint64_t> orders_;  // numbers of the newest, by member
  int64_t last_step_us_ = 0;
  uint64_t parameters_round_ = 0;                // of the state, when these were copied
  std::vector<collective::Payload> parameters_;  // for all orders of a round

  JobPool thread_{1};  // ends before all else
};

}  // namespace espalier::worker
