// The step loop of one member: performs the StepMachine's actions with the compute pool and the
// reducer. A job spends its step time in this loop.
//
// In a gradient step, the member computes the gradient of its own leaves (leaf_work.h) into its
// canonical nodes. It passes each finished bucket to the reducer, which sends the bucket while the
// next one is computed. When the totals of all buckets have arrived, and not before, the member
// applies them.
//
// In addition to the leaves' statistics, each member adds two numbers to a step's totals, in places
// that no other member uses. The first is its time per leaf. The second is a checksum of its job
// state. It is sent in every `agreement_steps`-th step, or when the root asked for it in the step
// before. So before they apply the total, all members know which members are slow, and whether all
// have the same state.
//
// A trainer serves one generation. After Abort or a broken link, it leaves the machine between two
// rounds, so that another trainer can continue.
//
// Thread rule: Run on one thread, which is the first of the compute pool. Abort is safe from any
// thread.
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

// Progress of the loop, after a commit or within an evaluation.
struct StepReport {
  int64_t step = 0, steps_total = 0;
  double epoch = 0;
  double learning_rate = 0;
  double rows_per_second = 0;
  spec::Metrics running;  // metrics of this epoch
  bool evaluating = false;
  double evaluated_share = 0;  // share of this member's rows, 0 to 1
};

// Functions that the shell provides. All except on_leaf are called on the trainer's thread.
struct TrainerHooks {
  std::function<int64_t()> now_us;                   // a clock that never goes back
  std::function<void(const StepReport&)> on_report;  // a few calls per second
  std::function<void(int64_t number, const spec::HistoryRow&)> on_history;
  std::function<void()> on_first_totals;  // first totals of this trainer: every member has begun
  // Called before the states are compared: this state may become the agreed one. (Corruption of
  // memory later in the step must not reach the state to which members revert.)
  std::function<void()> on_compare;
  // Called when all members have the state that they had at the last on_compare.
  std::function<void()> on_agreed;
  // Called at the root every `pace_steps`, with each member's mean milliseconds per leaf.
  std::function<void(const std::vector<double>& leaf_ms)> on_pace;
  // Called at the root before each step: returns whether on_agreed should be called soon.
  std::function<bool()> agreement_due;
  std::function<void()> on_boundary;  // before each step: the machine's state is complete
  // Called with the rows that a leaf adds to a step, before any part of the sum is sent. On any
  // compute thread.
  std::function<void(const training::GradientAction&, int32_t leaf, std::span<const int64_t> rows)>
      on_leaf;
  std::function<void(int64_t step)> on_commit;  // that step (0-based) was applied
  // For asynchronous training. The holder calls offer_state before the others get the order to take
  // its state. They call fetch_state, which replaces the machine's state by that of `round`.
  // (Asynchronous training does not use on_compare, on_boundary and on_commit.)
  std::function<void()> offer_state;
  std::function<Status(uint64_t round)> fetch_state;
};

// Numbers that a member adds to a step's totals: milliseconds per leaf, and the checksum of the
// state.
inline constexpr int64_t kMemberNumbers = 2;

struct TrainerOptions {
  spec::Shuffle shuffle;
  int32_t leaves = 1;
  plan::LeafSpan own;  // this member's leaves
  int32_t members = 1;
  int32_t self = 0;
  int64_t agreement_steps = 100;  // interval of state comparisons ...
  int64_t checkpoint_steps = 0;   // ... and a second interval; 0: none
  int64_t pace_steps = 20;
  int64_t max_time_ms = 0;  // 0: no limit; counted from `begun_us`
  int64_t begun_us = 0;     // start of training at this worker
  size_t history_told = 0;  // rows of the state's history already passed to on_history
  int64_t reduce_timeout_ms = 600'000;
  int64_t report_interval_us = 200'000;
};

// Parts of the wall time of a step, as means in milliseconds. `wait_ms` is the exposed part of the
// reduce.
struct StepParts {
  double leaves_ms = 0;     // gather, forward, backward
  double gradients_ms = 0;  // weight gradients and their local sums
  double wait_ms = 0;       // wait for the totals
  double update_ms = 0;
};

// The end of a trainer's run.
struct TrainerEnd {
  std::optional<training::FinishAction> finish;  // the job is trained
  Generation next;                               // otherwise: the generation that begins now
};

// The members whose states differ from the state of the others, which are more than half. None: no
// majority. The step in flight was not applied.
struct Divergence {
  int64_t step = 0;
  std::vector<int32_t> members;
};

// Times of all steps in which this worker took part, over generations.
struct StepTimes {
  std::vector<float> step_ms;  // wall time from step to step, without evaluations
  StepParts sums;
  int64_t steps = 0;

  // Adds `count` steps of `ms` milliseconds each.
  void Add(float ms, int64_t count);
};

// Returns the maximum size of the sums of one round of a job, in one vector of each bucket,
// including the counted size of its messages. It is for the Reducer.
int64_t RoundBytesMax(const training::TrainingPlan& plan, size_t bytes_a_parameter,
                      int32_t members);

// Returns a report of the machine's state. Evaluations, and values that only the loop knows, are
// left out.
template <typename T>
StepReport ReportOf(const training::StepMachine<T>& machine);

// A step loop of one generation: of synchronous training (Trainer) or of asynchronous training
// (async_trainer.h).
class StepLoop {
 public:
  virtual ~StepLoop() = default;
  // Runs from the round in flight to the end of the job or of the generation. At the end of the
  // job, machine.state().parameters are the weights to save. kDataLoss with `divergence()`: the
  // states differ.
  virtual Result<TrainerEnd> Run() = 0;
  // At the root, safe from any thread: makes the next step whose sum has not begun the last one of
  // this generation.
  virtual void SwitchTo(Generation next) = 0;
  // At the root, safe from any thread: makes the next step whose sum has not begun the last one of
  // the job.
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
  // Calls the hook. The data of a step is that of the newest one.
  void Report(bool evaluating, double evaluated_share);

  void TellHistory();
  bool Compares(int64_t step) const;
  void AddOwnNumbers(const training::GradientAction& step);
  // Reads the numbers that the members added. Returns an error if the states differ.
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
  std::vector<collective::Payload> totals_;  // totals of the present step, by bucket
  int64_t last_step_us_ = 0, last_report_us_ = 0, last_report_rows_ = 0, rows_done_ = 0;
  double rows_per_second_ = 0;

  double leaf_ms_ = 0;            // time of this member, smoothed
  std::vector<double> pace_sum_;  // sums over all members, since the last on_pace
  int64_t pace_steps_ = 0;
  std::optional<Divergence> divergence_;
  bool compares_next_ = false;  // stamped by the root
  Generation next_;             // stamped by the root
  std::atomic<uint64_t> switch_to_{0};
  std::atomic<bool> ends_early_{false};

  std::atomic<bool> aborted_{false};
  std::mutex abort_mutex_;  // guards abort_reason_
  Status abort_reason_;
};

}  // namespace espalier::worker
