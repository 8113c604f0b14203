// CoordinatorCore: the choice of the job that starts next, and the reasons why others wait.
#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {

// Returns the oldest waiting job that no quota holds back, or null.
CoordinatorCore::JobRecord* CoordinatorCore::NextInQueue() {
  OwnerUses uses = UsesOfOwners();
  for (const JobId id : queue_) {
    JobRecord& job = *FindJob(id);
    if (!uses.HeldBehind(id, job.submission.owner, Least(job))) return &job;
  }
  return nullptr;
}

void CoordinatorCore::StartJobs() {
  const bool none_waits = !Awaits() && RegroupWaitingJobs();
  while (JobRecord* job = none_waits ? NextInQueue() : nullptr) {
    std::vector<Worker*> free = FreeFor(*job);
    const Submission& wish = job->submission;
    if (free.empty() || static_cast<int64_t>(free.size()) < wish.workers_min) break;
    int64_t take = std::min<int64_t>(static_cast<int64_t>(free.size()), wish.leaves);
    if (wish.workers_max > 0) take = std::min(take, wish.workers_max);
    free.resize(static_cast<size_t>(std::min(take, RoomFor(*job))));
    std::erase(queue_, job->snapshot.job);
    StartJob(*job, free);
  }
  ExplainQueue();
}

// Updates the reason why each waiting job waits, and notifies its watchers of a change.
void CoordinatorCore::ExplainQueue() {
  OwnerUses uses = UsesOfOwners();
  int64_t place = 0;
  JobId ahead;
  for (const JobId id : queue_) {
    JobRecord& job = *FindJob(id);
    std::string why = uses.WhyHeld(id, job.submission.owner, Least(job));
    if (why.empty()) why = WhyWaiting(job, place++, std::exchange(ahead, id));
    if (why == job.snapshot.waiting_because) continue;
    job.snapshot.waiting_because = std::move(why);
    Changed(job);
  }
}

// Returns "needs 3 workers, 1 is free (2 busy with job-4)", for example, or the job ahead if the
// job is not the first one.
std::string CoordinatorCore::WhyWaiting(const JobRecord& job, int64_t place, JobId ahead) const {
  if (place > 0) {
    return "number " + std::to_string(place + 1) + " in the queue, behind " + ToString(ahead);
  }
  if (Awaits() && cut_off_) return "no worker answers; the coordinator may be cut off from them";
  if (Awaits()) {
    return "the coordinator was unavailable and waits " +
           HumanDuration(options_.liveness_limit_ms) + " for its workers to reconnect";
  }
  for (const auto& [id, other] : jobs_) {
    if (other.recovery.since_ms != 0) return "behind " + ToString(id) + ", which waits for workers";
  }
  int64_t free = 0;
  std::map<JobId, int64_t> busy;
  for (const auto& [id, worker] : workers_) {
    if (worker.at.job) {
      ++busy[worker.at.job];
    } else {
      free += !job.expelled.contains(id);
    }
  }
  const int64_t needs = std::max<int64_t>(1, job.submission.workers_min);
  std::string why = "needs " + Counted(needs, "worker") + ", " + std::to_string(free) +
                    (free == 1 ? " is free" : " are free");
  constexpr size_t kJobsNamedMax = 4;
  std::string others;
  size_t named = 0;
  for (const auto& [id, count] : busy) {
    if (++named > kJobsNamedMax) break;
    others += (others.empty() ? "" : ", ") + std::to_string(count) + " busy with " + ToString(id);
  }
  if (named > kJobsNamedMax) others += ", more with other jobs";
  if (!others.empty()) return why + " (" + others + ")";
  return workers_.empty() ? why + " (no worker is attached)" : why;
}

}  // namespace espalier::cluster
