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

#include <deque>
#include <functional>
#include <utility>

#include "src/base/mutex.h"
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
    ReleasableMutexLock lock(mutex_);
    if (stopped_) return;
    events_.push_back(std::move(event));
    if (draining_) return;
    draining_ = true;
    const unsigned int mode = _mm_getcsr();
    model::PrepareComputeThread();
    while (!events_.empty()) {
      Event next = std::move(events_.front());
      events_.pop_front();
      lock.Unlock();
      handle_(next);
      lock.Lock();
    }
    _mm_setcsr(mode);
    draining_ = false;
    idle_.NotifyAll();  // under the lock: the destructor may be waiting for this call
  }

  // Drops unhandled and later events, and waits for a handler in progress.
  void Stop() {
    MutexLock lock(mutex_);
    stopped_ = true;
    events_.clear();
    while (draining_) idle_.Wait(mutex_);
  }

  // Waits until all posted events have been handled.
  void WaitUntilIdle() {
    MutexLock lock(mutex_);
    while (draining_) idle_.Wait(mutex_);
  }

 private:
  const std::function<void(Event&)> handle_;
  Mutex mutex_;
  CondVar idle_;
  std::deque<Event> events_ GUARDED_BY(mutex_);
  bool draining_ GUARDED_BY(mutex_) = false;  // a thread is handling events
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace espalier::worker
