// How a job looks while it runs: pure functions from what a watcher received to text, and two views
// that remember what was already said. `now_ms` is any clock that only moves forward.
//
// On a terminal (LiveView), one line is drawn again and again below the permanent lines:
//
//   epoch  1/20  step 188  loss 0.4213  accuracy 87.90 %  val_loss 0.1987  val_accuracy 94.20 %
//   epoch 2/20  [>      ]   8 %  step 301/3,760  loss 0.2101  val 94.20 %  12,345 rows/s  1:23 left
//
// Elsewhere (PlainView), a line for each change of state and each evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "src/spec/snapshots.h"

namespace espalier::cli {

// Where views write. Text for people goes to standard output.
using TextSink = std::function<void(std::string_view)>;

// The time left, from the pace since the first step that was seen.
class PaceEstimate {
 public:
  void Observe(int64_t step, int64_t steps_total, int64_t now_ms);
  // Empty until there is a pace to judge by, and when the total is unknown.
  std::optional<int64_t> LeftMs(int64_t now_ms) const;

 private:
  std::optional<int64_t> first_step_;
  int64_t first_ms_ = 0, step_ = 0, steps_total_ = 0, step_ms_ = 0;
};

// "[=====>    ]" of `width` characters in all, brackets included; `share` is held within [0, 1].
std::string Bar(double share, int width);

// The line of the running epoch, at most `width` - 1 characters (a full last column would wrap on
// some terminals); what matters least goes first when it is narrow. Never empty.
std::string LiveLine(const spec::JobSnapshot& job,
                     const std::optional<spec::HistoryRow>& last_evaluation,
                     std::optional<int64_t> left_ms, int width);

// The permanent line of an evaluation, without line end.
std::string EvaluationLine(const spec::HistoryRow& row, double epochs_total);

// One line on the state a job has come to, without line end: "job-17 training: 16 leaves on 2
// workers (local-1, local-2)".
std::string StateLine(const spec::JobSnapshot& job);

// What `features: auto` found, for one line: "features: auto: categorical: job; numeric: 3 others";
// empty: nothing beside numbers.
std::string InferredLine(const spec::JobSnapshot& job);
// Line about the job's trouble for a view whose last such line was about `*shown`, with line end:
// the trouble, its end, or nothing. Sets `*shown`.
std::string TroubleLine(const spec::JobSnapshot& job, std::string* shown);

// "coordinator not reached since 12 s, trying again".
std::string AwayLine(int64_t away_ms);

// What a view of a running job can do. Final states are shown by the result view, not here.
class ProgressView {
 public:
  virtual ~ProgressView() = default;
  virtual void OnUpdate(const spec::JobUpdate& update, int64_t now_ms) = 0;
  // Called about ten times a second.
  virtual void OnTick(int64_t now_ms) = 0;
  // Called in place of OnTick while the coordinator is not reached, for `away_ms` by now.
  virtual void OnAway(int64_t away_ms) = 0;
  // Before anything else is written: leaves the cursor at the start of an empty line.
  virtual void Pause() = 0;
};

class LiveView final : public ProgressView {
 public:
  // `width` tells the terminal's width in columns each time it is drawn.
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
  std::vector<std::string> notes_shown_;
  std::string trouble_;  // told last
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
  std::string trouble_;     // told last
  bool away_told_ = false;  // once an outage
  bool inferred_told_ = false;
  std::vector<std::string> notes_shown_;
};

}  // namespace espalier::cli
