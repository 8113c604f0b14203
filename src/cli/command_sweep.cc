// `espalier sweep`: a sweep's jobs on a cluster, or on a temporary one on this machine.
//
// Order of steps:
// 1. Read the sweep. Create and validate each trial's job.
// 2. Find the finished jobs and check that their table has not changed.
// 3. Start or find the cluster.
// 4. Run the other jobs. If requested, run one more on all rows with the values of the best trial.
// 5. Show and store the table.
//
// The first Ctrl-C cancels the jobs in flight and waits for their end. Finished jobs are not
// repeated.
#include <algorithm>
#include <filesystem>
#include <set>

#include "src/base/text.h"
#include "src/bundle/checkpoint_store.h"
#include "src/bundle/json.h"
#include "src/cli/commands.h"
#include "src/cli/coordinator_address.h"
#include "src/cli/exit_code.h"
#include "src/cli/format.h"
#include "src/cli/job_file.h"
#include "src/cli/job_tokens.h"
#include "src/cli/json.h"
#include "src/cli/local_start.h"
#include "src/cli/request_id.h"
#include "src/cli/sweep_input.h"
#include "src/cli/sweep_results.h"
#include "src/cli/sweep_run.h"

namespace espalier::cli {
namespace {

// The table, for people and machines, below the sweep's output.
constexpr const char* kResultsFile = "sweep.json";
constexpr int64_t kResultsBytesMax = int64_t{256} << 20;

// One call of the command. RunSweep calls its parts in order.
class SweepCommand {
 public:
  SweepCommand(const CommandContext& context, config::Sweep sweep)
      : context_(context), sweep_(std::move(sweep)), outcomes_(sweep_.runs.size()) {}

  const config::Sweep& sweep() const { return sweep_; }

  Status LookForFinished() {
    before_ = KeptListings();
    for (size_t i = 0; i < sweep_.runs.size(); ++i) {
      ESPALIER_RETURN_IF_ERROR(LookFor(sweep_.runs[i], &outcomes_[i]));
    }
    for (const config::SweepRun& run : sweep_.refits) ListOnce(run);
    ESPALIER_RETURN_IF_ERROR(LookForRefit());
    if (finished_ > 0 && !context_.options.json) {
      context_.console.Out(std::to_string(finished_) + " of " + Count() +
                           (finished_ == 1 ? " is" : " are") + " done already\n");
    }
    return {};
  }
  bool all_finished() const {
    const bool refit = refit_ && refit_->outcome.state != SweepState::kDone;
    return !refit && std::all_of(outcomes_.begin(), outcomes_.end(), [](const SweepOutcome& o) {
      return o.state == SweepState::kDone;
    });
  }

  Status RunOnThisMachine(int workers) {
    ESPALIER_ASSIGN_OR_RETURN(const LocalClusterOptions chosen, LocalOptions(context_, workers));
    LocalCluster cluster(chosen);
    ESPALIER_RETURN_IF_ERROR(cluster.CheckPrograms());
    TellStart(context_, chosen);
    context_.interrupts.SetEmergency([&cluster] { cluster.KillAtOnce(); });
    const Status status = RunOn(cluster, workers);
    cluster.Stop(status.ok() ? LocalCluster::kStopWaitMs : LocalCluster::kFailedStopWaitMs);
    context_.interrupts.SetEmergency({});
    return status;
  }

  Status RunOnCluster() {
    ESPALIER_ASSIGN_OR_RETURN(
        const auto workers, Ask<std::vector<spec::WorkerSnapshot>>(
                                context_, [](rpc::ApiClient& client) { return client.Workers(); }));
    const auto count = static_cast<int64_t>(workers.size());
    SweepRunOptions options = Options(count);
    options.connect = [this] { return ConnectTo(context_); };
    options.submit = [this, count,
                      parallel = options.parallel](const config::SweepRun& run) -> Result<JobId> {
      ESPALIER_ASSIGN_OR_RETURN(const JobFile job, JobOf(run, count, parallel));
      ESPALIER_ASSIGN_OR_RETURN(const spec::StorageTokens tokens,
                                TokensFor(context_, PathsOf(job.spec)));
      Result<JobId> submitted = SubmitOnce(context_, job.yaml, tokens);
      if (!kept_) (void)Keep(Table(true));
      return submitted;
    };
    options.tick = [] { return Status(); };
    options.away_limit_ms = context_.options.timeout_ms.value_or(options.away_limit_ms);
    return RunJobs(options);
  }

