// Fixed pools of threads for loops (compute) and for jobs (input and output).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/queue.h"

namespace espalier {

// Runs `body(index)` for 0 <= index < count on `threads` threads, including the caller's. The
// assignment of indices to threads is not specified, so bodies must not depend on it. If a body
// throws, no further body starts. The first exception is rethrown after the running bodies have
// returned.
//
// Thread rule: one ParallelFor at a time, from one thread.
class ComputePool {
 public:
  // Runs `on_start` once on each of the pool's own threads (for example, to set MXCSR).
  explicit ComputePool(int threads, std::function<void()> on_start = {});
  ~ComputePool();
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  void ParallelFor(int64_t count, const std::function<void(int64_t index)>& body);

 private:
  void Run();
  void TakeIndices();

  std::vector<std::thread> workers_;
  // Set under mutex_ between rounds, and read by all threads without it during a round.
  const std::function<void(int64_t)>* body_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};

  Mutex mutex_;
  CondVar start_, done_;
  uint64_t round_ GUARDED_BY(mutex_) = 0;
  int running_ GUARDED_BY(mutex_) = 0;
  bool stop_ GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ GUARDED_BY(mutex_);  // first exception of a round
  std::function<void()> on_start_;
};

// Runs jobs in order of submission on `threads` threads. The destructor runs the queued jobs first.
//
// Thread rule: Submit is safe from any thread.
class JobPool {
 public:
  explicit JobPool(int threads);
  ~JobPool();
  JobPool(const JobPool&) = delete;
  JobPool& operator=(const JobPool&) = delete;
  void Submit(std::function<void()> job);

 private:
  Queue<std::function<void()>> queue_;
  std::vector<std::thread> workers_;
};

}  // namespace espalier
