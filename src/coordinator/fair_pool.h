// Threads for work that waits for services of several people. Work names the groups that it belongs
// to, for example its file system and the owner of its job. Each group takes at most half of the
// threads, so an unreachable file system, or the many jobs of one owner, block no other work.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "src/base/mutex.h"
#include "src/base/thread_pool.h"

namespace espalier::coordinator {

// Starts work in order of submission, except that work passes earlier work of a busy group.
//
// Thread rule: Submit is safe from any thread.
class FairPool {
 public:
  explicit FairPool(int threads);
  // Runs the waiting work first.
  ~FairPool();
  FairPool(const FairPool&) = delete;
  FairPool& operator=(const FairPool&) = delete;
  void Submit(std::set<std::string> groups, std::function<void()> work);

 private:
  struct Item {
    std::set<std::string> groups;
    std::function<void()> work;
  };
  bool MayRunLocked(const Item& item) const REQUIRES(mutex_);
  void StartLocked() REQUIRES(mutex_);
  void Run(const Item& item);

  const int threads_;
  Mutex mutex_;
  CondVar ended_;
  std::deque<Item> waiting_ GUARDED_BY(mutex_);
  std::map<std::string, int> running_by_group_ GUARDED_BY(mutex_);
  int running_ GUARDED_BY(mutex_) = 0;
  JobPool pool_;  // last: its work uses the members above
};

}  // namespace espalier::coordinator
