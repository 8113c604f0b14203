#include "tests/sim/client.h"

#include <algorithm>
#include <utility>

#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

// Parts of the errors by which a job may end after too many faults.
constexpr const char* kLimits[] = {
    "times without a step between them",
    "no others came within",
    "times while it merged",
};

// Compares the history with that of the undisturbed run. Returns what is wrong, or an empty text.
std::string CompareHistory(const std::vector<spec::HistoryRow>& told,
                           const std::vector<spec::HistoryRow>& right) {
  for (size_t i = 0; i < std::min(told.size(), right.size()); ++i) {
    if (told[i].step == right[i].step && told[i].train.loss == right[i].train.loss) {
      continue;
    }
    return "evaluation " + std::to_string(i) + " of its history is of step " +
           std::to_string(told[i].step) + " instead of " + std::to_string(right[i].step);
  }
  if (told.size() == right.size()) return {};
  return "its history has " + std::to_string(told.size()) + " evaluations instead of " +
         std::to_string(right.size());
}

}  // namespace

void Client::Submit(int kind, int64_t workers_min, int64_t workers_max, bool replaces) {
  ToyJob& toy = ToyJob::Of(kind);
  Job job;
  job.kind = kind;
  const std::string number = std::to_string(jobs_.size() + 1);
  job.submission.client_request_id = "request " + number;
  job.submission.output = "/out/" + number;
  if (replaces && !jobs_.empty()) job.submission.output = jobs_.back().submission.output;
  job.submission.job_yaml =
      "toy " + std::to_string(kind) + " " + number + " " + job.submission.output;
  job.submission.workers_min = workers_min;
  job.submission.workers_max = workers_max;
  job.submission.leaves = toy.leaves();
  job.submission.input = toy.input();
  jobs_.push_back(std::move(job));
  Poll();
}

// The coordinator refuses new jobs while its disk is full. Poll then submits the job again.
void Client::Replied(const cluster::Reply& reply) {
  const Request& request = requests_.at(reply.request);
  Job& job = jobs_[request.job];
  if (request.cancels) return CancelReplied(job, reply);
  if (reply.result.ok()) job.acknowledged = true;
}

void Client::CancelOne() {
  SimCoordinator* coordinator = world_.coordinator();
  if (!coordinator->alive() || coordinator->paused()) return;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    Job& job = jobs_[i];
    if (job.ended || !job.id || job.cancel_asked) continue;
    job.cancel_asked = true;
    world_.fired(Fault::kJobCancelled);
    const cluster::RequestId request{requests_.size() + 1};
    requests_[request] = {i, true};
    return coordinator->Feed(cluster::CancelJob{request, job.id, "cancelled by a client"});
  }
}

void Client::CancelReplied(Job& job, const cluster::Reply& reply) {
  const auto snapshot = world_.coordinator()->core().Job(job.id);
  if (!reply.result.ok() || !snapshot) {
    world_.fired(Fault::kCancelledLate);
    return;
  }
  // With any other message, a worker may still write the output.
  if (snapshot->error.message() == "cancelled by a client") {
    world_.checks.CancelledFor(job.id, job.submission.output);
  }
}

bool Client::HasEnded(const std::string& job_yaml) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& job) {
    return job.ended && job.submission.job_yaml == job_yaml;
  });
}

void Client::Poll() {
  SimCoordinator* coordinator = world_.coordinator();
  for (size_t i = 0; i < jobs_.size(); ++i) {
    Job& job = jobs_[i];
    if (job.ended || !coordinator->alive() || coordinator->paused()) continue;
    const auto id = coordinator->core().FindSubmission(job.submission.client_request_id);
    if (id && world_.journal.jobs.contains(*id)) {
      Learn(job, coordinator->core(), *id);
    } else if (job.acknowledged) {
      world_.checks.Fail("an acknowledged job was forgotten: " + job.submission.job_yaml);
    } else if (!id) {
      const cluster::RequestId request{requests_.size() + 1};
      requests_[request] = {i, false};
      coordinator->Feed(espalier::cluster::Submit{request, job.submission});
    }
  }
}

void Client::Learn(Job& job, const cluster::CoordinatorCore& core, JobId id) {
  const spec::JobSnapshot snapshot = *core.Job(id);
  job.state = snapshot.state;
  job.id = snapshot.job;
  job.submitted_ms = snapshot.submitted_ms;
  job.started_ms = snapshot.started_ms;
  job.waiting = snapshot.waiting_because;
  job.ended = spec::IsFinal(snapshot.state) && world_.journal.HasEnded(snapshot.job);
  if (!job.ended) return;
  if (snapshot.state == spec::JobState::kSucceeded) {
    const ToyJob& toy = ToyJob::Of(job.kind);
    const SimBundle* written = world_.outputs.Find(job.submission.output);
    if (!lied_to_.contains(id)) job.wrong = CompareHistory(core.History(id, 0), toy.history());
    if (snapshot.trained()->weights_sha256 != toy.weights_hash() || written == nullptr) {
      job.wrong = "succeeded with other weights, or without a bundle";
    }
    return;
  }
  if (snapshot.state == spec::JobState::kCancelled && job.cancel_asked) return;
  if (lied_to_.contains(id)) return;
  const std::string why = snapshot.error.ToString();
  job.by_a_limit = std::any_of(std::begin(kLimits), std::end(kLimits), [&](const char* limit) {
    return why.find(limit) != std::string::npos;
  });
  if (!job.by_a_limit) job.wrong = why;
}

int64_t Client::open() const {
  return std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return !job.ended; });
}

std::optional<int64_t> Client::WaitedMs(size_t i) const {
  if (jobs_[i].started_ms == 0) return std::nullopt;
  return jobs_[i].started_ms - jobs_[i].submitted_ms;
}

int64_t Client::ended_by_a_limit() const {
  return std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.by_a_limit; });
}

std::string Client::Verdict() const {
  for (const Job& job : jobs_) {
    const std::string name = job.submission.client_request_id;
    if (!job.ended) {
      return name + " is still " + spec::JobStateName(job.state) + " long after all healed " +
             job.waiting;
    }
    if (!job.wrong.empty()) return name + ": " + job.wrong;
  }
  std::map<std::string, const Job*> newest;  // newest successful job by output
  for (const Job& job : jobs_) {
    if (job.state != spec::JobState::kSucceeded) continue;
    const Job*& last = newest[job.submission.output];
    if (last == nullptr || last->id < job.id) last = &job;
  }
  for (const auto& [output, job] : newest) {
    const SimBundle* there = world_.outputs.Find(output);
    if (there == nullptr || there->job < job->id) {
      return output + " does not hold the model of " + ToString(job->id);
    }
  }
  return {};
}

}  // namespace espalier::sim
