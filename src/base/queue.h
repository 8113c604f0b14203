// Queue: a closable FIFO. It is the only way to move data between our threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "src/base/mutex.h"

namespace espalier {

// An unbounded queue. The protocol of each user bounds the number of items in flight and documents
// the bound.
//
// Thread rule: all calls are safe from any thread.
template <typename T>
class Queue {
 public:
  // Returns false, and drops the item, if the queue is closed.
  bool Push(T item) {
    {
      MutexLock lock(mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    ready_.NotifyOne();
    return true;
  }
  // Waits for an item. Returns nothing if the queue is closed and drained.
  std::optional<T> Pop() {
    MutexLock lock(mutex_);
    while (!closed_ && items_.empty()) ready_.Wait(mutex_);
    return TakeLocked();
  }
  // Like Pop, but gives up after `timeout`.
  template <typename Rep, typename Period>
  std::optional<T> PopFor(std::chrono::duration<Rep, Period> timeout) {
    MutexLock lock(mutex_);
    ready_.WaitFor(mutex_, timeout,
                   [this]() REQUIRES(mutex_) { return closed_ || !items_.empty(); });
    return TakeLocked();
  }
  std::optional<T> TryPop() {
    MutexLock lock(mutex_);
    return TakeLocked();
  }
  void Close() {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    ready_.NotifyAll();
  }
  bool closed() const {
    MutexLock lock(mutex_);
    return closed_ && items_.empty();
  }
  size_t size() const {
    MutexLock lock(mutex_);
    return items_.size();
  }

 private:
  std::optional<T> TakeLocked() REQUIRES(mutex_) {
    std::optional<T> item;
    if (items_.empty()) return item;
    item.emplace(std::move(items_.front()));
    items_.pop_front();
    return item;
  }
  mutable Mutex mutex_;
  CondVar ready_;
  std::deque<T> items_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace espalier
