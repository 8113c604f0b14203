// A simulated cluster in one thread: coordinators, workers, their networks, clocks, journal and
// output store, all from one seed. The cores, step machines, reducers, plans and leaf arithmetic
// are the real ones; what surrounds them is simulated and breaks.
//
// A run: jobs are submitted and faults strike until so many events have happened; then everything
// heals, and within a bounded time each job must have ended, and succeeded unless a documented
// limit ended it. The invariants (checks.h) hold throughout.
//
// Thread rule: one thread; worlds of different threads share the toy jobs, so one a process.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/bugs.h"
#include "tests/sim/checks.h"
#include "tests/sim/client.h"
#include "tests/sim/coordinator.h"
#include "tests/sim/dice.h"
#include "tests/sim/faults.h"
#include "tests/sim/net.h"
#include "tests/sim/outputs.h"
#include "tests/sim/peers.h"
#include "tests/sim/queue.h"
#include "tests/sim/streams.h"
#include "tests/sim/toy_job.h"

namespace espalier::sim {

inline constexpr int kCoordinatorHost = 0;

struct WorldOptions {
  uint64_t seed = 1;
  int64_t events = 1000;  // under faults, ticks not counted
  Bugs bugs = {};
  bool trace = false;
};

// The command that plays it again.
std::string Replay(const WorldOptions& options);

struct Outcome {
  std::string failure;  // empty: none
  FaultCounts fired;
  int64_t events = 0;  // all, ticks not counted
  int64_t ticks = 0;
  int64_t jobs = 0, ended_by_a_limit = 0;
};

class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Outcome Run();
  // Without faults: so many workers register, then one job runs on at most so many of them.
  Outcome RunQuietly(int64_t workers, int kind, int64_t members);

  // For a test that plays a world itself, without faults: so many workers that all compute at the
  // same pace (1: a step takes milliseconds); those that the test kills are not replaced.
  void BeQuiet(int64_t workers, int64_t pace, int64_t rebalance_ms);
  // False: a check failed.
  bool RunFor(int64_t us);
  SimWorker& worker(size_t i) { return *workers_[i]; }

  // "toy KIND NAME OUTPUT"
  static ToyJob& ToyOf(const std::string& job_yaml);
  static std::string OutputOf(const std::string& job_yaml);
  SimWorker& AtAddress(const std::string& address);
  bool bugs(Bug bug) const { return options.bugs.test(static_cast<size_t>(bug)); }
  template <typename Words>
  void Say(Words&& words) const {
    if (options.trace) std::cout << queue.now_us() << " " << words() << "\n";
  }
  // The present event is a tick with nothing else to it.
  void Idle() { ++ticks_; }
  // Whether a fault strikes at this boundary.
  bool Strikes(Fault fault);
  // The coordinator a new stream leads to.
  SimCoordinator* FindCoordinator();
  SimCoordinator* coordinator() { return coordinators_.back().get(); }
  void ReplaceLater(int host);
  void RestartCoordinatorLater();
  int64_t ComputeUs() { return pace_ * (even_ ? 850 : 100 + dice.Below(1'500)); }
  int64_t rebalance_ms() const { return rebalance_ms_; }
  bool keeps_checkpoints() const { return checkpoints_; }
  // Stops a worker beyond the liveness limit and lets it go on.
  void PauseLong(SimWorker& worker);

  const WorldOptions options;
  Queue queue;
  Dice dice;
  Net net{queue, dice};
  FaultCounts fired;
  Checks checks{*this};
  Peers peers{*this};
  Streams streams{*this};
  JournalStore journal;
  Outputs outputs{*this};
  Client client{*this};
  // Planned changes of how many workers a job has, and when they were ordered.
  std::vector<std::pair<JobId, int64_t>> planned;

 private:
  // world.cc
  void StartWorker(int host);
  void StartCoordinator();
  void PollLater();
  void RunUntilHealed();
  void Heal();
  void RunUntilDone();
  void CheckEnd();
  bool Step();

  // driver.cc: what strikes.
  void ChooseFaults();
  void MaybeStrike();
  void StrikeWorkers(Fault fault);
  void StrikeLinks(Fault fault);
  void StrikeCoordinators(Fault fault);
  void StrikeMessages(Fault fault);
  void StrikePlans(Fault fault);
  void StrikeStates(Fault fault);
  SimMember* Corruptible();
  void Strike(Fault fault);
  void PauseFor(SimWorker& worker, int64_t us);
  void BlockFor(int from, int to, int64_t us);
  void Clog();
  void InjectReduce();
  void InjectOrder(bool old_incarnation);
  void InjectReport();
  void InjectForeignReport();
  void InjectLie();
  SimWorker* AnyWorker();
  int AnyHost() const;
  bool Enabled(Fault fault) const { return enabled_[static_cast<size_t>(fault)]; }

  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::vector<std::unique_ptr<SimCoordinator>> coordinators_;
  int hosts_ = 0;
  bool faulty_ = true;  // faults may strike
  bool tick_ = false;
  std::array<bool, kFaults> enabled_{};
  bool corrupting_ = false;   // a world of silent corruption, and of little else
  bool checkpoints_ = false;  // jobs keep some
  bool even_ = false;         // all members compute at the same pace
  bool crash_told_ = false;   // once a world
  bool replaces_ = true;      // a worker that died is started again
  int64_t pace_ = 1;          // how long steps take
  int64_t rebalance_ms_ = 60'000;
  int64_t gap_ = 50;        // events between strikes, on average
  int64_t boundary_ = 800;  // boundaries between crashes there
  int64_t events_ = 0, ticks_ = 0;
};

}  // namespace espalier::sim
