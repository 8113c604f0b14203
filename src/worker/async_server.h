// The holder's side of asynchronous training: takes the members' answers, has AsyncHolder decide,
// and sends orders with the parameters that go with them. Pushes are applied on whichever thread
// brings them (async_exchange.h), while the holder's own thread and pool compute its own.
//
// Thread rule: any thread, but Begin, which is called once and first.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "src/base/status.h"
#include "src/training/async_holder.h"
#include "src/worker/async_exchange.h"
#include "src/worker/leaf_work.h"
#include "src/worker/trainer.h"

namespace espalier {

template <typename T>
class AsyncServer {
 public:
  struct Hooks {
    std::function<int64_t()> now_us;
    std::function<void(Letter)> on_own_order;     // the holder's own
    std::function<void(const Status&)> on_error;  // the job fails
  };
  // All references must outlive this, and the exchange's listener must be Ignored before its end.
  AsyncServer(StepMachine<T>& machine, const LeafWork<T>& work, AsyncExchange& exchange,
              int32_t members, int64_t staleness, StepTimes& times, Hooks hooks);

  void Begin();
  void OnAnswer(Letter letter);  // where letters are handled
  void OnOffered();
  void SwitchTo(Generation next);

  // Calls it when no step is being applied.
  void WithState(const std::function<void(AsyncHolder<T>&)>& what);
  bool IsDone(int32_t member);
  bool over();
  std::vector<int32_t> Missing();
  // Grows with whatever comes: while it does, nobody is missed.
  int64_t events();
  int64_t rows_done();

 private:
  void Take(AsyncActions actions);
  Result<AsyncActions> TakeAnswer(Letter& letter);
  Status CheckParts(const Letter& letter, AsyncTask task) const;
  Letter MakeOrder(const AsyncOrder& order);

  StepMachine<T>& machine_;
  const LeafWork<T>& work_;
  AsyncExchange& exchange_;
  StepTimes& times_;
  const Hooks hooks_;

  std::mutex mutex_;  // guards all below, the machine and the times; held while nothing is sent
  AsyncHolder<T> holder_;
  std::vector<uint64_t> orders_;  // numbers of the newest, by member
  int64_t last_step_us_ = 0, events_ = 0, rows_done_ = 0;
};

}  // namespace espalier
