// CoordinatorCore: jobs that wait for enough workers, and those that must yield to them.
#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {
void CoordinatorCore::AwaitWorkers(JobRecord& job, size_t survivors) {
  spec::JobSnapshot& s = job.snapshot;
  Recovery& r = job.recovery;
  std::string why = "needs " + Counted(Least(job), "worker") + ", " + std::to_string(survivors) +
                    (survivors == 1 ? " is left: " : " are left: ") + r.last_words;
  if (r.since_ms != 0 && why == s.waiting_because) return;
  if (r.since_ms == 0) r.since_ms = now_ms_;
  job.links.DropOpen();
  s.state = spec::JobState::kRecovering;
  s.waiting_because = std::move(why);
  Changed(job);
  Log(LogLevel::kWarning, ToString(s.job) + " waits: " + s.waiting_because);
}

bool CoordinatorCore::BelowMinimum(const JobRecord& job) {
  return static_cast<int64_t>(Survivors(job).size()) < Least(job);
}

void CoordinatorCore::CheckRecovery(JobRecord& job) {
  const Recovery& r = job.recovery;
  if (r.since_ms == 0) return;
  if (job.keeping || WaitedLong(job)) queue_moved_ = true;  // another job may have to yield
  if (now_ms_ - r.since_ms < options_.below_min_timeout_ms || !BelowMinimum(job)) return;
  if (!StateIsKept(job)) return;
  const bool kept = job.keeping && !job.keeping->path.empty();
  Fail(job, Unavailable("the job " + job.snapshot.waiting_because + "; no others came within " +
                        HumanDuration(options_.below_min_timeout_ms) +
                        ". Start workers (or lower workers.min), then submit again" +
                        (kept ? " with --resume " + job.keeping->path + ", where its state is kept"
                         : job.keeping ? "; its state could not be written, see the workers' logs"
                                       : "")));
}

// ---- jobs that yield -------------------------------------------------------------------------

// Handles the waiting jobs, oldest first. If its survivors and the free workers do not suffice for
// a job, younger jobs give it theirs. If even these do not suffice, or not yet, the younger jobs
// wait behind it, unless none of the free workers is of use to it.
bool CoordinatorCore::RegroupWaitingJobs() {
  std::vector<JobId> waiting;
  for (const auto& [id, job] : jobs_) {
    if (job.recovery.since_ms != 0) waiting.push_back(id);
  }
  for (auto it = waiting.begin(); it != waiting.end(); ++it) {
    JobRecord& job = *FindJob(*it);
    if (job.recovery.since_ms == 0) continue;  // it has yielded
    Regroup(job);
    if (spec::IsFinal(job.snapshot.state) || job.recovery.since_ms == 0) continue;
    const std::vector<JobRecord*> yield = Yielding(job, waiting);
    if (yield.empty()) {
      GoOn(waiting, job);
      if (!FreeWorkers().empty() && FreeFor(job).empty()) continue;
      return false;
    }
    bool kept = true;
    for (JobRecord* y : yield) {
      if (y->recovery.since_ms == 0) BeginToYield(*y, job);
      kept = StateIsKept(*y) && kept;
    }
    if (!kept) return false;
    for (JobRecord* y : yield) GiveUpSurvivors(*y, job);
    Regroup(job);
  }
  return true;
}

// Resumes the jobs that were to yield to this one, but cannot help it after all, or not yet.
void CoordinatorCore::GoOn(const std::vector<JobId>& waiting, const JobRecord& older) {
  for (JobId id : waiting) {
    JobRecord& job = *FindJob(id);
    if (id <= older.snapshot.job || job.recovery.since_ms == 0 || BelowMinimum(job)) continue;
    job.profile == nullptr ? ProfileOn(job, Survivors(job)) : TrainOn(job, Survivors(job));
  }
}

