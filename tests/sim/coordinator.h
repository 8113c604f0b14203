// A simulated coordinator process: the shell of a CoordinatorCore with its journal, as
// coordinator/daemon.cc is.
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

// What is durable, with an index of it for the checks.
struct JournalStore {
  std::vector<cluster::JournalEntry> entries;
  Incarnation newest;  // the life that may write
  bool full = false;

  void Append(const cluster::JournalEntry& entry);
  // The journal is made shorter: these say all.
  void Rewrite(std::vector<cluster::JournalEntry> shorter) { entries = std::move(shorter); }
  bool HasGeneration(JobId job, Generation generation, bool leaves) const;
  bool HasEnded(JobId job) const { return ended.contains(job); }

  std::set<WorkerId> workers;
  std::set<JobId> jobs, ended;
  std::set<std::pair<JobId, Generation>> reserved;           // in preparation
  std::map<std::pair<JobId, Generation>, bool> generations;  // true: with leaves
};

class SimCoordinator {
 public:
  // Goes on from what the journal holds.
  explicit SimCoordinator(World& world);

  bool alive() const { return alive_; }
  bool paused() const { return paused_; }
  Incarnation incarnation() const { return incarnation_; }
  const cluster::CoordinatorCore& core() const { return *core_; }
  // It began less than a liveness limit ago.
  bool young() const;
  bool welcomed(WorkerId worker) const { return welcomed_.contains(worker); }

  void Feed(const cluster::CoordinatorEvent& event);
  void Opened(const StreamRef& stream);
  void Do(std::function<void()> f);

  void Crash();
  void Pause() { paused_ = true; }
  void Resume();
  void JumpClock(int64_t ms);
  // A report as if it had come on that worker's stream; false: there is none.
  bool InjectReport(const StreamRef& stream, const cluster::FromWorker& report);
  // What a member of the job says; true: it came. Fails the run if another job changes.
  bool InjectLie(const StreamRef& stream, const cluster::FromWorker& lie, JobId job);

 private:
  void Tick();
  int64_t NowMs() const;
  // As coordinator/outbox.h: what has entries, and all after it, waits until they are kept.
  void NotePlans(const cluster::CoordinatorActions& actions);
  void Push(cluster::CoordinatorActions actions);
  void WriteLater(int64_t us);
  void WriteAll();
  // Before a write, and after it; true: the process ended.
  bool CrashesAtWrite();
  bool RefuseJobs();
  // Around what a planned change writes.
  bool CrashesAtPlan();
  void Perform(cluster::CoordinatorActions actions);
  // False: the process ended.
  bool SendAll(std::vector<cluster::SendToWorker>& sends);
  void Merge(const cluster::MergeWork& work);
  void Check(const cluster::CheckWork& work);
  // Fences a job's writers, one action an event; then `over`.
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
  int64_t skipped_us_ = 0;  // by small jumps of its clock
  std::deque<std::function<void()>> backlog_;
  std::map<cluster::SessionId, StreamRef> streams_;
  std::deque<cluster::CoordinatorActions> waiting_;
  bool writing_ = false;
  std::set<WorkerId> welcomed_;
};

}  // namespace espalier::sim
