// The resources that the jobs of each owner use, and the quotas that hold jobs back.
//
// Quotas limit what one owner may have at a time. A job beyond a quota of running jobs or workers
// waits. It holds back later jobs of its owner, which would otherwise pass it again and again, but
// no job of another owner. A running job has its minimum of workers reserved, so that it can
// replace lost members.
//
// Thread rule: a value.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "src/base/ids.h"
#include "src/spec/coordinator_limits.h"

namespace espalier::cluster {

// Returns the owner's name as messages show it.
std::string NamedOwner(const std::string& owner);

class OwnerUses {
 public:
  explicit OwnerUses(const spec::CoordinatorLimits& limits) : limits_(limits) {}

  // Returns whether a quota may hold a job back. Otherwise, the uses need not be known.
  bool limited() const {
    return limits_.owner_running_jobs_max > 0 || limits_.owner_workers_max > 0;
  }
  // Adds a job that has not ended. `workers`: used by it, or reserved for its minimum. An empty
  // owner has no quotas.
  void AddQueued(const std::string& owner);
  void AddRunning(const std::string& owner, int64_t workers);

  // Returns the waiting job by which a quota holds `job` back: itself or an older one of its owner.
  // None: no quota does. `least`: its minimum of workers. REQUIRES: called in the order of the
  // queue.
  JobId HeldBehind(JobId job, const std::string& owner, int64_t least);
  // Returns the same as text; empty: no quota holds the job back.
  std::string WhyHeld(JobId job, const std::string& owner, int64_t least);
  bool TooManyRunning(const std::string& owner) const;
  // Returns the number of workers by which a job with this minimum exceeds the owner's quota.
  int64_t Excess(const std::string& owner, int64_t least) const;
  // Returns the number of workers that the owner may use beyond those in use.
  int64_t Room(const std::string& owner) const;

 private:
  struct Use {
    int64_t running = 0;  // jobs that have begun and not ended
    int64_t workers = 0;  // used by these jobs, or reserved for their minimum
    JobId held;           // first waiting job that a quota holds back; none: not found yet
  };
  const spec::CoordinatorLimits& limits_;
  std::map<std::string, Use> uses_;
};

}  // namespace espalier::cluster
