// The commands that use a running cluster: submit, watch, list, status, cancel, drain, workers.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/coordinator_address.h"
#include "src/cli/exit_code.h"
#include "src/cli/follow.h"
#include "src/cli/job_file.h"
#include "src/cli/job_tokens.h"
#include "src/cli/json_view.h"
#include "src/cli/request_id.h"
#include "src/cli/result_view.h"

namespace espalier::cli {
namespace {

// Returns milliseconds since 1970, the clock of the times in a JobSnapshot.
int64_t WallClockMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int ShowEnd(const CommandContext& context, const Status& error) {
  const bool interrupted = error.code() == StatusCode::kCancelled && context.interrupts.any();
  return ShowError(context, error, interrupted ? kExitInterrupted : ExitCodeOf(error));
}

// Returns the command to watch the job again. It includes the coordinator unless it is the default.
std::string WatchCommand(const CommandContext& context, JobId job) {
  std::string command = "espalier watch " + ToString(job);
  const std::string& where = context.options.coordinator;
  const std::string usual =
      context.env.coordinator.empty() ? kDefaultCoordinator : context.env.coordinator;
  return where == usual ? command : command + " --coordinator " + where;
}

// Reports to readers of JSON that the last line is not the job's outcome.
void TellDetached(const CommandContext& context, JobId job) {
  if (!context.options.json) return;
  context.console.LastOut(JsonLine({{"event", "detached"},
                                    {"job", ToString(job)},
                                    {"follow_with", WatchCommand(context, job) + " --json"}}));
}

// Follows until the job ends or the user stops.
int FollowJob(const CommandContext& context, JobId job, bool submitted_here) {
  const auto view = MakeProgressView(context);
  FollowOptions options;
  options.connect = [&context] { return ConnectTo(context); };
  options.tick = [&context](const spec::JobSnapshot*) {
    const bool enough = context.interrupts.any() || context.console.out_closed();
    return enough ? Cancelled("detached") : Status::Ok();
  };
  options.away_limit_ms = context.options.timeout_ms.value_or(options.away_limit_ms);
  options.reach_limit_ms = context.options.timeout_ms.value_or(0);
  options.submitted_here = submitted_here;
  const FollowEnd end = Follow(job, *view, options);
  if (end.status.ok()) return ShowOutcome(context, end, 0);
  if (!context.interrupts.any() && !context.console.out_closed()) {
    return ShowError(context, end.status, ExitCodeOf(end.status), job);
  }
  if (!end.last && !submitted_here) {
    return ShowError(
        context, Cancelled("interrupted; no coordinator was reached that knows " + ToString(job)),
        kExitInterrupted, job);
  }
  TellDetached(context, job);
  if (end.away_ms > 0) {
    context.console.Err("detached, but the coordinator at " + context.options.coordinator +
                        " has been unreachable for " + HumanDuration(end.away_ms) + ": whether " +
                        ToString(job) + " continues is unknown. Try again with\n  " +
                        WatchCommand(context, job) + "\n");
    return kExitUnreachable;
  }
  context.console.Err("detached; " + ToString(job) + " continues. Follow it again with\n  " +
                      WatchCommand(context, job) + "\n");
  return kExitSuccess;
}

// Withdraws a submission after the user has stopped waiting. It then has no effect.
Status GiveUp(const Result<std::unique_ptr<rpc::ApiClient>>& client, const std::string& id,
              const Status& why) {
  const Status withdrawn = client.ok() ? (*client)->Withdraw(id) : client.status();
  if (withdrawn.code() == StatusCode::kFailedPrecondition) {  // its job has already ended
    return Status(why.code(), why.message() + "; " + withdrawn.message());
  }
  return Status(why.code(),
                why.message() + (withdrawn.ok() ? "; the submission is withdrawn"
                                                : "; whether the job was accepted is not known, "
                                                  "`espalier list` shows it"));
}

Result<std::vector<spec::WorkerSnapshot>> Workers(const CommandContext& context) {
  return Ask<std::vector<spec::WorkerSnapshot>>(
      context, [](rpc::ApiClient& client) { return client.Workers(); });
}

}  // namespace

Result<JobId> SubmitOnce(const CommandContext& context, const std::string& yaml,
                         const spec::StorageTokens& tokens) {
  const std::string id = RandomRequestId();
  const auto stop = [&context] { return context.interrupts.any(); };
  std::optional<AskingAgain> again;
  if (context.options.timeout_ms) again.emplace(context);
  for (bool asked = false;;) {
    const auto client = ConnectTo(context);
    bool known = true;
    const Result<JobId> job =
        client.ok()
            ? (*client)->Submit({.client_request_id = id, .job_yaml = yaml, .tokens = tokens},
                                &known, stop)
            : Result<JobId>(client.status());
    if (job.ok()) return job;
    const StatusCode code = job.status().code();
    if (known && !(again && code == StatusCode::kUnavailable)) return job;
    if (!known && (code == StatusCode::kDeadlineExceeded || code == StatusCode::kCancelled)) {
      return GiveUp(client, id, job.status());
    }
    if (!known && !std::exchange(asked, true)) {
      context.console.Err(
          "the connection to the coordinator ended before it answered; asking again\n");
      again.emplace(context, context.options.timeout_ms.value_or(kSubmitAgainMs));
    }
    const Status why = Unavailable(job.status().message());
    if (again->Wait(why)) continue;
    return asked ? GiveUp(client, id, again->Explain(why)) : again->Explain(job.status());
  }
}

Result<spec::StorageTokens> TokensFor(const CommandContext& context,
                                      const std::vector<std::string>& paths) {
  ESPALIER_ASSIGN_OR_RETURN(
      JobTokens job, FetchJobTokens(paths, context.storage, [&]() -> Result<std::string> {
        return Ask<std::string>(context, [](rpc::ApiClient& client) { return client.Renewer(); });
      }));
  for (const std::string& note : job.notes) context.console.Note(note);
  if (job.tokens.empty()) return job.tokens;
  ESPALIER_ASSIGN_OR_RETURN(const bool safe, IsPrivate(context));
  if (safe) return job.tokens;
  return FailedPrecondition("a delegation token of " + job.tokens[0].file_system +
                            " would travel unencrypted to the coordinator at " +
                            context.options.coordinator +
                            ". Use TLS (--tls-ca, --tls-certificate, --tls-key), or submit without "
                            "a Kerberos ticket when the daemons have a keytab");
}

int RunSubmit(const CommandContext& context) {
  const std::string& path = context.options.job_file;
  const Result<spec::JobKind> kind = KindOfJobFile(path);
  if (!kind.ok()) return ShowError(context, kind.status(), kExitUsage);
  if (*kind != spec::JobKind::kTrain) {
    const Result<ScoringFile> file = LoadScoringFile(path, OverridesOf(context.options));
    if (!file.ok()) return ShowError(context, file.status(), kExitUsage);
    return SubmitAndFollow(context, file->yaml, PathsOf(file->spec));
  }
  Result<JobFile> file = LoadJobFile(path, OverridesOf(context.options));
  if (!file.ok()) return ShowError(context, file.status(), kExitUsage);
  NoteSurprises(context, file->spec.workers.max, file->spec);
  return SubmitAndFollow(context, file->yaml, PathsOf(file->spec));
}

int SubmitAndFollow(const CommandContext& context, const std::string& yaml,
                    const std::vector<std::string>& paths) {
  const Result<spec::StorageTokens> tokens = TokensFor(context, paths);
  if (!tokens.ok()) {
    const bool interrupted = context.interrupts.any();
    return ShowError(context, tokens.status(),
                     interrupted ? kExitInterrupted : SubmitExitCode(tokens.status()));
  }
  const Result<JobId> job = SubmitOnce(context, yaml, *tokens);
  if (!job.ok()) {
    const bool interrupted = context.interrupts.any();
    return ShowError(context, job.status(),
                     interrupted ? kExitInterrupted : SubmitExitCode(job.status()));
  }
  if (context.options.json) {
    context.console.Out(JsonLine({{"event", "submitted"}, {"job", ToString(*job)}}));
  } else {
    context.console.Out(ToString(*job) + "\n");
  }
  if (!context.options.detach) return FollowJob(context, *job, true);
  if (!context.options.json) {
    context.console.Err("follow it with `" + WatchCommand(context, *job) + "`\n");
  }
  return kExitSuccess;
}

int RunWatch(const CommandContext& context) {
  return FollowJob(context, context.options.job, false);
}

int RunList(const CommandContext& context) {
  const auto jobs = Ask<std::vector<spec::JobSnapshot>>(
      context, [](rpc::ApiClient& client) { return client.List(); });
  if (!jobs.ok()) return ShowEnd(context, jobs.status());
  if (context.options.json) {
    Json list = Json::array();
    for (const spec::JobSnapshot& job : *jobs) list.push_back(JobJson(job));
    context.console.Out(JsonLine({{"jobs", std::move(list)}}));
  } else {
    context.console.Out(JobTable(*jobs, WallClockMs()));
  }
  return kExitSuccess;
}

int RunStatus(const CommandContext& context) {
  const Result<spec::JobUpdate> job = Ask<spec::JobUpdate>(
      context, [&context](rpc::ApiClient& client) { return client.Get(context.options.job); });
  if (!job.ok()) return ShowEnd(context, job.status());
  if (context.options.json) {
    context.console.Out(JsonLine(JobJson(job->snapshot)));
  } else {
    context.console.Out(StatusText(job->snapshot, WallClockMs(), context.console.out_color()));
    const std::string evaluations =
        LastEvaluations(*job, WatchCommand(context, context.options.job) + " --json");
    if (!evaluations.empty()) context.console.Out("\nnewest evaluations\n" + evaluations);
  }
  return kExitSuccess;
}

int RunCancel(const CommandContext& context) {
  const Result<JobId> cancelled = Ask<JobId>(context, [&context](rpc::ApiClient& client) {
    const Status status = client.Cancel(context.options.job, context.options.keep_model);
    return status.ok() ? Result<JobId>(context.options.job) : Result<JobId>(status);
  });
  if (!cancelled.ok()) return ShowEnd(context, cancelled.status());
  const std::string job = ToString(context.options.job);
  if (context.options.json) {
    context.console.Out(JsonLine({{"job", job}, {"cancelled", true}}));
  } else {
    context.console.Out(context.options.keep_model
                            ? job +
                                  " will stop after its next step and save its weights (it is "
                                  "cancelled if nothing was evaluated yet); `espalier watch " +
                                  job + "` shows the end\n"
                            : job + " is cancelled\n");
  }
  return kExitSuccess;
}

int RunDrain(const CommandContext& context) {
  const auto workers = Workers(context);
  if (!workers.ok()) return ShowEnd(context, workers.status());
  const std::string& wanted = context.options.worker;
  const auto found = std::find_if(workers->begin(), workers->end(), [&](const auto& w) {
    return w.name == wanted || ToString(w.worker) == wanted;
  });
  if (found == workers->end()) {
    return ShowEnd(context, NotFound("no worker '" + Printable(wanted) +
                                     "' is attached now; `espalier workers` shows the names and "
                                     "ids of those that are"));
  }
  const auto drained = Ask<WorkerId>(context, [found](rpc::ApiClient& client) {
    const Status status = client.Drain(found->worker);
    return status.ok() ? Result<WorkerId>(found->worker) : Result<WorkerId>(status);
  });
  if (!drained.ok()) return ShowEnd(context, drained.status());
  const std::string worker = ToString(found->worker), job = ToString(found->job);
  if (context.options.json) {
    context.console.Out(JsonLine({{"worker", worker}, {"drained", true}}));
  } else {
    context.console.Out("worker " + Printable(found->name, 60) + " (" + worker + ") " +
                        (found->job ? "will leave after other workers have taken its part of " +
                                          job + ", or " + job + " has ended\n"
                                    : "is free and leaves now\n"));
  }
  return kExitSuccess;
}

int RunWorkers(const CommandContext& context) {
  const auto workers = Workers(context);
  if (!workers.ok()) return ShowEnd(context, workers.status());
  if (context.options.json) {
    Json list = Json::array();
    for (const spec::WorkerSnapshot& worker : *workers) list.push_back(WorkerJson(worker));
    context.console.Out(JsonLine({{"workers", std::move(list)}}));
  } else {
    context.console.Out(WorkerTable(*workers));
  }
  return kExitSuccess;
}

}  // namespace espalier::cli
