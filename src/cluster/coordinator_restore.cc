// CoordinatorCore: reading the journal and writing it, and the time after a restart.
#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"
#include "src/spec/inferred_text.h"

namespace espalier::cluster {
namespace {

// Upper limits for the numbers that the core accepts from workers, so that numbers never run out.
constexpr uint64_t kIncarnationMax = uint64_t{1} << 62;
constexpr uint64_t kForeignNumberMax = uint64_t{1} << 48;

}  // namespace

JobId JobOf(const JournalEntry& entry) {
  return std::visit(
      [](const auto& e) {
        if constexpr (requires { e.snapshot; }) {
          return e.snapshot.job;
        } else if constexpr (requires { e.job; }) {
          return e.job;
        } else {
          return JobId{};
        }
      },
      entry);
}

// ---- from the journal ------------------------------------------------------------------------

// An entry about an unknown job belongs to a job that was refused or forgotten.
void CoordinatorCore::Recall(const JournalEntry& entry) {
  std::visit([this](const auto& e) { Recall(e); }, entry);
}

void CoordinatorCore::Recall(const WorkerIdGiven& e) {
  next_worker_ = std::max(next_worker_, e.worker.value + 1);
}

void CoordinatorCore::Recall(const JobAccepted& e) {
  next_job_ = std::max(next_job_, e.job.value + 1);
  JobRecord& job = jobs_[e.job];
  job.submission = e.submission;
  spec::JobSnapshot& s = job.snapshot;
  s.job = e.job;
  s.kind = e.submission.kind();
  s.name = e.submission.name;
  s.owner = e.submission.owner;
  s.output = e.submission.output;
  s.leaves = e.submission.leaves;
  s.submitted_ms = e.submitted_ms;
  if (e.submission.input != nullptr || e.submission.packed_input != nullptr) {
    const spec::InputPlan& input = InputOf(job);
    s.inferred = spec::InferredText(input.schema);
    s.notes = input.notes;
    for (const spec::Shard& shard : input.shards) s.input_bytes += shard.end - shard.begin;
  }
  PackInput(job);  // one unpacked input at a time: most jobs in a journal wait or have ended
}

void CoordinatorCore::Recall(const GenerationStarted& e) {
  JobRecord* job = FindJob(e.job);
  if (job == nullptr) return;
  spec::JobSnapshot& s = job->snapshot;
  s.generation = std::max(s.generation, e.generation);
  job->generations = std::max(job->generations, e.generation.value);
  if (e.members.empty()) s.started_ms = s.training_ms = 0;  // it gave up its workers
  if (s.started_ms == 0) s.started_ms = e.at_ms;
  s.workers.clear();
  job->members.clear();
  LeaveOtherJobs(e);
  for (const Member& member : e.members) {
    s.workers.push_back(member.name);
    job->members.emplace_back().member = member;
  }
  job->leaves = e.leaves;
  job->arithmetic_id = e.arithmetic_id;
  job->reverts = e.reverts;
  job->met = false;
}

// Removes members that another job took. A job that waited for workers may have given them up.
void CoordinatorCore::LeaveOtherJobs(const GenerationStarted& e) {
  std::set<WorkerId> taken;
  for (const Member& member : e.members) taken.insert(member.worker);
  for (auto& [id, other] : jobs_) {
    if (id == e.job) continue;
    for (MemberState& m : other.members) {
      if (!taken.contains(m.member.worker)) continue;
      m.member.worker = {};
      if (!spec::IsFinal(other.snapshot.state)) std::erase(other.snapshot.workers, m.member.name);
    }
  }
}

void CoordinatorCore::Recall(const ProfileRecorded& e) {
  JobRecord* job = FindJob(e.job);
  if (job == nullptr) return;
  job->profile = e.profile;
  job->merges_tried = 0;
  if (job->submission.packed_input != nullptr) NoteProfile(*job);
  job->profiled.bytes_done = job->snapshot.input_bytes;
}

void CoordinatorCore::Recall(const HistoryRecorded& e) {
  if (JobRecord* job = FindJob(e.job)) {
    job->history.Set(e.number, e.row, options_.history_rows_max);
  }
}

void CoordinatorCore::Recall(const TrainingStarted& e) {
  JobRecord* job = FindJob(e.job);
  if (job == nullptr) return;
  job->snapshot.training_ms = e.at_ms;
  job->met = true;
  job->reverts = false;  // members that train have reverted
}

void CoordinatorCore::Recall(const GenerationReserved& e) {
  JobRecord* job = FindJob(e.job);
  if (job != nullptr) job->generations = std::max(job->generations, e.generation.value);
}

void CoordinatorCore::Recall(const JobEnded& e) {
  JobRecord* job = FindJob(e.snapshot.job);
  if (job == nullptr) return;
  job->snapshot = e.snapshot;
  SetConfusionAside(*job);
  newest_end_ms_ = std::max(newest_end_ms_, e.snapshot.ended_ms);
  if (const auto* result = e.snapshot.trained()) job->history.EndAt(result->steps);
  job->profiled.bytes_done = e.snapshot.profiling_bytes_done;
  if (!Leaves(*job)) job->submission.tokens.clear();
  ForgetWork(*job);
}

void CoordinatorCore::Recall(const JobForgotten& e) {
  next_job_ = std::max(next_job_, e.job.value + 1);
  jobs_.erase(e.job);
}

void CoordinatorCore::Recall(const IncarnationTaken&) {}  // concerns only the journal

void CoordinatorCore::Recall(const MergeTried& e) {
  if (JobRecord* job = FindJob(e.job)) job->merges_tried = e.times;
}

void CoordinatorCore::Recall(const MemberCrashed& e) {
  if (JobRecord* job = FindJob(e.job)) job->first_crash = e;
}

void CoordinatorCore::Recall(const JobSetAside& e) {
  if (JobRecord* job = FindJob(e.job)) job->set_aside = e.why;
}

void CoordinatorCore::Recall(const JobReplanned& e) {
  if (JobRecord* job = FindJob(e.job)) TakePlan(*job, e.plan);
}

// Continues each job that the entries have not ended. A job in training waits for its members. A
// job in its profiling pass repeats the pass.
void CoordinatorCore::FinishRecall(const Replaying& replaying) {
  for (auto& [id, job] : jobs_) {
    spec::JobSnapshot& s = job.snapshot;
    if (spec::IsFinal(s.state)) continue;
    if (replaying) replaying(id, nullptr);
    job.may_write = !s.scores() && s.generation.value != 0;
    const bool profiled = job.profile != nullptr && !job.leaves.empty() && !job.members.empty();
    if (!profiled || !job.set_aside.empty()) {  // BeginLife fails a set-aside job
      awaiting_ = awaiting_ || s.generation.value != 0;
      job.profile.reset();
      QueueAgain(job);
      continue;
    }
    awaiting_ = true;
    InputOf(job);
    s.state = s.training_ms == 0 ? spec::JobState::kLoading : spec::JobState::kRecovering;
    // Some members of a generation that was not complete yet may have their orders from the life
    // before. Links belong to one incarnation, so the members form a generation of this one.
    job.outdated = !job.met;
    job.recovery.last_words = "the coordinator was restarted";
    if (!job.history.empty()) {
      const spec::HistoryRow& newest = job.history.rows().back();
      s.progress.step = job.recovery.step = newest.step;
      s.progress.epoch = newest.epoch;
    }
    for (size_t i = 0; i < job.members.size(); ++i) AwaitMember(job, i);
  }
}

void CoordinatorCore::QueueAgain(JobRecord& job) {
  spec::JobSnapshot& s = job.snapshot;
  PackInput(job);
  s.state = spec::JobState::kQueued;
  s.workers.clear();
  s.waiting_because.clear();
  s.started_ms = s.training_ms = 0;
  job.met = false;
  s.progress = {};
  job.members.clear();
  job.leaves.clear();
  job.proceed.clear();
  job.links.DropOpen();
  ForgetProfile(job);
  job.keeping.reset();
  job.recovery = {};
  job.planned_ms = job.shared_ms = 0;
  queue_.insert(std::lower_bound(queue_.begin(), queue_.end(), s.job), s.job);
}

void CoordinatorCore::AwaitMember(JobRecord& job, size_t place) {
  const Member& member = job.members[place].member;
  if (!member.worker) {  // it took part in another job later
    job.outdated = true;
    return;
  }
  next_worker_ = std::max(next_worker_, member.worker.value + 1);
  Worker& worker = workers_[member.worker];
  worker.id = member.worker;
  worker.hello.name = member.name;
  worker.hello.address = member.address;
  worker.hello.arithmetic_id = job.arithmetic_id;
  worker.awaited = true;
  worker.detached_why = Unavailable("it did not come back to the restarted coordinator");
  worker.at = {job.snapshot.job, job.snapshot.generation};
  worker.place = place;
}

// Runs at the first event, because the time is unknown until then.
void CoordinatorCore::BeginLife() {
  begun_ms_ = now_ms_;
  awaits_until_ms_ = now_ms_ + options_.liveness_limit_ms;
  for (auto& [id, worker] : workers_) worker.attached_ms = worker.heard_ms = now_ms_;
  for (auto& [id, job] : jobs_) {
    job.moved_ms = now_ms_;
    for (MemberState& m : job.members) m.moved_ms = now_ms_;
  }
  queue_moved_ = true;
  ClearAwayAgain();
  for (const JobId id : std::deque<JobId>(queue_)) {
    JobRecord& job = *FindJob(id);
    if (!job.set_aside.empty()) {
      Fail(job, Internal(job.set_aside));
    } else if (job.submission.packed_input == nullptr) {
      Fail(job, DataLoss("the journal does not hold the job's input; submit it again"));
    } else if (job.merges_tried >= options_.merges_tried_max) {
      // The merge may be what ends the coordinator, so that the other jobs would never run.
      Fail(job, Internal("the coordinator ended " + Counted(job.merges_tried, "time") +
                         " while it merged what workers found in the job's input; look for "
                         "the reason in its log, then submit the job again"));
    }
  }
  if (jobs_.empty()) return;
  Log(LogLevel::kInfo, "the journal contains " + Counted(std::ssize(jobs_), "job") + ": " +
                           std::to_string(queue_.size()) + " to start, " +
                           Counted(std::ssize(workers_), "member") + " of others awaited");
}

// Repeats the clearing, because the life before may have ended first.
void CoordinatorCore::ClearAwayAgain() {
  for (auto& [id, job] : jobs_) {
    if (!spec::IsFinal(job.snapshot.state) || !Leaves(job) || job.cleared) continue;
    ClearAway(job);
    out_.clear.back().again = true;
  }
}

// ---- the time after a restart, or after being cut off ----------------------------------------

// Returns whether the core waits for workers. In this time it declares no worker dead and gives no
// job workers, because they may be members that return.
bool CoordinatorCore::Awaits() const { return awaiting_ && now_ms_ < awaits_until_ms_; }

// Returns whether all streams are open but silent. One worker must be silent for the liveness
// limit. The others may have sent messages up to a heartbeat later, so their limit is shorter.
bool CoordinatorCore::HearsNobody() const {
  int64_t newest_ms = 0, oldest_ms = now_ms_;
  for (const auto& [id, worker] : workers_) {
    if (worker.awaited || !worker.session) continue;
    newest_ms = std::max(newest_ms, worker.heard_ms);
    oldest_ms = std::min(oldest_ms, worker.heard_ms);
  }
  const int64_t limit = options_.liveness_limit_ms;
  const int64_t slack = std::min(2 * options_.heartbeat_interval_ms, limit / 2);
  return now_ms_ - oldest_ms >= limit && now_ms_ - newest_ms >= limit - slack;
}

// Ends the silence when a worker sends a message. All others get a liveness limit.
void CoordinatorCore::ComeBack() {
  if (!std::exchange(cut_off_, false)) return;
  awaits_until_ms_ = now_ms_ + options_.liveness_limit_ms;
  for (auto& [id, worker] : workers_) worker.heard_ms = now_ms_;
  Log(LogLevel::kInfo,
      "workers are heard again; the others have " + HumanDuration(options_.liveness_limit_ms));
}

void CoordinatorCore::CheckAwaited() {
  if (!awaiting_) return;
  std::vector<JobId> outdated;
  for (auto& [id, job] : jobs_) {
    if (!job.outdated || (Awaits() && MissesMembers(job))) continue;
    job.outdated = false;
    if (!spec::IsFinal(job.snapshot.state)) outdated.push_back(id);
  }
  for (JobId id : outdated) Regroup(*FindJob(id));
  if (Awaits()) return;
  awaiting_ = false;
  queue_moved_ = true;
}

bool CoordinatorCore::MissesMembers(const JobRecord& job) {
  return std::any_of(job.members.begin(), job.members.end(), [&](const MemberState& m) {
    const Worker* worker = FindWorker(m.member.worker);
    return worker != nullptr && worker->awaited;
  });
}

// Returns the member of an earlier coordinator life that sends this Hello, or null.
CoordinatorCore::Worker* CoordinatorCore::FindAwaited(const Hello& hello) {
  Worker* worker = FindWorker(hello.worker);
  // The certificate vouches for the worker's name. The worker merely claims the numbers.
  const bool same = worker != nullptr && worker->awaited && worker->hello.name == hello.name &&
                    hello.job && worker->at.job == hello.job;
  return same ? worker : nullptr;
}

// Skips the numbers that workers have seen, regardless of the journal. Returns false if the worker
// has seen a newer coordinator than this one and must not attach here.
bool CoordinatorCore::HeedNumbers(SessionId id, const Hello& hello) {
  if (hello.worker.value < kForeignNumberMax) {
    next_worker_ = std::max(next_worker_, hello.worker.value + 1);
  }
  if (hello.job.value < kForeignNumberMax) next_job_ = std::max(next_job_, hello.job.value + 1);
  if (hello.incarnation <= options_.incarnation) return true;
  const std::string seen = "incarnation " + std::to_string(hello.incarnation.value);
  const std::string ours = std::to_string(options_.incarnation.value);
  const bool young = now_ms_ - begun_ms_ < options_.liveness_limit_ms;
  if (!young || hello.incarnation.value >= kIncarnationMax) {
    SendAway(id, Unavailable("this coordinator (incarnation " + ours + ") is older than one that " +
                             Printable(hello.name, 128) + " has seen (" + seen +
                             "). Restart this coordinator if no newer one runs."));
    return false;
  }
  options_.incarnation = {hello.incarnation.value + 1};
  out_.persist.push_back(IncarnationTaken{options_.incarnation});
  Log(LogLevel::kWarning, "a worker has seen " + seen + ", the journal knew only of " + ours +
                              ": it is an old copy; continuing as incarnation " +
                              std::to_string(options_.incarnation.value));
  return true;
}

// Handles a journal that is older than the job's newest generation. The members stay, and a newer
// generation forms when all had the time to return.
void CoordinatorCore::HeedGeneration(JobRecord& job, Generation seen) {
  Generation& current = job.snapshot.generation;
  if (seen <= current || seen.value >= kForeignNumberMax) return;
  Log(LogLevel::kWarning, ToString(job.snapshot.job) + ": a member is in generation " +
                              std::to_string(seen.value) + ", the journal knew only of " +
                              std::to_string(current.value) + ": it is an old copy");
  current = seen;
  job.generations = std::max(job.generations, seen.value);
  job.outdated = true;
  for (const MemberState& m : job.members) {
    Worker* worker = FindWorker(m.member.worker);
    if (worker != nullptr && worker->at.job == job.snapshot.job) worker->at.generation = seen;
  }
}

// ---- to the journal --------------------------------------------------------------------------

std::vector<JournalEntry> CoordinatorCore::Remember() const {
  std::vector<JournalEntry> out;
  if (next_worker_ > 1) out.push_back(WorkerIdGiven{{next_worker_ - 1}});
  // Jobs that wait for workers come first, because a worker belongs to the last entry that names
  // it.
  std::vector<JobId> ids;
  for (const bool waits : {true, false}) {
    for (const auto& [id, job] : jobs_) {
      if ((job.recovery.since_ms != 0) == waits) ids.push_back(id);
    }
  }
  for (const JobId id : ids) {
    const JobRecord& job = *FindJob(id);
    const spec::JobSnapshot& s = job.snapshot;
    JobAccepted accepted{id, s.submitted_ms, job.submission};
    accepted.submission.input.reset();  // it has the packed one
    out.push_back(std::move(accepted));
    if (!spec::IsFinal(s.state) && job.generations > s.generation.value) {
      out.push_back(GenerationReserved{id, {job.generations}});
    }
    if (!spec::IsFinal(s.state) && s.generation.value != 0) {
      if (job.profile != nullptr) out.push_back(ProfileRecorded{id, job.profile});
      const TrainingStarted trains{id, s.training_ms};
      if (s.training_ms != 0) out.push_back(trains);
      out.push_back(StartOf(job));  // these members may not all have been ready yet
      if (job.met && !job.outdated && !job.reverts) out.push_back(trains);
      // The members may be in an ordered generation already, and only this entry names them all.
      if (job.plan && job.plan->ordered) {
        out.push_back(StartOfPlan(job));
        out.push_back(trains);
      }
    }
    if (!spec::IsFinal(s.state) && job.merges_tried != 0) {
      out.push_back(MergeTried{id, job.merges_tried});
    }
    if (!spec::IsFinal(s.state) && job.first_crash) out.push_back(*job.first_crash);
    if (!spec::IsFinal(s.state) && !job.set_aside.empty()) {
      out.push_back(JobSetAside{id, job.set_aside});
    }
    int64_t number = job.history.begin();
    for (const spec::HistoryRow& row : job.history.rows()) {
      out.push_back(HistoryRecorded{id, row, number++});
    }
    if (spec::IsFinal(s.state)) out.push_back(JobEnded{Snapshot(job)});
    if (job.cleared) out.push_back(TokensReplaced{id, {}});
  }
  const JobId last{next_job_ - 1};
  if (last && !jobs_.contains(last)) out.push_back(JobForgotten{last});
  return out;
}

// Returns the journal entry of the job's generation.
GenerationStarted CoordinatorCore::StartOf(const JobRecord& job) {
  const spec::JobSnapshot& s = job.snapshot;
  GenerationStarted started{s.job,        s.generation,      {},         job.leaves,
                            s.started_ms, job.arithmetic_id, job.reverts};
  for (const MemberState& m : job.members) started.members.push_back(m.member);
  return started;
}

// Removes a job whose acceptance the journal could not store.
void CoordinatorCore::On(const JobRefused& event) {
  JobRecord* job = FindJob(event.job);
  if (job == nullptr) return;
  if (!spec::IsFinal(job->snapshot.state)) Fail(*job, event.why);
  if (jobs_.erase(event.job) == 0) return;
  out_.persist.push_back(JobForgotten{event.job});
  out_.notify.push_back({event.job});
}

}  // namespace espalier::cluster
