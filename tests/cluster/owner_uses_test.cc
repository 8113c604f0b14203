#include "src/cluster/owner_uses.h"

#include <catch2/catch.hpp>
#include <limits>

namespace espalier::cluster {
namespace {

spec::CoordinatorLimits Limits(int64_t jobs, int64_t workers) {
  spec::CoordinatorLimits limits;
  limits.owner_running_jobs_max = jobs;
  limits.owner_workers_max = workers;
  return limits;
}

TEST_CASE("a job beyond a quota holds back later jobs of its owner only") {
  const spec::CoordinatorLimits limits = Limits(0, 4);
  OwnerUses uses(limits);
  uses.AddRunning("ann", 3);
  uses.AddQueued("ben");
  CHECK(uses.HeldBehind({1}, "ann", 1) == JobId{});
  CHECK(uses.HeldBehind({2}, "ann", 2) == JobId{2});
  CHECK(uses.HeldBehind({3}, "ann", 1) == JobId{2});
  CHECK(uses.HeldBehind({4}, "ben", 4) == JobId{});
  CHECK(uses.HeldBehind({5}, "", 9) == JobId{});
  CHECK(uses.WhyHeld({3}, "ann", 1) == "behind job-2, also of 'ann'");
  CHECK(uses.WhyHeld({2}, "ann", 2) ==
        "needs 2 workers, 'ann' uses 3, the limit of one owner is 4 (owner_workers_max)");
  CHECK(uses.Excess("ann", 2) == 1);
  CHECK(uses.Room("ann") == 1);
  CHECK(uses.Room("") == std::numeric_limits<int64_t>::max());
}

TEST_CASE("a quota of running jobs counts jobs that have begun") {
  const spec::CoordinatorLimits limits = Limits(1, 0);
  OwnerUses uses(limits);
  uses.AddQueued("ann");
  CHECK_FALSE(uses.TooManyRunning("ann"));
  CHECK(uses.WhyHeld({1}, "ann", 1).empty());
  uses.AddRunning("ann", 2);
  CHECK(uses.TooManyRunning("ann"));
  CHECK(uses.WhyHeld({2}, "ann", 1) ==
        "'ann' has 1 running job, the limit of one owner is 1 (owner_running_jobs_max)");
  CHECK(uses.Room("ann") == std::numeric_limits<int64_t>::max());
}

TEST_CASE("without quotas no use needs to be known") {
  const spec::CoordinatorLimits limits = Limits(0, 0);
  OwnerUses uses(limits);
  CHECK_FALSE(uses.limited());
  CHECK(uses.HeldBehind({1}, "ann", 100) == JobId{});
}

}  // namespace
}  // namespace espalier::cluster
