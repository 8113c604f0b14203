#include "src/cli/options_yarn.h"

#include <CLI/CLI.hpp>

#include "src/base/text.h"
#include "src/cli/options_jobs.h"
#include "src/cli/yarn_kept.h"
#include "src/config/units.h"
#include "src/yarn/service_principal.h"

namespace espalier::cli {
namespace {

constexpr const char* kYarnExamples =
    "Runs a coordinator and N workers in YARN's containers, one worker on each node.\n"
    "Connections are encrypted. This machine needs neither Java nor a Hadoop client.\n"
    "HADOOP_CONF_DIR names the directory with core-site.xml, hdfs-site.xml and\n"
    "yarn-site.xml.\n"
    "\n"
    "Examples:\n"
    "  espalier yarn run job.yaml --workers 4     a cluster for one job\n"
    "  espalier yarn up mnist --workers 4         a cluster for many jobs\n"
    "  espalier submit job.yaml --coordinator yarn:mnist\n"
    "  espalier yarn scale mnist 8                running jobs grow without a pause\n"
    "  espalier yarn status mnist\n"
    "  espalier yarn logs mnist\n"
    "  espalier yarn down mnist\n"
    "\n"
    "With Kerberos, `up` and `run` need a keytab. The other commands use your ticket\n"
    "(kinit):\n"
    "  espalier yarn up mnist --keytab ann.keytab --principal ann/yarn@EXAMPLE.COM";

constexpr const char* kYarnRunExamples =
    "Starts a cluster, trains the model, shows the result and ends the cluster. All\n"
    "nodes must find the paths in the job, so use hdfs://... On a terminal, Ctrl-C asks\n"
    "whether to stop the cluster. With --detach, the command returns when the job is\n"
    "accepted, and the cluster ends by itself after the job.\n"
    "\n"
    "Examples:\n"
    "  espalier yarn run job.yaml --workers 4 --memory 8GiB --vcores 4\n"
    "  espalier yarn run job.yaml --detach --name mnist";

void AddSizes(CLI::App* app, YarnArguments& y) {
  app->add_option("--workers", y.workers,
                  "Number of workers, each on a separate node (default: 1)");
  app->add_option("--memory", y.memory, "Memory of a worker's container (default: 4GiB)");
  app->add_option("--vcores", y.vcores,
                  "Cores of a worker's container, which are its compute threads (default: 1)");
  app->add_option("--coordinator-memory", y.coordinator_memory,
                  "Memory of the coordinator's container (default: 1GiB)");
  app->add_option("--coordinator-vcores", y.coordinator_vcores,
                  "Cores of the coordinator's container (default: 1)");
  app->add_option("--queue", y.queue, "Queue of YARN (default: the queue of the user)");
  app->add_option(
      "--tarball", y.tarball,
      "espalier-VERSION-linux-x86_64.tar.gz (default: the one in the working directory or "
      "next to the directory of this program)");
  app->add_option("--service", y.service,
                  "Template of the service (default: deploy/yarn/service.json of this package)");
  app->add_option("--keytab", y.keytab,
                  "With Kerberos: keytab for the service and for this command");
  app->add_option("--principal", y.principal,
                  "With --keytab: principal of the keytab, NAME/HOST@REALM");
  app->add_option("--wait", y.wait, "Time limit for YARN to start the coordinator (default: 5min)");
}

void AddYarnJson(CLI::App* app, CliOptions& o) {
  app->add_flag("--json", o.json, "Write JSON to standard output, one object per line");
}

Result<int64_t> Megabytes(const std::string& text, const char* flag) {
  const auto bytes = config::ParseBytes(text);
  if (bytes && *bytes >= 0) return *bytes >> 20;
  return InvalidArgument(std::string(flag) + ": found '" + Printable(text) +
                         "', expected a size such as 4GiB");
}

Status CheckYarn(const YarnArguments& y) {
  if (y.keytab.empty() != y.principal.empty()) {
    return InvalidArgument(
        y.keytab.empty() ? "--principal: found without --keytab, expected both. Add --keytab FILE"
                         : "--keytab: found without --principal, expected both. Add "
                           "--principal NAME/HOST@REALM");
  }
  if (!y.principal.empty()) ESPALIER_RETURN_IF_ERROR(yarn::CheckPrincipal(y.principal));
  if (!config::ParseMilliseconds(y.wait)) {
    return InvalidArgument("--wait: found '" + Printable(y.wait) +
                           "', expected a time such as 5min");
  }
  if (!config::ParseBytes(y.log_bytes) || *config::ParseBytes(y.log_bytes) < 1) {
    return InvalidArgument("--bytes: found '" + Printable(y.log_bytes) +
                           "', expected a size such as 64KiB");
  }
  const Result<yarn::YarnRequest> request = ToYarnRequest(y);
  ESPALIER_RETURN_IF_ERROR(request.status());
  yarn::YarnRequest checked = *request;
  if (checked.name.empty()) checked.name = "job";  // the job will provide it
  return checked.Validate();
}

}  // namespace

void DeclareYarn(CLI::App* app, RawArguments*) { app->footer(kYarnExamples); }

void DeclareYarnService(CLI::App* app, RawArguments* raw) {
  AddYarnJson(app, raw->options);
  app->add_option("NAME", raw->options.yarn.name, "Name of the cluster")->required();
}

void DeclareYarnUp(CLI::App* app, RawArguments* raw) {
  DeclareYarnService(app, raw);
  AddSizes(app, raw->options.yarn);
}

void DeclareYarnRun(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->footer(kYarnRunExamples);
  AddYarnJson(app, o);
  app->add_option("JOB.yaml", o.job_file, "Job file")->required();
  app->add_option("--name", o.yarn.name, "Name of the cluster (default: the name of the job)");
  app->add_option("--output", o.output,
                  "Directory for the bundle, instead of `output` in the job file");
  app->add_flag("--detach", o.yarn.detach, "Return when the job is accepted");
  AddSizes(app, o.yarn);
}

void DeclareYarnScale(CLI::App* app, RawArguments* raw) {
  DeclareYarnService(app, raw);
  app->add_option("N", raw->options.yarn.workers, "New number of workers")->required();
}

void DeclareYarnLogs(CLI::App* app, RawArguments* raw) {
  YarnArguments& y = raw->options.yarn;
  DeclareYarnService(app, raw);
  app->add_option("--container", y.container, "Show only this container, which may have ended");
  app->add_option("--bytes", y.log_bytes,
                  "Maximum size of the log of each container (default: 64KiB)");
}

Status FinishYarn(const Environment& env, RawArguments* raw) {
  CliOptions& o = raw->options;
  ESPALIER_RETURN_IF_ERROR(yarn::CheckYarnName(o.yarn.name));
  o.coordinator = kYarnCoordinator + o.yarn.name;
  o.tls = KeptOfYarn(env, o.yarn.name).Tls(o.yarn.name);
  return CheckYarn(o.yarn);
}

Status FinishYarnRun(const Environment& env, RawArguments* raw) {
  const YarnArguments& y = raw->options.yarn;
  ESPALIER_RETURN_IF_ERROR(y.name.empty() ? CheckYarn(y) : FinishYarn(env, raw));
  return CheckRun(raw->options);
}

Result<yarn::YarnRequest> ToYarnRequest(const YarnArguments& y) {
  yarn::YarnRequest request;
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

}  // namespace espalier::cli
