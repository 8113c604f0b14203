// `espalier yarn run`: a cluster in YARN containers for the duration of one job.
//
// The cluster ends by itself after its coordinator has had no job for a minute. A client that
// detaches or is killed therefore leaves nothing running forever. A client that stays ends the
// cluster at once, and removes its files on HDFS. Ctrl-C prompts on a terminal. Without a terminal
// it stops everything.
#include <poll.h>
#include <unistd.h>

#include "src/base/text.h"
#include "src/cli/clock.h"
#include "src/cli/commands.h"
#include "src/cli/coordinator_address.h"
#include "src/cli/exit_code.h"
#include "src/cli/follow.h"
#include "src/cli/job_file.h"
#include "src/cli/job_tokens.h"
#include "src/cli/json.h"
#include "src/cli/options_yarn.h"
#include "src/cli/yarn_cluster.h"
#include "src/cli/yarn_kept.h"
#include "src/storage/uri.h"

namespace espalier::cli {
namespace {

// YARN detects the loss of the coordinator's node after ten minutes.
constexpr int64_t kAwayLimitMs = 15 * 60'000;

enum class Wish { kStop, kDetach, kContinue };

// Prompts the user. Without a terminal, stops everything.
Wish Ask(const CommandContext& context) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return Wish::kStop;
  for (;;) {
    context.console.Err(
        "\ns: stop the job and end the cluster   d: leave both, the cluster ends after the job   "
        "c: continue to follow it   (Ctrl-C: as d, at once) ? ");
    char answer[64];
    const ssize_t n = read(STDIN_FILENO, answer, sizeof answer);
    if (n <= 0 || answer[0] == 's') return Wish::kStop;
    if (answer[0] == 'd') return Wish::kDetach;
    if (answer[0] == 'c') return Wish::kContinue;
  }
}

class YarnRun {
 public:
  YarnRun(const CommandContext& context, YarnCluster& cluster)
      : context_(context), cluster_(cluster), began_ms_(NowMs()) {}

  // Starts the cluster and submits the job. After an error nothing of either remains, except as
  // Start describes.
  Status Begin(const JobFile& file) {
    yarn::YarnRequest request = *ToYarnRequest(context_.options.yarn);
    request.ends_by_itself = true;
    ESPALIER_RETURN_IF_ERROR(cluster_.Start(request));
    Status status = cluster_.AwaitCoordinator(context_, name());
    if (status.ok()) status = Submit(file);
    submitted_ms_ = NowMs();
    if (!status.ok()) EndCluster();
    return status;
  }

  int FollowToEnd() {
    view_ = MakeProgressView(context_);
    FollowOptions options;
    options.connect = [this] { return ConnectTo(context_); };
    options.tick = [this](const spec::JobSnapshot*) { return Tick(); };
    options.submitted_here = true;
    options.away_limit_ms = kAwayLimitMs;
    const FollowEnd end = Follow(job_, *view_, options);
    if (detached_) return TellDetached();
    if (!end.status.ok() && stopped_ms_ == 0) {
      // The job may continue without this client.
      const int code = ShowError(context_, end.status, ExitCodeOf(end.status), job_);
      context_.console.Err("the cluster is left as it is. Look with `espalier yarn status " +
                           name() + "`, end it with `espalier yarn down " + name() + "`\n");
      return code;
    }
    const int code = end.status.ok() ? ShowOutcome(context_, end, submitted_ms_ - began_ms_)
                                     : ShowError(context_, end.status, kExitInterrupted, job_);
    EndCluster();
    return stopped_ms_ != 0 && code != kExitSuccess ? kExitInterrupted : code;
  }

  int TellDetached() const {
    const std::string watch =
        "espalier watch " + ToString(job_) + " --coordinator " + kYarnCoordinator + name();
    if (context_.options.json) {
      context_.console.LastOut(JsonLine({{"event", "detached"},
                                         {"job", ToString(job_)},
                                         {"service", name()},
                                         {"follow_with", watch + " --json"}}));
    } else {
      context_.console.LastOut(ToString(job_) +
                               " continues; its cluster ends by itself a minute after "
                               "it. Follow it again with\n  " +
                               watch + "\n");
      if (!context_.options.yarn.keytab.empty()) {
        context_.console.Out("The keytab stays on HDFS until `espalier yarn down " + name() +
                             "`\n");
      }
    }
    return kExitSuccess;
  }

