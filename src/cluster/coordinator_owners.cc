// CoordinatorCore: the owners of jobs. A job belongs to the name in the certificate or token of its
// submitter. Other requesters may look at it. Only its owner and admins may end it. Every operator
// may end a job without an owner.
// The coordinator refuses a submission beyond the quota of waiting jobs. OwnerUses decides which
// waiting jobs the other quotas hold back.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {
namespace {

bool MayEnd(const std::string& owner, const Requester& by) {
  return by.admin || owner.empty() || owner == by.name;
}

}  // namespace

// The hash has a fixed size, so two different pairs of owner and id never give the same text to
// hash.
std::string RequestKey(const std::string& owner, const std::string& client_request_id) {
  return owner.empty() ? client_request_id : Sha256Hex(Sha256Hex(owner) + client_request_id);
}

Status CoordinatorCore::CheckOwner(const JobRecord& job, const Requester& by) {
  const std::string& owner = job.submission.owner;
  if (MayEnd(owner, by)) return Status::Ok();
  return PermissionDenied(ToString(job.snapshot.job) + " belongs to " + NamedOwner(owner) +
                          "; ask " + Printable(owner, 128) + " or an admin");
}

// Answers an id of another owner like an unknown id. An admin's own submission comes first, then
// one that has not ended.
void CoordinatorCore::On(const WithdrawSubmission& event) {
  const JobRecord* found = nullptr;
  std::pair<bool, bool> best;
  for (const auto& [id, job] : jobs_) {
    const std::string& owner = job.submission.owner;
    const bool same = MayEnd(owner, event.by) && job.submission.client_request_id ==
                                                     RequestKey(owner, event.client_request_id);
    if (!same) continue;
    const std::pair rank(owner == event.by.name, !spec::IsFinal(job.snapshot.state));
    if (found != nullptr && rank <= best) continue;
    found = &job;
    best = rank;
  }
  if (found == nullptr) {
    out_.reply.push_back({event.request, JobId{}});
    return;
  }
  const spec::JobSnapshot& s = found->snapshot;
  if (spec::IsFinal(s.state)) {
    out_.reply.push_back(
        {event.request, FailedPrecondition("there is nothing to withdraw: " + ToString(s.job) +
                                           " of this submission has already ended (" +
                                           spec::JobStateName(s.state) + ")")});
    return;
  }
  const bool own = event.by.name.empty() || found->submission.owner == event.by.name;
  On(CancelJob{event.request, s.job,
               "withdrawn by " + (own ? "its submitter" : NamedOwner(event.by.name)), event.by});
}

// ---- quotas ------------------------------------------------------------------------------------

Status CoordinatorCore::CheckQuotas(const Submission& submission) const {
  const std::string& owner = submission.owner;
  if (owner.empty()) return Status::Ok();
  const int64_t least = Least(submission);
  if (options_.owner_workers_max > 0 && least > options_.owner_workers_max) {
    return InvalidArgument("workers.min: the jobs of one owner use at most " +
                           std::to_string(options_.owner_workers_max) +
                           " workers of this coordinator (owner_workers_max), found " +
                           std::to_string(least) + ". Lower workers.min, or ask an admin.");
  }
  if (options_.owner_waiting_jobs_max == 0) return Status::Ok();
  const int64_t waiting = std::count_if(queue_.begin(), queue_.end(), [&](JobId id) {
    return FindJob(id)->submission.owner == owner;
  });
  if (waiting < options_.owner_waiting_jobs_max) return Status::Ok();
  return ResourceExhausted(NamedOwner(owner) + " has " + Counted(waiting, "waiting job") +
                           ", the limit of one owner is " +
                           std::to_string(options_.owner_waiting_jobs_max) +
                           " (owner_waiting_jobs_max of the coordinator). Submit again when one "
                           "of them has started, or cancel one.");
}

// Returns no uses if no quota can hold a job back.
OwnerUses CoordinatorCore::UsesOfOwners() const {
  OwnerUses uses(options_);
  if (!uses.limited()) return uses;
  std::map<JobId, int64_t> workers;
  for (const auto& [id, worker] : workers_) {
    if (worker.at.job) ++workers[worker.at.job];
  }
  for (const auto& [id, job] : jobs_) {
    const spec::JobState state = job.snapshot.state;
    if (spec::IsFinal(state)) continue;
    const std::string& owner = job.submission.owner;
    if (state == spec::JobState::kQueued) {
      uses.AddQueued(owner);
    } else {
      uses.AddRunning(owner, std::max(workers[id], job.members.empty() ? 0 : Least(job)));
    }
  }
  return uses;
}

// Gives a waiting job the workers that other jobs of its owner hold beyond their minimum, if only
// the workers of these jobs hold it back. Returns true if one of them gives some up.
bool CoordinatorCore::MakeRoom() {
  if (options_.owner_workers_max == 0) return false;
  OwnerUses uses = UsesOfOwners();
  for (const JobId id : queue_) {
    const JobRecord& job = *FindJob(id);
    const std::string& owner = job.submission.owner;
    if (uses.HeldBehind(id, owner, Least(job)) != id || uses.TooManyRunning(owner)) continue;
    std::vector<JobRecord*> rich = Settled();
    std::erase_if(rich, [&](auto* r) { return r->submission.owner != owner; });
    int64_t surplus = 0;
    for (const JobRecord* r : rich) surplus += Surplus(*r);
    const int64_t missing = uses.Excess(owner, Least(job));
    if (surplus < missing) continue;
    TakeSurplus(rich, missing, job);
    return true;
  }
  return false;
}

}  // namespace espalier::cluster
