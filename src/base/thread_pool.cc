#include "src/base/thread_pool.h"

#include <utility>

namespace espalier {

ComputePool::ComputePool(int threads, std::function<void()> on_start)
    : on_start_(std::move(on_start)) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { Run(); });
}

ComputePool::~ComputePool() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  start_.NotifyAll();
  for (std::thread& t : workers_) t.join();
}

void ComputePool::ParallelFor(int64_t count, const std::function<void(int64_t)>& body) {
  if (workers_.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  {
    MutexLock lock(mutex_);
    body_ = &body;
    count_ = count;
    next_ = 0;
    running_ = static_cast<int>(workers_.size());
    ++round_;
  }
  start_.NotifyAll();
  TakeIndices();
  MutexLock lock(mutex_);
  while (running_ != 0) done_.Wait(mutex_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ComputePool::TakeIndices() {
  try {
    for (int64_t i = next_++; i < count_; i = next_++) (*body_)(i);
  } catch (...) {
    next_ = count_;
    MutexLock lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void ComputePool::Run() {
  if (on_start_) on_start_();
  uint64_t seen = 0;
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!stop_ && round_ == seen) start_.Wait(mutex_);
      if (stop_) return;
      seen = round_;
    }
    TakeIndices();
    {
      MutexLock lock(mutex_);
      --running_;
    }
    done_.NotifyOne();
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