  // Stores the table before any other run begins. It records which files the runs read.
  Status Begin() { return Keep(Table(true)); }

  // Shows and stores the table. Returns the exit code.
  int Finish(const Status& status) {
    const Json table = Table(false);
    if (!context_.options.json) {
      context_.console.Out(SweepText(sweep_, outcomes_, refit_, context_.console.out_color()));
    }
    const Status kept = Keep(table);
    if (!status.ok()) {
      return ShowError(context_, status, Stopping() ? kExitInterrupted : ExitCodeOf(status));
    }
    if (!kept.ok()) return ShowError(context_, kept, kExitJobFailed);
    if (context_.options.json) context_.console.Out(JsonLine(table));
    if (table["status"] == "CANCELLED") {
      context_.console.Err(
          "stopped. Run the same command again to continue with the remaining runs\n");
      return kExitInterrupted;
    }
    return table["status"] == "SUCCEEDED" ? kExitSuccess : kExitJobFailed;
  }

 private:
  Json Table(bool running) const {
    Json table = SweepJson(sweep_, outcomes_, refit_, running);
    table["inputs"] = ListingsJson(inputs_);
    return table;
  }

  // Stores the table. On a cluster the daemons create the directory, because they write to it. The
  // table is stored once the directory exists, as far as the user's permissions allow. Only on this
  // machine is a failure an error.
  Status Keep(const Json& table) {
    const bool local = context_.options.coordinator.empty();
    Status kept;
    if (local) {
      kept = context_.files.MakeDirectory(sweep_.output);
    } else if (!context_.files.Stat(sweep_.output).ok()) {
      return {};
    }
    if (kept.ok()) {
      kept = context_.files.WriteAtomically(sweep_.output + "/" + kResultsFile, JsonLine(table));
    }
    kept_ = true;
    if (local || kept.ok()) return kept.Wrap("the table");
    context_.console.Note("the table is not kept: " + kept.ToString());
    return {};
  }

  // Returns the listings of an earlier call, or none if no usable ones were stored.
  InputListings KeptListings() const {
    const auto text = context_.files.ReadAll(sweep_.output + "/" + kResultsFile, kResultsBytesMax);
    if (!text.ok()) return {};
    const Json table = bundle::ParseJson(*text);
    return table.is_object() && table.contains("inputs") ? ReadListings(table["inputs"])
                                                         : InputListings();
  }

  // Checks whether the run is done and its table has not changed.
  Status LookFor(const config::SweepRun& run, SweepOutcome* outcome) {
    const InputListing* now = ListOnce(run);
    ESPALIER_ASSIGN_OR_RETURN(const auto finished, ReadFinished(context_.files, sweep_, run));
    if (!finished) return {};
    const auto then = before_.find(InputKey(run.spec));
    if (now != nullptr && then != before_.end()) {
      ESPALIER_RETURN_IF_ERROR(CheckListing(run.name, then->second, *now));
    }
    ESPALIER_RETURN_IF_ERROR(read_.Take(run.name, run.spec, finished->data_fingerprint));
    *outcome = {.state = SweepState::kDone,
                .value = finished->value,
                .earlier = true,
                .best_epoch = finished->best_epoch};
    ++finished_;
    return {};
  }

  // Returns the run's files, listed on first use, or the stored listing if they cannot be listed.
  // Null: unknown.
  const InputListing* ListOnce(const config::SweepRun& run) {
    const std::string key = InputKey(run.spec);
    if (listed_.insert(key).second) {
      const auto then = before_.find(key);
      if (const auto now = ListInput(context_.files, run.spec)) {
        inputs_[key] = *now;
      } else if (then != before_.end()) {
        inputs_[key] = then->second;
      }
    }
    const auto at = inputs_.find(key);
    return at == inputs_.end() ? nullptr : &at->second;
  }

