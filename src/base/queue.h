// The one way data moves between our threads: a closable FIFO.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace espalier {

// Unbounded by itself: what may be in flight is bounded by the protocol of each user, which says
// so. Thread rule: all calls safe from any thread.
template <typename T>
class Queue {
 public:
  // False when the queue is closed; the item is then dropped.
  bool Push(T item) {
    {
      std::lock_guard lock(mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return true;
  }
  // Waits for an item. Empty when the queue is closed and drained.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return closed_ || !items_.empty(); });
    return TakeLocked();
  }
  // As Pop, but gives up after `timeout`.
  template <typename Rep, typename Period>
  std::optional<T> PopFor(std::chrono::duration<Rep, Period> timeout) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, timeout, [this] { return closed_ || !items_.empty(); });
    return TakeLocked();
  }
  std::optional<T> TryPop() {
    std::lock_guard lock(mutex_);
    return TakeLocked();
  }
  void Close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
  }
  bool closed() const {
    std::lock_guard lock(mutex_);
    return closed_ && items_.empty();
  }
  size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  std::optional<T> TakeLocked() {
    std::optional<T> item;
    if (items_.empty()) return item;
    item.emplace(std::move(items_.front()));
    items_.pop_front();
    return item;
  }
  mutable std::mutex mutex_;  // guards items_ and closed_
  std::condition_variable ready_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace espalier
