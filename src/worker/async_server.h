// The holder's side of asynchronous training: receives the members' answers, lets AsyncHolder
// decide, and sends orders with their parameters. It works on a separate thread, in the order in
// which answers arrive, while the holder's thread and pool compute the holder's own push. Answers
// are not applied on the threads that bring them (as sums are, event_drain.h). One more answer may
// always be waiting, so this would occupy one of those threads forever, and with it a member's
// stream or the holder's own loop.
//
// The number of waiting answers is limited, because a member answers an order before it gets the
// next one.
//
// Thread rule: safe from any thread, except Begin, which is the first call and happens once.
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
    std::function<void(Letter)> on_own_order;     // receives the holder's own orders
    std::function<void(const Status&)> on_error;  // the job fails
  };
  // All references must outlive this object. The exchange's listener must be removed with Ignore
  // before the destructor runs.
  AsyncServer(training::StepMachine<T>& machine, const LeafWork<T>& work, AsyncExchange& exchange,
              int32_t members, int64_t staleness, StepTimes& times, Hooks hooks);
  // Drops waiting answers. The machine is then between two steps.
  ~AsyncServer();

  void Begin();
  void OnAnswer(Letter letter);  // `letter.member` is one of the members
  void OnOffered();
  void SwitchTo(Generation next);

  // Calls `what` in its turn between two answers. Nothing is applied during the call. Hooks must
  // not call this.
  void WithState(const std::function<void(training::AsyncHolder<T>&)>& what);
  // Returns whether the member has reported the end of its work.
  bool IsDone(int32_t member) const { return inboxes_[member].done; }
  bool over() const { return over_; }
  // Returns a count that grows with each answer. While it grows, no member counts as missing.
  int64_t events() const { return events_; }
  int64_t rows_done() const { return rows_done_; }

 private:
  // State of one member, for the threads that bring its answers.
  struct Inbox {
    std::atomic<bool> waits{false};  // an answer has not been taken yet
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

  std::vector<Inbox> inboxes_;  // indexed by member
  std::atomic<int64_t> events_{0}, rows_done_{0};
  std::atomic<bool> over_{false}, stopped_{false};

  // Used only by the thread, like the machine and the times.
  training::AsyncHolder<T> holder_;
  std::vector<uint64_t> orders_;  // numbers of the newest orders, by member
  int64_t last_step_us_ = 0;
  uint64_t parameters_round_ = 0;                // round of the state at the time of the copy
  std::vector<collective::Payload> parameters_;  // shared by all orders of a round

  JobPool thread_{1};  // ends before all other members
};

}  // namespace espalier::worker
