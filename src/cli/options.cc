#include "src/cli/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <sstream>
#include <vector>

#include "src/base/text.h"
#include "src/cli/options_coordinator.h"
#include "src/cli/options_scoring.h"
#include "src/cli/options_yarn.h"
#include "src/config/units.h"

namespace espalier {
namespace {

constexpr const char* kMainExamples =
    "Examples:\n"
    "  espalier check job.yaml                  look at the data and the model, train nothing\n"
    "  espalier train job.yaml                  train on this machine, no set-up needed\n"
    "  espalier sweep sweep.yaml                train it with other values of its keys, and folds\n"
    "  espalier submit job.yaml                 hand the job to a running cluster and follow it\n"
    "  espalier watch job-17                    follow it again, from anywhere\n"
    "  espalier evaluate models/job test.csv    measure a model on other rows\n"
    "  espalier predict models/job new.csv --output scored\n"
    "\n"
    "A cluster is found by --coordinator, else the environment's ESPALIER_COORDINATOR, else\n"
    "127.0.0.1:7700; host:port, unix:/PATH, file:PATH or hdfs://... of a file that holds one of\n"
    "these, or yarn:NAME of a cluster that `espalier yarn` started.\n"
    "\n"
    "To a cluster with TLS: --tls-ca, --tls-certificate and --tls-key, or a token by "
    "--token-file;\n"
    "else the environment's ESPALIER_TLS_CA, ESPALIER_TLS_CERTIFICATE, ESPALIER_TLS_KEY,\n"
    "ESPALIER_TLS_SERVER_NAME, ESPALIER_TOKEN_FILE, ESPALIER_TOKEN.\n"
    "\n"
    "A coordinator that is away is an error at once; --timeout 5min waits for it.\n"
    "\n"
    "Exit codes: 0 success; 1 the job failed or was cancelled; 2 wrong arguments or job file, or\n"
    "a certificate or token that is refused; 3 the coordinator was not reached; 130 interrupted.\n"
    "`espalier COMMAND --help` tells more about a command.";

constexpr const char* kTrainExamples =
    "Starts one coordinator and N workers on this machine (reached by you alone), trains, shows\n"
    "the result and removes all of it. Ctrl-C stops the job cleanly; a second Ctrl-C stops at "
    "once.\n"
    "The weights are the same bytes for any number of workers and threads.\n"
    "\n"
    "Examples:\n"
    "  espalier train job.yaml\n"
    "  espalier train job.yaml --workers 2 --threads 1\n"
    "  espalier train job.yaml --resume models/job    go on with a run that was cut short\n"
    "  espalier train job.yaml --json | tail -n 1     the result as one JSON object";

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
    "With --coordinator (or ESPALIER_COORDINATOR) on that cluster, else, or with --workers or\n"
    "--threads, on this machine; several run side by side where workers suffice. Ctrl-C stops\n"
    "cleanly, and the same command goes on: what is done is not done again.\n"
    "\n"
    "Examples:\n"
    "  espalier sweep sweep.yaml\n"
    "  espalier sweep sweep.yaml --workers 4 --threads 1\n"
    "  espalier sweep sweep.yaml --coordinator trainer-1:7700 --json | tail -n 1";

constexpr const char* kSubmitExamples =
    "Prints the job's id, then follows it. Ctrl-C detaches: the job goes on.\n"
    "\n"
    "Examples:\n"
    "  espalier submit job.yaml --coordinator trainer-1:7700\n"
    "  espalier submit job.yaml --detach";

constexpr const char* kWatchExamples =
    "Exits with the job's code. Ctrl-C detaches: the job goes on.\n"
    "\n"
    "Examples:\n"
    "  espalier watch job-17\n"
    "  espalier watch 17 --json";

constexpr const char* kCertsExamples =
    "A private authority for clusters that have none. Its key signs; keep it off the hosts.\n"
    "\n"
    "Examples:\n"
    "  espalier certs init                                        an authority in espalier-ca/\n"
    "  espalier certs issue coordinator head --host head.example.org --host 10.0.0.5\n"
    "  espalier certs issue worker node-1\n"
    "  espalier certs issue operator ann       submits jobs, and cancels its own\n"
    "  espalier certs issue admin root         cancels any job, drains workers\n"
    "  espalier certs revoke espalier-ca/worker-node-1/tls.crt\n"
    "  espalier certs compare /etc/espalier/worker/ca.crt espalier-ca/worker-node-1/ca.crt\n"
    "Each `issue` makes a directory with ca.crt, tls.crt and tls.key to copy to its holder. "
    "`compare`\n"
    "says whether the second CA file may take the place of the first: not if somebody whose\n"
    "certificate was taken back got in again.";

constexpr const char* kCheckExamples =
    "Reads all of the data once, on this machine, without a cluster: files and shards, rows of "
    "each\n"
    "set, nulls and ranges by column, label balance, parameters and the memory a job will need.\n"
    "With --coordinator also how much of the data lies on the disks of each worker's host.\n"
    "\n"
    "Examples:\n"
    "  espalier check job.yaml\n"
    "  espalier check job.yaml --coordinator trainer-1:7700";

constexpr int64_t kTimeoutMsMin = 100, kTimeoutMsMax = 86'400'000;

struct CommandName {
  const char* name;
  CommandKind kind;
  const char* what;
  const char* examples;
};

constexpr CommandName kCommands[] = {
    {"train", CommandKind::kTrain, "Train on this machine: starts the daemons, trains, cleans up",
     kTrainExamples},
    {"sweep", CommandKind::kSweep, "Train a job many times: other values of its keys, folds",
     kSweepExamples},
    {"submit", CommandKind::kSubmit, "Hand a job to a cluster and follow it", kSubmitExamples},
    {"watch", CommandKind::kWatch, "Follow a job", kWatchExamples},
    {"list", CommandKind::kList, "List the cluster's jobs, newest last", ""},
    {"status", CommandKind::kStatus, "Show one job: state, progress, result or error", ""},
    {"cancel", CommandKind::kCancel, "Stop a job of yours; its workers become free", ""},
    {"drain", CommandKind::kDrain,
     "Let a worker go: its leaves move to others first, training goes on", ""},
    {"workers", CommandKind::kWorkers, "List the cluster's workers and what they do", ""},
    {"check", CommandKind::kCheck, "Look at a job's data and model without training",
     kCheckExamples},
    {"version", CommandKind::kVersion, "Print the version", ""},
};

bool SpeaksToCoordinator(CommandKind kind) {
  return kind != CommandKind::kTrain && kind != CommandKind::kVersion &&
         kind != CommandKind::kCertsInit && kind != CommandKind::kCertsIssue &&
         kind != CommandKind::kCertsRevoke && kind != CommandKind::kCertsCompare && !IsYarn(kind) &&
         !IsScoring(kind);
}

bool TakesJobFile(CommandKind kind) {
  return kind == CommandKind::kTrain || kind == CommandKind::kSweep ||
         kind == CommandKind::kSubmit || kind == CommandKind::kCheck;
}

// Those that do without a cluster unless one is named.
bool NeedsCoordinator(CommandKind kind) {
  return kind != CommandKind::kCheck && kind != CommandKind::kSweep;
}

bool TakesJobId(CommandKind kind) {
  return kind == CommandKind::kWatch || kind == CommandKind::kStatus ||
         kind == CommandKind::kCancel;
}

// CLI11 fills these; they become CliOptions when parsing has succeeded.
struct RawArguments {
  CliOptions options;
  std::string job, role, timeout;
};

void AddCommand(CLI::App& app, const CommandName& command, RawArguments* raw) {
  CLI::App* sub = app.add_subcommand(command.name, command.what);
  sub->footer(command.examples);
  CliOptions& o = raw->options;
  sub->callback([&o, kind = command.kind] { o.command = kind; });
  if (TakesJobFile(command.kind)) {
    const bool sweep = command.kind == CommandKind::kSweep;
    sub->add_option(sweep ? "SWEEP.yaml" : "JOB.yaml", o.job_file,
                    sweep ? "What to vary, and of which job" : "The job file")
        ->required();
  }
  if (TakesJobId(command.kind)) {
    sub->add_option("JOB", raw->job, "The job's id: job-17 or 17")->required();
  }
  if (command.kind == CommandKind::kDrain) {
    sub->add_option("WORKER", o.worker, "The worker's name or id: worker-3")->required();
  }
  if (SpeaksToCoordinator(command.kind)) {
    const bool needed = NeedsCoordinator(command.kind);
    AddCoordinator(sub,
                   std::string("ESPALIER_COORDINATOR, else ") +
                       (needed ? kDefaultCoordinator : "none is asked"),
                   &o, &raw->timeout);
  }
  if (command.kind == CommandKind::kTrain || command.kind == CommandKind::kSweep) {
    sub->add_option(
           "--workers", o.workers,
           "Worker processes (default: workers.max of the job, else one a core, at most 4)")
        ->check(CLI::Range(1, kLocalWorkersMax));
    sub->add_option("--threads", o.threads,
                    "Compute threads a worker (default: cores / workers, at least 1)")
        ->check(CLI::Range(1, kThreadsMax));
  }
  if (command.kind == CommandKind::kTrain || command.kind == CommandKind::kSubmit) {
    sub->add_option("--output", o.output, "Write the bundle here instead of the job's `output`");
    sub->add_option("--resume", o.resume,
                    "Go on from the newest checkpoint of this run, named by its output");
    sub->add_flag("--accept-other-data", o.accept_data,
                  "Resume although the data has changed; the bundle tells");
    sub->add_flag("--accept-other-arithmetic", o.accept_arithmetic,
                  "Resume although another BLAS or version computes; the bundle tells");
  }
  if (command.kind == CommandKind::kTrain) {
    sub->add_flag("--exit-with-parent", o.exit_with_parent,
                  "Stop, as after Ctrl-C, when the process that started this one ends");
  }
  if (command.kind == CommandKind::kSubmit) {
    sub->add_flag("--detach", o.detach, "Return as soon as the job is accepted");
  }
  sub->add_flag("--json", o.json, "Write JSON to standard output, one object a line");
}

void AddCerts(CLI::App& app, RawArguments* raw) {
  CliOptions& o = raw->options;
  CLI::App* certs = app.add_subcommand("certs", "Make certificates for a cluster of your own");
  certs->footer(kCertsExamples);
  certs->require_subcommand(1);
  CLI::App* init = certs->add_subcommand("init", "Make an authority: ca.crt and ca.key");
  init->callback([&o] { o.command = CommandKind::kCertsInit; });
  init->add_option("--name", o.authority_name, "Its name (default: Espalier CA)");
  CLI::App* issue = certs->add_subcommand("issue", "Issue a certificate: ROLE NAME");
  issue->callback([&o] { o.command = CommandKind::kCertsIssue; });
  issue->add_option("ROLE", raw->role, "coordinator, worker, admin, operator or reader")
      ->required();
  issue->add_option("NAME", o.certificate.name, "A worker's --name, or whose it is")->required();
  issue->add_option("--host", o.certificate.hosts,
                    "Host name or address its holder is reached by; may be repeated");
  issue->add_option("--days", o.certificate.days, "Valid for so many days (default: 397)");
  issue->add_option("--output", o.certs_output,
                    "Directory to make (default: ROLE-NAME in that of the authority)");
  CLI::App* revoke = certs->add_subcommand("revoke", "Take a certificate back: FILE");
  revoke->callback([&o] { o.command = CommandKind::kCertsRevoke; });
  revoke->add_option("FILE", o.revoked, "PEM file: the certificate (tls.crt)")->required();
  CLI::App* compare =
      certs->add_subcommand("compare", "Whether a CA file may replace another: BEFORE AFTER");
  compare->callback([&o] { o.command = CommandKind::kCertsCompare; });
  compare->add_option("FILES", o.compared, "The CA file that is in use, and the other one")
      ->required()
      ->expected(2);
  for (CLI::App* sub : {init, issue, revoke}) {
    sub->add_option("--directory", o.certs_directory,
                    "Directory of the authority (default: espalier-ca)");
  }
  for (CLI::App* sub : {init, issue, revoke, compare}) {
    sub->add_flag("--json", o.json, "Write JSON to standard output");
  }
}

Status UnknownCommand(const std::string& word) {
  std::vector<std::string> names;
  for (const CommandName& c : kCommands) names.push_back(c.name);
  for (const char* name : {"evaluate", "predict", "export", "certs"}) names.push_back(name);
  names.push_back("yarn");
  std::string message = "there is no command '" + Printable(word, 40) + "'";
  const auto near = Nearest(word, names);
  message += near ? "; did you mean '" + *near + "'? " : "; ";
  return InvalidArgument(message + "`espalier --help` lists the commands");
}

bool IsCommand(const std::string& word) {
  for (const CommandName& c : kCommands) {
    if (word == c.name) return true;
  }
  return word == "certs" || word == "yarn" || word == "evaluate" || word == "predict" ||
         word == "export";
}

void TakeFromEnvironment(const Environment& env, CliOptions& options) {
  const auto fill = [](std::string& option, const std::string& variable) {
    if (option.empty()) option = variable;
  };
  if (options.coordinator.starts_with(kYarnCoordinator) && !options.tls.any()) {
    const std::string service = options.coordinator.substr(std::string(kYarnCoordinator).size());
    options.tls = KeptOfYarn(env, service).Tls(service);
    return;
  }
  fill(options.tls.ca, env.tls.ca);
  fill(options.tls.server_name, env.tls.server_name);
  if (options.token_file.empty()) {
    fill(options.tls.certificate, env.tls.certificate);
    fill(options.tls.key, env.tls.key);
  }
  // What is said on the command line to be shown is shown, not what the environment has besides.
  if (options.tls.certificate.empty() || options.tls == env.tls) {
    fill(options.token_file, env.token_file);
    options.token = env.token;
  }
}

Result<std::optional<int64_t>> ParseTimeout(const std::string& text) {
  if (text.empty()) return std::optional<int64_t>();
  const std::optional<int64_t> ms = ParseDuration(text);
  if (ms && *ms >= kTimeoutMsMin && *ms <= kTimeoutMsMax) return ms;
  return InvalidArgument("--timeout: found '" + Printable(text, 40) + "', expected a time from " +
                         HumanDuration(kTimeoutMsMin) + " to 24 h, such as 30s or 5min");
}

Result<CliOptions> Finish(RawArguments raw, const Environment& env) {
  CliOptions options = std::move(raw.options);
  if (TakesJobId(options.command)) {
    ESPALIER_ASSIGN_OR_RETURN(options.job, ParseJobId(raw.job));
  }
  if (IsYarn(options.command)) {
    ESPALIER_RETURN_IF_ERROR(FinishYarn(env, &options));
  }
  if (IsScoring(options.command)) {
    ESPALIER_RETURN_IF_ERROR(CheckScoring(options));
    ESPALIER_ASSIGN_OR_RETURN(options.timeout_ms, ParseTimeout(raw.timeout));
    if (options.coordinator.empty()) return options;  // on this machine
    TakeFromEnvironment(env, options);
    ESPALIER_RETURN_IF_ERROR(options.tls.Validate(true));
  }
  if (options.command == CommandKind::kSweep && (options.workers || options.threads)) {
    if (options.coordinator.empty()) return options;  // on this machine, whatever is in force
    return InvalidArgument(
        "--workers and --threads are for workers on this machine: leave them out with "
        "--coordinator");
  }
  if (SpeaksToCoordinator(options.command)) {
    if (options.coordinator.empty()) options.coordinator = env.coordinator;
    TakeFromEnvironment(env, options);
    ESPALIER_RETURN_IF_ERROR(options.tls.Validate(true));
    ESPALIER_ASSIGN_OR_RETURN(options.timeout_ms, ParseTimeout(raw.timeout));
  }
  if (options.command == CommandKind::kCertsIssue) {
    ESPALIER_ASSIGN_OR_RETURN(options.certificate.role, ParseRole(raw.role));
  }
  if (options.coordinator.empty()) options.coordinator = env.coordinator;
  if (options.coordinator.empty() && NeedsCoordinator(options.command)) {
    options.coordinator = kDefaultCoordinator;
  }
  if (options.output && options.output->empty()) {
    return InvalidArgument("--output is empty: give the directory for the bundle");
  }
  if (options.resume && options.resume->empty()) {
    return InvalidArgument("--resume is empty: give the output of the run to go on with");
  }
  return options;
}

}  // namespace

Result<JobId> ParseJobId(const std::string& text) {
  const std::string digits = text.starts_with("job-") ? text.substr(4) : text;
  JobId id;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id.value);
  if (error != std::errc() || end != digits.data() + digits.size() || id.value == 0) {
    return InvalidArgument(
        "'" + Printable(text, 40) +
        "' is not a job's id: expected job-17 or 17; `espalier list` shows them");
  }
  return id;
}

