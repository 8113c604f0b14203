// Selection and start of a local cluster, for the commands that need one.
//
// Thread rule: the main thread.
#pragma once

#include <functional>

#include "src/cli/commands.h"
#include "src/cli/local_cluster.h"
#include "src/rpc/api_client.h"
#include "src/spec/job_spec.h"

namespace espalier::cli {

// Returns the number of workers: --workers, or the job's workers.max. By default one for each core,
// at most 4 and at least workers.min.
Result<int> LocalWorkers(const CliOptions& options, const spec::WorkerRange& range);

// Returns the options for `workers` workers with --threads threads, or with the cores shared among
// them. The programs are in this program's directory.
Result<LocalClusterOptions> LocalOptions(const CommandContext& context, int workers);

// Prints what is being started, except with --json.
void TellStart(const CommandContext& context, const LocalClusterOptions& options);

// Waits until all workers are attached. An error of `still` ends the wait.
Status AwaitWorkers(rpc::ApiClient& client, int workers, const std::function<Status()>& still);

}  // namespace espalier::cli
