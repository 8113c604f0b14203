// A simulated worker process: the shell of a WorkerCore, like worker/daemon.cc.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/cluster/worker_core.h"
#include "tests/sim/runner.h"
#include "tests/sim/streams.h"

namespace espalier::sim {

class World;

// The disk of a worker, which loading of rows and writing of states use. A full disk has no room
// for a state, nor for rows that are loaded next to those in use.
struct SimDisk {
  int64_t slow = 1;  // factor of the time of each access
  bool full = false;
};

// Returns whether a member has not begun to train with the others.
inline bool Recovers(const member::MemberCore& core) {
  using Phase = member::MemberCore::Phase;
  return core.phase() >= Phase::kFinding && core.phase() <= Phase::kReady;
}

class SimWorker {
 public:
  SimWorker(World& world, int id, int host);

  int id() const { return id_; }
  int host() const { return host_; }
  bool alive() const { return alive_; }
  bool paused() const { return paused_; }
  // Returns whether it was paused recently, so that others may report broken links.
  bool disturbed() const;
  // Returns whether it started recently.
  bool young() const;
  cluster::JobPoint at() const { return core_.job(); }
  bool attached() const { return core_.attached(); }
  SimRunner* runner() { return runner_; }
  bool in_recovery() const;

  void Handle(const cluster::WorkerEvent& event);
  // Runs `f` now, or when a paused process resumes. Does nothing if the process is dead.
  void Do(std::function<void()> f);
  // Does the same, but also runs `f` if the process is dead.
  void DoAlways(std::function<void()> f);
  void After(int64_t us, std::function<void()> f);
  // May kill the process at this moment. Returns whether it is dead. `switches`: it is the root,
  // and has stamped the end of its generation.
  bool Boundary(bool switches = false);
  // Returns the time in which the threads compute a part of these leaves.
  int64_t ComputeUs(int32_t leaves, int32_t of);
  // Returns the buckets of a member's sums with the times at which the threads finish them, one
  // after another. Each takes `us`.
  std::vector<std::pair<int64_t, uint32_t>> BucketTimes(size_t buckets, int64_t us);
  std::string address() const { return "w" + std::to_string(id_); }
  std::string name() const { return "host-" + std::to_string(host_) + ":" + std::to_string(id_); }
  // Returns its part in a planned change, to count the loss.
  bool leaving() const { return leaving_; }
  bool joining() const {
    return runner_ && runner_->member() && runner_->member()->core().joining();
  }
  // Delivers SIGTERM.
  void Terminate();

  void Crash(bool noticed);
  void Pause();
  void Resume();
  void SlowDown(int64_t factor) { slow_ = factor; }
  SimDisk& disk() { return disk_; }
  // Returns whether the disk has room for a write, and counts it if not.
  Status Room();
  void JumpClock(int64_t ms) { ahead_ms_ += ms; }
  // Handles a stale order from the stream and checks that it is ignored. Returns false if there is
  // no stream.
  bool InjectOrder(cluster::ToWorker order);
  const std::deque<cluster::ToWorker>& orders() const { return orders_; }
  const std::deque<cluster::FromWorker>& told() const { return told_; }
  const StreamRef& stream() const { return stream_; }

 private:
  void Tick();
  void Perform(const cluster::Connect& action);
  void Perform(const cluster::Disconnect& action);
  void Perform(const cluster::SendToCoordinator& action);
  void Perform(const cluster::RunProfiling& action);
  void Perform(const cluster::RunTraining& action);
  void Perform(const cluster::RunPreparation& action);
  void Perform(const cluster::RunKeep& action);
  void Perform(const cluster::RunEarlyEnd&) {}  // no client of the simulation requests it
  void Perform(const cluster::RunTokens&) {}    // no simulated file system requests it
  void Perform(const cluster::RunProceed& action);
  void Perform(const cluster::RunSwitch& action);
  void Perform(const cluster::AbortJob& action);
  void Perform(const cluster::Exit& action);
  void Perform(const cluster::WorkerLog& action);
  void HeedIncarnation(cluster::ToWorker& order);
  void ObeyAgain(const cluster::ToWorker& order);

  World& world_;
  const int id_, host_;
  const int64_t born_us_;
  cluster::WorkerCore core_;
  bool alive_ = true, paused_ = false, leaving_ = false;
  std::deque<std::function<void()>> backlog_;
  int64_t disturbed_us_ = -1'000'000'000;
  int64_t slow_ = 1;
  SimDisk disk_;
  int64_t ahead_ms_ = 0;
  StreamRef stream_;
  SimRunner* runner_ = nullptr;
  std::vector<std::unique_ptr<SimRunner>> runners_;  // all runners so far
  std::deque<cluster::ToWorker> orders_;             // newest orders
  std::deque<cluster::FromWorker> told_;             // newest reports
  std::set<std::tuple<size_t, uint64_t, uint64_t>> told_kinds_;
  cluster::JobPoint trained_;  // point of the newest StartTraining
  Incarnation incarnation_;    // highest received one, for a bug
};

}  // namespace espalier::sim
