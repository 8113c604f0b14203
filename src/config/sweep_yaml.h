// A sweep: one job many times over, with other values of some of its keys and, with folds, other
// rows for validation. Each run is an ordinary job.
//
//   job: config/iris.yaml        # a job's file, or the job itself as a map
//   output: build/iris/sweep     # each run's bundle comes below it
//   grid:                        # every combination of these values; the last key changes first
//     train.optimizer.adam.learning_rate: [1e-3, 1e-2]
//     model.hidden: [[16], [32, 16]]
//   random:                      # or: values drawn for each of so many trials
//     trials: 20
//     seed: 1
//     keys:
//       train.batch: [32, 64, 128]                                   # one of a list
//       model.dropout: {uniform: [0, 0.5]}
//       train.optimizer.adam.learning_rate: {log_uniform: [1e-4, 1e-1]}
//       train.leaves: {whole: [1, 8]}                                # both ends included
//   folds: 5                     # each trial so often, in place of data.validation
//   stratify: true               # folds with the same share of each class
//   refit: true                  # with folds: at the end the best trial's values once more, on all
//                                # rows (but those that the job's own data.validation takes)
//   metric: val_loss             # what the best trial is best by, its mean over folds
//   parallel: 4                  # jobs at a time; by default as many as the workers allow
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
  int64_t trial = 0;            // its place among the sweep's trials
  std::optional<int64_t> fold;  // none without folds
  bool refit = false;           // of the best trial, without folds
  std::string name;  // "trial-003", "trial-003/fold-1", "best-003": its place below the output
  std::string yaml;  // paths absolute
  spec::JobSpec spec;
};

struct Sweep {
  std::string name;  // the job's
  std::string output;
  std::string metric;                            // "val_loss"
  std::vector<std::string> keys;                 // "train.batch", in the order of the file
  std::vector<std::vector<std::string>> values;  // [trial][key], as YAML on one line
  std::optional<int64_t> parallel;
  std::vector<SweepRun> runs;  // by trial, then fold
  // With `refit` one a trial: that of the best one is run, after all others.
  std::vector<SweepRun> refits;

  int64_t trials() const { return static_cast<int64_t>(values.size()); }
};

inline constexpr int64_t kSweepRunsMax = 10'000;

// Sets train.epochs of a run in place of steps and epochs. Errors as of ParseJob.
Status SetEpochs(double epochs, SweepRun* run);

// `name` is the file's, for messages. `read` gives the text of a job's file by its path as it
// stands. Relative paths, those of the job too, are taken from `directory`. Every run's job is
// valid. Errors name the place in the sweep's file, or the trial whose job is wrong and what is.
Result<Sweep> ParseSweep(std::string_view yaml_text, std::string_view name,
                         std::string_view directory,
                         const std::function<Result<std::string>(const std::string&)>& read);

}  // namespace espalier::config
