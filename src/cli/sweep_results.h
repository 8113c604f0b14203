// What became of a sweep's runs, and how it is shown. A run is done when its bundle is there and is
// that of its job, so a sweep that is run again goes on where it was (as long as its table has not
// changed: sweep_input.h).
//
// Thread rule: values and pure functions, but for ReadFinished.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/cli/json_view.h"
#include "src/config/sweep_yaml.h"
#include "src/storage/file_system.h"

namespace espalier::cli {

enum class SweepState { kWaiting, kRunning, kDone, kFailed };

struct SweepOutcome {
  SweepState state = SweepState::kWaiting;
  double value = 0;                       // kDone: of the sweep's metric; NaN where it is not known
  bool earlier = false;                   // kDone: the bundle was there before
  std::optional<double> best_epoch = {};  // kDone: as FinishedRun has it
  std::string job;                        // kRunning, kFailed: "job-3"
  Status error;                           // kFailed
};

// The place of a run's bundle.
std::string BundleOf(const config::Sweep& sweep, const config::SweepRun& run);

struct FinishedRun {
  double value = 0;              // of the sweep's metric; NaN where it is not known
  std::string data_fingerprint;  // empty: not known
  // Epochs of the saved weights, where these are the best ones by an evaluation; of several fits
  // their mean.
  std::optional<double> best_epoch = {};
};

// Of a run whose bundle is there; none when it is not. kFailedPrecondition: what is there is
// another job's.
Result<std::optional<FinishedRun>> ReadFinished(const storage::FileSystem& files,
                                                const config::Sweep& sweep,
                                                const config::SweepRun& run);

// The job that is trained on all rows by the best trial's values, of a sweep that has one.
struct Refit {
  config::SweepRun run;
  SweepOutcome outcome;
  // The mean best epoch of the trial's folds, rounded to whole epochs if it is at least 1. Absent
  // if a fold has no best epoch, or if the job itself has validation rows.
  std::optional<double> epochs = {};
};

struct TrialResult {
  int64_t trial = 0;
  int64_t done = 0, failed = 0, runs = 0;
  double mean = 0, deviation = 0;  // over the runs that are done; NaN without one; the deviation is
                                   // that of the runs themselves (divided by n), 0 for one
};

// By trial. `outcomes` are by run.
std::vector<TrialResult> TrialResults(const config::Sweep& sweep,
                                      const std::vector<SweepOutcome>& outcomes);
// The place of the best trial among those whose runs are all done; the first of equal ones.
std::optional<size_t> BestTrial(const config::Sweep& sweep,
                                const std::vector<TrialResult>& results);

// The one of the best trial; none without `refit`, and as long as any run has not ended.
std::optional<Refit> RefitOfBest(const config::Sweep& sweep,
                                 const std::vector<SweepOutcome>& outcomes);

// The table of all trials, the best one marked, and where its bundles are, and that of `refit`
// (none: as RefitOfBest says). Ends with '\n'.
std::string SweepText(const config::Sweep& sweep, const std::vector<SweepOutcome>& outcomes,
                      const std::optional<Refit>& refit, bool color);
// {"status":"SUCCEEDED","sweep":..,"output":..,"metric":..,"trials":[{"trial":1,"values":{KEY:..},
// "mean":..,"deviation":..,"runs":[{"name":..,"fold":..,"status":..,"value":..,"bundle":..,
// "best_epoch":..,"error":..}]}],"best":{"trial":1,"value":..,"bundles":[..]},"refit":{
// "name":"best-001",..as runs,"epochs":..}}. status is that of the sweep: SUCCEEDED, FAILED (of any
// run) or CANCELLED (some are left; RUNNING with `running`). best and refit are null where there is
// none. sweep.json has "inputs" besides, of sweep_input.h.
Json SweepJson(const config::Sweep& sweep, const std::vector<SweepOutcome>& outcomes,
               const std::optional<Refit>& refit, bool running = false);
// One line of what has happened to a run: {"event":"trial",..}, or "refit", with its members as
// above.
Json SweepEventJson(const config::Sweep& sweep, const config::SweepRun& run,
                    const SweepOutcome& outcome);

}  // namespace espalier::cli
