#include "src/coordinator/fair_pool.h"

#include <algorithm>
#include <utility>

namespace espalier::coordinator {

FairPool::FairPool(int threads) : threads_(threads), pool_(threads) {}

FairPool::~FairPool() {
  MutexLock lock(mutex_);
  while (running_ != 0 || !waiting_.empty()) ended_.Wait(mutex_);
}

void FairPool::Submit(std::set<std::string> groups, std::function<void()> work) {
  MutexLock lock(mutex_);
  waiting_.push_back({std::move(groups), std::move(work)});
  StartLocked();
}

// Returns whether each group of the item may have one more thread.
bool FairPool::MayRunLocked(const Item& item) const {
  const int most = std::max(1, threads_ / 2);
  for (const std::string& group : item.groups) {
    const auto it = running_by_group_.find(group);
    if (it != running_by_group_.end() && it->second >= most) return false;
  }
  return true;
}

// Starts the work that has a thread, oldest first.
void FairPool::StartLocked() {
  for (auto it = waiting_.begin(); it != waiting_.end() && running_ < threads_;) {
    if (!MayRunLocked(*it)) {
      ++it;
      continue;
    }
    ++running_;
    for (const std::string& group : it->groups) ++running_by_group_[group];
    pool_.Submit([this, item = std::move(*it)] { Run(item); });
    it = waiting_.erase(it);
  }
}

// Runs on a thread of the pool.
void FairPool::Run(const Item& item) {
  item.work();
  MutexLock lock(mutex_);
  --running_;
  for (const std::string& group : item.groups) {
    const auto it = running_by_group_.find(group);
    if (--it->second == 0) running_by_group_.erase(it);
  }
  StartLocked();
  ended_.NotifyAll();
}

}  // namespace espalier::coordinator