  // Checks that a run that has just ended has read the same data as the others.
  Status Check(const config::SweepRun& run, const FinishedRun& finished) {
    const auto then = inputs_.find(InputKey(run.spec));
    const auto now = then == inputs_.end() ? std::nullopt : ListInput(context_.files, run.spec);
    if (now) ESPALIER_RETURN_IF_ERROR(CheckListing(run.name, then->second, *now));
    return read_.Take(run.name, run.spec, finished.data_fingerprint);
  }

  // Determines the job on all rows, once it is known, and whether it is done.
  Status LookForRefit() {
    refit_ = RefitOfBest(sweep_, outcomes_);
    if (!refit_) return {};
    if (refit_->epochs) {
      ESPALIER_RETURN_IF_ERROR(config::SetEpochs(*refit_->epochs, &refit_->run));
    }
    return LookFor(refit_->run, &refit_->outcome);
  }

  Status RunJobs(const SweepRunOptions& options) {
    ESPALIER_RETURN_IF_ERROR(RunSweepJobs(sweep_, context_.files, options, &outcomes_));
    if (!refit_) ESPALIER_RETURN_IF_ERROR(LookForRefit());
    if (!refit_ || refit_->outcome.state == SweepState::kDone || Stopping()) return {};
    config::Sweep last = sweep_;
    last.runs = {refit_->run};
    std::vector<SweepOutcome> outcomes(1);
    const Status status = RunSweepJobs(last, context_.files, options, &outcomes);
    refit_->outcome = outcomes[0];
    return status;
  }

  std::string Count() const {
    const size_t jobs = outcomes_.size() + (sweep_.refits.empty() ? 0 : 1);
    return Counted(static_cast<int64_t>(jobs), "job");
  }
  bool Stopping() const { return context_.interrupts.any() || context_.console.out_closed(); }

  // Returns the job to submit. It continues from the checkpoints of an interrupted earlier call.
  Result<JobFile> JobOf(const config::SweepRun& run, int64_t workers, int64_t parallel) const {
    const JobFile file = {run.spec, run.yaml};
    JobOverrides overrides = {.workers =
                                  ShareOf(run.spec.workers, workers, run.refit ? 1 : parallel)};
    if (context_.options.coordinator.empty()) {  // no further workers will attach
      overrides.workers = std::min(*overrides.workers, static_cast<int>(workers));
    }
    if (bundle::CheckBeginning(context_.files, run.spec).code() == StatusCode::kAlreadyExists) {
      overrides.resume = BundleOf(sweep_, run);
    }
    return Override(file, overrides);
  }

  // Returns the number of workers that one job may take, so that the other jobs have theirs.
  int ShareOf(const spec::WorkerRange& range, int64_t workers, int64_t parallel) const {
    const int64_t jobs = std::min(parallel, static_cast<int64_t>(outcomes_.size()));
    const int64_t share = std::max({int64_t{1}, range.min, workers / std::max<int64_t>(1, jobs)});
    return static_cast<int>(range.max > 0 ? std::min(range.max, share) : share);
  }

  SweepRunOptions Options(int64_t workers) {
    SweepRunOptions options;
    const int64_t each = std::max<int64_t>(1, sweep_.runs[0].spec.workers.min);
    options.parallel = sweep_.parallel.value_or(std::max<int64_t>(1, workers / each));
    options.stopping = [this] { return Stopping(); };
    options.ending = [this] { context_.interrupts.BeginEnding(); };
    options.check = [this](const config::SweepRun& run, const FinishedRun& finished) {
      return Check(run, finished);
    };
    options.tell = [this](const config::SweepRun& run, const SweepOutcome& outcome) {
      Tell(run, outcome);
    };
    return options;
  }

