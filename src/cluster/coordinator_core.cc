#include "src/cluster/coordinator_core.h"

#include <algorithm>
#include <utility>

#include "src/base/text.h"

namespace espalier::cluster {

CoordinatorCore::CoordinatorCore(CoordinatorCoreOptions options,
                                 const std::vector<JournalEntry>& past, const Replaying& replaying)
    : options_(std::move(options)) {
  for (const JournalEntry& entry : past) {
    if (replaying) replaying(JobOf(entry), &entry);
    Recall(entry);
  }
  FinishRecall(replaying);
  if (replaying) replaying({}, nullptr);
}

CoordinatorActions CoordinatorCore::Step(const CoordinatorEvent& event, int64_t now_ms) {
  now_ms_ = std::max(now_ms_, now_ms);
  if (begun_ms_ == 0) BeginLife();
  ForgiveOwnPause();
  std::visit([this](const auto& e) { On(e); }, event);
  if (std::exchange(queue_moved_, false)) StartJobs();
  return std::exchange(out_, {});
}

void CoordinatorCore::On(const Tick&) {
  CheckSessions();
  CheckAwaited();
  if (!stopping_) CheckTokens();
  std::vector<WorkerId> gone;  // workers that wanted to leave and have no job left
  for (const auto& [id, worker] : workers_) {
    if (worker.leaving && !worker.at.job) gone.push_back(id);
  }
  for (WorkerId id : gone) Dismissed(*FindWorker(id));
  std::vector<JobId> running;
  for (const auto& [id, job] : jobs_) {
    const spec::JobState state = job.snapshot.state;
    if (state != spec::JobState::kQueued && !spec::IsFinal(state)) running.push_back(id);
  }
  for (JobId id : running) CheckJob(*FindJob(id));
  if (!stopping_ && !Awaits()) ChangeJobs();
}

// Silence counts only while the coordinator listens. During a pause of this process (a suspended
// machine, a debugger) no message could arrive, so every worker would look dead.
void CoordinatorCore::ForgiveOwnPause() {
  const int64_t gap = ticked_ms_ == 0 ? 0 : now_ms_ - ticked_ms_;
  ticked_ms_ = now_ms_;
  if (gap <= 2 * options_.heartbeat_interval_ms) return;
  const auto shift = [&](int64_t& time) { time = std::min(time + gap, now_ms_); };
  if (awaiting_) awaits_until_ms_ += gap;
  for (auto& [id, session] : sessions_) shift(session.opened_ms);
  for (auto& [id, worker] : workers_) shift(worker.heard_ms);
  for (auto& [id, job] : jobs_) {
    shift(job.moved_ms);
    for (MemberState& m : job.members) shift(m.moved_ms);
    job.links.Shift(shift);
    if (job.recovery.since_ms != 0) shift(job.recovery.since_ms);
    if (job.plan) shift(job.plan->since_ms);
    if (job.keeping) shift(job.keeping->since_ms);
    if (job.cancelling) shift(job.cancelling->since_ms);
    if (job.finishing) shift(job.finishing->since_ms);
    if (job.planned_ms != 0) shift(job.planned_ms);
    if (job.shared_ms != 0) shift(job.shared_ms);
  }
  // Another coordinator may have taken over during the pause. The journal detects this.
  out_.persist.push_back(IncarnationTaken{options_.incarnation});
  Log(LogLevel::kWarning, "the coordinator paused for " + HumanDuration(gap));
}

void CoordinatorCore::CheckSessions() {
  if (HearsNobody() && !std::exchange(cut_off_, true)) {
    awaiting_ = true;
    awaits_until_ms_ = now_ms_ + options_.step_timeout_ms;
    Log(LogLevel::kWarning,
        "no worker was heard for " + HumanDuration(options_.liveness_limit_ms) +
            ": this coordinator may be cut off; no worker counts as lost until one answers again");
  }
  std::vector<WorkerId> silent;
  for (const auto& [id, worker] : workers_) {
    if (Awaits()) break;
    const int64_t limit =
        worker.session ? options_.liveness_limit_ms : options_.heartbeat_interval_ms;
    if (now_ms_ - worker.heard_ms >= limit) silent.push_back(id);
  }
  for (WorkerId id : silent) FindWorker(id)->doomed = true;
  for (WorkerId id : silent) {
    const Worker* worker = FindWorker(id);
    if (worker == nullptr) continue;  // the loss of an earlier worker removed it, too
    const SessionId session = worker->session;
    if (!session) {
      Lose(id, "was lost: " + worker->detached_why.ToString());
      continue;
    }
    const std::string why = "no message for " + HumanDuration(now_ms_ - worker->heard_ms);
    Lose(id, "was lost: " + why);
    sessions_.erase(session);
    Close(session, Unavailable(why));
  }
  std::vector<SessionId> mute;
  for (const auto& [id, session] : sessions_) {
    const bool waits = !session.worker && now_ms_ - session.opened_ms >= options_.liveness_limit_ms;
    if (waits) mute.push_back(id);
  }
  for (SessionId id : mute) {
    Log(LogLevel::kWarning, "closing the stream from " + sessions_[id].peer + ": no Hello for " +
                                HumanDuration(now_ms_ - sessions_[id].opened_ms));
    sessions_.erase(id);
    Close(id, DeadlineExceeded("no Hello came"));
  }
}

void CoordinatorCore::CheckJob(JobRecord& job) {
  const JobId id = job.snapshot.job;
  const auto runs = [&] {  // and its record still exists
    const JobRecord* found = FindJob(id);
    return found != nullptr && !spec::IsFinal(found->snapshot.state);
  };
  CheckLinks(job);
  if (runs()) CheckCancelling(job);
  if (runs()) CheckFinishing(job);
  if (runs()) CheckRecovery(job);
  if (runs()) CheckPlan(job);
  if (runs()) CheckStall(job);
}

int64_t CoordinatorCore::StallLimit(spec::JobState state) const {
  if (state == spec::JobState::kProfiling) return options_.profiling_timeout_ms;
  return state == spec::JobState::kTraining ? options_.step_timeout_ms : options_.start_timeout_ms;
}

// Returns the members that the job waits for and that showed no progress for the limit, with the
// time.
std::string CoordinatorCore::Late(const JobRecord& job, int64_t limit_ms) const {
  const spec::JobState state = job.snapshot.state;
  std::string late;
  bool all_profiled = true;
  for (const MemberState& m : job.members) {
    all_profiled = all_profiled && m.shards_missing == 0;
    const bool missing = state == spec::JobState::kProfiling ? m.shards_missing > 0 : !m.ready;
    const int64_t since = state == spec::JobState::kProfiling ? m.moved_ms : job.moved_ms;
    if (state == spec::JobState::kTraining || !missing || now_ms_ - since < limit_ms) continue;
    late += (late.empty() ? "" : ", ") + Printable(m.member.name, 128) + " (" +
            ToString(m.member.worker) + ", " + Printable(m.member.address, 256) + ") for " +
            HumanDuration(now_ms_ - since);
  }
  if (now_ms_ - job.moved_ms < limit_ms) return late;
  const std::string waited = " for " + HumanDuration(now_ms_ - job.moved_ms);
  if (state == spec::JobState::kTraining) return "its members" + waited;
  if (state == spec::JobState::kProfiling && all_profiled)
    return "the coordinator's merge" + waited;
  return late;
}

void CoordinatorCore::CheckStall(JobRecord& job) {
  if (job.recovery.since_ms != 0) return;  // it waits for workers, which has a separate limit
  const spec::JobState state = job.snapshot.state;
  const std::string late = Late(job, StallLimit(state));
  if (late.empty()) return;
  const bool scores = job.snapshot.scores();
  const char* what =
      state == spec::JobState::kProfiling
          ? scores ? "no progress of the scoring from " : "no progress of the profiling pass from "
      : state == spec::JobState::kTraining ? "no step from "
                                           : "no readiness to train from ";
  const bool loads = state != spec::JobState::kProfiling && state != spec::JobState::kTraining;
  Fail(job, DeadlineExceeded(what + late + "; see the log there, then submit again" +
                             (loads ? ", with a longer start_timeout_ms of the coordinator if it "
                                      "shows no errors"
                                    : "")));
}

void CoordinatorCore::On(const Shutdown& event) {
  if (stopping_) return;
  stopping_ = true;
  std::vector<JobId> open;
  for (auto& [id, job] : jobs_) {
    if (!event.jobs_go_on && !spec::IsFinal(job.snapshot.state)) open.push_back(id);
    // This life ends because of the shutdown, not because of its merge.
    if (job.profiled.merging) out_.persist.push_back(MergeTried{id, --job.merges_tried});
  }
  for (JobId id : open) {
    EndJob(*FindJob(id), spec::JobState::kCancelled,
           Cancelled("the coordinator was stopped (" + event.reason + ")"), {});
  }
  for (const auto& [id, session] : sessions_) {
    // No Dismiss: the workers stay and reconnect to the next coordinator.
    Close(id, Unavailable("the coordinator was stopped (" + event.reason + ")"));
  }
  workers_.clear();
  sessions_.clear();
}

// ---- queries ---------------------------------------------------------------------------------

spec::JobSnapshot CoordinatorCore::Outline(const JobRecord& job) const {
  spec::JobSnapshot s = job.snapshot;
  const int64_t end = s.ended_ms != 0 ? s.ended_ms : now_ms_;
  const int64_t started = s.started_ms != 0 ? s.started_ms : end;
  const int64_t training = s.training_ms != 0 ? s.training_ms : end;
  // The clock may be behind the times that an earlier life noted, if it was set back or is another
  // host's.
  const auto span = [](int64_t from, int64_t to) { return std::max<int64_t>(0, to - from); };
  s.start_phase_ms = span(s.submitted_ms, started);
  s.profiling_phase_ms = span(started, training);
  s.train_phase_ms = span(training, end);
  s.profiling_bytes_done = job.profiled.bytes_done;
  for (const MemberState& m : job.members) s.profiling_bytes_done += m.bytes_done;
  s.trouble = job.tokens.Trouble(now_ms_);
  return s;
}

std::pair<spec::Metrics*, spec::Metrics*> CoordinatorCore::Evaluated(spec::JobSnapshot& s) {
  const auto get = [](std::optional<spec::Metrics>& metrics) {
    return metrics ? &*metrics : nullptr;
  };
  if (spec::TrainingResult* r = s.trained()) return {get(r->validation), get(r->test)};
  if (spec::ScoringResult* r = s.scored()) {
    auto* evaluated = std::get_if<spec::EvaluationResult>(&r->work);
    if (evaluated != nullptr) return {nullptr, &evaluated->metrics};
  }
  return {nullptr, nullptr};
}

spec::JobSnapshot CoordinatorCore::Snapshot(const JobRecord& job) const {
  spec::JobSnapshot s = Outline(job);
  const auto [validation, test] = Evaluated(s);
  if (!job.validation_confusion.empty()) validation->confusion = job.validation_confusion;
  if (!job.test_confusion.empty()) test->confusion = job.test_confusion;
  return s;
}

std::vector<spec::JobSnapshot> CoordinatorCore::Jobs() const {
  std::vector<spec::JobSnapshot> out;
  for (const auto& [id, job] : jobs_) out.push_back(Outline(job));
  return out;
}

std::optional<spec::JobSnapshot> CoordinatorCore::Job(JobId id) const {
  const JobRecord* job = FindJob(id);
  return job == nullptr ? std::nullopt : std::make_optional(Snapshot(*job));
}

std::vector<spec::HistoryRow> CoordinatorCore::History(JobId id, int64_t from) const {
  const JobRecord* job = FindJob(id);
  return job == nullptr ? std::vector<spec::HistoryRow>() : job->history.From(from);
}

int64_t CoordinatorCore::HistoryEnd(JobId id) const {
  const JobRecord* job = FindJob(id);
  return job == nullptr ? 0 : job->history.end();
}

std::vector<spec::WorkerSnapshot> CoordinatorCore::Workers() const {
  std::vector<spec::WorkerSnapshot> out;
  for (const auto& [id, w] : workers_) {
    if (w.awaited) continue;
    out.push_back({.worker = id,
                   .name = w.hello.name,
                   .address = w.hello.address,
                   .version = w.hello.version,
                   .arithmetic_id = w.hello.arithmetic_id,
                   .threads = w.hello.threads,
                   .memory_bytes = w.hello.memory_bytes,
                   .job = w.at.job,
                   .attached_ms = w.attached_ms,
                   .last_heard_ms = now_ms_ - w.heard_ms});
  }
  return out;
}

std::optional<JobId> CoordinatorCore::FindSubmission(const std::string& request_key) const {
  for (const auto& [id, job] : jobs_) {
    if (job.submission.client_request_id == request_key) return id;
  }
  return std::nullopt;
}

// ---- helpers ---------------------------------------------------------------------------------

CoordinatorCore::JobRecord* CoordinatorCore::FindJob(JobId id) {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

const CoordinatorCore::JobRecord* CoordinatorCore::FindJob(JobId id) const {
  return const_cast<CoordinatorCore*>(this)->FindJob(id);
}

void CoordinatorCore::Changed(const JobRecord& job, bool progress_only) {
  out_.notify.push_back({job.snapshot.job, progress_only, spec::IsFinal(job.snapshot.state)});
}

void CoordinatorCore::Send(SessionId session, ToWorker message) {
  if (!session) return;
  out_.send.push_back({session, std::move(message)});
}

void CoordinatorCore::Close(SessionId session, Status why) {
  out_.close.push_back({session, std::move(why)});
}

void CoordinatorCore::Log(LogLevel level, std::string text) {
  out_.log.push_back({level, std::move(text)});
}

}  // namespace espalier::cluster
