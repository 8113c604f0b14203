// The jobs of a sweep on a cluster: so many at a time, each awaited to its end.
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
  std::function<Result<std::unique_ptr<rpc::ApiClient>>()> connect;  // for each look
  std::function<Result<JobId>(const config::SweepRun&)> submit;
  std::function<bool()> stopping;  // somebody wants the end
  std::function<void()> ending;    // called before jobs are cancelled
  std::function<Status()> tick;    // an error ends the sweep
  // Whether a run that has succeeded has read the table that the others did; an error is that run's
  // failure, and ends the sweep.
  std::function<Status(const config::SweepRun&, const FinishedRun&)> check;
  std::function<void(const config::SweepRun&, const SweepOutcome&)> tell;  // done or failed
  int64_t away_limit_ms = 60'000;   // how long the coordinator may be gone
  int64_t full_wait_ms = 2'000;     // before a coordinator that takes no more jobs is asked again
  int64_t cancel_wait_ms = 10'000;  // for the ends of cancelled jobs
};

// Runs what is not done; `outcomes` are by run and say what is. A job of the cluster that writes
// where a run would is that run, of an earlier call that was killed. Once `stopping`, the jobs in
// flight are cancelled and awaited, and no other begins. A job that fails, or is refused for what
// it says, is an outcome; an error is what keeps the sweep from going on: `tick`'s, `check`'s,
// another failure to submit, or the coordinator is away for too long. Jobs in flight are cancelled
// then too. Thread rule: blocks, one thread.
Status RunSweepJobs(const config::Sweep& sweep, const storage::FileSystem& files,
                    const SweepRunOptions& options, std::vector<SweepOutcome>* outcomes);

}  // namespace espalier::cli
