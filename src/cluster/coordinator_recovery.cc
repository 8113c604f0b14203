// CoordinatorCore: lost members, broken links, and states that differ. The next generation forms.
#include <algorithm>
#include <map>
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"
#include "src/cluster/profiling_shards.h"
#include "src/plan/ownership.h"

namespace espalier::cluster {
namespace {

// Generations in a row that may end without progress, in addition to one for each member.
constexpr int64_t kFruitlessMax = 4;

}  // namespace

// Returns the job's progress as a number that grows: shards profiled, then steps.
int64_t CoordinatorCore::Reached(const JobRecord& job) {
  if (job.profile != nullptr) {
    return static_cast<int64_t>(job.profile->shards.size()) + job.recovery.step;
  }
  return job.profiled.results.count();
}

void CoordinatorCore::MemberLost(JobRecord& job, const std::string& why) {
  AbandonPlan(job, why);
  for (WorkerId id : std::exchange(job.departing, {})) {
    if (Worker* worker = FindWorker(id)) LetGo(*worker, job);
  }
  Recovery& r = job.recovery;
  r.last_words = why;
  ++job.snapshot.losses;
  job.snapshot.last_loss = why;
  const int64_t reached = Reached(job);
  r.fruitless = reached > r.reached ? 1 : r.fruitless + 1;
  if (r.fruitless == 1 && r.no_memory != why) r.no_memory.clear();
  r.reached = std::max(r.reached, reached);
  const auto members = static_cast<int64_t>(job.members.size());
  if (r.fruitless > kFruitlessMax + members) {
    // The worker that was lost last has not returned yet, so its reason may not be known.
    const bool names_memory = !r.no_memory.empty() && r.no_memory != why;
    Fail(job, Unavailable("the job lost members " + Counted(r.fruitless, "time") +
                          " without a step between them; the last time " + why +
                          (names_memory ? "; before that, " + r.no_memory : "") +
                          ". See the workers' logs: possible causes are too little memory "
                          "there, or a network that separates the workers"));
    return;
  }
  Regroup(job);
}

void CoordinatorCore::Regroup(JobRecord& job) {
  // Waits until they have returned, or had the time to (CheckAwaited).
  if (Awaits() && MissesMembers(job)) {
    job.outdated = true;
    return;
  }
  std::vector<Worker*> workers = Survivors(job);
  const size_t survivors = workers.size();
  AddReplacements(job, workers);
  if (static_cast<int64_t>(workers.size()) < Least(job)) return AwaitWorkers(job, survivors);
  if (job.profile == nullptr) {
    ProfileOn(job, std::move(workers));
  } else {
    TrainOn(job, std::move(workers));
  }
}

int64_t CoordinatorCore::Least(const Submission& submission) {
  // Once the job has begun, members beyond its leaves are spares and may replace a lost member.
  return std::clamp<int64_t>(submission.workers_min, 1, std::max<int64_t>(1, submission.leaves));
}

// Returns the members that are not known to be lost, in their order.
std::vector<CoordinatorCore::Worker*> CoordinatorCore::Survivors(const JobRecord& job) {
  std::vector<Worker*> out;
  for (const MemberState& m : job.members) {
    Worker* worker = FindWorker(m.member.worker);
    if (worker == nullptr || worker->doomed || worker->at.job != job.snapshot.job) continue;
    out.push_back(worker);
  }
  return out;
}

// Adds free workers in place of lost members. While other jobs may start from the queue, it adds
// only as many as the job cannot do without.
void CoordinatorCore::AddReplacements(const JobRecord& job, std::vector<Worker*>& workers) {
  if (Awaits()) return;  // a free worker may be a returning member of another job
  int64_t wanted = Least(job);
  if (NextInQueue() == nullptr) {
    const auto has = std::max(wanted, static_cast<int64_t>(workers.size()));
    const auto members = static_cast<int64_t>(job.members.size());
    wanted = std::max(wanted, has + std::min(RoomFor(job), members - has));
  }
  wanted = std::min(wanted, job.snapshot.leaves);
  for (Worker* free : FreeFor(job)) {
    if (static_cast<int64_t>(workers.size()) >= wanted) return;
    workers.push_back(free);
  }
}

// Spreads the shards that no present member has over all members. Results received so far stay.
void CoordinatorCore::ProfileOn(JobRecord& job, std::vector<Worker*> workers) {
  const spec::InputPlan& input = InputOf(job);
  const auto is_open = [&](int32_t k) {
    return !job.profiled.merging && !job.profiled.results.has(k);
  };
  std::vector<std::vector<int32_t>> runs(workers.size());
  std::set<int32_t> kept;
  for (size_t i = 0; i < workers.size(); ++i) {
    if (workers[i]->at.job != job.snapshot.job) continue;
    for (int32_t k : job.members[workers[i]->place].shards) {
      if (!is_open(k)) continue;
      runs[i].push_back(k);
      kept.insert(k);
    }
  }
  std::vector<int32_t> spread;
  std::vector<spec::Shard> shards;
  job.profiled.bytes_done = 0;
  for (int32_t k = 0; k < static_cast<int32_t>(input.shards.size()); ++k) {
    const spec::Shard& shard = input.shards[static_cast<size_t>(k)];
    if (!is_open(k)) job.profiled.bytes_done += shard.end - shard.begin;
    if (!is_open(k) || kept.contains(k)) continue;
    spread.push_back(k);
    shards.push_back(shard);
  }
  const auto more = AssignShards(shards, static_cast<int>(workers.size()));
  for (size_t i = 0; i < workers.size(); ++i) {
    for (int32_t n : more[i]) runs[i].push_back(spread[static_cast<size_t>(n)]);
    std::sort(runs[i].begin(), runs[i].end());
  }
  if (job.members.empty()) workers = NearTo(input, runs, std::move(workers));
  job.snapshot.state = spec::JobState::kProfiling;
  BeginGeneration(job, workers, {++job.generations});
  GiveShards(job, std::move(runs));
  for (size_t i = 0; i < job.members.size(); ++i) SendProfile(job, i);
  MergeIfProfiled(job);
}

void CoordinatorCore::TrainOn(JobRecord& job, std::vector<Worker*> workers) {
  const auto leaves = static_cast<int32_t>(job.snapshot.leaves);
  plan::Ownership ownership;
  std::optional<std::vector<WorkerId>> order;
  for (;;) {
    ownership = plan::PlanOwnership(leaves, static_cast<int32_t>(workers.size()));
    std::vector<WorkerId> ids;
    for (const Worker* w : workers) ids.push_back(w->id);
    order = ArrangeMembers(std::move(ids), ownership, leaves, job.submission.star(),
                           job.links.broken());
    if (order) break;
    Expel(job, workers);
    if (static_cast<int64_t>(workers.size()) < Least(job)) {
      return AwaitWorkers(job, workers.size());
    }
  }
  // The job starts from the beginning or from a checkpoint. Asynchronous training does so also if
  // its holder is lost. The members' next reports state their progress.
  if (job.submission.star() || Survivors(job).empty()) job.snapshot.progress = {};
  workers.clear();
  for (WorkerId id : *order) workers.push_back(FindWorker(id));
  NoteRoot(job);
  job.may_write = true;
  job.leaves.clear();
  for (const plan::LeafSpan& i : ownership.intervals) job.leaves.push_back({i.begin, i.end});
  const bool first = job.snapshot.training_ms == 0;
  job.snapshot.state = first ? spec::JobState::kLoading : spec::JobState::kRecovering;
  BeginGeneration(job, workers, {++job.generations});
  for (size_t i = 0; i < job.members.size(); ++i) {
    if (job.members[i].joined) SendProfile(job, i);
    SendTraining(job, i);
  }
}

// Removes the member with the worst links.
void CoordinatorCore::Expel(JobRecord& job, std::vector<Worker*>& workers) {
  std::vector<WorkerId> ids;
  for (const Worker* w : workers) ids.push_back(w->id);
  Worker& worker = *FindWorker(job.links.Worst(ids));
  const std::string why =
      Label(worker) + " has no working link to other members of " + ToString(job.snapshot.job);
  std::erase(workers, &worker);
  job.expelled.insert(worker.id);
  job.recovery.last_words = why + ", and no tree is left without them: it was taken out";
  Log(LogLevel::kWarning, job.recovery.last_words);
  if (worker.at.job != job.snapshot.job) return;
  Send(worker.session, Release{options_.incarnation, worker.at.job, {job.generations}, why});
  worker.at = {};
  queue_moved_ = true;
}

// Handles a member that lost the generation before without having received its last total.
bool CoordinatorCore::MissesSwitch(Worker& worker, const LinkBroken& message) {
  JobRecord* job = FindJob(worker.at.job);
  if (job == nullptr || job->snapshot.state != spec::JobState::kTraining ||
      !IsMember(*job, worker) || job->members[worker.place].ready ||
      message.job != job->snapshot.job || message.generation >= worker.at.generation) {
    return false;
  }
  MemberLost(*job, Label(worker) + " did not get the last sum of the generation before");
  return true;
}

// Handles a worker that wants to join and cannot reach the member that has the state.
bool CoordinatorCore::CannotJoin(Worker& worker, const LinkBroken& message) {
  JobRecord* job = FindJob(worker.at.job);
  if (job == nullptr || !job->plan || IsMember(*job, worker) ||
      worker.at != JobPoint{message.job, message.generation}) {
    return false;
  }
  const std::string why = Label(worker) + " cannot join: " + message.why.ToString();
  // An ordered generation may begin at any moment, so all members must form a new one.
  job->plan->ordered ? MemberLost(*job, why) : AbandonPlan(*job, why);
  return true;
}

void CoordinatorCore::Obey(Worker& worker, const LinkBroken& message) {
  if (MissesSwitch(worker, message) || CannotJoin(worker, message)) return;
  const Place at = Judge(worker, {message.job, message.generation}, "LinkBroken");
  if (at.job == nullptr) return;
  JobRecord& job = *at.job;
  Worker* other = FindWorker(message.other);
  const bool lost = other == nullptr || other->at != worker.at;
  // After a restart, a member may be known to be lost some time before the next generation forms.
  const bool regroups = job.recovery.since_ms != 0 || job.outdated;
  if (message.why.ok() || message.other == worker.id || (lost && !regroups)) {
    Blame(job, worker, FailedPrecondition("LinkBroken names no other member and reason"));
    return;
  }
  if (lost || job.recovery.since_ms != 0) return;  // the job waits for workers anyway
  Log(LogLevel::kWarning, ToString(job.snapshot.job) + ": " + Label(worker) + " lost its link to " +
                              Label(*other) + ": " + message.why.ToString());
  if (!other->session && !Awaits()) {
    Lose(other->id, "was lost: " + other->detached_why.ToString());
    return;
  }
  job.links.Add({worker.id, other->id, message.why, now_ms_});
}

// No member died within a heartbeat, so the link is broken.
void CoordinatorCore::CheckLinks(JobRecord& job) {
  if (!job.links.any_open() || Awaits()) return;
  if (now_ms_ - job.links.oldest_ms() < options_.heartbeat_interval_ms) return;
  std::string why;
  for (const LinkReports::Report& report : job.links.TakeOpen()) {
    const Worker* from = FindWorker(report.from);
    const Worker* about = FindWorker(report.about);
    if (from == nullptr || about == nullptr) continue;
    job.links.Break(report);
    why = Label(*from) + " lost its link to " + Label(*about) +
          ", which still answers the coordinator (" + report.why.ToString() + ")";
  }
  if (!why.empty()) MemberLost(job, why);
}

void CoordinatorCore::Obey(Worker& worker, const MemberReady& message) {
  if (ReadyForPlan(worker, message)) return;
  const Place at = Judge(worker, {message.job, message.generation}, "MemberReady");
  if (at.job == nullptr) return;
  JobRecord& job = *at.job;
  if (job.leaves.empty() || message.round == 0) {
    Blame(job, worker,
          FailedPrecondition("MemberReady came before StartTraining, or without a "
                             "round"));
    return;
  }
  // A member is lost, and the next generation will ask again.
  if (job.recovery.since_ms != 0 || job.outdated) return;
  if (!job.proceed.empty()) {  // a repeated message
    Send(worker.session, job.proceed[worker.place]);
    return;
  }
  at.member->ready = true;
  at.member->round = message.round;
  ProceedIfReady(job);
}

void CoordinatorCore::ProceedIfReady(JobRecord& job) {
  if (job.cancelling || job.members.empty()) return;
  for (const MemberState& m : job.members) {
    if (!m.ready) return;
  }
  job.proceed = ProceedOf(job);
  for (size_t i = 0; i < job.members.size(); ++i) {
    Send(FindWorker(job.members[i].member.worker)->session, job.proceed[i]);
  }
  job.reverts = false;
  EnterTraining(job);
  if (!job.met) Met(job);
}

std::vector<Proceed> CoordinatorCore::ProceedOf(const JobRecord& job) const {
  std::vector<WorkerId> ids;
  std::vector<uint64_t> rounds;
  for (const MemberState& m : job.members) {
    ids.push_back(m.member.worker);
    rounds.push_back(m.round);
  }
  const uint64_t newest = *std::max_element(rounds.begin(), rounds.end());
  const std::vector<int32_t> sources = StateSources(ids, rounds, job.links.broken());
  std::vector<Proceed> out;
  const spec::JobSnapshot& s = job.snapshot;
  for (int32_t source : sources) {
    out.push_back({options_.incarnation, s.job, s.generation, newest, source});
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const auto source = static_cast<size_t>(sources[i]);
    if (source != i) out[source].fetched = true;
  }
  return out;
}

}  // namespace espalier::cluster
