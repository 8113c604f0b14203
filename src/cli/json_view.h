// The program's output for machines. Every object is one line.
//
// While a job runs (`train`, `submit`, `watch` with --json):
//   {"event":"state","job":"job-1","state":"TRAINING","waiting_because":null,"trouble":null,
//    "workers":["local-1"]}
//   {"event":"progress","job":"job-1","phase":"training","phase_share":0.0,"step":188,
//    "steps_total":3760,"epoch":1.0,"epochs_total":20.0,"fit":1,"fits":1,"fit_epoch":1.0,
//    "loss":..,"accuracy":..,"learning_rate":..,"rows_per_second":..,"input_bytes":..,
//    "profiling_bytes_done":..}
//   {"event":"evaluation","job":"job-1","epoch":1.0,"step":188,"fit":1,"fit_epoch":1.0,
//    "learning_rate":..,"train":{..},"validation":{..}}
//   {"event":"coordinator_away","job":"job-1","away_s":1.0}
// "fit" and "fits" are null if they are unknown. The last event appears once for each outage. The
// job is watched again when the coordinator is back.
//
// The last line is the outcome, see OutcomeJson. If the user stopped following and the job may
// continue, the last line is:
//   {"event":"detached","job":"job-1","follow_with":"espalier watch job-1 --json"}
//
// Thread rule: pure functions, and a view for one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/cli/json.h"
#include "src/cli/progress_view.h"
#include "src/spec/snapshots.h"

namespace espalier::cli {

// Returns the outcome of a job that has ended. On success:
//   {"status":"SUCCEEDED","job":..,"steps":..,"epochs":..,"rows_per_epoch":..,
//    "metrics":{"train":{..},"validation":{..},"test":{..}},"weights_sha256":..,"bundle":..,
//    "timing":{"start_s":..,"profiling_s":..,"train_s":..,"total_s":..,"step_ms_p50":..,
//    "step_ms_p99":..}}
// Asynchronous training adds "async":{"largest_lag":..,"refused":..}. validation and test are null
// if the set does not exist. On failure: as ErrorJson. `client_start_ms` is the time that the
// command spent before it submitted the job. It is part of start_s.
Json OutcomeJson(const spec::JobSnapshot& job, int64_t client_start_ms);

// Returns a job as `espalier list --json` and `status --json` show it: everything except its
// history. A job that has ended has its outcome under "outcome".
Json JobJson(const spec::JobSnapshot& job);
Json WorkerJson(const spec::WorkerSnapshot& worker);

// Writes the lines of a running job. Writes progress at most once a second.
class JsonView final : public ProgressView {
 public:
  explicit JsonView(TextSink out) : out_(std::move(out)) {}
  void OnUpdate(const spec::JobUpdate& update, int64_t now_ms) override;
  void OnTick(int64_t) override { away_told_ = false; }
  void OnAway(int64_t away_ms) override;
  void Pause() override {}

 private:
  TextSink out_;
  std::string job_;
  std::string last_state_;
  bool away_told_ = false;  // set once for each outage
  std::optional<int64_t> last_progress_ms_;
};

}  // namespace espalier::cli