 private:
  Status Submit(const JobFile& file) {
    ESPALIER_ASSIGN_OR_RETURN(const spec::StorageTokens tokens,
                              TokensFor(context_, PathsOf(file.spec)));
    ESPALIER_ASSIGN_OR_RETURN(job_, SubmitOnce(context_, file.yaml, tokens));
    return Status::Ok();
  }

  const std::string& name() const { return context_.options.yarn.name; }

  Status Tick() {
    if (stopped_ms_ != 0) {
      if (NowMs() - stopped_ms_ <= kCancelWaitMs) return {};
      return Cancelled("the job did not end within " + HumanDuration(kCancelWaitMs) +
                       " of being cancelled; its cluster is ended");
    }
    if (!context_.interrupts.any() && !context_.console.out_closed()) return {};
    view_->Pause();
    const Wish wish = context_.console.out_closed() ? Wish::kStop : Ask(context_);
    context_.interrupts.Forget();
    if (wish == Wish::kContinue) return {};
    context_.console.SetInterrupted([] { return true; });  // no reader delays the end
    if (wish == Wish::kDetach) {
      detached_ = true;
      return Cancelled("detached");
    }
    stopped_ms_ = NowMs();
    context_.console.Err("stopping the job and its cluster; Ctrl-C twice leaves at once\n");
    const auto client = ConnectTo(context_);
    // kFailedPrecondition: the job has just ended.
    const Status status = client.ok() ? (*client)->Cancel(job_) : client.status();
    if (!status.ok() && status.code() != StatusCode::kFailedPrecondition) {
      return status.Wrap("the job cannot be cancelled; its cluster is ended");
    }
    return {};
  }

  void EndCluster() {
    context_.interrupts.Forget();  // the requested end happens now
    const Result<bool> ended = cluster_.End(name());
    if (!ended.ok()) {
      context_.console.Err("the cluster could not be ended: " + ended.status().message() +
                           ". It ends by itself when it has had no job for a minute; `espalier "
                           "yarn down " +
                           name() + "` tries again\n");
    } else if (!context_.options.json) {
      context_.console.Out("the cluster " + name() + " has ended\n");
    }
  }

  const CommandContext& context_;
  YarnCluster& cluster_;
  const int64_t began_ms_;
  int64_t submitted_ms_ = 0, stopped_ms_ = 0;
  bool detached_ = false;
  JobId job_;
  std::unique_ptr<ProgressView> view_;
};

// Prints notes about local paths, which are rarely intended here.
void NoteLocalPaths(const CommandContext& context, const spec::JobSpec& spec) {
  std::vector<std::string> paths = spec.data.train;
  paths.push_back(spec.output.path);
  for (const std::string& path : paths) {
    const Result<storage::Uri> uri = storage::ParseUri(path);
    if (uri.ok() && uri->kind != storage::Uri::Kind::kLocal) continue;
    context.console.Err("note: " + QuotedPath(path) +
                        " is a path of each node's own: data must be there, and a bundle is "
                        "written on whichever node; hdfs://... is the same everywhere\n");
  }
}

}  // namespace

int RunYarnRun(const CommandContext& given) {
  const Result<JobFile> file = LoadJobFile(given.options.job_file, OverridesOf(given.options));
  if (!file.ok()) return ShowError(given, file.status(), kExitUsage);
  CommandContext context = given;
  YarnArguments& y = context.options.yarn;
  if (y.name.empty()) y.name = yarn::ToYarnName(file->spec.name);
  context.options.coordinator = kYarnCoordinator + y.name;
  context.options.tls = KeptOfYarn(context.env, y.name).Tls(y.name);
  auto cluster = YarnCluster::OpenToStart(context);
  if (!cluster.ok()) return ShowError(context, cluster.status(), ExitCodeOf(cluster.status()));
  NoteLocalPaths(context, file->spec);
  NoteSurprises(context, y.workers, file->spec);
  YarnRun run(context, *cluster);
  if (const Status begun = run.Begin(*file); !begun.ok()) {
    const bool interrupted = begun.code() == StatusCode::kCancelled;
    return ShowError(context, begun, interrupted ? kExitInterrupted : SubmitExitCode(begun));
  }
  return y.detach ? run.TellDetached() : run.FollowToEnd();
}

}  // namespace espalier::cli
