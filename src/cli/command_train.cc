// `espalier train`: a cluster on this machine for the duration of one job.
//
// It checks the job, its files and its output before any process starts. Then it starts the
// daemons, submits and follows the job, shows the outcome, and removes everything. The first Ctrl-C
// ends the job with its current weights if it has had an evaluation, or otherwise cancels it. The
// second one kills the workers (Interrupts), and the coordinator removes what they have written.

#include "src/base/text.h"
#include "src/bundle/checkpoint_store.h"
#include "src/cli/clock.h"
#include "src/cli/commands.h"
#include "src/cli/exit_code.h"
#include "src/cli/follow.h"
#include "src/cli/job_file.h"
#include "src/cli/local_start.h"
#include "src/cli/request_id.h"
#include "src/spec/names.h"

namespace espalier::cli {
namespace {

constexpr int64_t kEarlyEndWaitMs = 5 * 60 * 1000;

// One run. RunTrain calls its parts in order.
class TrainRun {
 public:
  TrainRun(const CommandContext& context, LocalCluster& cluster, int workers)
      : context_(context), cluster_(cluster), workers_(workers), began_ms_(NowMs()) {}

  Status Submit(const std::string& yaml) {
    ESPALIER_RETURN_IF_ERROR(cluster_.Start([this] { return Stopping(); }));
    ESPALIER_ASSIGN_OR_RETURN(client_, rpc::ApiClient::Make(cluster_.address()));
    ESPALIER_RETURN_IF_ERROR(AwaitAll());
    ESPALIER_ASSIGN_OR_RETURN(
        job_, client_->Submit({.client_request_id = RandomRequestId(), .job_yaml = yaml}, nullptr,
                              [this] { return Stopping(); }));
    submitted_ms_ = NowMs();
    return Status::Ok();
  }

  FollowEnd FollowToEnd() {
    view_ = MakeProgressView(context_);
    FollowOptions options;
    options.connect = [this] { return rpc::ApiClient::Make(cluster_.address()); };
    options.tick = [this](const spec::JobSnapshot* job) { return Tick(job); };
    options.submitted_here = true;
    options.away_limit_ms = 5'000;  // an unreachable local coordinator is dead
    return Follow(*job_, *view_, options);
  }

  // Prints on standard error which daemons have died since the last call, and how.
  void TellDeaths() {
    for (const DaemonDeath& death : cluster_.TakeDeaths()) {
      if (view_) view_->Pause();
      context_.console.Err(death.text);
      if (first_death_.empty()) first_death_ = death.name;
      coordinator_died_ |= death.coordinator;
      workers_died_ += !death.coordinator;
    }
  }

  bool Stopping() const { return context_.interrupts.any() || context_.console.out_closed(); }
  std::optional<JobId> job() const { return job_; }
  int64_t client_start_ms() const { return submitted_ms_ - began_ms_; }

 private:
  Status Tick(const spec::JobSnapshot* job) {
    if (Stopping() && cancelled_ms_ == 0) {
      ends_early_ = context_.interrupts.any() && !context_.interrupts.orphaned();
      view_->Pause();
      context_.console.Err(ends_early_ ? "Stopping after this step. The weights so far will be "
                                         "saved if an evaluation has run. Press Ctrl-C again to "
                                         "stop immediately without saving.\n"
                           : context_.console.out_lost() ? "stopping the job\n"
                           : context_.interrupts.any()
                               ? "the process that started this one has ended; stopping "
                                 "the job\n"
                               : "the output is closed; stopping the job\n");
      CancelJob();
    }
    // The last evaluations of an early end may take longer than the end of a cancelled job.
    const int64_t waited_ms = cancelled_ms_ == 0 ? 0 : NowMs() - cancelled_ms_;
    const bool trains = job != nullptr && job->state == spec::JobState::kTraining;
    if (ends_early_ && waited_ms > (trains ? kEarlyEndWaitMs : kCancelWaitMs)) {
      ends_early_ = false;
      context_.console.Err("the job does not end with its weights; cancelling it\n");
      CancelJob();
    } else if (waited_ms > kCancelWaitMs && !ends_early_) {
      return Cancelled("the job did not end within " + HumanDuration(kCancelWaitMs) +
                       " of being cancelled");
    }
    TellDeaths();
    if (coordinator_died_) return Aborted("the coordinator died; the job is lost");
    const bool queued = job == nullptr || job->state == spec::JobState::kQueued;
    if (queued && workers_died_ == workers_) return Aborted("all workers died");
    return Status::Ok();
  }

  // Cancels the job. kFailedPrecondition: the job has just ended. Its end or the time limit ends
  // the run.
  void CancelJob() {
    cancelled_ms_ = NowMs();
    const Status status = client_->Cancel(*job_, ends_early_);
    if (status.ok() || status.code() == StatusCode::kFailedPrecondition) return;
    context_.console.Err(status.ToString() + "\n");
  }

