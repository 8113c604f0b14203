// The step loop of one member: performs the StepMachine's actions with the compute pool and the
// reducer. This is where a step's time goes.
//
// A gradient step: the own leaves' gradient is computed (leaf_work.h) into the member's canonical
// nodes; a bucket that is done is handed to the reducer, which sends it while the next one is
// computed. When the totals of all buckets are there, and not before, they are applied.
//
// Beside the leaves' statistics each member adds two numbers of its own to a step's totals, in
// places that nobody else touches: how long a leaf takes it, and on every `agreement_steps`-th
// step, or when the root asked for it in the step before, a checksum of its job state. So all
// members know who is slow, and whether all hold the same state, before they apply the total.
//
// A trainer is for one generation. Interrupted by Abort or a broken link, it leaves the machine as
// of a moment between two rounds, so that another trainer can go on with it.
//
// Thread rule: Run on one thread, which is the first of the compute pool; Abort from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/training/step_machine.h"
#include "src/worker/leaf_work.h"
#include "src/worker/reducer.h"

namespace espalier::worker {

// How far the loop is, after a commit or within an evaluation.
struct StepReport {
  int64_t step = 0, steps_total = 0;
  double epoch = 0;
  double learning_rate = 0;
  double rows_per_second = 0;
  spec::Metrics running;  // of this epoch
  bool evaluating = false;
  double evaluated_share = 0;  // of this member's rows, 0 to 1
};

// What the shell lends to the loop. All are called on the trainer's thread, but for on_leaf.
struct TrainerHooks {
  std::function<int64_t()> now_us;                   // a clock that never goes back
  std::function<void(const StepReport&)> on_report;  // a few times a second
  std::function<void(int64_t number, const spec::HistoryRow&)> on_history;
  std::function<void()> on_first_totals;  // of this trainer: every member has begun
  // Before the states are compared: this one may be what all agree on. (Memory that fails later in
  // the step must not get into what is gone back to.)
  std::function<void()> on_compare;
  // All members hold the state that they had at the last on_compare.
  std::function<void()> on_agreed;
  // At the root, every `pace_steps`: mean ms a leaf of each member takes.
  std::function<void(const std::vector<double>& leaf_ms)> on_pace;
  // At the root, before each step: whether on_agreed should come soon.
  std::function<bool()> agreement_due;
  std::function<void()> on_boundary;  // before each step: the machine's state is whole
  // The rows that a leaf adds to a step, before anything of it goes out; on any compute thread.
  std::function<void(const training::GradientAction&, int32_t leaf, std::span<const int64_t> rows)>
      on_leaf;
  std::function<void(int64_t step)> on_commit;  // of that step (0-based): it was applied
  // Of asynchronous training: at the holder, before others are told to take its state; and at the
  // others, who then replace the machine's by that of `round`. (Of all above there are neither
  // on_compare, on_boundary nor on_commit.)
  std::function<void()> offer_state;
  std::function<Status(uint64_t round)> fetch_state;
};

// Numbers of its own that a member adds to a step's totals: ms a leaf, checksum of the state.
inline constexpr int64_t kMemberNumbers = 2;

struct TrainerOptions {
  spec::Shuffle shuffle;
  int32_t leaves = 1;
  plan::LeafSpan own;  // this member's leaves
  int32_t members = 1;
  int32_t self = 0;
  int64_t agreement_steps = 100;  // states are compared every so many steps ...
  int64_t checkpoint_steps = 0;   // ... and every so many; 0: not
  int64_t pace_steps = 20;
  int64_t max_time_ms = 0;  // 0: none; counted from `begun_us`
  int64_t begun_us = 0;     // when this worker began to train
  size_t history_told = 0;  // rows of the state's history that on_history has had
  int64_t reduce_timeout_ms = 600'000;
  int64_t report_interval_us = 200'000;
};

// Where the wall time of a step goes, as means in ms. `wait_ms` is the exposed part of the reduce.
struct StepParts {
  double leaves_ms = 0;     // gather, forward, backward
  double gradients_ms = 0;  // weight gradients and their local sums
  double wait_ms = 0;       // for the totals
  double update_ms = 0;
};

// How a trainer's run ended.
struct TrainerEnd {
  std::optional<training::FinishAction> finish;  // the job is trained
  Generation next;                               // else: the generation that begins now
};

// The states of these members are not those of the others, who are more than half; none: there is
// no majority. Nothing of the step in flight was applied.
struct Divergence {
  int64_t step = 0;
  std::vector<int32_t> members;
};

// Of all steps that this worker took part in, over generations.
struct StepTimes {
  std::vector<float> step_ms;  // wall time from step to step, evaluations left out
  StepParts sums;
  int64_t steps = 0;

