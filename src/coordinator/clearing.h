// Removes what ended jobs have left next to their outputs (bundle/output.h, scoring/staging.h), one
// job after the other. Of jobs that score it does so on the thread of the merges, after the merge
// of the job itself: no merge puts an output in place meanwhile. Other merges come in between.
//
//   fails                           is tried again soon, for some seconds: workers that were told
//                                   to stop may write a last file meanwhile
//   fails still, storage is away    waits, with all others of that file system, and is tried again
//                                   until this process ends
//   fails still, the output's       waits so alone
//   directory is full or another job is filling it
//   fails still, for other reasons  is given up with a warning
//
// Jobs that ended in this life come first, then those of earlier lives: first the ones that failed
// or were cancelled, for which more than an empty directory may be left.
//
// Thread rule: all calls are safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"

namespace espalier::coordinator {

inline constexpr int64_t kClearSoonMs = 500;         // until another try
inline constexpr int64_t kClearTriesMs = 10'000;     // in which it is tried so
inline constexpr int64_t kClearAwayMs = 5 * 60'000;  // until a file system is asked again

class Clearing {
 public:
  struct Hooks {
    std::function<int64_t()> now_ms;
    // To the thread for work of this kind, in order.
    std::function<void(spec::JobKind, std::function<void()>)> submit;
    // On that thread.
    std::function<Status(const cluster::ClearWork&)> clear;
    std::function<void(const cluster::ClearWork&)> over;  // it was done or given up
  };
  explicit Clearing(Hooks hooks) : hooks_(std::move(hooks)) {}

  void Add(cluster::ClearWork work);
  // Begins what has waited long enough. To be called again and again.
  void Continue();
  // Whether anything is being done, or soon; not what waits for a file system.
  bool open() const;
  // Nothing more begins.
  void Close();
  bool closed() const;

 private:
  struct Item {
    cluster::ClearWork work;
    int64_t first_ms = 0;  // when it was tried first; 0: not yet
    int64_t due_ms = 0;
    bool away = false;  // its file system was, when it was tried last
  };

  void Work(Item item);
  // Where it is to be tried again, it is back among those that wait.
  bool Ended(Item item, const Status& done);

  const Hooks hooks_;
  mutable std::mutex mutex_;  // guards all below
  std::vector<Item> waiting_;
  bool working_ = false, closed_ = false;
};

}  // namespace espalier::coordinator
