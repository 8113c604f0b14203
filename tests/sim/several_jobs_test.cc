// Tests of several jobs in one cluster, and of a slow member, in simulated time without random
// faults.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <map>
#include <vector>

#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int kShort = 2, kLong = 3;  // kinds of toy jobs, with 33 and 90 steps

// Runs until all jobs have ended. Returns the simulated seconds.
int64_t Finish(World& world, int64_t limit_s) {
  int64_t seconds = 0;
  while (world.client.open() > 0 && seconds < limit_s && world.RunFor(kSecond)) ++seconds;
  CHECK(world.checks.failure() == "");
  CHECK(world.client.Verdict() == "");
  return seconds;
}

TEST_CASE("short jobs change a job's members at most once an interval") {
  constexpr int64_t kRebalanceMs = 10'000;
  World world({.seed = 5});
  world.BeQuiet(8, 200, kRebalanceMs);
  world.RunFor(3 * kSecond);
  world.client.Submit(kLong, 2, 0);
  for (int64_t second = 0; second < 120; ++second) {
    if (second % 3 == 1) world.client.Submit(kShort, 1 + second % 2, second % 5 == 0 ? 0 : 2);
    REQUIRE(world.RunFor(kSecond));
  }
  Finish(world, 600);
  std::map<JobId, int64_t> newest;
  for (const auto& [job, us] : world.planned) {
    if (newest.contains(job)) CHECK(us - newest[job] >= kRebalanceMs * 1000);
    newest[job] = us;
  }
  CHECK(!world.planned.empty());
  std::cout << world.client.submitted() << " jobs, " << world.planned.size()
            << " planned changes\n";
}

