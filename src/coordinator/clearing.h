// Removes the leftovers of ended jobs next to their outputs (bundle/output.h, scoring/staging.h),
// one job after the other. For scoring jobs it does so on the merge thread, after the merge of that
// job. So no merge puts an output in place in the meantime. Other merges may run in between.
//
//   Outcome                         Next step
//   failure                         retries soon, for some seconds: workers that have to stop may
//                                   still write a last file
//   failure, storage unreachable    waits, with all other jobs on that file system, and retries
//                                   until this process ends
//   failure, the output's           waits in the same way, but alone
//   directory is full or another job is filling it
//   failure for another reason      gives up with a warning
//
// Jobs that ended in this life of the coordinator come first, then those of earlier lives. Of the
// latter, failed and cancelled jobs come first, because they may have left more than an empty
// directory.
//
// Thread rule: all calls are safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"

namespace espalier::coordinator {

inline constexpr int64_t kClearSoonMs = 500;         // until another attempt
inline constexpr int64_t kClearTriesMs = 10'000;     // limit for these attempts
inline constexpr int64_t kClearAwayMs = 5 * 60'000;  // the same for an unreachable file system

// Returns the file system of a path, like "hdfs://host:8020", or "" for a local or malformed one.
std::string FileSystemOf(const std::string& path);

class Clearing {
 public:
  struct Hooks {
    std::function<int64_t()> now_ms;
    // Passes work to the thread for jobs of this kind, in order.
    std::function<void(spec::JobKind, std::function<void()>)> submit;
    // Clears a job, on that thread.
    std::function<Status(const cluster::ClearWork&)> clear;
    std::function<void(const cluster::ClearWork&)> over;  // cleared or given up
  };
  explicit Clearing(Hooks hooks) : hooks_(std::move(hooks)) {}

  void Add(cluster::ClearWork work);
  // Begins the work that has waited long enough. Call it repeatedly.
  void Continue();
  // Returns whether work is in progress or begins soon. Work that waits for a file system does not
  // count.
  bool open() const;
  // Prevents new work from beginning.
  void Close();
  bool closed() const;

 private:
  struct Item {
    cluster::ClearWork work;
    int64_t first_ms = 0;  // time of the first attempt; 0: none yet
    int64_t due_ms = 0;
    bool away = false;  // its file system was unreachable at the last attempt
  };

  void Work(Item item);
  // Returns whether the item was cleared or given up. An item for another attempt waits again.
  bool Ended(Item item, const Status& done);

  const Hooks hooks_;
  mutable Mutex mutex_;
  std::vector<Item> waiting_ GUARDED_BY(mutex_);
  bool working_ GUARDED_BY(mutex_) = false, closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace espalier::coordinator
