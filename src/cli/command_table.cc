#include "src/cli/command_table.h"

#include "src/cli/commands.h"
#include "src/cli/options_certs.h"
#include "src/cli/options_coordinator.h"
#include "src/cli/options_jobs.h"
#include "src/cli/options_scoring.h"
#include "src/cli/options_yarn.h"

namespace espalier::cli {
namespace {

constexpr bool kNeedsBlasKernel = true;

// Columns: name, help, declare, finish, run.
constexpr Command kCommands[] = {
    {"init", "Write a job file for a table", DeclareInit, FinishInit, RunInit},
    {"train", "Train a model on this machine", DeclareTrain, FinishTrain, RunTrain},
    {"sweep", "Train a job with different values of its keys, or on folds", DeclareSweep,
     FinishSweep, RunSweep},
    {"submit", "Submit a job to a cluster and follow it", DeclareSubmit, FinishSubmit, RunSubmit},
    {"watch", "Follow a job", DeclareWatch, FinishOneJob, RunWatch},
    {"list", "List the jobs of the cluster, newest last", DeclareList, FinishCluster, RunList},
    {"status", "Show one job: its state, progress, result or error", DeclareOneJob, FinishOneJob,
     RunStatus},
    {"cancel", "Stop one of your jobs", DeclareCancel, FinishOneJob, RunCancel},
    {"drain", "Stop a worker after other workers have taken over its work", DeclareDrain,
     FinishCluster, RunDrain},
    {"workers", "List the workers of the cluster and their jobs", DeclareList, FinishCluster,
     RunWorkers},
    {"check", "Inspect the data and model of a job without training", DeclareCheck,
     FinishOptionalCluster, RunCheck},
    {"reference", "Explain the keys of a job file", DeclareReference, nullptr, RunReference},
    {"version", "Print the version", DeclareVersion, nullptr, RunVersion},

    {"evaluate", "Measure a model on a table with labels", DeclareEvaluate, FinishEvaluate,
     RunEvaluate, kNeedsBlasKernel},
    {"predict", "Predict the rows of a table", DeclarePredict, FinishPredict, RunPredict,
     kNeedsBlasKernel},
    {"export", "Write a model as an ONNX file", DeclareExport, nullptr, RunExport,
     kNeedsBlasKernel},

    {"certs", "Create certificates for a cluster", DeclareCerts},
    {"certs init", "Create an authority: ca.crt and ca.key", DeclareCertsInit, nullptr,
     RunCertsInit},
    {"certs issue", "Issue a certificate: ROLE NAME", DeclareCertsIssue, FinishCertsIssue,
     RunCertsIssue},
    {"certs revoke", "Revoke a certificate: FILE", DeclareCertsRevoke, nullptr, RunCertsRevoke},
    {"certs compare", "Check whether a CA file may replace another: BEFORE AFTER",
     DeclareCertsCompare, nullptr, RunCertsCompare},

    {"yarn", "Run a cluster in YARN's containers", DeclareYarn},
    {"yarn up", "Start a cluster", DeclareYarnUp, FinishYarn, RunYarnUp},
    {"yarn run", "Start a cluster for one job, then end it", DeclareYarnRun, FinishYarnRun,
     RunYarnRun},
    {"yarn scale", "Change the number of workers while jobs continue", DeclareYarnScale, FinishYarn,
     RunYarnScale},
    {"yarn status", "Show the containers, coordinator and jobs of a cluster", DeclareYarnService,
     FinishYarn, RunYarnStatus},
    {"yarn logs", "Show the last log lines of the containers", DeclareYarnLogs, FinishYarn,
     RunYarnLogs},
    {"yarn down", "End a cluster and remove its files from HDFS", DeclareYarnService, FinishYarn,
     RunYarnDown},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace espalier::cli