TEST_CASE("a large job is not starved by a stream of short ones") {
  World world({.seed = 6});
  world.BeQuiet(6, 60, 10'000);
  world.RunFor(3 * kSecond);
  size_t large = 0;
  for (int64_t second = 0; second < 200; ++second) {
    if (second == 60) {
      large = static_cast<size_t>(world.client.submitted());
      world.client.Submit(kLong, 6, 6);
    }
    if (second % 2 == 0) world.client.Submit(kShort, 1, 2);
    REQUIRE(world.RunFor(kSecond));
  }
  const auto waited = world.client.WaitedMs(large);
  REQUIRE(waited.has_value());
  // By then, the jobs before it in the queue and the running jobs have ended.
  CHECK(*waited < 60'000);
  CHECK(*waited > 0);
  std::cout << "a job for all six workers waited " << *waited << " ms\n";
  Finish(world, 900);
}

TEST_CASE("a waiting job gets the surplus workers of another job") {
  World world({.seed = 7});
  world.BeQuiet(6, 200, 10'000);
  world.RunFor(3 * kSecond);
  world.client.Submit(kLong, 1, 0);
  world.RunFor(5 * kSecond);
  world.client.Submit(kShort, 3, 3);
  world.RunFor(20 * kSecond);
  const auto waited = world.client.WaitedMs(1);
  REQUIRE(waited.has_value());
  CHECK(*waited < 15'000);
  CHECK(world.fired.of(Fault::kShrank) > 0);
  Finish(world, 600);
}

TEST_CASE("a younger job yields its workers and continues later") {
  World world({.seed = 9});
  world.BeQuiet(5, 200, 10'000);
  world.RunFor(3 * kSecond);
  world.client.Submit(kLong, 3, 3);
  world.RunFor(kSecond);
  world.client.Submit(kLong, 2, 2);
  world.RunFor(6 * kSecond);
  const JobId older = world.client.id(0), younger = world.client.id(1);
  size_t victim = 0;
  while (world.worker(victim).at().job != older) ++victim;
  world.worker(victim).Crash(true);
  int64_t seconds = 0;
  const auto state = [&](JobId job) { return world.coordinator()->core().Job(job)->state; };
  while (state(younger) != spec::JobState::kQueued && ++seconds < 60)
    REQUIRE(world.RunFor(kSecond));
  CHECK(seconds >= 10);  // the older job first waits for workers and for jobs to end
  CHECK(seconds < 20);
  CHECK(world.fired.of(Fault::kStateKept) == 1);
  world.RunFor(5 * kSecond);
  CHECK(state(older) == spec::JobState::kTraining);
  Finish(world, 600);
  CHECK(world.fired.of(Fault::kYielded) == 1);
  CHECK(world.fired.of(Fault::kCheckpointUsed) > 0);
}

TEST_CASE("a job that yields during a rollback keeps the agreed state") {
  World world({.seed = 11});
  world.BeQuiet(7, 200, 10'000);
  world.RunFor(3 * kSecond);
  world.client.Submit(kLong, 4, 4);
  world.RunFor(kSecond);
  world.client.Submit(kLong, 3, 3);
  world.RunFor(6 * kSecond);
  const JobId older = world.client.id(0), younger = world.client.id(1);
  const auto state = [&](JobId job) { return world.coordinator()->core().Job(job)->state; };
  std::vector<size_t> olders, youngers;
  for (size_t i = 0; i < 7; ++i) {
    (world.worker(i).at().job == older ? olders : youngers).push_back(i);
  }
  REQUIRE(youngers.size() == 3);
  // One member of the younger job is taken out and two wait. The older job needs two workers.
  world.checks.Corrupted(world.worker(youngers[0]).runner()->member()->point());
  int64_t tries = 0;
  while (!world.FlipBit(*world.worker(youngers[0]).runner()->member()) && ++tries < 1000) {
    REQUIRE(world.RunFor(kSecond / 1000));
  }
  while (state(younger) != spec::JobState::kRecovering && ++tries < 60'000) {
    REQUIRE(world.RunFor(kSecond / 1000));
  }
  REQUIRE(state(younger) == spec::JobState::kRecovering);
  world.worker(olders[0]).Crash(true);
  world.worker(olders[1]).Crash(true);
  int64_t seconds = 0;
  while (state(younger) != spec::JobState::kQueued && ++seconds < 60)
    REQUIRE(world.RunFor(kSecond));
  CHECK(world.fired.of(Fault::kYielded) == 1);
  CHECK(world.fired.of(Fault::kStateKept) == 1);
  Finish(world, 600);
  CHECK(world.fired.of(Fault::kCheckpointUsed) > 0);
}

TEST_CASE("a younger job keeps workers that would not suffice") {
  World world({.seed = 10});
  world.BeQuiet(5, 200, 2'000);
  world.RunFor(3 * kSecond);
  world.client.Submit(kLong, 4, 4);
  world.RunFor(kSecond);
  world.client.Submit(kShort, 1, 1);
  world.RunFor(5 * kSecond);
  for (size_t i = 0, lost = 0; lost < 2; ++i) {
    if (world.worker(i).at().job != world.client.id(0)) continue;
    world.worker(i).Crash(true);
    ++lost;
  }
  REQUIRE(world.RunFor(60 * kSecond));
  CHECK(world.checks.failure() == "");
  CHECK(world.fired.of(Fault::kYielded) == 0);
  CHECK(world.coordinator()->core().Job(world.client.id(1))->state == spec::JobState::kSucceeded);
  CHECK(world.coordinator()->core().Job(world.client.id(0))->state == spec::JobState::kRecovering);
  world.client.CancelOne();  // the older job, for which too few workers are left
  CHECK(Finish(world, 600) < 600);
}

// Returns the number of leaves of each worker, or 0 if it is not a member.
std::vector<int32_t> LeavesOf(World& world, size_t workers) {
  std::vector<int32_t> leaves;
  for (size_t i = 0; i < workers; ++i) {
    SimRunner* runner = world.worker(i).runner();
    const SimMember* member = runner == nullptr ? nullptr : runner->member();
    const bool placed = member != nullptr && member->place();
    leaves.push_back(placed ? member->place()->own_leaves() : 0);
  }
  return leaves;
}

TEST_CASE("a slow member loses leaves until it is fast again") {
  World world({.seed = 8});
  world.BeQuiet(2, 200, 60'000);
  world.RunFor(3 * kSecond);
  world.client.Submit(kLong, 2, 2);
  world.RunFor(4 * kSecond);
  CHECK(LeavesOf(world, 2) == std::vector<int32_t>{8, 8});
  world.worker(1).SlowDown(4);
  int64_t seconds = 0;
  while (LeavesOf(world, 2)[1] >= 5 && ++seconds < 60) REQUIRE(world.RunFor(kSecond));
  CHECK(LeavesOf(world, 2)[1] < 5);
  world.worker(1).SlowDown(1);
  while (LeavesOf(world, 2)[1] < 7 && ++seconds < 120) REQUIRE(world.RunFor(kSecond));
  CHECK(LeavesOf(world, 2)[1] >= 7);
  CHECK(world.fired.of(Fault::kLeavesMoved) >= 4);  // both members count each move
  Finish(world, 600);
}

}  // namespace
}  // namespace espalier::sim
