// CoordinatorCore: cancellation of a job whose root may be putting its model in place. The storage
// fences the job's writers and reports whether the model is there (FenceWork). Until the storage
// has answered, no member gets a new right to write the model.
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {

Status CoordinatorCore::HasEnded(const JobRecord& job) {
  const spec::JobSnapshot& s = job.snapshot;
  return FailedPrecondition(ToString(s.job) + " has already ended (" + spec::JobStateName(s.state) +
                            ")");
}

void CoordinatorCore::On(const OutputFenced& event) {
  JobRecord* job = FindJob(event.job);
  if (job == nullptr || !job->cancelling) return;  // it has ended in the meantime
  const spec::JobSnapshot& s = job->snapshot;
  const std::string at = Printable(s.output, 1024);
  std::string reason = job->cancelling->reason;
  if (!event.written.ok()) {
    reason += "; a worker may still write to " + at + ": " + event.written.status().ToString();
  } else if (*event.written) {
    const bool waits = s.state == spec::JobState::kQueued || job->recovery.since_ms != 0;
    if (!waits) return GoOnToTheEnd(*job, at);
    reason += "; its model was in " + at + " already";
  }
  EndJob(*job, spec::JobState::kCancelled, Cancelled(std::move(reason)), {});
}

// Lets the job continue to its end, which its members report.
void CoordinatorCore::GoOnToTheEnd(JobRecord& job, const std::string& output) {
  const Cancelling cancelling = *std::exchange(job.cancelling, std::nullopt);
  const Status late = FailedPrecondition(ToString(job.snapshot.job) +
                                         " can no longer be cancelled: its model is in " + output);
  for (const RequestId request : cancelling.requests) out_.reply.push_back({request, late});
  if (!cancelling.lost.empty()) return MemberLost(job, cancelling.lost);
  OrderPlanIfReady(job);
  if (job.recovery.since_ms == 0 && !job.outdated && job.proceed.empty()) ProceedIfReady(job);
}

void CoordinatorCore::CheckCancelling(JobRecord& job) {
  if (!job.cancelling || now_ms_ - job.cancelling->since_ms < options_.cancel_timeout_ms) return;
  On(OutputFenced{job.snapshot.job,
                  DeadlineExceeded("the storage did not answer for " +
                                   HumanDuration(now_ms_ - job.cancelling->since_ms))});
}

// Answers the clients that wanted to cancel this job, now that it has ended.
void CoordinatorCore::AnswerCancelling(JobRecord& job) {
  if (!job.cancelling) return;
  const spec::JobSnapshot& s = job.snapshot;
  for (const RequestId request : job.cancelling->requests) {
    Result<JobId> answer = s.job;
    if (s.state != spec::JobState::kCancelled) answer = HasEnded(job);
    out_.reply.push_back({request, std::move(answer)});
  }
  job.cancelling.reset();
}

}  // namespace espalier::cluster
