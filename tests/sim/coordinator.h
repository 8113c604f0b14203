// A simulated coordinator process: the shell of a CoordinatorCore with its journal, like
// coordinator/daemon.cc.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "src/bundle/output_commit.h"
#include "src/cluster/coordinator_core.h"
#include "tests/sim/streams.h"

namespace espalier::sim {

// The durable journal, with an index for the checks.
struct JournalStore {
  std::vector<cluster::JournalEntry> entries;
  Incarnation newest;  // the incarnation that may write
  bool full = false;

  void Append(const cluster::JournalEntry& entry);
  // Replaces the journal with an equivalent shorter one.
  void Rewrite(std::vector<cluster::JournalEntry> shorter) { entries = std::move(shorter); }
  bool HasGeneration(JobId job, Generation generation, bool leaves) const;
  bool HasEnded(JobId job) const { return ended.contains(job); }

  std::set<WorkerId> workers;
  std::set<JobId> jobs, ended;
  std::set<std::pair<JobId, Generation>> reserved;           // generations in preparation
  std::map<std::pair<JobId, Generation>, bool> generations;  // true: with leaves
};

class SimCoordinator {
 public:
  // Starts from the journal.
  explicit SimCoordinator(World& world);

  bool alive() const { return alive_; }
  bool paused() const { return paused_; }
  Incarnation incarnation() const { return incarnation_; }
  const cluster::CoordinatorCore& core() const { return *core_; }
  // Returns whether it restarted less than a liveness limit ago.
  bool young() const;
  bool welcomed(WorkerId worker) const { return welcomed_.contains(worker); }

  void Feed(const cluster::CoordinatorEvent& event);
  void Opened(const StreamRef& stream);
  void Do(std::function<void()> f);

  void Crash();
  void Pause() { paused_ = true; }
  void Resume();
  void JumpClock(int64_t ms);
  // Handles a stale report from that worker's stream and checks that it changes nothing. Returns
  // false without a stream.
  bool InjectReport(const StreamRef& stream, const cluster::FromWorker& report);
  // Handles a false report of a member of the job. Fails the run if another job changes. Returns
  // false without a stream.
  bool InjectLie(const StreamRef& stream, const cluster::FromWorker& lie, JobId job);

 private:
  void Tick();
  int64_t NowMs() const;
  // Counts planned changes and jobs that yield.
  void NotePlans(const cluster::CoordinatorActions& actions);
  // Performs the actions, or queues them until their entries and all earlier ones are durable, like
  // coordinator/outbox.h.
  void Push(cluster::CoordinatorActions actions);
  void WriteLater(int64_t us);
  void WriteAll();
  // Injects a crash before a write, or a partial write. Returns whether the process ended.
  bool CrashesAtWrite();
  // Takes back the first waiting submission while the disk is full. Returns false if there is none.
  bool RefuseJobs();
  // Injects a crash before a planned change is written. Returns whether the process ended.
  bool CrashesAtPlan();
  void Perform(cluster::CoordinatorActions actions);
  // Returns false if the process ended.
  bool SendAll(std::vector<cluster::SendToWorker>& sends);
  void Merge(const cluster::MergeWork& work);
  void Check(const cluster::CheckWork& work);
  // Fences a job's writers, one action per event. Then calls `over`.
  void Fence(JobId job, int64_t submitted_ms, const std::string& output,
             std::function<void()> over);
  void FenceStep(std::shared_ptr<bundle::OutputSweep> sweep, const std::string& output,
                 bundle::OutputResult last, std::function<void()> over);

  World& world_;
  Incarnation incarnation_;
  const int64_t born_us_;
  std::unique_ptr<cluster::CoordinatorCore> core_;
  bool alive_ = true, paused_ = false;
  int64_t ahead_ms_ = 0;
  int64_t skipped_us_ = 0;  // sum of small clock jumps
  std::deque<std::function<void()>> backlog_;
  std::map<cluster::SessionId, StreamRef> streams_;
  std::deque<cluster::CoordinatorActions> waiting_;
  bool writing_ = false;
  std::set<WorkerId> welcomed_;
};

}  // namespace espalier::sim
