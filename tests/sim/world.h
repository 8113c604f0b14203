// A simulated cluster in one thread: coordinators, workers, and their networks, clocks, journal and
// output store, all from one seed. The cores, step machines, reducers, plans and leaf arithmetic
// are real. Everything around them is simulated and fails.
//
// In a run, the client submits jobs and faults occur until a given number of events. Then all
// faults end. Within a bounded time, each job must end, and succeed unless a documented limit ended
// it. The invariants (checks.h) hold throughout.
//
// Thread rule: one thread. All worlds share the toy jobs, so a process runs worlds in one thread.
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

class SimMember;

inline constexpr int kCoordinatorHost = 0;

struct WorldOptions {
  uint64_t seed = 1;
  int64_t events = 1000;  // events under faults, without ticks
  Bugs bugs = {};
  bool trace = false;
  std::optional<FaultSet> faults = {};  // faults to inject; default: the seed chooses
  std::string pause_before = {};        // pauses a worker before each of these PausableActions
};

// Returns the command that replays the world.
std::string Replay(const WorldOptions& options);

struct Outcome {
  std::string failure;  // empty: none
  FaultCounts fired;
  int64_t events = 0;  // all events without ticks
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
  // Runs without faults: `workers` workers register, then one job runs on `members` of them.
  Outcome RunQuietly(int64_t workers, int kind, int64_t members);

  // Prepares a world without faults for a test that controls it. All workers compute at the same
  // pace (1: a step takes milliseconds). Workers that the test kills are not replaced.
  void BeQuiet(int64_t workers, int64_t pace, int64_t rebalance_ms);
  // Runs for `us` of simulated time. Returns false if a check failed.
  bool RunFor(int64_t us);
  SimWorker& worker(size_t i) { return *workers_[i]; }

  // Parse a job text: "toy KIND NAME OUTPUT".
  static ToyJob& ToyOf(const std::string& job_yaml);
  static std::string OutputOf(const std::string& job_yaml);
  SimWorker& AtAddress(const std::string& address);
  bool bugs(Bug bug) const { return options.bugs.test(static_cast<size_t>(bug)); }
  template <typename Words>
  void Say(Words&& words) const {
    if (options.trace) std::cout << queue.now_us() << " " << words() << "\n";
  }
  // Marks the present event as only a tick.
  void Idle() { ++ticks_; }
  // Returns whether a fault strikes at this boundary.
  bool Strikes(Fault fault);
  // Returns whether the worker is to pause before this action (runner.h), by choice or by `fault`.
  bool PausesBefore(const std::string& action, Fault fault);
  // Returns the coordinator for a new stream. It can be an older one.
  SimCoordinator* FindCoordinator();
  SimCoordinator* coordinator() { return coordinators_.back().get(); }
  void ReplaceLater(int host);
  void RestartCoordinatorLater();
  int64_t ComputeUs() { return pace_ * (even_ ? 850 : 100 + dice.Below(1'500)); }
  int64_t rebalance_ms() const { return rebalance_ms_; }
  bool keeps_checkpoints() const { return checkpoints_; }
  // Pauses a worker for longer than the liveness limit, then resumes it.
  void PauseLong(SimWorker& worker);
  // Flips one bit of a parameter, like faulty memory. Returns false if it cannot at this moment.
  bool FlipBit(SimMember& member);

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
  // Planned changes of a job's number of workers, and their times.
  std::vector<std::pair<JobId, int64_t>> planned;

 private:
  // world.cc: a run.
  void StartWorker(int host);
  void StartCoordinator();
  void PollLater();
  void RunUntilHealed();
  void Heal();
  void RunUntilDone();
  void CheckEnd();
  bool Step();

  // driver*.cc: the faults.
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
  bool Enabled(Fault fault) const { return enabled_.test(static_cast<size_t>(fault)); }

  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::vector<std::unique_ptr<SimCoordinator>> coordinators_;
  int hosts_ = 0;
  bool faulty_ = true;  // faults may strike
  bool tick_ = false;
  FaultSet enabled_;
  bool corrupting_ = false;   // the world has silent corruption and few other faults
  bool checkpoints_ = false;  // jobs write checkpoints
  bool even_ = false;         // all members compute at the same pace
  bool crash_told_ = false;   // kCrashTold has struck; once per world
  bool replaces_ = true;      // dead workers are replaced
  int64_t pace_ = 1;          // factor of the time of a step
  int64_t rebalance_ms_ = 60'000;
  int64_t gap_ = 50;        // average number of events between strikes
  int64_t boundary_ = 800;  // average number of boundaries between crashes at boundaries
  int64_t events_ = 0, ticks_ = 0;
};

}  // namespace espalier::sim