ParsedArguments ParseArguments(std::span<const std::string> arguments, const Environment& env) {
  ParsedArguments parsed;
  if (!arguments.empty() && !arguments[0].starts_with("-") && !IsCommand(arguments[0])) {
    parsed.error = UnknownCommand(arguments[0]);
    return parsed;
  }
  if (!arguments.empty() && arguments[0] == "--version") {
    parsed.options = CliOptions{};
    return parsed;
  }
  CLI::App app{"Espalier trains multi-layer perceptrons on tables, on one machine or many.",
               "espalier"};
  RawArguments raw;
  app.require_subcommand(1);
  app.footer(kMainExamples);
  app.add_flag("--version")->description("Print the version, as the command of that name does");
  for (const CommandName& command : kCommands) AddCommand(app, command, &raw);
  AddScoring(app, &raw.options, &raw.timeout);
  AddCerts(app, &raw);
  AddYarn(app, &raw.options);
  std::vector<std::string> words(arguments.rbegin(), arguments.rend());
  if (words.empty()) words.push_back("--help");
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    if (app.exit(error, out, err) == 0) {
      parsed.help = out.str();
    } else {
      parsed.error = InvalidArgument(std::string(error.what()) + " (`espalier" +
                                     (arguments[0].starts_with("-") ? "" : " " + arguments[0]) +
                                     " --help` tells what can be said)");
    }
    return parsed;
  }
  Result<CliOptions> options = Finish(std::move(raw), env);
  if (options.ok()) {
    parsed.options = std::move(*options);
  } else {
    parsed.error = options.status();
  }
  return parsed;
}

}  // namespace espalier
