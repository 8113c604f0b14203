// Runs simulated clusters with one seed after another. A failing seed prints the command that
// replays it.
#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>

#include "tests/sim/runner.h"
#include "tests/sim/world.h"
#include "tests/testing/scale.h"

namespace espalier::sim {
namespace {

constexpr int64_t kEvents = 1000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // ten times slower, so fewer seeds
#else
constexpr bool kSanitized = false;
#endif

TEST_CASE("jobs end with the bits of an undisturbed run after faults") {
  FaultCounts fired;
  int64_t events = 0, jobs = 0, ended_by_a_limit = 0;
  const uint64_t seeds = kSanitized ? 100 : TestScale() > 1 ? 10'000 : 1'000;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    WorldOptions options;
    options.seed = seed;
    options.events = kEvents;
    const Outcome outcome = World(options).Run();
    INFO(Replay(options));
    CHECK(outcome.failure == "");
    fired.Add(outcome.fired);
    events += outcome.events;
    jobs += outcome.jobs;
    ended_by_a_limit += outcome.ended_by_a_limit;
  }
  std::cout << seeds << " seeds, " << events << " events, " << jobs << " jobs, " << ended_by_a_limit
            << " ended by a documented limit\n";
  for (size_t f = 0; f < kFaults && !kSanitized; ++f) {
    INFO(kFaultNames[f]);
    CHECK(fired.fired[f] > 0);
  }
  CHECK(events >= static_cast<int64_t>(seeds) * kEvents);
  CHECK(ended_by_a_limit * 50 < jobs);
}

// Each bug must make one of the first seeds fail.
TEST_CASE("each planted bug makes a seed fail") {
  constexpr uint64_t kSeeds = 400;
  for (size_t bug = 0; bug < kBugs; ++bug) {
    uint64_t found = 0;
    std::string failure;
    for (uint64_t seed = 1; seed <= kSeeds && found == 0; ++seed) {
      WorldOptions options;
      options.seed = seed;
      options.bugs.set(bug);
      failure = World(options).Run().failure;
      if (!failure.empty()) found = seed;
    }
    INFO(kBugNames[bug]);
    CHECK(found > 0);
    std::cout << kBugNames[bug] << ": seed " << found << ": " << failure.substr(0, 120) << "\n";
  }
}

TEST_CASE("a coordinator serves ten thousand workers") {
  constexpr int64_t kScale = kSanitized ? 10 : 1;
  World world({.seed = 1});
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = world.RunQuietly(10'000 / kScale, ToyJob::kLarge, 1'000 / kScale);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  CHECK(outcome.failure == "");
  CHECK(outcome.events > 30'000 / kScale);
  std::cout << outcome.events << " events and " << outcome.ticks << " ticks in " << took.count()
            << " s: " << static_cast<double>(outcome.events + outcome.ticks) / took.count()
            << " a second\n";
}

TEST_CASE("only chosen faults strike") {
  WorldOptions options;
  options.faults.emplace();
  for (const Fault f : {Fault::kPause, Fault::kLinkBreak, Fault::kSlowDisk, Fault::kNewWorker}) {
    options.faults->set(static_cast<size_t>(f));
  }
  FaultCounts fired;
  for (options.seed = 1; options.seed <= 20; ++options.seed) {
    const Outcome outcome = World(options).Run();
    INFO(Replay(options));
    CHECK(outcome.failure == "");
    fired.Add(outcome.fired);
  }
  for (size_t f = 0; f < kFaults; ++f) {
    INFO(kFaultNames[f]);
    if (!IsInjected(static_cast<Fault>(f))) continue;
    CHECK((fired.fired[f] > 0) == options.faults->test(f));
  }
}

TEST_CASE("training goes on while disks are full or slow") {
  WorldOptions options;
  options.faults.emplace();
  for (const Fault f : {Fault::kFullDisk, Fault::kSlowDisk, Fault::kNewWorker, Fault::kDrain}) {
    options.faults->set(static_cast<size_t>(f));
  }
  FaultCounts fired;
  for (options.seed = 1; options.seed <= 100; ++options.seed) {
    const Outcome outcome = World(options).Run();
    INFO(Replay(options));
    CHECK(outcome.failure == "");
    CHECK(outcome.ended_by_a_limit == 0);
    fired.Add(outcome.fired);
  }
  CHECK(fired.of(Fault::kFullDisk) > 0);
  CHECK(fired.of(Fault::kSlowDisk) > 0);
}

TEST_CASE("a pause before any action of a write harms no job") {
  for (const std::string& action : PausableActions()) {
    WorldOptions options;
    options.pause_before = action;
    int64_t paused = 0;
    for (options.seed = 1; options.seed <= 30; ++options.seed) {
      const Outcome outcome = World(options).Run();
      INFO(Replay(options));
      CHECK(outcome.failure == "");
      paused += outcome.fired.of(Fault::kPausedCommit) + outcome.fired.of(Fault::kPausedWrite);
    }
    INFO(action);
    CHECK(paused > 0);
  }
}

TEST_CASE("a world is a function of its seed") {
  WorldOptions options;
  options.seed = 77;
  const Outcome once = World(options).Run(), again = World(options).Run();
  CHECK(once.events == again.events);
  CHECK(once.fired.fired == again.fired.fired);
}

}  // namespace
}  // namespace espalier::sim
