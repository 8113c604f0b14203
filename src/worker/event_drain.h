// Events that many threads bring and one at a time handles, without a thread of its own: whoever
// brings an event while nobody handles one handles it, and all that others bring meanwhile. A
// hand-over to another thread costs more than adding 256 KiB, and on two cores made a step of two
// workers 10 % longer.
//
// It is for what comes to an end, as a round does: a thread that handles events is kept for as long
// as others bring more.
//
// Handling computes as on a compute thread: sums must treat tiny numbers as every other thread
// does.
//
// Thread rule: any thread; Stop and WaitUntilIdle from none that handles.
#pragma once

#include <immintrin.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "src/model/arithmetic.h"

namespace espalier::worker {

template <typename Event>
class EventDrain {
 public:
  explicit EventDrain(std::function<void(Event&)> handle) : handle_(std::move(handle)) {}
  ~EventDrain() { Stop(); }
  EventDrain(const EventDrain&) = delete;
  EventDrain& operator=(const EventDrain&) = delete;

  void Post(Event event) {
    std::unique_lock lock(mutex_);
    if (stopped_) return;
    events_.push_back(std::move(event));
    if (!draining_) Drain(lock);
  }

  // Drops what is not handled yet, and whatever comes; waits for who handles one.
  void Stop() {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    events_.clear();
    idle_.wait(lock, [this] { return !draining_; });
  }

  // Waits until a moment when all that came has been handled.
  void WaitUntilIdle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return !draining_; });
  }

 private:
  void Drain(std::unique_lock<std::mutex>& lock) {
    draining_ = true;
    const unsigned int mode = _mm_getcsr();
    model::PrepareComputeThread();
    while (!events_.empty()) {
      Event next = std::move(events_.front());
      events_.pop_front();
      lock.unlock();
      handle_(next);
      lock.lock();
    }
    _mm_setcsr(mode);
    draining_ = false;
    idle_.notify_all();  // under the lock: the destructor may be waiting for this very call
  }

  const std::function<void(Event&)> handle_;
  std::mutex mutex_;  // guards all below
  std::condition_variable idle_;
  std::deque<Event> events_;
  bool draining_ = false;  // some thread is handling events
  bool stopped_ = false;
};

}  // namespace espalier::worker
