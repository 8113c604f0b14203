// The queue of events in simulated time. Events at the same time run in the order of creation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace espalier::sim {

class Queue {
 public:
  int64_t now_us() const { return now_us_; }
  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }

  // Schedules `event` at `us`, or now if that time is past.
  void At(int64_t us, std::function<void()> event) {
    heap_.push_back({std::max(us, now_us_), ++made_, std::move(event)});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  void After(int64_t us, std::function<void()> event) { At(now_us_ + us, std::move(event)); }

  void Clear() { const std::vector<Event> events = std::exchange(heap_, {}); }

  // REQUIRES: not empty.
  void RunOne() {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    Event next = std::move(heap_.back());
    heap_.pop_back();
    now_us_ = next.us;
    next.run();
  }

 private:
  struct Event {
    int64_t us;
    uint64_t number;
    std::function<void()> run;
  };
  static bool Later(const Event& a, const Event& b) {
    return a.us != b.us ? a.us > b.us : a.number > b.number;
  }

  int64_t now_us_ = 0;
  uint64_t made_ = 0;
  std::vector<Event> heap_;
};

}  // namespace espalier::sim
