// Display of a running job: pure functions that convert received updates to text, and two views
// that remember the lines they have written. `now_ms` is any monotonic clock.
//
// On a terminal (LiveView), one line is redrawn repeatedly below the permanent lines:
//
//   fit 1/5 epoch 1/20  loss 0.4213 acc 87.90 %  val_loss 0.1987 val_acc 94.20 %
//   fit 1/5 epoch 2/20  [>     ]   8 %  loss 0.2101  val 94.20 %  1:23 left
//
// On other outputs (PlainView), one line is written for each change of state and each evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/spec/snapshots.h"

namespace espalier::cli {

// Output of a view. Text for people goes to standard output.
using TextSink = std::function<void(std::string_view)>;

// Estimates the remaining time, from the pace since the first observed step.
class PaceEstimate {
 public:
  void Observe(int64_t step, int64_t steps_total, int64_t now_ms);
  // Empty until the pace is known, and if the total is unknown.
  std::optional<int64_t> LeftMs(int64_t now_ms) const;

 private:
  std::optional<int64_t> first_step_;
  int64_t first_ms_ = 0, step_ = 0, steps_total_ = 0, step_ms_ = 0;
};

// Returns "[=====> ]" with `width` characters in total, brackets included. `share` is clamped to
// [0, 1].
std::string Bar(double share, int width);

// Returns the line of the running epoch, at most `width` - 1 characters (a full last column would
// wrap on some terminals). In a narrow terminal the least important parts are omitted first. Never
// empty.
std::string LiveLine(const spec::JobSnapshot& job,
                     const std::optional<spec::HistoryRow>& last_evaluation,
                     std::optional<int64_t> left_ms, int width);

// Returns the running epoch: "epoch 2/20". With several fits, it is that of the fit: "fit 1/5 epoch
// 2/20".
std::string RunningEpoch(const spec::JobProgress& progress);

// Returns the permanent line of an evaluation, without line end: at most `width` - 1 characters, as
// above. With several fits, the epochs are those of the fit. `progress` is the job's.
std::string EvaluationLine(const spec::HistoryRow& row, const spec::JobProgress& progress,
                           int width);

// Returns one line about a job's new state, without line end: "job-17 training: 16 leaves on 2
// workers (local-1, local-2)".
std::string StateLine(const spec::JobSnapshot& job);

// Returns the result of `features: auto` in one line: "features: auto: categorical: job; numeric: 3
// others". Empty: only numbers.
std::string InferredLine(const spec::JobSnapshot& job);
// Returns a line, with line end, about the job's current problem or its end, or nothing. `*shown`
// is the problem in the last line that the view has shown. Sets `*shown`.
std::string TroubleLine(const spec::JobSnapshot& job, std::string* shown);

// Returns a line, with line end, about workers whose loss the job recovers from, or nothing:
// "job-17 lost the worker left". `*last` are the workers in the previous snapshot. Sets `*last`.
std::string LostLine(const spec::JobSnapshot& job, std::vector<std::string>* last);

// Returns "The coordinator has been unreachable for 12 s; retrying".
std::string AwayLine(int64_t away_ms);

// Interface of the views of a running job. The result view shows final states.
class ProgressView {
 public:
  virtual ~ProgressView() = default;
  virtual void OnUpdate(const spec::JobUpdate& update, int64_t now_ms) = 0;
  // Called about ten times a second.
  virtual void OnTick(int64_t now_ms) = 0;
  // Called instead of OnTick while the coordinator is not reached. `away_ms` is the time so far.
  virtual void OnAway(int64_t away_ms) = 0;
  // Leaves the cursor at the start of an empty line. Call it before any other output.
  virtual void Pause() = 0;
};

class LiveView final : public ProgressView {
 public:
  // `width` returns the terminal's current width in columns. It is called for each redraw.
  LiveView(TextSink out, std::function<int()> width, bool color)
      : out_(std::move(out)), width_(std::move(width)), color_(color) {}
  void OnUpdate(const spec::JobUpdate& update, int64_t now_ms) override;
  void OnTick(int64_t now_ms) override;
  void OnAway(int64_t away_ms) override;
  void Pause() override;

 private:
  TextSink out_;
  std::function<int()> width_;
  const bool color_;
  bool drawn_ = false, inferred_told_ = false;
  std::vector<std::string> notes_shown_, workers_;
  std::string trouble_;  // last one shown
  std::optional<spec::JobSnapshot> job_;
  std::optional<spec::HistoryRow> last_;
  PaceEstimate pace_;
};

class PlainView final : public ProgressView {
 public:
  explicit PlainView(TextSink out) : out_(std::move(out)) {}
  void OnUpdate(const spec::JobUpdate& update, int64_t now_ms) override;
  void OnTick(int64_t) override { away_told_ = false; }
  void OnAway(int64_t away_ms) override;
  void Pause() override {}

 private:
  TextSink out_;
  std::string last_state_;
  std::string trouble_;     // last one shown
  bool away_told_ = false;  // set once for each outage
  bool inferred_told_ = false;
  std::vector<std::string> notes_shown_, workers_;
};

}  // namespace espalier::cli
