#include "src/cli/options_yarn.h"

#include <CLI/CLI.hpp>

#include "src/base/text.h"
#include "src/config/units.h"
#include "src/yarn/service_principal.h"

namespace espalier {
namespace {

constexpr const char* kYarnExamples =
    "A cluster of one coordinator and N workers in YARN's containers, one worker a node, "
    "encrypted,\n"
    "by YARN's REST services alone: no Java and no Hadoop client is needed here. HADOOP_CONF_DIR\n"
    "names the directory with core-site.xml, hdfs-site.xml and yarn-site.xml.\n"
    "\n"
    "Examples:\n"
    "  espalier yarn run job.yaml --workers 4     a cluster for one job; ends with it\n"
    "  espalier yarn up mnist --workers 4         a cluster that stays\n"
    "  espalier submit job.yaml --coordinator yarn:mnist\n"
    "  espalier yarn scale mnist 8                jobs that run grow without a pause\n"
    "  espalier yarn status mnist\n"
    "  espalier yarn logs mnist\n"
    "  espalier yarn down mnist\n"
    "On a cluster with Kerberos `up` and `run` take a keytab; the others use your ticket (kinit):\n"
    "  espalier yarn up mnist --keytab ann.keytab --principal ann/yarn@EXAMPLE.COM";

constexpr const char* kRunExamples =
    "Starts a cluster, trains, shows the result and ends the cluster. Paths in the job are those "
    "of\n"
    "the cluster's nodes: hdfs://... On a terminal Ctrl-C asks what is to be done. With --detach\n"
    "this command returns when the job is accepted; the cluster ends by itself when it is done.\n"
    "\n"
    "Examples:\n"
    "  espalier yarn run job.yaml --workers 4 --memory 8GiB --vcores 4\n"
    "  espalier yarn run job.yaml --detach --name mnist";

void AddSizes(CLI::App* sub, YarnArguments& y) {
  sub->add_option("--workers", y.workers, "Workers, each on a node of its own (1)");
  sub->add_option("--memory", y.memory, "Of a worker's container (4GiB)");
  sub->add_option("--vcores", y.vcores, "Of a worker's container: its compute threads (1)");
  sub->add_option("--coordinator-memory", y.coordinator_memory,
                  "Of the coordinator's container (1GiB)");
  sub->add_option("--coordinator-vcores", y.coordinator_vcores,
                  "Of the coordinator's container (1)");
  sub->add_option("--queue", y.queue, "YARN's queue (default: the user's own)");
  sub->add_option("--tarball", y.tarball,
                  "espalier-VERSION-linux-x86_64.tar.gz (default: looked for in the working "
                  "directory and beside this program's tree)");
  sub->add_option("--service", y.service,
                  "Template of the service (default: deploy/yarn/service.json of this tree)");
  sub->add_option("--keytab", y.keytab,
                  "With Kerberos: the keytab by which the service logs in, and this command, too");
  sub->add_option("--principal", y.principal, "With --keytab: whose it is, NAME/HOST@REALM");
  sub->add_option("--wait", y.wait, "How long YARN may take to start the coordinator (5min)");
}

CLI::App* AddOne(CLI::App* yarn, const char* name, const char* what, CommandKind kind,
                 CliOptions* options) {
  CLI::App* sub = yarn->add_subcommand(name, what);
  sub->callback([options, kind] { options->command = kind; });
  sub->add_flag("--json", options->json, "Write JSON to standard output, one object a line");
  return sub;
}

Result<int64_t> Megabytes(const std::string& text, const char* flag) {
  const auto bytes = ParseBytes(text);
  if (bytes && *bytes >= 0) return *bytes >> 20;
  return InvalidArgument(std::string(flag) + ": found '" + Printable(text) +
                         "', expected a size such as 4GiB");
}

}  // namespace

bool IsYarn(CommandKind kind) {
  return kind >= CommandKind::kYarnUp && kind <= CommandKind::kYarnDown;
}

void AddYarn(CLI::App& app, CliOptions* options) {
  YarnArguments& y = options->yarn;
  CLI::App* yarn = app.add_subcommand("yarn", "Run a cluster in YARN's containers");
  yarn->footer(kYarnExamples);
  yarn->require_subcommand(1);
  CLI::App* up = AddOne(yarn, "up", "Start a cluster", CommandKind::kYarnUp, options);
  AddSizes(up, y);
  CLI::App* run = AddOne(yarn, "run", "Start a cluster, train a job on it, end it",
                         CommandKind::kYarnRun, options);
  run->footer(kRunExamples);
  run->add_option("JOB.yaml", options->job_file, "The job file")->required();
  run->add_option("--name", y.name, "The service's name (default: the job's)");
  run->add_option("--output", options->output, "Write the bundle here instead of the job's output");
  run->add_flag("--detach", y.detach, "Return when the job is accepted");
  AddSizes(run, y);
  CLI::App* scale = AddOne(yarn, "scale", "Change the number of workers; jobs go on meanwhile",
                           CommandKind::kYarnScale, options);
  CLI::App* status = AddOne(yarn, "status", "Show a cluster: containers, coordinator, jobs",
                            CommandKind::kYarnStatus, options);
  CLI::App* logs = AddOne(yarn, "logs", "Show the end of what its containers have logged",
                          CommandKind::kYarnLogs, options);
  logs->add_option("--container", y.container, "Of this container alone, also one that has ended");
  logs->add_option("--bytes", y.log_bytes, "At most so much of each (64KiB)");
  CLI::App* down = AddOne(yarn, "down", "End a cluster and remove what it left on HDFS",
                          CommandKind::kYarnDown, options);
  for (CLI::App* sub : {up, scale, status, logs, down}) {
    sub->add_option("NAME", y.name, "The service's name")->required();
  }
  scale->add_option("N", y.workers, "How many workers there shall be")->required();
}

Status FinishYarn(const Environment& env, CliOptions* options) {
  YarnArguments& y = options->yarn;
  if (options->command != CommandKind::kYarnRun || !y.name.empty()) {
    ESPALIER_RETURN_IF_ERROR(CheckYarnName(y.name));
    options->coordinator = kYarnCoordinator + y.name;
    options->tls = KeptOfYarn(env, y.name).Tls(y.name);
  }
  if (y.keytab.empty() != y.principal.empty()) {
    return InvalidArgument(
        y.keytab.empty() ? "--principal: expected --keytab FILE, too: the keys of that principal"
                         : "--keytab: expected --principal NAME/HOST@REALM, too: whose keys "
                           "of that file are meant");
  }
  if (!y.principal.empty()) ESPALIER_RETURN_IF_ERROR(CheckPrincipal(y.principal));
  if (!ParseMilliseconds(y.wait)) {
    return InvalidArgument("--wait: found '" + Printable(y.wait) +
                           "', expected a time such as 5min");
  }
  if (!ParseBytes(y.log_bytes) || *ParseBytes(y.log_bytes) < 1) {
    return InvalidArgument("--bytes: found '" + Printable(y.log_bytes) +
                           "', expected a size such as 64KiB");
  }
  const Result<YarnRequest> request = ToYarnRequest(y);
  ESPALIER_RETURN_IF_ERROR(request.status());
  YarnRequest checked = *request;
  if (checked.name.empty()) checked.name = "job";  // will be the job's
  return checked.Validate();
}

YarnKept KeptOfYarn(const Environment& env, const std::string& service) {
  return {(env.home.empty() ? "." : env.home) + "/.espalier/yarn/" + service};
}

Result<YarnRequest> ToYarnRequest(const YarnArguments& y) {
  YarnRequest request;
  request.name = y.name;
  request.queue = y.queue;
  request.workers = y.workers;
  ESPALIER_ASSIGN_OR_RETURN(request.worker.memory_mb, Megabytes(y.memory, "--memory"));
  ESPALIER_ASSIGN_OR_RETURN(request.coordinator.memory_mb,
                            Megabytes(y.coordinator_memory, "--coordinator-memory"));
  request.worker.cores = y.vcores;
  request.coordinator.cores = y.coordinator_vcores;
  return request;
}

}  // namespace espalier
