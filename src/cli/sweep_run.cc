#include "src/cli/sweep_run.h"

#include <chrono>
#include <thread>

#include "src/base/text.h"
#include "src/cli/clock.h"
#include "src/cli/follow.h"

namespace espalier::cli {
namespace {

constexpr auto kLook = std::chrono::milliseconds(100);

class Runner {
 public:
  Runner(const config::Sweep& sweep, const storage::FileSystem& files,
         const SweepRunOptions& options, std::vector<SweepOutcome>* outcomes)
      : sweep_(sweep), files_(files), options_(options), outcomes_(*outcomes) {}

  Status Run() {
    for (;;) {
      const Status status = options_.stopping() ? Status() : Step();
      if (!status.ok() || options_.stopping()) {
        options_.ending();
        Cancel();
        return status;
      }
      if (in_flight_.empty() && next_ == sweep_.runs.size()) return {};
      std::this_thread::sleep_for(kLook);
    }
  }

 private:
  Status Step() {
    ESPALIER_RETURN_IF_ERROR(options_.tick());
    ESPALIER_RETURN_IF_ERROR(Look());
    while (NowMs() >= full_until_ms_ &&
           static_cast<int64_t>(in_flight_.size()) < options_.parallel && !options_.stopping()) {
      while (next_ < sweep_.runs.size() && outcomes_[next_].state != SweepState::kWaiting) ++next_;
      if (next_ == sweep_.runs.size()) return {};
      const Status begun = Begin(next_);
      if (begun.code() == StatusCode::kResourceExhausted && MayWait()) return {};
      ESPALIER_RETURN_IF_ERROR(begun);
      full_since_ms_ = 0;
      ++next_;
    }
    return {};
  }

  // Waits if the coordinator is full, and returns whether to ask again. Without own jobs in flight,
  // it returns true only within the limit for an outage.
  bool MayWait() {
    if (full_since_ms_ == 0) full_since_ms_ = NowMs();
    full_until_ms_ = NowMs() + options_.full_wait_ms;
    return !in_flight_.empty() || NowMs() - full_since_ms_ < options_.away_limit_ms;
  }

  Status Begin(size_t index) {
    const config::SweepRun& run = sweep_.runs[index];
    Result<JobId> job = options_.submit(run);
    if (job.status().code() == StatusCode::kAlreadyExists) {
      const auto running = WhoWrites(BundleOf(sweep_, run));
      if (running.ok()) job = *running;
    }
    const StatusCode code = job.status().code();
    if (code == StatusCode::kInvalidArgument || code == StatusCode::kBadInput) {
      // The coordinator refuses the trial's values or data, so only that trial fails.
      outcomes_[index].state = SweepState::kFailed;
      outcomes_[index].error = job.status();
      options_.tell(run, outcomes_[index]);
      return {};
    }
    if (!job.ok()) return job.status().Wrap(run.name + " could not be submitted");
    in_flight_[index] = *job;
    outcomes_[index].state = SweepState::kRunning;
    outcomes_[index].job = ToString(*job);
    return {};
  }

  Result<JobId> WhoWrites(const std::string& output) {
    ESPALIER_ASSIGN_OR_RETURN(const auto client, options_.connect());
    ESPALIER_ASSIGN_OR_RETURN(const auto jobs, client->List());
    for (const spec::JobSnapshot& job : jobs) {
      if (!spec::IsFinal(job.state) && job.output == output) return job.job;
    }
    return NotFound("no job writes there");
  }

  // Removes ended jobs from those in flight.
  Status Look() {
    if (in_flight_.empty()) return {};
    const auto jobs = Jobs();
    if (!jobs.ok()) {
      const bool away = MayComeBack(jobs.status());
      if (away_since_ms_ == 0) away_since_ms_ = NowMs();
      if (away && NowMs() - away_since_ms_ < options_.away_limit_ms) return {};
      return jobs.status();
    }
    away_since_ms_ = 0;
    Status checked;
    for (auto at = in_flight_.begin(); at != in_flight_.end();) {
      const auto found = jobs->find(at->second);
      if (found != jobs->end() && !spec::IsFinal(found->second.state)) {
        ++at;
        continue;
      }
      const Status run = End(at->first, found == jobs->end() ? nullptr : &found->second);
      if (!run.ok()) checked = run;
      at = in_flight_.erase(at);
      full_until_ms_ = 0;
    }
    return cancelling_ ? Status() : checked;
  }

