#include "src/cli/options_jobs.h"

#include <CLI/CLI.hpp>
#include <string>

#include "src/cli/options_coordinator.h"

namespace espalier::cli {
namespace {

constexpr const char* kInitExamples =
    "Writes a short commented job file. Reads a sample of the rows to find the\n"
    "columns, the task and the format of the files. On a terminal, it asks for the\n"
    "column to predict.\n"
    "\n"
    "Examples:\n"
    "  espalier init churn.csv\n"
    "  espalier init churn.csv --label left --output churn.yaml\n"
    "  espalier init 'sales/year=*/' --label amount";

constexpr const char* kTrainExamples =
    "Starts a coordinator and workers on this machine that only you can reach, trains\n"
    "the model, shows the result and stops them. Ctrl-C ends the job after the next\n"
    "step and saves the weights if an evaluation has run. A second Ctrl-C stops at\n"
    "once and saves nothing. The weights are byte-identical for any number of workers\n"
    "and threads, except with `mode: async`.\n"
    "\n"
    "Examples:\n"
    "  espalier train job.yaml\n"
    "  espalier train job.yaml --workers 2 --threads 1\n"
    "  espalier train job.yaml --resume models/job    continue an interrupted run\n"
    "  espalier train job.yaml --json | tail -n 1     the result as one JSON object";

constexpr const char* kReferenceExamples =
    "Prints the type, default and meaning of a key, or of all keys in a section.\n"
    "Without KEY, prints all keys as a commented job file. `espalier reference sweep`\n"
    "prints the keys of a sweep file.\n"
    "\n"
    "Examples:\n"
    "  espalier reference train.epochs\n"
    "  espalier reference data.csv\n"
    "  espalier reference sweep\n"
    "  espalier reference > reference.yaml";

constexpr const char* kSweepExamples =
    "Trains one job many times with different values of its keys: all combinations of\n"
    "a grid, or values drawn at random. Each trial may be cross-validated.\n"
    "\n"
    "A sweep file, with a grid:\n"
    "  job: job.yaml\n"
    "  output: models/sweep\n"
    "  grid: {train.batch: [32, 128], model.hidden: [[16], [64, 32]]}\n"
    "  folds: 5\n"
    "  refit: true         with folds, also train OUTPUT/best-NNN with the values of\n"
    "                      the best trial on all rows (default: false)\n"
    "  metric: val_loss\n"
    "  parallel: 4         jobs at a time (default: as many as the workers allow)\n"
    "\n"
    "With random values, replace `grid` by:\n"
    "  random:\n"
    "    trials: 20\n"
    "    seed: 1\n"
    "    keys: {train.optimizer.adam.learning_rate: {log_uniform: [1e-4, 0.1]}}\n"
    "A range is `log_uniform`, `uniform`, or `whole` for whole numbers. A key may also\n"
    "have a list of values.\n"
    "\n"
    "Each run is an ordinary job with its bundle below OUTPUT. The results of all\n"
    "trials are in OUTPUT/sweep.json. The jobs run on the cluster of --coordinator or\n"
    "ESPALIER_COORDINATOR. Without a cluster, or with --workers or --threads, they run\n"
    "on this machine. Several run at the same time if there are enough workers. Ctrl-C\n"
    "stops the sweep. The same command continues it without repeating finished runs.\n"
    "\n"
    "Examples:\n"
    "  espalier sweep sweep.yaml\n"
    "  espalier sweep sweep.yaml --workers 4 --threads 1\n"
    "  espalier sweep sweep.yaml --coordinator head:7700 --json | tail -n 1";

constexpr const char* kSubmitExamples =
    "Prints the job ID, then follows the job. Ctrl-C ends only this command. The job\n"
    "continues.\n"
    "\n"
    "Examples:\n"
    "  espalier submit job.yaml --coordinator head:7700\n"
    "  espalier submit job.yaml --detach";

constexpr const char* kWatchExamples =
    "Exits with the exit code of the job. Ctrl-C ends only this command. The job\n"
    "continues.\n"
    "\n"
    "Examples:\n"
    "  espalier watch job-17\n"
    "  espalier watch 17 --json";

constexpr const char* kCheckExamples =
    "Reads all data once on this machine and trains nothing. Shows the files, the rows\n"
    "of each set, nulls and ranges by column, the label balance, the number of\n"
    "parameters and the memory that the job needs. With --coordinator, also shows how\n"
    "much of the data is on the disks of each worker's host.\n"
    "\n"
    "Examples:\n"
    "  espalier check job.yaml\n"
    "  espalier check job.yaml --effective > complete.yaml\n"
    "  espalier check job.yaml --coordinator head:7700";

void AddJobFile(CLI::App* app, CliOptions& o) {
  app->add_option("JOB.yaml", o.job_file, "Job file")->required();
}

void AddJobId(CLI::App* app, RawArguments* raw) {
  app->add_option("JOB", raw->job, "Job ID: job-17 or 17")->required();
}

void AddCluster(CLI::App* app, RawArguments* raw) {
  AddCoordinator(app, std::string("ESPALIER_COORDINATOR, then ") + kDefaultCoordinator, raw);
}

void AddOptionalCluster(CLI::App* app, RawArguments* raw) {
  AddCoordinator(app, "ESPALIER_COORDINATOR, otherwise no cluster", raw);
}

void AddLocalWorkers(CLI::App* app, CliOptions& o) {
  app->add_option("--workers", o.workers,
                  "Number of worker processes, 1 to " + std::to_string(kLocalWorkersMax) +
                      " (default: workers.max of the job, or one for each core, up to 4)")
      ->check(CLI::Range(1, kLocalWorkersMax));
  app->add_option("--threads", o.threads,
                  "Number of compute threads of each worker, 1 to " + std::to_string(kThreadsMax) +
                      " (default: cores divided by workers)")
      ->check(CLI::Range(1, kThreadsMax));
}

void AddRun(CLI::App* app, CliOptions& o) {
  app->add_option("--output", o.output,
                  "Directory for the bundle, instead of `output` in the job file");
  app->add_option("--resume", o.resume,
                  "Continue the run with this output path from its newest checkpoint");
  app->add_flag("--accept-other-data", o.accept_data,
                "Resume even if the data has changed. The bundle records this");
  app->add_flag("--accept-other-arithmetic", o.accept_arithmetic,
                "Resume even with another BLAS library or version. The bundle records this");
}

void AddJson(CLI::App* app, CliOptions& o) {
  app->add_flag("--json", o.json, "Write JSON to standard output, one object per line");
}

}  // namespace

void DeclareInit(CLI::App* app, RawArguments* raw) {
  InitArguments& o = raw->options.init;
  app->footer(kInitExamples);
  app->add_option("TABLE", o.table, "Training rows: a file, a pattern or a directory")->required();
  app->add_option("--label", o.label, "Column to predict");
  app->add_option(
      "--output", o.output,
      "Job file to write, or - for standard output (default: the name of the table with .yaml)");
  app->add_flag("--force", o.force, "Replace an existing job file");
  AddJson(app, raw->options);
}

void DeclareTrain(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->footer(kTrainExamples);
  AddJobFile(app, o);
  AddLocalWorkers(app, o);
  AddRun(app, o);
  app->add_flag("--exit-with-parent", o.exit_with_parent,
                "When the parent process ends, stop as after Ctrl-C");
  AddJson(app, o);
}

void DeclareSweep(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->footer(kSweepExamples);
  app->add_option("SWEEP.yaml", o.job_file, "Sweep file: a job and the values to try")->required();
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
  app->add_flag("--detach", o.detach, "Return when the job is accepted");
  AddJson(app, o);
}

void DeclareCheck(CLI::App* app, RawArguments* raw) {
  app->footer(kCheckExamples);
  AddJobFile(app, raw->options);
  app->add_flag(
      "--effective", raw->options.effective,
      "Print the job as a complete job file with all defaults. Reads only a sample of the rows");
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
                "End the job after its next step and save its weights: the best so far if early "
                "stopping restores them. If no evaluation has run, the job is only cancelled");
  DeclareOneJob(app, raw);
}

void DeclareDrain(CLI::App* app, RawArguments* raw) {
  app->add_option("WORKER", raw->options.worker, "Name or ID of the worker: worker-3")->required();
  DeclareList(app, raw);
}

void DeclareList(CLI::App* app, RawArguments* raw) {
  AddCluster(app, raw);
  AddJson(app, raw->options);
}

void DeclareReference(CLI::App* app, RawArguments* raw) {
  app->add_option("KEY", raw->options.key, "Key or section: train.epochs, data.csv");
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
