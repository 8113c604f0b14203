#include "src/cli/options_jobs.h"

#include <CLI/CLI.hpp>
#include <string>

#include "src/cli/options_coordinator.h"

namespace espalier::cli {
namespace {

constexpr const char* kInitExamples =
    "Writes a short commented job file for a table. Looks at a sample of rows for the columns, "
    "the\n"
    "task and the form of the files. On a terminal it asks for the column to predict.\n"
    "\n"
    "Examples:\n"
    "  espalier init churn.csv\n"
    "  espalier init churn.csv --label left --output churn.yaml\n"
    "  espalier init 'sales/year=*/' --label amount";

constexpr const char* kTrainExamples =
    "Starts one coordinator and N workers on this machine (only you can reach them), trains,\n"
    "shows the result and ends them. Ctrl-C stops after the next step and saves the weights, if "
    "an\n"
    "evaluation has run. A second Ctrl-C stops immediately and saves nothing. The weights are the\n"
    "same bytes for any number of workers and threads, except with `mode: async`.\n"
    "\n"
    "Examples:\n"
    "  espalier train job.yaml\n"
    "  espalier train job.yaml --workers 2 --threads 1\n"
    "  espalier train job.yaml --resume models/job    continue an interrupted run\n"
    "  espalier train job.yaml --json | tail -n 1     the result as one JSON object";

constexpr const char* kReferenceExamples =
    "Prints type, default and meaning of a key, or of all keys of a section. Without KEY, prints\n"
    "all keys as a commented job file. KEY `sweep` selects the keys of a sweep file.\n"
    "\n"
    "Examples:\n"
    "  espalier reference train.epochs\n"
    "  espalier reference data.csv\n"
    "  espalier reference sweep\n"
    "  espalier reference > reference.yaml";

constexpr const char* kSweepExamples =
    "Trains one job many times: a grid of values of its keys, or values drawn at random, each\n"
    "with k-fold cross-validation if asked for. SWEEP.yaml:\n"
    "  job: job.yaml\n"
    "  output: models/sweep\n"
    "  grid: {train.batch: [32, 128], model.hidden: [[16], [64, 32]]}\n"
    "  folds: 5\n"
    "  refit: true             with folds: one more job at the end, OUTPUT/best-NNN, by the best\n"
    "                          trial's values and on all rows (default: false)\n"
    "  metric: val_loss\n"
    "  parallel: 4             jobs at a time (default: as many as have workers.min workers each)\n"
    "or in place of grid\n"
    "  random:\n"
    "    trials: 20\n"
    "    seed: 1\n"
    "    keys: {train.optimizer.adam.learning_rate: {log_uniform: [1e-4, 0.1]}}\n"
    "A range may also be uniform, or whole for whole numbers; or a list of values.\n"
    "\n"
    "Each run is an ordinary job, its bundle below the output; sweep.json there has the table.\n"
    "Jobs run on the cluster of --coordinator or ESPALIER_COORDINATOR. Without a cluster, or with\n"
    "--workers or --threads, they run on this machine. Several run at once if there are enough\n"
    "workers. Ctrl-C stops cleanly; the same command continues without repeating finished runs.\n"
    "\n"
    "Examples:\n"
    "  espalier sweep sweep.yaml\n"
    "  espalier sweep sweep.yaml --workers 4 --threads 1\n"
    "  espalier sweep sweep.yaml --coordinator trainer-1:7700 --json | tail -n 1";

constexpr const char* kSubmitExamples =
    "Prints the job's id, then follows it. Ctrl-C detaches: the job continues.\n"
    "\n"
    "Examples:\n"
    "  espalier submit job.yaml --coordinator trainer-1:7700\n"
    "  espalier submit job.yaml --detach";

constexpr const char* kWatchExamples =
    "Exits with the job's code. Ctrl-C detaches: the job continues.\n"
    "\n"
    "Examples:\n"
    "  espalier watch job-17\n"
    "  espalier watch 17 --json";

constexpr const char* kCheckExamples =
    "Reads all of the data once, on this machine, without a cluster: files and shards, rows of "
    "each\n"
    "set, nulls and ranges by column, label balance, parameters and the memory a job will need.\n"
    "With --coordinator also how much of the data lies on the disks of each worker's host.\n"
    "\n"
    "Examples:\n"
    "  espalier check job.yaml\n"
    "  espalier check job.yaml --effective > complete.yaml\n"
    "  espalier check job.yaml --coordinator trainer-1:7700";

void AddJobFile(CLI::App* app, CliOptions& o) {
  app->add_option("JOB.yaml", o.job_file, "The job file")->required();
}

void AddJobId(CLI::App* app, RawArguments* raw) {
  app->add_option("JOB", raw->job, "The job's id: job-17 or 17")->required();
}

void AddCluster(CLI::App* app, RawArguments* raw) {
  AddCoordinator(app, std::string("ESPALIER_COORDINATOR, then ") + kDefaultCoordinator, raw);
}

void AddOptionalCluster(CLI::App* app, RawArguments* raw) {
  AddCoordinator(app, "ESPALIER_COORDINATOR; without either, no cluster", raw);
}

void AddLocalWorkers(CLI::App* app, CliOptions& o) {
  app->add_option("--workers", o.workers,
                  "Worker processes, 1 to " + std::to_string(kLocalWorkersMax) +
                      " (default: workers.max of the job, or one per core, at most 4)")
      ->check(CLI::Range(1, kLocalWorkersMax));
  app->add_option("--threads", o.threads,
                  "Compute threads of each worker, 1 to " + std::to_string(kThreadsMax) +
                      " (default: cores / workers, at least 1)")
      ->check(CLI::Range(1, kThreadsMax));
}

void AddRun(CLI::App* app, CliOptions& o) {
  app->add_option("--output", o.output, "Write the bundle here instead of the job's `output`");
  app->add_option("--resume", o.resume,
                  "Continue from the newest checkpoint of the run with this output path");
  app->add_flag("--accept-other-data", o.accept_data,
                "Resume although the data has changed; the bundle records it");
  app->add_flag("--accept-other-arithmetic", o.accept_arithmetic,
                "Resume with another BLAS or version; the bundle records it");
}

void AddJson(CLI::App* app, CliOptions& o) {
  app->add_flag("--json", o.json, "Write JSON to standard output, one object per line");
}

}  // namespace

void DeclareInit(CLI::App* app, RawArguments* raw) {
  InitArguments& o = raw->options.init;
  app->footer(kInitExamples);
  app->add_option("TABLE", o.table, "The training rows: a file, a pattern or a directory")
      ->required();
  app->add_option("--label", o.label, "The column to predict");
  app->add_option("--output", o.output,
                  "The job file, or - for standard output (default: the table's name with .yaml)");
  app->add_flag("--force", o.force, "Replace the job file if it exists");
  AddJson(app, raw->options);
}

void DeclareTrain(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->footer(kTrainExamples);
  AddJobFile(app, o);
  AddLocalWorkers(app, o);
  AddRun(app, o);
  app->add_flag("--exit-with-parent", o.exit_with_parent,
                "Stop, as after Ctrl-C, when the process that started this one ends");
  AddJson(app, o);
}

void DeclareSweep(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->footer(kSweepExamples);
  app->add_option("SWEEP.yaml", o.job_file, "What to vary, and of which job")->required();
  AddOptionalCluster(app, raw);
  AddLocalWorkers(app, o);
  AddJson(app, o);
}

void DeclareSubmit(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->footer(kSubmitExamples);
  AddJobFile(app, o);
  AddCluster(app, raw);
  AddRun(app, o);
  app->add_flag("--detach", o.detach, "Return as soon as the job is accepted");
  AddJson(app, o);
}

void DeclareCheck(CLI::App* app, RawArguments* raw) {
  app->footer(kCheckExamples);
  AddJobFile(app, raw->options);
  app->add_flag("--effective", raw->options.effective,
                "Print the job as a complete job file, with every default. Reads only some rows");
  AddOptionalCluster(app, raw);
  AddJson(app, raw->options);
}

void DeclareWatch(CLI::App* app, RawArguments* raw) {
  app->footer(kWatchExamples);
  DeclareOneJob(app, raw);
}

void DeclareOneJob(CLI::App* app, RawArguments* raw) {
  AddJobId(app, raw);
  DeclareList(app, raw);
}

void DeclareCancel(CLI::App* app, RawArguments* raw) {
  app->add_flag("--keep", raw->options.keep_model,
                "Save the weights: the job stops after its next step, with the best weights so far "
                "if early stopping restores them. It is cancelled if nothing was evaluated yet");
  DeclareOneJob(app, raw);
}

void DeclareDrain(CLI::App* app, RawArguments* raw) {
  app->add_option("WORKER", raw->options.worker, "The worker's name or id: worker-3")->required();
  DeclareList(app, raw);
}

void DeclareList(CLI::App* app, RawArguments* raw) {
  AddCluster(app, raw);
  AddJson(app, raw->options);
}

void DeclareReference(CLI::App* app, RawArguments* raw) {
  app->add_option("KEY", raw->options.key, "A key or a section: train.epochs, data.csv");
  AddJson(app, raw->options);
  app->footer(kReferenceExamples);
}

void DeclareVersion(CLI::App* app, RawArguments* raw) { AddJson(app, raw->options); }

Status CheckRun(const CliOptions& options) {
  if (options.output && options.output->empty()) {
    return InvalidArgument("--output: found nothing, expected the directory for the bundle");
  }
  if (options.resume && options.resume->empty()) {
    return InvalidArgument("--resume: found nothing, expected the output of the run to continue");
  }
  return {};
}

Status FinishInit(const Environment&, RawArguments* raw) {
  const InitArguments& o = raw->options.init;
  if (o.table.empty()) {
    return InvalidArgument("TABLE: found nothing, expected a file or a directory");
  }
  if (o.output && o.output->empty()) {
    return InvalidArgument("--output: found nothing, expected the name of the job file");
  }
  if (o.output == "-" && raw->options.json) {
    return InvalidArgument(
        "--json: with --output -, standard output is the job file. Leave out one of them");
  }
  return {};
}

Status FinishTrain(const Environment&, RawArguments* raw) { return CheckRun(raw->options); }

Status FinishSubmit(const Environment& env, RawArguments* raw) {
  ESPALIER_RETURN_IF_ERROR(FinishCluster(env, raw));
  return CheckRun(raw->options);
}

Status FinishSweep(const Environment& env, RawArguments* raw) {
  const CliOptions& o = raw->options;
  if (!o.workers && !o.threads) return FinishOptionalCluster(env, raw);
  if (o.coordinator.empty()) return {};  // on this machine, regardless of the environment
  return InvalidArgument(
      "--workers and --threads are for workers on this machine. Leave them out with "
      "--coordinator");
}

Status FinishOneJob(const Environment& env, RawArguments* raw) {
  ESPALIER_ASSIGN_OR_RETURN(raw->options.job, ParseJobId(raw->job));
  return FinishCluster(env, raw);
}

}  // namespace espalier::cli
