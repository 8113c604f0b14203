// How a cluster on this machine is chosen and started, for the commands that need one of their own.
// Thread rule: the main thread.
#pragma once

#include <functional>

#include "src/cli/commands.h"
#include "src/cli/local_cluster.h"
#include "src/rpc/api_client.h"
#include "src/spec/job_spec.h"

namespace espalier::cli {

// --workers, else the job's workers.max, else one a core, at most 4 and at least workers.min.
Result<int> LocalWorkers(const CliOptions& options, const spec::WorkerRange& range);

// So many workers with --threads, or the cores shared among them; the programs are beside this one.
Result<LocalClusterOptions> LocalOptions(const CommandContext& context, int workers);

// Says what is started, unless for machines.
void TellStart(const CommandContext& context, const LocalClusterOptions& options);

// Waits until all workers are there. `still`: an error ends the waiting.
Status AwaitWorkers(rpc::ApiClient& client, int workers, const std::function<Status()>& still);

}  // namespace espalier::cli