  // Waits for all workers. The job starts with all of them, and may continue with fewer.
  Status AwaitAll() {
    return AwaitWorkers(*client_, workers_, [this] {
      TellDeaths();
      if (coordinator_died_) return Aborted("the coordinator died before the job could start");
      if (!first_death_.empty()) return Aborted(first_death_ + " died before the job could start");
      return Stopping() ? Cancelled("stopped before the job could start") : Status();
    });
  }

  const CommandContext& context_;
  LocalCluster& cluster_;
  const int workers_;
  const int64_t began_ms_;
  int64_t submitted_ms_ = 0, cancelled_ms_ = 0;
  bool ends_early_ = false;  // the weights will be kept
  std::unique_ptr<rpc::ApiClient> client_;
  std::optional<JobId> job_;
  std::unique_ptr<ProgressView> view_;
  std::string first_death_;
  int workers_died_ = 0;
  bool coordinator_died_ = false;
};

// Runs the job on the cluster and shows its end. `completed`: the job with the keys of its preset.
int RunOn(const CommandContext& context, LocalCluster& cluster, int workers,
          const std::string& yaml, const spec::JobSpec& completed) {
  TrainRun run(context, cluster, workers);
  Status status = run.Submit(yaml);
  if (!status.ok()) {
    run.TellDeaths();
    const int code = run.Stopping() ? kExitInterrupted : SubmitExitCode(status);
    // The coordinator belongs to this run, so failing to reach it is a failure of the run.
    return ShowError(context, status, code == kExitUnreachable ? kExitJobFailed : code);
  }
  const FollowEnd end = run.FollowToEnd();
  if (!end.status.ok() || end.last->state != spec::JobState::kSucceeded) run.TellDeaths();
  if (end.status.ok()) {
    const int code = ShowOutcome(context, end, run.client_start_ms(), &completed);
    return run.Stopping() ? kExitInterrupted : code;
  }
  return ShowError(context, end.status, run.Stopping() ? kExitInterrupted : kExitJobFailed,
                   run.job());
}

void TellPreset(const CommandContext& context, const data::JobCompletion::Completed& completed) {
  const spec::JobSpec& job = completed.job;
  if (job.preset == spec::Preset::kNone || context.options.json) return;
  context.console.Out("preset " + std::string(spec::NameOf(job.preset)) + ": " +
                      spec::NameOf(job.model.task) +
                      (completed.task_why.empty() ? "" : " (" + completed.task_why + ")") +
                      (job.train.ensemble.fits > 1
                           ? ", " + std::to_string(job.train.ensemble.fits) + " fits averaged"
                           : "") +
                      "; `espalier check` shows all choices\n");
}

}  // namespace

int RunTrain(const CommandContext& context) {
  const CliOptions& options = context.options;
  const Result<JobFile> file = LoadJobFile(options.job_file, OverridesOf(options));
  if (!file.ok()) return ShowError(context, file.status(), kExitUsage);
  const Result<int> workers = LocalWorkers(options, file->spec.workers);
  if (!workers.ok()) return ShowError(context, workers.status(), kExitUsage);
  const Status output = CheckOutputHere(context.files, file->spec.output);
  if (!output.ok()) return ShowError(context, output, PlanExitCode(output));
  const auto completed = CompleteLocally(context.files, *file);
  if (!completed.ok()) {
    return ShowError(context, completed.status(), PlanExitCode(completed.status()));
  }
  const Status beginning = bundle::CheckBeginning(context.files, completed->job);
  if (!beginning.ok()) return ShowError(context, beginning, PlanExitCode(beginning));
  const Result<JobFile> job = Override(*file, {.workers = *workers});
  if (!job.ok()) return ShowError(context, job.status(), kExitUsage);
  const Result<LocalClusterOptions> chosen = LocalOptions(context, *workers);
  if (!chosen.ok()) return ShowError(context, chosen.status(), kExitJobFailed);
  LocalCluster cluster(*chosen);
  if (const Status found = cluster.CheckPrograms(); !found.ok()) {
    return ShowError(context, found, kExitUsage);
  }
  NoteSurprises(context, *workers, completed->job);
  TellPreset(context, *completed);
  TellStart(context, *chosen);
  context.interrupts.SetEmergency([&cluster] { cluster.KillAtOnce(); });
  const int code = RunOn(context, cluster, *workers, job->yaml, completed->job);
  cluster.Stop(code == kExitSuccess ? LocalCluster::kStopWaitMs : LocalCluster::kFailedStopWaitMs);
  context.interrupts.SetEmergency({});
  return code;
}

}  // namespace espalier::cli
