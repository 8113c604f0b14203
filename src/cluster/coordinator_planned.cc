// CoordinatorCore: planned changes of a job's members: workers join, leave, or exchange leaves. The
// next generation is prepared while the present one trains. When all its members are ready, the
// root ends the present one.
#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"
#include "src/plan/ownership.h"

namespace espalier::cluster {
namespace {

std::vector<LeafInterval> IntervalsOf(const plan::Ownership& ownership) {
  std::vector<LeafInterval> out;
  for (const plan::LeafSpan& i : ownership.intervals) out.push_back({i.begin, i.end});
  return out;
}

}  // namespace

bool CoordinatorCore::MayChange(const JobRecord& job) const {
  return job.snapshot.state == spec::JobState::kTraining && !job.plan && !job.links.any_open() &&
         job.departing.empty() && !job.outdated && !job.ends_early &&
         std::all_of(job.members.begin(), job.members.end(), [](auto& m) { return m.ready; });
}

// Returns the milliseconds that the training still takes at the present pace. None: unknown.
std::optional<int64_t> CoordinatorCore::LeftMs(const JobRecord& job) const {
  const spec::JobProgress& p = job.snapshot.progress;
  if (p.step < 1 || p.steps_total < 1) return std::nullopt;
  const double passed = static_cast<double>(now_ms_ - job.snapshot.training_ms);
  return static_cast<int64_t>(passed * static_cast<double>(p.steps_total - p.step) /
                              static_cast<double>(p.step));
}

bool CoordinatorCore::IsMember(const JobRecord& job, const Worker& worker) {
  return worker.place < job.members.size() && job.members[worker.place].member.worker == worker.id;
}

// Orders the preparation of a generation of these workers. Returns false if no tree spans them.
bool CoordinatorCore::PlanGeneration(JobRecord& job, const std::vector<Worker*>& workers,
                                     const plan::Ownership& ownership, std::string why) {
  std::vector<WorkerId> ids;
  for (const Worker* w : workers) ids.push_back(w->id);
  auto order = ArrangeMembers(std::move(ids), ownership, static_cast<int32_t>(job.snapshot.leaves),
                              job.submission.star(), job.links.broken());
  if (!order) return false;
  Plan& plan = job.plan.emplace(Plan{});
  plan.generation = {++job.generations};
  out_.persist.push_back(GenerationReserved{job.snapshot.job, plan.generation});
  plan.workers = *std::move(order);
  plan.leaves = IntervalsOf(ownership);
  plan.since_ms = now_ms_;
  plan.why = std::move(why);
  StartTraining start{.incarnation = options_.incarnation,
                      .job = job.snapshot.job,
                      .generation = plan.generation,
                      .members = {},
                      .profile = job.profile,
                      .leaves = plan.leaves,
                      .planned = true,
                      .submitted_ms = job.snapshot.submitted_ms};
  bool has_holder = false;
  for (WorkerId id : plan.workers) {
    Worker& worker = *FindWorker(id);
    if (!std::exchange(has_holder, has_holder || worker.at.job == job.snapshot.job) && has_holder) {
      start.holder = static_cast<int32_t>(start.members.size());
    }
    start.members.push_back({id, worker.hello.name, worker.hello.address});
  }
  for (WorkerId id : plan.workers) {
    Worker& worker = *FindWorker(id);
    if (worker.at.job != job.snapshot.job) {
      worker.at = {job.snapshot.job, plan.generation};
      worker.place = SIZE_MAX;
      Send(worker.session, ProfilingOrder(job, plan.generation));
    }
    Send(worker.session, start);
  }
  Log(LogLevel::kInfo, ToString(job.snapshot.job) + " prepares generation " +
                           std::to_string(plan.generation.value) + ": " + plan.why);
  return true;
}

void CoordinatorCore::PlanEnded(JobRecord& job, const Plan& plan) {
  job.planned_ms = now_ms_;
  // Leaves may move between the same workers every few seconds if these are unsteady. These moves
  // must not keep other workers from joining.
  if (plan.workers.size() != job.members.size()) job.shared_ms = now_ms_;
}

// Frees the workers that would have joined. Members drop what they loaded at the next change.
void CoordinatorCore::AbandonPlan(JobRecord& job, const std::string& why) {
  if (!job.plan) return;
  const Plan plan = *std::exchange(job.plan, std::nullopt);
  PlanEnded(job, plan);
  for (WorkerId id : plan.workers) {
    Worker* worker = FindWorker(id);
    if (worker == nullptr || worker->at != JobPoint{job.snapshot.job, plan.generation}) continue;
    Send(worker->session,
         Release{options_.incarnation, job.snapshot.job, plan.generation, "the plan changed"});
    worker->at = {};
    queue_moved_ = true;
  }
  Log(LogLevel::kInfo, ToString(job.snapshot.job) + " gives up preparing generation " +
                           std::to_string(plan.generation.value) + ": " + why);
}

// Returns true if the message is about the generation in preparation.
bool CoordinatorCore::ReadyForPlan(Worker& worker, const MemberReady& message) {
  JobRecord* job = FindJob(worker.at.job);
  if (job == nullptr || !job->plan || job->snapshot.job != message.job ||
      job->plan->generation != message.generation) {
    return false;
  }
  Plan& plan = *job->plan;
  plan.ready.insert(worker.id);
  OrderPlanIfReady(*job);
  return true;
}

void CoordinatorCore::OrderPlanIfReady(JobRecord& job) {
  if (!job.plan || job.plan->ordered || job.cancelling) return;
  Plan& plan = *job.plan;
  if (!std::all_of(plan.workers.begin(), plan.workers.end(),
                   [&](WorkerId id) { return plan.ready.contains(id); })) {
    return;
  }
  plan.ordered = true;
  out_.persist.push_back(StartOfPlan(job));
  Met(job);
  for (const MemberState& m : job.members) SendSwitch(job, *FindWorker(m.member.worker));
}

// Returns the journal entry of the planned generation.
GenerationStarted CoordinatorCore::StartOfPlan(const JobRecord& job) const {
  const Plan& plan = *job.plan;
  GenerationStarted started{job.snapshot.job, plan.generation,         {},
                            plan.leaves,      job.snapshot.started_ms, job.arithmetic_id};
  for (const WorkerId id : plan.workers) {
    const Worker& member = workers_.at(id);
    started.members.push_back({id, member.hello.name, member.hello.address});
  }
  return started;
}

void CoordinatorCore::SendSwitch(const JobRecord& job, const Worker& worker) {
  Send(worker.session, SwitchOver{options_.incarnation, job.snapshot.job, job.snapshot.generation,
                                  job.plan->generation});
}

void CoordinatorCore::Obey(Worker& worker, const Switched& message) {
  JobRecord* planning = FindJob(worker.at.job);
  if (planning != nullptr && planning->plan && planning->plan->ordered &&
      message.job == planning->snapshot.job && message.generation == planning->plan->generation) {
    CompletePlan(*planning, message.round);
  } else if (planning != nullptr && IsMember(*planning, worker) &&
             planning->recovery.since_ms == 0 && message.job == worker.at.job &&
             message.generation > worker.at.generation &&
             message.generation.value <= planning->generations) {
    // An earlier life of this coordinator ordered the change, and no record remains of the workers
    // that would join. All members form a new generation.
    return MemberLost(*planning, Label(worker) + " went on to generation " +
                                     std::to_string(message.generation.value) +
                                     ", which was ordered before the coordinator died");
  }
  const Place at = Judge(worker, {message.job, message.generation}, "Switched");
  if (at.job == nullptr) return;
  at.member->ready = true;
  at.member->round = message.round;
  JobRecord& job = *at.job;
  job.moved_ms = now_ms_;
  if (!std::all_of(job.members.begin(), job.members.end(), [](auto& m) { return m.ready; })) return;
  // No member needs the links of the generation before.
  for (WorkerId id : std::exchange(job.departing, {})) {
    if (Worker* worker = FindWorker(id)) LetGo(*worker, job);
  }
}

// Makes the planned generation the present one. Its first member is in it, so all members will be,
// or will miss each other.
void CoordinatorCore::CompletePlan(JobRecord& job, uint64_t round) {
  const Plan plan = *std::exchange(job.plan, std::nullopt);
  std::vector<Worker*> workers;
  for (WorkerId id : plan.workers) workers.push_back(FindWorker(id));
  for (const MemberState& m : job.members) {
    if (std::find(plan.workers.begin(), plan.workers.end(), m.member.worker) ==
        plan.workers.end()) {
      job.departing.insert(m.member.worker);
    }
  }
  std::set<WorkerId> before;
  for (const MemberState& m : job.members) before.insert(m.member.worker);
  NoteRoot(job);
  job.leaves = plan.leaves;
  PlanEnded(job, plan);
  BeginGeneration(job, workers, plan.generation);
  Met(job);
  for (MemberState& m : job.members) m.joined = !before.contains(m.member.worker);
  for (int32_t i = 0; i < static_cast<int32_t>(job.members.size()); ++i) {
    job.proceed.push_back({options_.incarnation, job.snapshot.job, plan.generation, round, i});
  }
  OrderEarlyEnd(job);
}

// Releases a worker that is no longer a member. It is free again, or dismissed if it wanted to
// leave.
void CoordinatorCore::LetGo(Worker& worker, const JobRecord& job) {
  if (worker.at.job != job.snapshot.job) return;
  Send(worker.session,
       Release{
           options_.incarnation, worker.at.job, {job.generations}, "the job continues without it"});
  worker.at = {};
  queue_moved_ = true;
  if (worker.leaving) Dismissed(worker);
}

void CoordinatorCore::Dismissed(Worker& worker) {
  const SessionId session = worker.session;
  Log(LogLevel::kInfo, Label(worker) + " leaves: " + worker.leaving_why);
  Send(session, Dismiss{worker.leaving_why});
  workers_.erase(worker.id);
  sessions_.erase(session);
  if (session) Close(session, Status::Ok());
  queue_moved_ = true;
}

void CoordinatorCore::CheckPlan(JobRecord& job) {
  if (job.plan && now_ms_ - job.plan->since_ms >= options_.start_timeout_ms) {
    const std::string waited = HumanDuration(now_ms_ - job.plan->since_ms);
    if (job.plan->ordered) {
      return MemberLost(job, "no member began the next generation within " + waited);
    }
    std::string late;
    for (WorkerId id : job.plan->workers) {
      const Worker* worker = FindWorker(id);
      if (worker == nullptr || job.plan->ready.contains(id)) continue;
      late += (late.empty() ? "" : ", ") + Label(*worker);
    }
    AbandonPlan(job, "not ready for " + waited + ": " + late);
  }
  const auto late = std::find_if(job.members.begin(), job.members.end(), [&](auto& m) {
    const int64_t limit =
        std::max(m.joined ? options_.join_timeout_ms : 0, options_.liveness_limit_ms);
    return !m.ready && now_ms_ - job.planned_ms >= limit;
  });
  if (job.snapshot.state == spec::JobState::kTraining && job.planned_ms != 0 &&
      late != job.members.end()) {
    MemberLost(job, Printable(late->member.name, 128) + " did not begin the generation for " +
                        HumanDuration(now_ms_ - job.planned_ms));
  }
}

// ---- workers that leave ----------------------------------------------------------------------

void CoordinatorCore::Obey(Worker& worker, const Leaving& message) {
  if (Drain(worker, Printable(message.reason, 200)).ok()) return;
  // No worker can take its place, and waiting would only delay the end of a cluster.
  Obey(worker, Goodbye{message.reason});
}

void CoordinatorCore::On(const DrainWorker& event) {
  Worker* worker = FindWorker(event.worker);
  if (worker == nullptr) {
    out_.drained.push_back({event.request, NotFound(ToString(event.worker) +
                                                    " does not exist. Run `espalier workers` to "
                                                    "see the workers.")});
    return;
  }
  const Status drained = Drain(*worker, event.reason);
  out_.drained.push_back(
      {event.request, drained.ok() ? Result<WorkerId>(event.worker) : Result<WorkerId>(drained)});
}

// Marks the worker to leave as soon as its job can continue without it.
Status CoordinatorCore::Drain(Worker& worker, std::string why) {
  worker.leaving = true;
  worker.leaving_why = std::move(why);
  JobRecord* job = FindJob(worker.at.job);
  if (job == nullptr) {
    Dismissed(worker);
    return Status::Ok();
  }
  const std::string who = Label(worker);
  const JobId id = job->snapshot.job;
  if (MayChange(*job)) ReleaseLeavers(*job);
  if (job->plan || !job->departing.empty()) return Status::Ok();
  return FailedPrecondition(who + " is needed by " + ToString(id) +
                            " for now; it leaves as soon as another worker can take its place, or "
                            "when the job ends");
}

// Lets the members leave that want to, if enough workers remain.
bool CoordinatorCore::ReleaseLeavers(JobRecord& job) {
  std::vector<Worker*> stay, go;
  std::string leavers;
  for (Worker* w : Survivors(job)) {
    if (w->leaving) {
      leavers += (leavers.empty() ? "" : ", ") + Label(*w);
      go.push_back(w);
    } else {
      stay.push_back(w);
    }
  }
  if (leavers.empty()) return false;
  const bool all_go = stay.empty();
  AddReplacements(job, stay);
  if (static_cast<int64_t>(stay.size()) < Least(job)) return false;
  // One member must have the job state. The first of them leaves with the next change.
  if (all_go) stay.insert(stay.begin(), go.front());
  if (static_cast<int64_t>(stay.size()) > job.snapshot.leaves) return false;
  const auto ownership = plan::PlanOwnership(static_cast<int32_t>(job.snapshot.leaves),
                                             static_cast<int32_t>(stay.size()));
  return PlanGeneration(job, stay, ownership, leavers + " wants to leave");
}

void CoordinatorCore::Obey(Worker& worker, const Uneven& message) {
  const Place at = Judge(worker, {message.job, message.generation}, "Uneven");
  if (at.job == nullptr) return;
  JobRecord& job = *at.job;
  if (message.leaf_ms.size() != job.members.size()) {
    Blame(job, worker,
          FailedPrecondition("Uneven is about " + std::to_string(message.leaf_ms.size()) +
                             " members"));
    return;
  }
  // The first steps are not representative, and a short job is not worth a change.
  if (!MayChange(job) || now_ms_ - job.snapshot.training_ms < kWorthMs) return;
  const auto better = BetterOwnership(job.leaves, message.leaf_ms);
  if (!better) return;
  const auto left = LeftMs(job);
  if (left && static_cast<double>(*left) * better->gain < static_cast<double>(kWorthMs)) return;
  const auto slow = std::max_element(message.leaf_ms.begin(), message.leaf_ms.end());
  const auto slow_place = static_cast<size_t>(slow - message.leaf_ms.begin());
  PlanGeneration(job, Survivors(job), better->ownership,
                 "leaves are redistributed, steps will be " +
                     std::to_string(static_cast<int>(better->gain * 100)) + " % shorter; " +
                     Printable(job.members[slow_place].member.name, 128) + " takes " +
                     ShortestDouble(std::round(*slow * 1000) / 1000) + " ms a leaf");
}

}  // namespace espalier::cluster