  Result<std::map<JobId, spec::JobSnapshot>> Jobs() {
    ESPALIER_ASSIGN_OR_RETURN(const auto client, options_.connect());
    ESPALIER_ASSIGN_OR_RETURN(auto list, client->List());
    std::map<JobId, spec::JobSnapshot> jobs;
    for (spec::JobSnapshot& job : list) jobs.emplace(job.job, std::move(job));
    return jobs;
  }

  // Handles the end of a run. Returns the error of `check`.
  Status End(size_t index, const spec::JobSnapshot* job) {
    const config::SweepRun& run = sweep_.runs[index];
    SweepOutcome& outcome = outcomes_[index];
    const bool cancelled =
        cancelling_ && (job == nullptr || job->state == spec::JobState::kCancelled);
    if (cancelled) {
      outcome = {};
      return {};
    }
    outcome.state = SweepState::kFailed;
    Status checked;
    if (job != nullptr && job->state != spec::JobState::kSucceeded) {
      outcome.error = job->error.ok() ? Internal("its coordinator does not say why") : job->error;
    } else {
      checked = TakeBundle(run, job == nullptr, &outcome);
    }
    options_.tell(run, outcome);
    return checked;
  }

  // Reads the result of a run, including that of a job that the coordinator no longer knows.
  Status TakeBundle(const config::SweepRun& run, bool forgotten, SweepOutcome* outcome) {
    const auto finished = ReadFinished(files_, sweep_, run);
    if (!finished.ok()) {
      outcome->error = finished.status();
    } else if (*finished) {
      outcome->error = options_.check(run, **finished);
      if (!outcome->error.ok()) return outcome->error;
      outcome->state = SweepState::kDone;
      outcome->value = (*finished)->value;
      outcome->best_epoch = (*finished)->best_epoch;
    } else if (forgotten) {
      outcome->error = Aborted(outcome->job +
                               " was lost: the coordinator was restarted and keeps no "
                               "jobs");
    } else {
      outcome->error = NotFound("its bundle is not to be found from here at " +
                                QuotedPath(BundleOf(sweep_, run)));
    }
    return {};
  }

  // Cancels the jobs in flight and waits for their end, for a limited time.
  void Cancel() {
    cancelling_ = true;
    if (const auto client = options_.connect(); client.ok()) {
      for (const auto& [index, job] : in_flight_) {
        const Status ended = (*client)->Cancel(job);  // fails if the job has just ended
        if (ended.code() == StatusCode::kUnavailable) break;
      }
    }
    const int64_t until_ms = NowMs() + options_.cancel_wait_ms;
    while (!in_flight_.empty() && NowMs() < until_ms && Look().ok()) {
      std::this_thread::sleep_for(kLook);
    }
  }

  const config::Sweep& sweep_;
  const storage::FileSystem& files_;
  const SweepRunOptions& options_;
  std::vector<SweepOutcome>& outcomes_;
  std::map<size_t, JobId> in_flight_;  // by run
  size_t next_ = 0;                    // no earlier run is waiting
  int64_t away_since_ms_ = 0;
  bool cancelling_ = false;
  // Time since which the cluster is full, and time of the next attempt (at once when a job of this
  // sweep has ended).
  int64_t full_since_ms_ = 0, full_until_ms_ = 0;
};

}  // namespace

Status RunSweepJobs(const config::Sweep& sweep, const storage::FileSystem& files,
                    const SweepRunOptions& options, std::vector<SweepOutcome>* outcomes) {
  return Runner(sweep, files, options, outcomes).Run();
}

}  // namespace espalier::cli
