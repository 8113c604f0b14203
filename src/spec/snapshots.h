// Jobs and workers as clients see them: states, progress and results, as plain structs.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/spec/metrics.h"
#include "src/spec/scoring_spec.h"
#include "src/spec/shard_score.h"
#include "src/spec/storage_token.h"

namespace espalier::spec {

enum class JobState : uint8_t {
  kQueued,
  kProfiling,  // the profiling pass of training; all of scoring
  kLoading,
  kTraining,
  kRecovering,  // members were lost; the next generation forms or waits for workers
  kSucceeded,
  kFailed,
  kCancelled
};
const char* JobStateName(JobState state);  // "QUEUED" ...
inline bool IsFinal(JobState s) { return s >= JobState::kSucceeded; }

// Progress of training.
struct JobProgress {
  int64_t step = 0;         // committed
  int64_t steps_total = 0;  // expected maximum
  double epoch = 0;         // completed epochs, fractional
  double epochs_total = 0;
  double loss = 0;      // running, of this epoch
  double accuracy = 0;  // running; classification only
  double learning_rate = 0;
  double rows_per_second = 0;
  std::string phase;       // "training", "evaluating", "writing"
  double phase_share = 0;  // completed share of an evaluation, 0 to 1
  int64_t fit = 0;         // number of the current fit, from 1; 0: unknown
  int64_t fits = 0;        // number of fits that the model averages; 0: unknown
  double fit_epoch = 0;    // completed epochs of this fit
};

// Maximum number of TrainingResult::accepted.
inline constexpr size_t kAcceptedMax = 1'000;

struct TrainingResult {
  int64_t steps = 0;
  double epochs = 0;
  int64_t rows_per_epoch = 0;
  Metrics train;
  std::optional<Metrics> validation;  // of the saved weights
  std::optional<Metrics> test;
  std::vector<std::string> classes;
  std::string weights_sha256;
  std::string bundle;           // path
  std::string stopped_because;  // "epochs", "steps", "time", "early stopping", "divergence"
  double step_ms_p50 = 0;
  double step_ms_p99 = 0;
  int64_t skipped_rows = 0;
  std::optional<AsyncCounts> async = {};  // asynchronous training only
  // Epoch of the saved weights, per fit, if the best weights are restored.
  std::vector<double> best_epochs = {};
  int64_t skipped_steps = 0;  // with on_nonfinite: skip
  int64_t fits = 1;           // number of fits that the model averages
  std::optional<ChosenThreshold> threshold = {};
  std::string positive = {};  // class whose probability the threshold applies to
  std::optional<PredictionIntervals> intervals = {};
  // Differences from the earlier run that were accepted when this one was resumed.
  std::vector<std::string> accepted = {};
};

// std::monostate: the job has not succeeded.
using JobResult = std::variant<std::monostate, TrainingResult, ScoringResult>;

// A job without its history.
struct JobSnapshot {
  JobId job;
  JobKind kind = JobKind::kTrain;
  std::string name;
  std::string owner;  // name of the submitter; empty: the job has no owner
  JobState state = JobState::kQueued;
  // queued; recovering without enough workers; storage is unreachable
  std::string waiting_because;
  // problem with its delegation tokens that will stop it soon
  std::string trouble;
  int64_t losses = 0;     // times that it lost members, in this life of the coordinator
  std::string last_loss;  // reason of the newest loss
  std::string output;
  std::vector<std::string> workers;  // names
  // Types other than numbers that `columns: auto` found (InferredText).
  std::string inferred;
  // Notes of the plan (InputPlan::notes), decisions that the profiling pass made differently from
  // the sample of the rows, and likely problems in the table. One line each.
  std::vector<std::string> notes;
  int64_t leaves = 0;
  Generation generation;
  int64_t input_bytes = 0, profiling_bytes_done = 0;
  JobProgress progress;
  JobResult result;
  Status error;  // error of a failed or cancelled job
  // Milliseconds since 1970; 0: not reached yet.
  int64_t submitted_ms = 0, started_ms = 0, training_ms = 0, ended_ms = 0;
  // Durations of the consecutive phases, in ms.
  int64_t start_phase_ms = 0, profiling_phase_ms = 0, train_phase_ms = 0;

  bool scores() const { return kind != JobKind::kTrain; }  // a prediction or an evaluation
  bool has_result() const { return !std::holds_alternative<std::monostate>(result); }
  // Return the result, or nullptr if the job has no result of this kind.
  const TrainingResult* trained() const { return std::get_if<TrainingResult>(&result); }
  TrainingResult* trained() { return std::get_if<TrainingResult>(&result); }
  const ScoringResult* scored() const { return std::get_if<ScoringResult>(&result); }
  ScoringResult* scored() { return std::get_if<ScoringResult>(&result); }
};

struct WorkerSnapshot {
  WorkerId worker;
  std::string name, address, version, arithmetic_id;
  int32_t threads = 0;
  int64_t memory_bytes = 0;
  JobId job;                  // none: free
  int64_t attached_ms = 0;    // milliseconds since 1970
  int64_t last_heard_ms = 0;  // age of the newest message, in ms
};

// One message to a watcher: the snapshot, and the history rows that the watcher has not received
// yet.
struct JobUpdate {
  JobSnapshot snapshot;
  std::vector<HistoryRow> history;
};

struct SubmitRequest {
  std::string version;            // the client's kVersion
  std::string client_request_id;  // random text that makes a repeated submission the same job
  std::string job_yaml;           // with absolute paths
  StorageTokens tokens = {};      // for the secured file systems in the job
};

}  // namespace espalier::spec
