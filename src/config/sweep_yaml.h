// A sweep: one job run many times, with different values of some of its keys. With folds, the
// validation rows differ too. Each run is a regular job.
//
//   job: config/iris.yaml        # a job file, or the job itself as a map
//   output: build/iris/sweep     # directory for the bundle of each run
//   grid:                        # every combination of these values; the last key changes first
//     train.optimizer.adam.learning_rate: [1e-3, 1e-2]
//     model.hidden: [[16], [32, 16]]
//   random:                      # or: random values for each of N trials
//     trials: 20
//     seed: 1
//     keys:
//       train.batch: [32, 64, 128]                                   # one of a list
//       model.dropout: {uniform: [0, 0.5]}
//       train.optimizer.adam.learning_rate: {log_uniform: [1e-4, 1e-1]}
//       train.leaves: {whole: [1, 8]}                                # both ends included
//   folds: 5                     # runs per trial, one per fold, instead of data.validation
//   stratify: true               # folds with the same share of each class or stratum
//   refit: true                  # with folds: at the end, runs the best trial again on all
//                                # rows (except those that the job's data.validation takes)
//   metric: val_loss             # metric that ranks the trials, as the mean over folds
//   parallel: 4                  # concurrent jobs; default: as many as the workers permit
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/spec/job_spec.h"

namespace espalier::config {

// One job of a sweep.
struct SweepRun {
  int64_t trial = 0;            // index among the sweep's trials
  std::optional<int64_t> fold;  // absent without folds
  bool refit = false;           // refit of the best trial, without folds
  // "trial-003", "trial-003/fold-1", "best-003": its directory, relative to the output.
  std::string name;
  std::string yaml;  // with absolute paths
  spec::JobSpec spec;
};

struct Sweep {
  std::string name;  // name of the job
  std::string output;
  std::string metric;                            // "val_loss"
  std::vector<std::string> keys;                 // "train.batch", in the order of the file
  std::vector<std::vector<std::string>> values;  // [trial][key], as YAML on one line
  std::optional<int64_t> parallel;
  std::vector<SweepRun> runs;  // by trial, then fold
  // With `refit`, one per trial. The refit of the best trial runs after all other runs.
  std::vector<SweepRun> refits;

  int64_t trials() const { return static_cast<int64_t>(values.size()); }
};

// Sets train.epochs of a run, and removes steps. Returns the same errors as ParseJob.
Status SetEpochs(double epochs, SweepRun* run);

// Parses a sweep and makes its runs. `name` is the name of the file, for messages. `read` returns
// the text of a job file, given its path as written in the sweep. Relative paths, including those
// of the job, are relative to `directory`. The job of every run is valid. An error contains the
// place in the sweep file, or the trial with the invalid job and the job's error.
Result<Sweep> ParseSweep(std::string_view yaml_text, std::string_view name,
                         std::string_view directory,
                         const std::function<Result<std::string>(const std::string&)>& read);

}  // namespace espalier::config
