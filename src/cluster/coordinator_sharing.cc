// CoordinatorCore: the sharing of workers among running jobs. The workers beyond the jobs' minimum
// are shared evenly, and a job's share changes at most once per rebalance interval.
#include <algorithm>
#include <utility>

#include "src/cluster/coordinator_core.h"
#include "src/plan/ownership.h"

namespace espalier::cluster {

int64_t CoordinatorCore::Surplus(const JobRecord& job) {
  return static_cast<int64_t>(job.members.size()) - Least(job);
}

int64_t CoordinatorCore::MostWorkers(const JobRecord& job) const {
  const int64_t wish = job.submission.workers_max;
  const int64_t most = std::min(wish > 0 ? wish : options_.workers_max, job.snapshot.leaves);
  const auto has = static_cast<int64_t>(job.members.size());
  return most <= has ? most : has + std::min(RoomFor(job), most - has);
}

// Gives free workers to the jobs with the smallest surplus, as far as these may grow.
void CoordinatorCore::ChangeJobs() {
  std::vector<JobRecord*> growing;
  for (auto& [id, job] : jobs_) {
    if (!MayChange(job) || ReleaseLeavers(job)) continue;
    const bool rested =
        now_ms_ - job.shared_ms >= options_.rebalance_interval_ms || job.shared_ms == 0;
    const bool may_grow = static_cast<int64_t>(job.members.size()) < MostWorkers(job);
    if (may_grow && rested && LeftMs(job).value_or(kWorthMs) >= kWorthMs) growing.push_back(&job);
  }
  if (MakeRoom()) return;
  if (const JobRecord* needy = Needy()) return ShrinkFor(*needy);
  std::stable_sort(growing.begin(), growing.end(),
                   [](auto* a, auto* b) { return Surplus(*a) < Surplus(*b); });
  for (size_t k = 0; k < growing.size(); ++k) Grow(*growing[k], growing.size() - k);
  ShareEvenly();
}

// Takes the job's share of the free workers. `jobs`: number of jobs that want some.
void CoordinatorCore::Grow(JobRecord& job, size_t jobs) {
  std::vector<Worker*> workers = Survivors(job);
  std::vector<Worker*> free = FreeFor(job);
  std::erase_if(
      free, [&](Worker* w) { return now_ms_ - w->attached_ms < options_.heartbeat_interval_ms; });
  size_t take = (free.size() + jobs - 1) / jobs;
  take = std::min(take, static_cast<size_t>(MostWorkers(job)) - workers.size());
  if (take == 0) return;
  workers.insert(workers.end(), free.begin(), free.begin() + static_cast<int64_t>(take));
  const auto ownership = plan::PlanOwnership(static_cast<int32_t>(job.snapshot.leaves),
                                             static_cast<int32_t>(workers.size()));
  PlanGeneration(job, workers, ownership,
                 std::to_string(take) + (take == 1 ? " worker joins" : " workers join"));
}

void CoordinatorCore::Shrink(JobRecord& job, int64_t give, const std::string& why) {
  std::vector<Worker*> stay = Survivors(job);
  stay.resize(stay.size() - static_cast<size_t>(give));
  const auto ownership = plan::PlanOwnership(static_cast<int32_t>(job.snapshot.leaves),
                                             static_cast<int32_t>(stay.size()));
  PlanGeneration(job, stay, ownership, why);
}

// Returns the jobs whose share may change now. Returns none while a change is in progress, which
// may free workers.
std::vector<CoordinatorCore::JobRecord*> CoordinatorCore::Settled() {
  std::vector<JobRecord*> settled;
  for (auto& [id, job] : jobs_) {
    if (job.plan || !job.departing.empty()) return {};
    const bool rested = now_ms_ - std::max(job.shared_ms, job.snapshot.training_ms) >=
                        options_.rebalance_interval_ms;
    if (MayChange(job) && rested) settled.push_back(&job);
  }
  return settled;
}

// Returns the oldest job that waits for its minimum. Null: none does.
CoordinatorCore::JobRecord* CoordinatorCore::Needy() {
  for (auto& [id, job] : jobs_) {
    if (job.recovery.since_ms != 0) return &job;
  }
  return NextInQueue();
}

// Returns the number of workers that the job needs beyond its own and the free ones that it may
// take.
int64_t CoordinatorCore::Missing(const JobRecord& job) {
  return Least(job) - static_cast<int64_t>(Survivors(job).size() + FreeFor(job).size());
}

// Gives a job that waits for its minimum the workers that other jobs hold beyond theirs. Each comes
// from the job that holds most. If the waiting job had begun before, younger jobs give up all their
// workers for the rest (RegroupWaitingJobs).
void CoordinatorCore::ShrinkFor(const JobRecord& needy) {
  const int64_t missing = Missing(needy);
  const std::vector<JobRecord*> settled = Settled();
  int64_t surplus = 0, minima = 0;
  for (const JobRecord* job : settled) surplus += Surplus(*job);
  for (const auto& [id, job] : jobs_) {
    const bool yields = needy.recovery.since_ms != 0 && needy.snapshot.job < id && MayYield(job);
    minima += yields ? Least(job) : 0;
  }
  if (missing <= 0 || surplus == 0 || surplus + minima < missing) return;
  TakeSurplus(settled, std::min(missing, surplus), needy);
}

// REQUIRES: the jobs have that many workers beyond their minimum.
void CoordinatorCore::TakeSurplus(const std::vector<JobRecord*>& jobs, int64_t wanted,
                                  const JobRecord& needy) {
  std::vector<std::pair<JobRecord*, int64_t>> left;  // rest of each job's surplus
  for (JobRecord* job : jobs) left.push_back({job, Surplus(*job)});
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  for (int64_t n = 0; n < wanted; ++n) --std::max_element(left.begin(), left.end(), less)->second;
  for (const auto& [job, stays] : left) {
    const int64_t give = Surplus(*job) - stays;
    if (give > 0) Shrink(*job, give, ToString(needy.snapshot.job) + " needs workers");
  }
}

// Moves workers from the job with the largest surplus to the job with the smallest one that may
// grow. The workers are free first, and then join.
void CoordinatorCore::ShareEvenly() {
  JobRecord *rich = nullptr, *poor = nullptr;
  for (JobRecord* job : Settled()) {
    if (LeftMs(*job).value_or(kWorthMs) < kWorthMs) continue;
    if (rich == nullptr || Surplus(*job) > Surplus(*rich)) rich = job;
    const bool may_grow = static_cast<int64_t>(job->members.size()) < MostWorkers(*job);
    if (may_grow && (poor == nullptr || Surplus(*job) < Surplus(*poor))) poor = job;
  }
  if (rich == nullptr || poor == nullptr || !FreeWorkers().empty()) return;
  const int64_t room = MostWorkers(*poor) - static_cast<int64_t>(poor->members.size());
  const int64_t give = std::min((Surplus(*rich) - Surplus(*poor)) / 2, room);
  if (give <= 0) return;
  Shrink(*rich, give,
         ToString(poor->snapshot.job) + " has " + std::to_string(Surplus(*poor)) +
             " workers beyond its minimum, this job " + std::to_string(Surplus(*rich)));
}

}  // namespace espalier::cluster
