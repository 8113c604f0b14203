// CoordinatorCore: submission, cancellation, start and end of jobs.
#include <algorithm>
#include <utility>

#include "src/base/check.h"
#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"
#include "src/cluster/packed_plan.h"
#include "src/cluster/profiling_shards.h"
#include "src/spec/inferred_text.h"

namespace espalier::cluster {

int64_t PlanBytes(const Submission& submission) {
  auto bytes = static_cast<int64_t>(submission.job_yaml.size() + submission.asked_yaml.size());
  if (submission.packed_input != nullptr) {
    bytes += static_cast<int64_t>(submission.packed_input->capacity());
  }
  if (submission.input == nullptr) return bytes;
  const spec::InputPlan& input = *submission.input;
  const auto of_text = [](const std::string& text) {
    return static_cast<int64_t>(sizeof(text) + text.capacity());
  };
  for (const spec::InputFile& f : input.files) {
    bytes += static_cast<int64_t>(sizeof(f) + f.path.capacity() + 4 * f.columns.capacity());
  }
  bytes += static_cast<int64_t>(sizeof(spec::Shard) * input.shards.size());
  for (const auto& hosts : input.hosts) {
    bytes += static_cast<int64_t>(sizeof(hosts));
    for (const std::string& host : hosts) bytes += of_text(host);
  }
  for (const std::string& name : input.schema.names) bytes += of_text(name);
  return bytes;
}

const spec::InputPlan& CoordinatorCore::InputOf(JobRecord& job) {
  Submission& submission = job.submission;
  if (submission.input == nullptr) {
    Result<spec::InputPlan> input = UnpackPlan(*submission.packed_input);
    // The core packed it, or the journal's decoder has unpacked it once.
    ESPALIER_CHECK(input.ok(), ToString(job.snapshot.job) + ": " + input.status().ToString());
    submission.input = std::make_shared<const spec::InputPlan>(*std::move(input));
    job.plan_bytes = PlanBytes(submission);
  }
  return *submission.input;
}

// A shard list takes much memory, and thousands of jobs may wait.
void CoordinatorCore::PackInput(JobRecord& job) {
  Submission& submission = job.submission;
  if (submission.packed_input == nullptr && submission.input != nullptr) {
    submission.packed_input = std::make_shared<const std::string>(PackPlan(*submission.input));
  }
  submission.input.reset();
  job.plan_bytes = PlanBytes(submission);
}

void CoordinatorCore::On(const Submit& event) {
  const Submission& submission = event.submission;
  if (const auto known = FindSubmission(submission.client_request_id)) {
    out_.reply.push_back({event.request, *known});
    return;
  }
  JobRecord record;
  record.submission = submission;
  PackInput(record);
  Status wrong = CheckSubmission(submission);
  if (wrong.ok()) wrong = CheckPlanSize(record.plan_bytes);
  if (!wrong.ok()) {
    out_.reply.push_back({event.request, std::move(wrong)});
    return;
  }
  const JobId id{next_job_++};
  JobRecord& job = jobs_[id] = std::move(record);
  spec::JobSnapshot& s = job.snapshot;
  s.job = id;
  s.kind = submission.kind();
  s.name = submission.name;
  s.owner = submission.owner;
  s.output = submission.output;
  s.leaves = submission.leaves;
  s.inferred = spec::InferredText(submission.input->schema);
  s.notes = submission.input->notes;
  s.submitted_ms = now_ms_;
  for (const spec::Shard& shard : submission.input->shards)
    s.input_bytes += shard.end - shard.begin;
  out_.persist.push_back(JobAccepted{id, now_ms_, job.submission});
  out_.reply.push_back({event.request, id});
  Changed(job);
  Log(LogLevel::kInfo, ToString(id) + " '" + Printable(s.name) +
                           "' accepted: " + HumanBytes(static_cast<uint64_t>(s.input_bytes)) +
                           " in " + Counted(std::ssize(submission.input->shards), "shard") +
                           (s.inferred.empty() ? "" : "; " + Printable(s.inferred, 1000)));
  queue_.push_back(id);
  queue_moved_ = true;
}

Status CoordinatorCore::CheckSubmission(const Submission& submission) const {
  if (stopping_) return Unavailable("the coordinator is being stopped");
  ESPALIER_CHECK(submission.input != nullptr && submission.leaves >= 1, "a half-made submission");
  if (submission.client_request_id.empty() || submission.client_request_id.size() > 128) {
    return InvalidArgument("client_request_id must have 1 to 128 bytes");
  }
  if (submission.workers_min > options_.workers_max) {
    return InvalidArgument("workers.min: " + std::to_string(submission.workers_min) +
                           " are wanted, this coordinator takes at most " +
                           std::to_string(options_.workers_max) + " workers");
  }
  if (static_cast<int64_t>(queue_.size()) >= options_.queue_max) {
    return ResourceExhausted(std::to_string(queue_.size()) +
                             " jobs wait already, the limit of this coordinator: submit again "
                             "when some have ended");
  }
  if (Status s = CheckQuotas(submission); !s.ok()) return s;
  if (submission.training() != nullptr) {
    if (Status s = CheckProfileSize(*submission.input, options_.profile_bytes_max); !s.ok())
      return s;
    if (Status s = CheckModelSize(*submission.training()); !s.ok()) return s;
  }
  if (submission.output.empty()) return Status::Ok();  // an evaluation without a report
  for (const auto& [id, job] : jobs_) {
    if (!spec::IsFinal(job.snapshot.state) &&
        job.submission.OutputPlace() == submission.OutputPlace()) {
      return AlreadyExists("output: " + submission.output + " is reserved by " + ToString(id) +
                           ", which is " + spec::JobStateName(job.snapshot.state) +
                           "; choose another output or cancel that job");
    }
  }
  return Status::Ok();
}

// Accepts a larger plan if no other job is unfinished.
Status CoordinatorCore::CheckPlanSize(int64_t bytes) const {
  int64_t held = 0;
  for (const auto& [id, job] : jobs_) held += job.plan_bytes;
  if (held == 0 || held + bytes <= options_.plans_bytes_max) return Status::Ok();
  const auto shown = [](int64_t n) { return HumanBytes(static_cast<uint64_t>(n)); };
  return ResourceExhausted("data: the file and shard lists of unfinished jobs would take " +
                           shown(held + bytes) + " (this job: " + shown(bytes) +
                           "), the limit of this coordinator is " +
                           shown(options_.plans_bytes_max) +
                           ". Submit again when some jobs have ended, use fewer files, or raise "
                           "data.shard_bytes.");
}

// Accepts every model while no worker is attached. A worker checks it again before it trains.
Status CoordinatorCore::CheckModelSize(const TrainingSubmission& submission) const {
  int64_t largest = -1;
  for (const auto& [id, worker] : workers_) {
    largest = std::max(largest, worker.hello.memory_bytes);
  }
  if (largest < 0 || submission.least_model_bytes <= largest) return Status::Ok();
  const auto shown = [](int64_t n) { return HumanBytes(static_cast<uint64_t>(n)); };
  return ResourceExhausted(
      "model.hidden: the weights between these layers with their gradients and optimizer state "
      "exceed the memory of every attached worker (found " +
      shown(submission.least_model_bytes) + ", expected memory_bytes_max of at most " +
      shown(largest) +
      "). Use narrower layers, raise memory_bytes_max, or attach workers with more memory.");
}

void CoordinatorCore::On(const CancelJob& event) {
  JobRecord* job = FindJob(event.job);
  if (job == nullptr) {
    out_.reply.push_back(
        {event.request, NotFound(ToString(event.job) + " does not exist. Run "
                                                       "`espalier list` to see the jobs.")});
    return;
  }
  if (Status s = CheckOwner(*job, event.by); !s.ok()) {
    out_.reply.push_back({event.request, std::move(s)});
    return;
  }
  if (spec::IsFinal(job->snapshot.state)) {
    out_.reply.push_back({event.request, HasEnded(*job)});
    return;
  }
  if (event.keep && !job->history.empty() && !job->cancelling) {
    job->ends_early = true;
    OrderEarlyEnd(*job);
    out_.reply.push_back({event.request, event.job});
    return;
  }
  if (!job->may_write) {
    out_.reply.push_back({event.request, event.job});
    EndJob(*job, spec::JobState::kCancelled, Cancelled(Printable(event.reason, 200)), {});
    return;
  }
  // The root may be putting the model in place. Only the storage knows whether it has done so.
  if (!job->cancelling) {
    job->cancelling = Cancelling{{}, Printable(event.reason, 200), now_ms_};
    out_.fence.push_back({event.job, job->snapshot.submitted_ms, job->submission.output,
                          job->submission.client_request_id, job->submission.tokens,
                          job->submission.owner});
  }
  job->cancelling->requests.push_back(event.request);
}

// Sends EndTraining to all members. Also called when a generation begins to train, because the root
// that received the order may be lost.
void CoordinatorCore::OrderEarlyEnd(const JobRecord& job) {
  if (!job.ends_early || job.snapshot.state != spec::JobState::kTraining) return;
  for (const MemberState& m : job.members) {
    Send(FindWorker(m.member.worker)->session,
         EndTraining{options_.incarnation, job.snapshot.job, job.snapshot.generation});
  }
}

std::vector<CoordinatorCore::Worker*> CoordinatorCore::FreeWorkers() {
  std::vector<Worker*> free;
  for (auto& [id, worker] : workers_) {
    const bool stays = !worker.leaving && !worker.doomed && worker.session;
    if (!worker.at.job && stays) free.push_back(&worker);
  }
  return free;
}

std::vector<CoordinatorCore::Worker*> CoordinatorCore::FreeFor(const JobRecord& job) {
  std::vector<Worker*> free = FreeWorkers();
  std::erase_if(free, [&](const Worker* w) { return job.expelled.contains(w->id); });
  return free;
}

std::vector<CoordinatorCore::Worker*> CoordinatorCore::NearTo(
    const spec::InputPlan& input, const std::vector<std::vector<int32_t>>& runs,
    std::vector<Worker*> workers) {
  std::vector<std::vector<std::string>> names;
  for (const Worker* worker : workers) {
    names.push_back(spec::HostNames(worker->hello.name, worker->hello.address));
  }
  std::vector<Worker*> placed;
  for (const size_t w : PlaceRuns(input, runs, names)) placed.push_back(workers[w]);
  return placed;
}

void CoordinatorCore::StartJob(JobRecord& job, const std::vector<Worker*>& workers) {
  job.snapshot.started_ms = now_ms_;
  InputOf(job);
  if (job.profile != nullptr) return TrainOn(job, workers);  // it had to yield
  const size_t shards = InputOf(job).shards.size();
  job.profiled.results = CollectedResults(shards);
  ProfileOn(job, workers);
}

void CoordinatorCore::BeginGeneration(JobRecord& job, const std::vector<Worker*>& workers,
                                      Generation number) {
  spec::JobSnapshot& s = job.snapshot;
  s.generation = number;
  s.waiting_because.clear();
  s.workers.clear();
  job.members.clear();
  job.links.DropOpen();
  job.proceed.clear();
  job.keeping.reset();
  job.met = job.outdated = false;
  job.recovery.since_ms = 0;
  job.moved_ms = now_ms_;
  if (!workers.empty()) job.arithmetic_id = workers.front()->hello.arithmetic_id;
  for (size_t i = 0; i < workers.size(); ++i) {
    Worker& worker = *workers[i];
    MemberState m;
    m.member = {worker.id, worker.hello.name, worker.hello.address};
    m.joined = worker.at.job != s.job;
    m.moved_ms = now_ms_;
    worker.at = {s.job, s.generation};
    worker.place = i;
    s.workers.push_back(m.member.name);
    job.members.push_back(std::move(m));
  }
  out_.persist.push_back(StartOf(job));
  Changed(job);
  Log(LogLevel::kInfo, ToString(s.job) + " generation " + std::to_string(s.generation.value) +
                           ": " + Counted(std::ssize(workers), "worker"));
}

void CoordinatorCore::GiveShards(JobRecord& job, std::vector<std::vector<int32_t>> runs) {
  for (size_t i = 0; i < runs.size(); ++i) {
    MemberState& m = job.members[i];
    m.shards = std::move(runs[i]);
    m.shards_missing = m.shards.size();
    for (int32_t k : m.shards) {
      const spec::Shard& shard = job.submission.input->shards[static_cast<size_t>(k)];
      m.bytes += shard.end - shard.begin;
    }
  }
}

StartProfiling CoordinatorCore::ProfilingOrder(const JobRecord& job, Generation generation) const {
  const ScoringSubmission* scoring = job.submission.scoring();
  return {.incarnation = options_.incarnation,
          .job = job.snapshot.job,
          .generation = generation,
          .job_yaml = job.submission.job_yaml,
          .input = job.submission.input,
          .shards = {},
          .tokens = job.submission.tokens,
          .request_id = job.submission.client_request_id,
          .model_sha256 = scoring == nullptr ? "" : scoring->model_sha256};
}

void CoordinatorCore::SendProfile(const JobRecord& job, size_t member) {
  StartProfiling order = ProfilingOrder(job, job.snapshot.generation);
  order.shards = job.members[member].shards;
  Send(FindWorker(job.members[member].member.worker)->session, std::move(order));
}

void CoordinatorCore::SendTraining(const JobRecord& job, size_t member) {
  StartTraining order{.incarnation = options_.incarnation,
                      .job = job.snapshot.job,
                      .generation = job.snapshot.generation,
                      .members = {},
                      .profile = job.profile,
                      .leaves = job.leaves,
                      .reverts = job.reverts,
                      .submitted_ms = job.snapshot.submitted_ms};
  for (const MemberState& m : job.members) order.members.push_back(m.member);
  Send(FindWorker(job.members[member].member.worker)->session, std::move(order));
}

void CoordinatorCore::Fail(JobRecord& job, Status error) {
  EndJob(job, spec::JobState::kFailed, std::move(error), {});
}

void CoordinatorCore::EndJob(JobRecord& job, spec::JobState state, Status error,
                             spec::JobResult result) {
  spec::JobSnapshot& s = job.snapshot;
  ESPALIER_CHECK(!spec::IsFinal(s.state), ToString(s.job) + " ended twice");
  if (s.state == spec::JobState::kQueued) std::erase(queue_, s.job);
  s.state = state;
  queue_moved_ = true;
  s.waiting_because.clear();
  // The jobs that ended first are dropped first, even if the clock was set back.
  s.ended_ms = newest_end_ms_ = std::max(now_ms_, newest_end_ms_);
  s.error = error;
  s.result = std::move(result);
  out_.persist.push_back(JobEnded{Snapshot(job)});
  AnswerCancelling(job);
  SetConfusionAside(job);
  AbandonPlan(job, "the job ends");
  for (WorkerId id : std::exchange(job.departing, {})) {
    if (Worker* worker = FindWorker(id)) LetGo(*worker, job);
  }
  const std::string words = error.ok()
                                ? spec::JobStateName(state)
                                : std::string(spec::JobStateName(state)) + ": " + error.ToString();
  ReleaseMembers(job, words);
  if (Leaves(job)) {
    ClearAway(job);
  } else {
    CancelTokens(job);
  }
  ForgetWork(job);
  Changed(job);
  Log(error.ok() ? LogLevel::kInfo : LogLevel::kWarning, ToString(s.job) + " " + words);
  ForgetOldJobs();
}

void CoordinatorCore::ReleaseMembers(const JobRecord& job, const std::string& words) {
  const JobId id = job.snapshot.job;
  for (const MemberState& m : job.members) {
    Worker* worker = FindWorker(m.member.worker);
    if (worker == nullptr || worker->at.job != id) continue;
    worker->at = {};
    Send(worker->session, Release{options_.incarnation, id, {job.generations}, words});
    if (worker->leaving) Dismissed(*worker);
  }
}

// Returns whether the job may have written files next to its output.
bool CoordinatorCore::Leaves(const JobRecord& job) {
  const spec::JobSnapshot& s = job.snapshot;
  return !s.output.empty() && s.generation.value != 0;
}

// The removal of the job's files may need its tokens, and may be left to a later life.
void CoordinatorCore::ClearAway(JobRecord& job) {
  const spec::JobSnapshot& s = job.snapshot;
  job.tokens.Clear();
  out_.clear.push_back({.job = s.job,
                        .kind = s.kind,
                        .submitted_ms = s.submitted_ms,
                        .output = s.output,
                        .request_id = job.submission.client_request_id,
                        .tokens = job.submission.tokens,
                        .succeeded = s.state == spec::JobState::kSucceeded});
}

void CoordinatorCore::ForgetWork(JobRecord& job) {
  const int64_t bytes_done = job.profiled.bytes_done;
  job.submission.job_yaml.clear();
  job.submission.asked_yaml.clear();
  job.submission.input.reset();
  job.submission.packed_input.reset();
  job.plan_bytes = 0;
  ForgetProfile(job);
  job.profiled.bytes_done = bytes_done;
  job.profile.reset();
  job.finishing.reset();
  job.links.DropOpen();
  job.lost_on.clear();
  job.proceed.clear();
  job.recovery = {};
}

// Older results drop their matrices to make room for those of this one. model.json has them, too.
void CoordinatorCore::SetConfusionAside(JobRecord& job) {
  auto [validation, test] = Evaluated(job.snapshot);
  if (validation != nullptr) job.validation_confusion = std::exchange(validation->confusion, {});
  if (test != nullptr) job.test_confusion = std::exchange(test->confusion, {});
  const auto bytes_of = [](const JobRecord& j) {
    const size_t numbers = j.validation_confusion.size() + j.test_confusion.size();
    return static_cast<int64_t>(numbers * sizeof(double));
  };
  int64_t bytes = bytes_of(job);
  for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it) {
    JobRecord& other = it->second;
    if (&other == &job) continue;
    bytes += bytes_of(other);
    if (bytes <= options_.confusion_bytes_max) continue;
    std::exchange(other.validation_confusion, {});
    std::exchange(other.test_confusion, {});
  }
}

// Drops the jobs that ended longest ago. Jobs that are still to be cleared away have a separate
// count, because a later life clears only the jobs that it knows. REQUIRES: the caller does not use
// a job after it ended (with jobs_kept_max 0, its record is gone).
void CoordinatorCore::ForgetOldJobs() {
  std::vector<std::pair<int64_t, JobId>> over, clearing;  // ended jobs with the time of their end
  for (const auto& [id, job] : jobs_) {
    if (!spec::IsFinal(job.snapshot.state)) continue;
    (Leaves(job) && !job.cleared ? clearing : over).emplace_back(job.snapshot.ended_ms, id);
  }
  for (auto* jobs : {&over, &clearing}) {
    const int64_t many = static_cast<int64_t>(jobs->size()) - options_.jobs_kept_max;
    if (many <= 0) continue;
    std::partial_sort(jobs->begin(), jobs->begin() + many, jobs->end());
    for (int64_t i = 0; i < many; ++i) {
      const JobId id = (*jobs)[static_cast<size_t>(i)].second;
      out_.persist.push_back(JobForgotten{id});
      jobs_.erase(id);
    }
  }
}

}  // namespace espalier::cluster
