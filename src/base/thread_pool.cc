#include "src/base/thread_pool.h"

#include <utility>

namespace espalier {

ComputePool::ComputePool(int threads, std::function<void()> on_start)
    : on_start_(std::move(on_start)) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { Run(); });
}

ComputePool::~ComputePool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& t : workers_) t.join();
}

void ComputePool::ParallelFor(int64_t count, const std::function<void(int64_t)>& body) {
  if (workers_.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  {
    std::lock_guard lock(mutex_);
    body_ = &body;
    count_ = count;
    next_ = 0;
    running_ = static_cast<int>(workers_.size());
    ++round_;
  }
  start_.notify_all();
  TakeIndices();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return running_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ComputePool::TakeIndices() {
  try {
    for (int64_t i = next_++; i < count_; i = next_++) (*body_)(i);
  } catch (...) {
    next_ = count_;
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void ComputePool::Run() {
  if (on_start_) on_start_();
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
    }
    TakeIndices();
    {
      std::lock_guard lock(mutex_);
      --running_;
    }
    done_.notify_one();
  }
}

JobPool::JobPool(int threads) {
  for (int i = 0; i < threads; ++i) {
    workers_.emplace_back([this] {
      while (auto job = queue_.Pop()) (*job)();
    });
  }
}

JobPool::~JobPool() {
  queue_.Close();
  for (std::thread& t : workers_) t.join();
}

void JobPool::Submit(std::function<void()> job) { queue_.Push(std::move(job)); }

}  // namespace espalier
