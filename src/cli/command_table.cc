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
    {"train", "Train on this machine: starts the daemons, trains, cleans up", DeclareTrain,
     FinishTrain, RunTrain},
    {"sweep", "Train a job many times: other values of its keys, folds", DeclareSweep, FinishSweep,
     RunSweep},
    {"submit", "Hand a job to a cluster and follow it", DeclareSubmit, FinishSubmit, RunSubmit},
    {"watch", "Follow a job", DeclareWatch, FinishOneJob, RunWatch},
    {"list", "List the cluster's jobs, newest last", DeclareList, FinishCluster, RunList},
    {"status", "Show one job: state, progress, result or error", DeclareOneJob, FinishOneJob,
     RunStatus},
    {"cancel", "Stop a job of yours; its workers become free", DeclareCancel, FinishOneJob,
     RunCancel},
    {"drain", "Release a worker: others take its leaves, training continues", DeclareDrain,
     FinishCluster, RunDrain},
    {"workers", "List the cluster's workers and what they do", DeclareList, FinishCluster,
     RunWorkers},
    {"check", "Look at a job's data and model without training", DeclareCheck,
     FinishOptionalCluster, RunCheck},
    {"reference", "Print what the keys of a job file mean", DeclareReference, nullptr,
     RunReference},
    {"version", "Print the version", DeclareVersion, nullptr, RunVersion},

    {"evaluate", "Measure a model on a table with labels", DeclareEvaluate, FinishEvaluate,
     RunEvaluate, kNeedsBlasKernel},
    {"predict", "Write a model's answers to a table", DeclarePredict, FinishPredict, RunPredict,
     kNeedsBlasKernel},
    {"export", "Write a model as an ONNX file", DeclareExport, nullptr, RunExport,
     kNeedsBlasKernel},

    {"certs", "Make certificates for a cluster", DeclareCerts},
    {"certs init", "Make an authority: ca.crt and ca.key", DeclareCertsInit, nullptr, RunCertsInit},
    {"certs issue", "Issue a certificate: ROLE NAME", DeclareCertsIssue, FinishCertsIssue,
     RunCertsIssue},
    {"certs revoke", "Take a certificate back: FILE", DeclareCertsRevoke, nullptr, RunCertsRevoke},
    {"certs compare", "Whether a CA file may replace another: BEFORE AFTER", DeclareCertsCompare,
     nullptr, RunCertsCompare},

    {"yarn", "Run a cluster in YARN's containers", DeclareYarn},
    {"yarn up", "Start a cluster", DeclareYarnUp, FinishYarn, RunYarnUp},
    {"yarn run", "Start a cluster, train a job on it, end it", DeclareYarnRun, FinishYarnRun,
     RunYarnRun},
    {"yarn scale", "Change the number of workers; jobs continue meanwhile", DeclareYarnScale,
     FinishYarn, RunYarnScale},
    {"yarn status", "Show a cluster: containers, coordinator, jobs", DeclareYarnService, FinishYarn,
     RunYarnStatus},
    {"yarn logs", "Show the end of what its containers have logged", DeclareYarnLogs, FinishYarn,
     RunYarnLogs},
    {"yarn down", "End a cluster and remove what it left on HDFS", DeclareYarnService, FinishYarn,
     RunYarnDown},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace espalier::cli
