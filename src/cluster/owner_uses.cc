#include "src/cluster/owner_uses.h"

#include <algorithm>
#include <limits>

#include "src/base/text.h"

namespace espalier::cluster {

std::string NamedOwner(const std::string& owner) { return "'" + Printable(owner, 128) + "'"; }

void OwnerUses::AddQueued(const std::string& owner) {
  if (!owner.empty()) uses_[owner];
}

void OwnerUses::AddRunning(const std::string& owner, int64_t workers) {
  if (owner.empty()) return;
  Use& use = uses_[owner];
  ++use.running;
  use.workers += workers;
}

bool OwnerUses::TooManyRunning(const std::string& owner) const {
  const int64_t limit = limits_.owner_running_jobs_max;
  return limit > 0 && uses_.at(owner).running >= limit;
}

int64_t OwnerUses::Excess(const std::string& owner, int64_t least) const {
  const int64_t limit = limits_.owner_workers_max;
  return limit > 0 ? std::max<int64_t>(0, uses_.at(owner).workers + least - limit) : 0;
}

JobId OwnerUses::HeldBehind(JobId job, const std::string& owner, int64_t least) {
  const auto found = uses_.find(owner);
  if (found == uses_.end()) return {};
  Use& use = found->second;
  if (!use.held && (TooManyRunning(owner) || Excess(owner, least) > 0)) use.held = job;
  return use.held;
}

std::string OwnerUses::WhyHeld(JobId job, const std::string& owner, int64_t least) {
  const JobId held = HeldBehind(job, owner, least);
  if (!held) return {};
  const std::string name = NamedOwner(owner);
  if (held != job) return "behind " + ToString(held) + ", also of " + name;
  const Use& use = uses_.at(owner);
  if (TooManyRunning(owner)) {
    return name + " has " + Counted(use.running, "running job") + ", the limit of one owner is " +
           std::to_string(limits_.owner_running_jobs_max) + " (owner_running_jobs_max)";
  }
  return "needs " + Counted(least, "worker") + ", " + name + " uses " +
         std::to_string(use.workers) + ", the limit of one owner is " +
         std::to_string(limits_.owner_workers_max) + " (owner_workers_max)";
}

int64_t OwnerUses::Room(const std::string& owner) const {
  const int64_t limit = limits_.owner_workers_max;
  if (limit == 0 || owner.empty()) return std::numeric_limits<int64_t>::max();
  return std::max<int64_t>(0, limit - uses_.at(owner).workers);
}

}  // namespace espalier::cluster