// Returns the younger jobs that must give up their workers, so that this job has enough: waiting
// jobs first, then running ones, and of each the youngest first. None: this is not necessary, or
// would not suffice.
std::vector<CoordinatorCore::JobRecord*> CoordinatorCore::Yielding(
    const JobRecord& job, const std::vector<JobId>& waiting) {
  int64_t missing = Missing(job);
  std::vector<JobRecord*> yield;
  const auto take = [&](JobRecord& younger) {
    const std::vector<Worker*> workers = Survivors(younger);
    const auto has = std::count_if(workers.begin(), workers.end(),
                                   [&](const Worker* w) { return !job.expelled.contains(w->id); });
    if (missing <= 0 || has == 0) return;
    yield.push_back(&younger);
    missing -= has;
  };
  for (auto id = waiting.rbegin(); *id != job.snapshot.job; ++id) {
    JobRecord& younger = *FindJob(*id);
    if (younger.recovery.since_ms != 0) take(younger);
  }
  if (missing <= 0) return yield;
  int64_t surplus = 0;  // available without ending a job
  for (const auto& [id, other] : jobs_) surplus += MayChange(other) ? Surplus(other) : 0;
  if (surplus >= missing || !WaitedLong(job)) return {};
  for (auto it = jobs_.rbegin(); it->first != job.snapshot.job; ++it) {
    if (MayYield(it->second)) take(it->second);
  }
  return missing > 0 ? std::vector<JobRecord*>{} : yield;
}

// Returns whether the job runs with members, and neither a change of them nor a return to an
// earlier state has begun. (A merge of scores has no members.)
bool CoordinatorCore::MayYield(const JobRecord& job) {
  const spec::JobState state = job.snapshot.state;
  const bool changes = (job.plan && job.plan->ordered) || !job.departing.empty() || job.outdated;
  return state != spec::JobState::kQueued && !spec::IsFinal(state) && job.recovery.since_ms == 0 &&
         !changes && !job.members.empty() && !job.reverts;
}

bool CoordinatorCore::WaitedLong(const JobRecord& job) const {
  const int64_t limit = std::min(options_.rebalance_interval_ms, options_.below_min_timeout_ms / 2);
  return now_ms_ - job.recovery.since_ms >= limit;
}

// Stops the job until its state is saved. If the older job no longer needs its workers, it resumes.
void CoordinatorCore::BeginToYield(JobRecord& job, const JobRecord& older) {
  spec::JobSnapshot& s = job.snapshot;
  job.recovery.since_ms = now_ms_;
  job.recovery.last_words = ToString(older.snapshot.job) + " is older and needs workers";
  AbandonPlan(job, job.recovery.last_words);
  job.links.DropOpen();
  s.state = spec::JobState::kRecovering;
  s.waiting_because = "keeps its state and gives its workers up: " + job.recovery.last_words;
  Changed(job);
  Log(LogLevel::kWarning, ToString(s.job) + " " + s.waiting_because);
}

// Puts the job back in the queue. It will continue from its checkpoint.
void CoordinatorCore::GiveUpSurvivors(JobRecord& job, const JobRecord& older) {
  const JobId id = job.snapshot.job;
  NoteRoot(job);
  if (job.profiled.merging) {  // not a merge that ended a life
    out_.persist.push_back(MergeTried{id, --job.merges_tried});
  }
  const std::string why = ToString(older.snapshot.job) + " is older and needs this worker";
  job.snapshot.generation = {++job.generations};  // a generation without members
  for (Worker* worker : Survivors(job)) {
    Send(worker->session, Release{options_.incarnation, id, job.snapshot.generation, why});
    worker->at = {};
    if (worker->leaving) Dismissed(*worker);
  }
  QueueAgain(job);
  out_.persist.push_back(StartOf(job));
  Log(LogLevel::kWarning, ToString(id) + " is queued again: " + ToString(older.snapshot.job) +
                              " is older and needed its workers");
}

}  // namespace espalier::cluster
