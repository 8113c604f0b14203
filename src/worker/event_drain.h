// Events that many threads post and one thread at a time handles, without a separate thread. A
// thread that posts an event while no other thread handles one handles it, and all events that
// arrive in the meantime. Handing events to another thread costs more than adding 256 KiB. On two
// cores, it made a step of two workers 10 % longer.
//
// Use it only for work that ends, as a round does: a thread that handles events continues as long
// as others post more.
//
// Events are handled with the settings of a compute thread, because sums must treat tiny numbers as
// all other threads do.
//
// Thread rule: safe from any thread. Stop and WaitUntilIdle are not called from a handler.
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

  // Drops unhandled and later events, and waits for a handler in progress.
  void Stop() {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    events_.clear();
    idle_.wait(lock, [this] { return !draining_; });
  }

  // Waits until all posted events have been handled.
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
    idle_.notify_all();  // under the lock: the destructor may be waiting for this call
  }

  const std::function<void(Event&)> handle_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable idle_;
  std::deque<Event> events_;
  bool draining_ = false;  // a thread is handling events
  bool stopped_ = false;
};

}  // namespace espalier::worker
