// Runs the jobs of a sweep on a cluster: a limited number at a time, each until its end.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/cli/sweep_results.h"
#include "src/rpc/api_client.h"

namespace espalier::cli {

struct SweepRunOptions {
  int64_t parallel = 1;                                              // jobs at a time
  std::function<Result<std::unique_ptr<rpc::ApiClient>>()> connect;  // called for each poll
  std::function<Result<JobId>(const config::SweepRun&)> submit;
  std::function<bool()> stopping;  // returns true to stop
  std::function<void()> ending;    // called before jobs are cancelled
  std::function<Status()> tick;    // an error ends the sweep
  // Checks that a successful run has read the same table as the others. An error makes that run
  // fail, and ends the sweep.
  std::function<Status(const config::SweepRun&, const FinishedRun&)> check;
  std::function<void(const config::SweepRun&, const SweepOutcome&)> tell;  // run is over
  int64_t away_limit_ms = 60'000;   // limit for an outage of the coordinator
  int64_t full_wait_ms = 2'000;     // pause before a full coordinator is asked again
  int64_t cancel_wait_ms = 10'000;  // time for cancelled jobs to end
};

// Runs the unfinished jobs. `outcomes` are by run and contain the finished ones. If a job of the
// cluster already writes to the output of a run, it is that run, from an earlier call that was
// killed. After `stopping` returns true, jobs in flight are cancelled and awaited, and no others
// begin.
//
// A job that fails or is refused because of its spec is an outcome. An error is anything that
// prevents the sweep from continuing: one from `tick` or `check`, another submission failure, or a
// coordinator outage beyond the limit. Jobs in flight are cancelled in this case, too.
//
// Thread rule: blocks, one thread.
Status RunSweepJobs(const config::Sweep& sweep, const storage::FileSystem& files,
                    const SweepRunOptions& options, std::vector<SweepOutcome>* outcomes);

}  // namespace espalier::cli
