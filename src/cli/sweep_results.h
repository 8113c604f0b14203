// Outcomes of a sweep's runs, and their display. A run is done if its bundle exists and belongs to
// its job. A repeated sweep therefore continues where it stopped, as long as its table has not
// changed (sweep_input.h).
//
// Thread rule: values and pure functions, except for ReadFinished.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/cli/json.h"
#include "src/config/sweep_yaml.h"
#include "src/storage/file_system.h"

namespace espalier::cli {

enum class SweepState { kWaiting, kRunning, kDone, kFailed };

struct SweepOutcome {
  SweepState state = SweepState::kWaiting;
  double value = 0;                       // kDone: value of the sweep's metric; NaN: unknown
  bool earlier = false;                   // kDone: the bundle existed before
  std::optional<double> best_epoch = {};  // kDone: as in FinishedRun
  std::string job;                        // kRunning, kFailed: "job-3"
  Status error;                           // kFailed
};

// Returns the location of a run's bundle.
std::string BundleOf(const config::Sweep& sweep, const config::SweepRun& run);

struct FinishedRun {
  double value = 0;              // value of the sweep's metric; NaN: unknown
  std::string data_fingerprint;  // empty: unknown
  // Epochs of the saved weights, if these are the best ones of an evaluation. With several fits,
  // the mean.
  std::optional<double> best_epoch = {};
};

// Reads the result of a run, or nothing if its bundle does not exist. kFailedPrecondition: the
// bundle belongs to another job.
Result<std::optional<FinishedRun>> ReadFinished(const storage::FileSystem& files,
                                                const config::Sweep& sweep,
                                                const config::SweepRun& run);

// The job that trains on all rows with the best trial's values, if the sweep has one.
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
  double mean = 0, deviation = 0;  // over the finished runs; NaN if there is none. The deviation is
                                   // that of the runs themselves (divided by n), 0 for one run
};

// Returns the results by trial. `outcomes` are by run.
std::vector<TrialResult> TrialResults(const config::Sweep& sweep,
                                      const std::vector<SweepOutcome>& outcomes);
// Returns the index of the best trial among those with all runs done; the first of equal ones.
std::optional<size_t> BestTrial(const config::Sweep& sweep,
                                const std::vector<TrialResult>& results);

// Returns the refit of the best trial. Returns nothing without `refit`, and until all runs have
// ended.
std::optional<Refit> RefitOfBest(const config::Sweep& sweep,
                                 const std::vector<SweepOutcome>& outcomes);

// Returns the table of all trials with the best one marked, and the locations of its bundles and of
// `refit` (none: as RefitOfBest returns). Ends with '\n'.
std::string SweepText(const config::Sweep& sweep, const std::vector<SweepOutcome>& outcomes,
                      const std::optional<Refit>& refit, bool color);
// Returns
// {"status":"SUCCEEDED","sweep":..,"output":..,"metric":..,"trials":[{"trial":1,"values":{KEY:..},
// "mean":..,"deviation":..,"runs":[{"name":..,"fold":..,"status":..,"value":..,"bundle":..,
// "best_epoch":..,"error":..}]}],"best":{"trial":1,"value":..,"bundles":[..]},"refit":{
// "name":"best-001",..as runs,"epochs":..}}.
// status is that of the sweep: SUCCEEDED, FAILED (any run) or CANCELLED (runs remain; RUNNING with
// `running`). best and refit are null if they do not exist. sweep.json also has the "inputs" of
// sweep_input.h.
Json SweepJson(const config::Sweep& sweep, const std::vector<SweepOutcome>& outcomes,
               const std::optional<Refit>& refit, bool running = false);
// Returns one line about a run: {"event":"trial",..}, or "refit", with its members as above.
Json SweepEventJson(const config::Sweep& sweep, const config::SweepRun& run,
                    const SweepOutcome& outcome);

}  // namespace espalier::cli
