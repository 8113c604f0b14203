// The clients that follow jobs. Each gets the whole history first. Then it gets every change of
// state at once, progress at most ten times a second, and always the final state. A slow reader
// delays no other client: its sink drops it. The number of watchers is limited.
//
// The core may know of an end before the journal does (outbox.h). Watchers therefore learn of an
// end only from a change that has `over` set.
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
  // `watchers_max`: limit for simultaneous watchers.
  Watchers(const cluster::CoordinatorCore* core, int64_t watchers_max)
      : core_(core), watchers_max_(watchers_max) {}

  // Adds a watcher. For a job that is over, a Notify must follow in its turn.
  void Add(JobId job, std::shared_ptr<rpc::WatchSink> sink);
  // Sends the changes now, or keeps progress-only changes for FlushProgress.
  void Notify(const std::vector<cluster::JobChanged>& changes);
  // Sends kept progress. Returns true if there was any. Call it every kProgressIntervalMs.
  void FlushProgress();
  // Ends all streams because the coordinator ends.
  void CloseAll(const Status& why);

 private:
  struct Watcher {
    std::shared_ptr<rpc::WatchSink> sink;
    int64_t history_sent = 0;  // rows sent
  };
  void Tell(JobId job);
  bool IsOver(JobId job) const;
  int64_t Count();

  const cluster::CoordinatorCore* core_;
  const int64_t watchers_max_;
  std::map<JobId, std::vector<Watcher>> watchers_;
  std::set<JobId> moved_;  // progress not sent yet
};

}  // namespace espalier::coordinator
