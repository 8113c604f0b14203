// The clients that follow jobs: each gets the whole history first, then every change of state at
// once and progress at most ten times a second, and the final state always. Nobody is kept waiting:
// one who reads too slowly is dropped by its sink, and there is a limit to how many may watch.
//
// The core may know of an end before the journal does (outbox.h). Of an end nobody is told but by
// a change that says so.
//
// Thread rule: one thread (the control loop).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "src/cluster/coordinator_core.h"
#include "src/rpc/coordinator_server.h"

namespace espalier::coordinator {

inline constexpr int64_t kProgressIntervalMs = 100;

class Watchers {
 public:
  // `watchers_max`: those that may watch at a time.
  Watchers(const cluster::CoordinatorCore* core, int64_t watchers_max)
      : core_(core), watchers_max_(watchers_max) {}

  // Of a job that is over a Notify is to follow, in its turn.
  void Add(JobId job, std::shared_ptr<rpc::WatchSink> sink);
  // Tells what changed now, or keeps mere progress for FlushProgress.
  void Notify(const std::vector<cluster::JobChanged>& changes);
  // Tells kept progress; true when there was any. Call every kProgressIntervalMs.
  void FlushProgress();
  // Ends all streams: the coordinator goes away.
  void CloseAll(const Status& why);

 private:
  struct Watcher {
    std::shared_ptr<rpc::WatchSink> sink;
    int64_t history_sent = 0;  // rows told
  };
  void Tell(JobId job);
  bool IsOver(JobId job) const;
  int64_t Count();

  const cluster::CoordinatorCore* core_;
  const int64_t watchers_max_;
  std::map<JobId, std::vector<Watcher>> watchers_;
  std::set<JobId> moved_;  // progress not told yet
};

}  // namespace espalier::coordinator