  // So many steps took so long each.
  void Add(float ms, int64_t count);
};

// The most that the sums of one round of a job take, in one vector of each bucket, with what its
// messages count for: for the Reducer.
int64_t RoundBytesMax(const training::TrainingPlan& plan, size_t bytes_a_parameter,
                      int32_t members);

// As of the machine's state; evaluating and what only the loop knows are left out.
template <typename T>
StepReport ReportOf(const training::StepMachine<T>& machine);

// A step loop of one generation: of synchronous training (Trainer) or of asynchronous training
// (async_trainer.h).
class StepLoop {
 public:
  virtual ~StepLoop() = default;
  // From the round in flight to the end of the job, when machine.state().parameters are the weights
  // to save, or to the end of the generation. kDataLoss with `divergence()`: the states differ.
  virtual Result<TrainerEnd> Run() = 0;
  // At the root, any thread: this generation's last step is the next one whose sum has not begun.
  virtual void SwitchTo(Generation next) = 0;
  // At the root, any thread: the next step whose sum has not begun is the last one of the job.
  virtual void EndEarly() = 0;
  // Ends Run soon with this error.
  virtual void Abort(Status why) = 0;
  virtual std::optional<Divergence> divergence() const { return std::nullopt; }
};

template <typename T>
class Trainer final : public StepLoop {
 public:
  // All references must outlive the trainer.
  Trainer(training::StepMachine<T>& machine, TrainerOptions options, const RowSource<T>& rows,
          ComputePool& pool, Reducer& reducer, bool is_root, StepTimes& times, TrainerHooks hooks);

  Result<TrainerEnd> Run() override;
  void SwitchTo(Generation next) override { switch_to_ = next.value; }
  void EndEarly() override { ends_early_ = true; }
  std::optional<Divergence> divergence() const override { return divergence_; }
  void Abort(Status why) override;

 private:
  Result<training::Action> Perform(const training::GradientAction& step);
  Result<training::Action> Perform(const training::UpdateAction& update);
  Result<training::Action> Perform(const training::EvaluateAction& evaluate);
  void ReportStep();
  void ReportEvaluation(double evaluated_share);
  // Tells the hook; what is told of a step is as of the newest one.
  void Report(bool evaluating, double evaluated_share);

  void TellHistory();
  bool Compares(int64_t step) const;
  void AddOwnNumbers(const training::GradientAction& step);
  // Reads what the members said of themselves; an error: they differ.
  Status HearMembers(const training::GradientAction& step, const double* numbers);
  Status Compare(const training::GradientAction& step, const double* checksums);
  Result<std::vector<collective::Payload>> WaitTotals();

  training::StepMachine<T>& machine_;
  TrainerOptions options_;
  ComputePool& pool_;
  Reducer& reducer_;
  bool is_root_;
  StepTimes& times_;
  TrainerHooks hooks_;

  LeafWork<T> work_;
  std::vector<collective::Payload> totals_;  // of the present step, by bucket
  int64_t last_step_us_ = 0, last_report_us_ = 0, last_report_rows_ = 0, rows_done_ = 0;
  double rows_per_second_ = 0;

  double leaf_ms_ = 0;            // of this member, smoothed
  std::vector<double> pace_sum_;  // of all, since the last on_pace
  int64_t pace_steps_ = 0;
  std::optional<Divergence> divergence_;
  bool compares_next_ = false;  // as the root stamped it
  Generation next_;             // likewise
  std::atomic<uint64_t> switch_to_{0};
  std::atomic<bool> ends_early_{false};

  std::atomic<bool> aborted_{false};
  std::mutex abort_mutex_;  // guards abort_reason_
  Status abort_reason_;
};

}  // namespace espalier::worker
