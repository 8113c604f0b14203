// CoordinatorCore: the members' messages about their job.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"
#include "src/cluster/profiling_shards.h"

namespace espalier::cluster {
namespace {

Status CheckProgress(const spec::JobProgress& p) {
  const bool good = p.step >= 0 && p.steps_total >= 0 && std::isfinite(p.epoch) && p.epoch >= 0 &&
                    std::isfinite(p.epochs_total) && p.epochs_total >= 0 && p.phase.size() <= 64 &&
                    p.phase_share >= 0 && p.phase_share <= 1 && p.fit >= 0 && p.fits >= 0 &&
                    std::isfinite(p.fit_epoch) && p.fit_epoch >= 0;
  return good ? Status::Ok()
              : FailedPrecondition("its progress is out of range: step " + std::to_string(p.step) +
                                   " of " + std::to_string(p.steps_total) + ", epoch " +
                                   ShortestDouble(p.epoch) + ", share of the phase " +
                                   ShortestDouble(p.phase_share));
}

// Returns whether a journal can store the values and read them again.
bool IsCounted(const spec::Metrics& m) { return m.rows >= 0 && std::isfinite(m.weight); }
bool IsCounted(const std::optional<spec::Metrics>& m) { return !m || IsCounted(*m); }

// Checks the ranges of a row. Each evaluation has a different step.
Status CheckHistory(const HistoryEntry& m) {
  const spec::HistoryRow& row = m.row;
  const bool good = row.step >= 0 && row.step < std::numeric_limits<int64_t>::max() &&
                    std::isfinite(row.epoch) && row.epoch >= 0 && m.first >= 0 &&
                    m.first <= m.number && m.number <= row.step && row.fit >= 0 &&
                    std::isfinite(row.fit_epoch) && row.fit_epoch >= 0 && IsCounted(row.train) &&
                    IsCounted(row.validation);
  if (good) return Status::Ok();
  return FailedPrecondition("its history is out of range: row " + std::to_string(m.number) +
                            ", the first reported " + std::to_string(m.first) + ", step " +
                            std::to_string(row.step) + ", epoch " + ShortestDouble(row.epoch));
}

Status CheckMetrics(const spec::Metrics& metrics) {
  if (IsCounted(metrics)) return {};
  return FailedPrecondition("its metrics are of " + std::to_string(metrics.rows) +
                            " rows of weight " + ShortestDouble(metrics.weight));
}
Status CheckMetrics(const std::optional<spec::Metrics>& metrics) {
  return metrics ? CheckMetrics(*metrics) : Status();
}

Status CheckResult(const spec::TrainingResult& r) {
  ESPALIER_RETURN_IF_ERROR(CheckMetrics(r.validation));
  ESPALIER_RETURN_IF_ERROR(CheckMetrics(r.test));
  const bool good = r.steps >= 0 && std::isfinite(r.epochs) && r.epochs >= 0 &&
                    r.rows_per_epoch >= 0 && r.skipped_rows >= 0 &&
                    r.weights_sha256.size() <= 128 && IsCounted(r.train);
  return good ? Status::Ok()
              : FailedPrecondition("its result is out of range: " + std::to_string(r.steps) +
                                   " steps, " + std::to_string(r.rows_per_epoch) + " rows");
}

void DropLargeFigures(spec::Metrics& metrics) {
  metrics.classes = {};
  metrics.confusion = {};
  metrics.targets = {};
}

}  // namespace

CoordinatorCore::Place CoordinatorCore::Judge(Worker& worker, JobPoint point, const char* what) {
  const MessageDecision decision = FilterMessage(point, worker.at);
  if (decision == MessageDecision::kDrop) return {};
  JobRecord& job = *FindJob(worker.at.job);
  if (!IsMember(job, worker)) return {};  // it has yet to join, or has left
  if (decision == MessageDecision::kError && point.generation.value <= job.generations) {
    return {};  // the core abandoned this prepared generation in the meantime
  }
  if (decision == MessageDecision::kError) {
    Blame(job, worker,
          FailedPrecondition(std::string(what) + " names generation " +
                             std::to_string(point.generation.value) + ", the job is in " +
                             std::to_string(worker.at.generation.value)));
    return {};
  }
  return {&job, &job.members[worker.place]};
}

void CoordinatorCore::NoteRoot(JobRecord& job) {
  const spec::JobSnapshot& s = job.snapshot;
  if (job.leaves.empty() || job.members.empty()) return;
  const size_t root = job.roots.PlaceIn(s.generation, job.leaves, s.leaves);
  if (root < job.members.size()) job.roots.Note(s.generation, job.members[root].member.worker);
}

// Returns an error if the worker is not the root. Only the root may report `what`.
Status CoordinatorCore::CheckRoot(JobRecord& job, const Worker& worker, const char* what) {
  const spec::JobSnapshot& s = job.snapshot;
  if (worker.place == job.roots.PlaceIn(s.generation, job.leaves, s.leaves)) return Status::Ok();
  return FailedPrecondition(std::string(what) + " came from another member than the root");
}

// Fails the job because this worker sent an impossible message.
void CoordinatorCore::Blame(JobRecord& job, const Worker& worker, Status error) {
  Fail(job, error.Wrap(Label(worker) + " broke the protocol"));
}

void CoordinatorCore::On(const JobScored& event) {
  JobRecord* job = FindJob(event.job);
  if (job == nullptr || spec::IsFinal(job->snapshot.state) || !job->profiled.merging) return;
  if (!event.result.ok()) return Fail(*job, event.result.status());
  const spec::EvaluationResult* evaluated = event.result->evaluated();
  if (Status s = evaluated ? CheckMetrics(evaluated->metrics) : Status(); !s.ok()) {
    return Fail(*job, s.Wrap("the merge of all shards"));
  }
  EndJob(*job, spec::JobState::kSucceeded, Status::Ok(), *event.result);
}

void CoordinatorCore::Met(JobRecord& job) {
  job.met = true;
  out_.persist.push_back(TrainingStarted{job.snapshot.job, job.snapshot.training_ms});
}

// The first sign of training counts, because the root's stream may be faster than another member's
// MemberReady.
void CoordinatorCore::EnterTraining(JobRecord& job) {
  job.moved_ms = now_ms_;
  if (job.recovery.since_ms != 0) return;  // sent before the members knew of a lost one
  if (job.snapshot.state == spec::JobState::kTraining) return;
  job.snapshot.state = spec::JobState::kTraining;
  OrderEarlyEnd(job);
  if (job.snapshot.training_ms == 0) job.snapshot.training_ms = now_ms_;
  Changed(job);
  Log(LogLevel::kInfo, ToString(job.snapshot.job) + " trains");
}

void CoordinatorCore::Obey(Worker& worker, const Progress& message) {
  const Place at = Judge(worker, {message.job, message.generation}, "Progress");
  if (at.job == nullptr) return;
  JobRecord& job = *at.job;
  const spec::JobProgress& progress = message.progress;
  Status s = CheckProgress(progress);
  if (s.ok() && job.leaves.empty()) {
    s = FailedPrecondition("Progress came before StartTraining");
  }
  if (s.ok()) s = CheckRoot(job, worker, "Progress");
  if (!s.ok()) {
    Blame(job, worker, std::move(s));
    return;
  }
  const spec::JobProgress& last = job.snapshot.progress;
  if (progress.step < last.step) return;
  const bool moved = progress.step != last.step || progress.phase != last.phase ||
                     progress.phase_share > last.phase_share;
  const int64_t moved_ms = job.moved_ms;
  EnterTraining(job);
  if (!moved) job.moved_ms = moved_ms;
  job.snapshot.progress = progress;
  job.recovery.step = std::max(job.recovery.step, progress.step);
  Changed(job, true);
}

void CoordinatorCore::Obey(Worker& worker, const HistoryEntry& message) {
  // The root of an earlier generation reports rows late if its connection was lost. The row counts
  // unless a newer generation has returned to an earlier state and reported another one.
  const bool earlier = message.job == worker.at.job && message.generation < worker.at.generation;
  const Place at = Judge(worker, earlier ? worker.at : JobPoint{message.job, message.generation},
                         "HistoryEntry");
  if (at.job == nullptr || (earlier && at.job->leaves.empty())) return;
  JobRecord& job = *at.job;
  if (earlier && !job.roots.Was(worker.id, message.generation)) return;
  Status s = CheckHistory(message);
  if (s.ok() && job.leaves.empty()) {
    s = FailedPrecondition("HistoryEntry came before StartTraining");
  }
  if (s.ok() && !earlier) s = CheckRoot(job, worker, "HistoryEntry");
  if (!s.ok()) {
    Blame(job, worker, std::move(s));
    return;
  }
  // These rows are from a member that was not a member yet when it sent the earlier rows. It sends
  // them again with the generation in which it is now.
  const int64_t end = job.history.end();
  if (message.number > end && message.first <= end) return;
  if (job.history.Knows(message.number, message.row, earlier)) return;
  if (!earlier) EnterTraining(job);
  spec::HistoryRow row = message.row;
  DropLargeFigures(row.train);
  if (row.validation) DropLargeFigures(*row.validation);
  out_.persist.push_back(HistoryRecorded{job.snapshot.job, row, message.number});
  job.history.Set(message.number, std::move(row), options_.history_rows_max);
  Changed(job);
}

void CoordinatorCore::Obey(Worker& worker, const JobDone& message) {
  const Place at = Judge(worker, {message.job, message.generation}, "JobDone");
  if (at.job == nullptr) return;
  Status s = CheckResult(message.result);
  if (s.ok() && at.job->leaves.empty()) {
    s = FailedPrecondition("JobDone came before StartTraining");
  }
  if (s.ok()) s = CheckRoot(*at.job, worker, "JobDone");
  if (s.ok() && !at.job->met) {
    s = FailedPrecondition("JobDone came before all members were ready");
  }
  if (!s.ok()) {
    Blame(*at.job, worker, std::move(s));
    return;
  }
  JobRecord& job = *at.job;
  if (job.finishing) return;  // a repeated report
  EnterTraining(job);
  job.finishing = Finishing{Label(worker), message.result, now_ms_};
  const Submission& submission = job.submission;
  out_.check.push_back({job.snapshot.job, job.snapshot.submitted_ms, submission.output,
                        submission.client_request_id, message.result.weights_sha256,
                        submission.tokens, submission.owner});
}

void CoordinatorCore::On(const OutputChecked& event) {
  JobRecord* job = FindJob(event.job);
  if (job == nullptr || !job->finishing) return;  // it has ended in the meantime
  const Finishing finishing = *std::exchange(job->finishing, std::nullopt);
  const spec::TrainingResult& result = finishing.result;
  const std::string output = Printable(job->submission.output, 1024);
  if (!event.holds.ok()) {
    Log(LogLevel::kWarning, ToString(event.job) + ": the model in " + output +
                                " was not checked: " + event.holds.status().ToString());
  } else if (!*event.holds) {
    return Fail(
        *job, DataLoss("output: " + output + " does not hold the model that " + finishing.root +
                       " has reported (expected weights " + Printable(result.weights_sha256, 128) +
                       "). See the log of that worker, then submit the job again."));
  }
  job->history.EndAt(result.steps);
  // The periodic progress reports may stop before the end.
  spec::JobProgress& last = job->snapshot.progress;
  last.step = result.steps;
  last.epoch = result.epochs;
  EndJob(*job, spec::JobState::kSucceeded, Status::Ok(), result);
}

void CoordinatorCore::CheckFinishing(JobRecord& job) {
  if (!job.finishing || now_ms_ - job.finishing->since_ms < options_.check_timeout_ms) return;
  On(OutputChecked{job.snapshot.job,
                   DeadlineExceeded("the storage did not answer for " +
                                    HumanDuration(now_ms_ - job.finishing->since_ms))});
}

// An error in the input or the spec names no worker. Other errors name the worker.
void CoordinatorCore::Obey(Worker& worker, const JobFailed& message) {
  if (JobRecord* job = FindJob(worker.at.job); job != nullptr && job->plan &&
                                               message.job == job->snapshot.job &&
                                               message.generation == job->plan->generation) {
    const std::string why = Label(worker) + " failed to prepare it: " + message.error.ToString();
    if (!IsMember(*job, worker)) job->expelled.insert(worker.id);
    // An ordered generation may begin at any moment, so all members must form a new one.
    return job->plan->ordered ? MemberLost(*job, why) : AbandonPlan(*job, why);
  }
  const Place at = Judge(worker, {message.job, message.generation}, "JobFailed");
  if (at.job == nullptr) return;
  if (message.error.ok()) {
    Blame(*at.job, worker, FailedPrecondition("JobFailed came without an error"));
    return;
  }
  // The root was fenced. Unless this job is being cancelled, an earlier life of the coordinator
  // fenced it without a record, or another coordinator did. The next generation tries again.
  if (message.error.code() == StatusCode::kAborted) {
    std::string why = message.error.Wrap(Label(worker)).ToString();
    if (!at.job->cancelling) return MemberLost(*at.job, why);
    at.job->cancelling->lost = std::move(why);
    return;
  }
  if (!at.job->proceed.empty() && !at.member->ready) {  // it could not follow a planned change
    JobRecord& job = *at.job;
    const std::string why = Label(worker) + " could not begin: " + message.error.ToString();
    job.expelled.insert(worker.id);
    Send(worker.session,
         Release{options_.incarnation, worker.at.job, {job.generations}, "it could not begin"});
    worker.at = {};
    queue_moved_ = true;
    return MemberLost(job, why);
  }
  const StatusCode code = message.error.code();
  const bool own = message.error.position().has_value() || code == StatusCode::kBadInput ||
                   code == StatusCode::kInvalidArgument;
  Fail(*at.job, own ? message.error : message.error.Wrap(Label(worker) + " failed"));
}

}  // namespace espalier::cluster