  Status RunOn(LocalCluster& cluster, int workers) {
    ESPALIER_RETURN_IF_ERROR(cluster.Start([this] { return Stopping(); }));
    ESPALIER_ASSIGN_OR_RETURN(const auto client, rpc::ApiClient::Make(cluster.address()));
    const auto still = [&]() -> Status {
      Status death;
      for (const DaemonDeath& d : cluster.TakeDeaths()) {
        context_.console.Err(d.text);
        lost_ += !d.coordinator;
        if (d.coordinator) death = Aborted("the coordinator died. Run the sweep again to continue");
      }
      const int living = workers - lost_;
      if (death.ok() && living == 0) death = Aborted("all workers died");
      if (death.ok() && living < needed_) {
        death = Aborted(std::to_string(living) + " of " + std::to_string(workers) +
                        " workers live, and a trial needs " + std::to_string(needed_) +
                        ". Run the sweep again to continue");
      }
      return death;
    };
    ESPALIER_RETURN_IF_ERROR(AwaitWorkers(*client, workers, [&] {
      return Stopping() ? Cancelled("stopped before a job could start") : still();
    }));
    SweepRunOptions options = Options(workers);
    options.connect = [&] { return rpc::ApiClient::Make(cluster.address()); };
    options.submit = [&,
                      parallel = options.parallel](const config::SweepRun& run) -> Result<JobId> {
      ESPALIER_ASSIGN_OR_RETURN(const JobFile job, JobOf(run, workers - lost_, parallel));
      needed_ = std::max(needed_, job.spec.workers.min);
      return client->Submit({.client_request_id = RandomRequestId(), .job_yaml = job.yaml}, nullptr,
                            [this] { return Stopping(); });
    };
    options.tick = still;
    options.away_limit_ms = 5'000;  // an unreachable local coordinator is dead
    return RunJobs(options);
  }

  void Tell(const config::SweepRun& run, const SweepOutcome& outcome) {
    ++finished_;
    if (!kept_) (void)Keep(Table(true));
    if (context_.options.json) {
      return context_.console.Out(JsonLine(SweepEventJson(sweep_, run, outcome)));
    }
    std::string line = std::to_string(finished_) + " of " + Count() + ": " + run.name;
    const auto& values = sweep_.values[static_cast<size_t>(run.trial)];
    for (size_t k = 0; k < values.size(); ++k) {
      line += (k == 0 ? " (" : ", ") + Printable(sweep_.keys[k] + ": " + values[k], 80);
    }
    if (!values.empty()) line += ")";
    const bool done = outcome.state == SweepState::kDone;
    context_.console.Out(line + ", " +
                         (!done       ? "failed"
                          : run.refit ? "trained on all rows"
                                      : sweep_.metric + " " + FormatValue(outcome.value)) +
                         "\n");
  }

  const CommandContext& context_;
  const config::Sweep sweep_;
  std::vector<SweepOutcome> outcomes_;  // by run
  std::optional<Refit> refit_;          // once it is known
  InputListings before_;                // listings that an earlier call stored
  InputListings inputs_;                // listings of this call
  std::set<std::string> listed_;        // keys of inputs_, and of inputs that cannot be listed
  ReadData read_;                       // data of the finished runs
  size_t finished_ = 0;
  bool kept_ = false;   // whether the table was stored, or cannot be
  int lost_ = 0;        // dead workers
  int64_t needed_ = 0;  // minimum workers of a submitted job, on this machine
};

Result<config::Sweep> Load(const std::string& path) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text, ReadJobText(path));
  std::error_code error;
  const auto directory = std::filesystem::current_path(error);
  if (error) return NotFound("the working directory does not exist: " + error.message());
  return config::ParseSweep(text, path, directory.string(), ReadJobText);
}

}  // namespace

int RunSweep(const CommandContext& context) {
  auto sweep = Load(context.options.job_file);
  if (!sweep.ok()) return ShowError(context, sweep.status(), kExitUsage);
  SweepCommand command(context, *std::move(sweep));
  if (const Status found = command.LookForFinished(); !found.ok()) {
    return ShowError(context, found, PlanExitCode(found));
  }
  if (command.all_finished()) return command.Finish({});
  const bool local = context.options.coordinator.empty();
  Result<int> workers = 0;
  if (local) workers = LocalWorkers(context.options, command.sweep().runs[0].spec.workers);
  if (!workers.ok()) return ShowError(context, workers.status(), kExitUsage);
  if (const Status begun = command.Begin(); !begun.ok()) {
    return ShowError(context, begun, PlanExitCode(begun));
  }
  return command.Finish(local ? command.RunOnThisMachine(*workers) : command.RunOnCluster());
}

}  // namespace espalier::cli
