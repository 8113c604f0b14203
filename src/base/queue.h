// Queue: a closable FIFO. It is the only way to move data between our threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

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
      std::lock_guard lock(mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return true;
  }
  // Waits for an item. Returns nothing if the queue is closed and drained.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return closed_ || !items_.empty(); });
    return TakeLocked();
  }
  // Like Pop, but gives up after `timeout`.
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
