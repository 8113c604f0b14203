// The rounds of one member in one generation: performs the round actions of the member core
// (member/member_core.h) with the compute pool and the reducer. A job spends its step time here.
//
// In a gradient step, the member computes the gradient of its own leaves (leaf_work.h) into its
// canonical nodes. It passes each finished bucket to the reducer, which sends the bucket while the
// next one is computed. When the totals of all buckets have arrived, and not before, Commit applies
// them.
//
// A trainer serves one generation. After Abort or a broken link, it leaves the machine between two
// rounds, so that another trainer can continue.
//
// Thread rule: one thread, which is the first of the compute pool. Abort is safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "src/base/ids.h"
#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/member/member_core.h"
#include "src/training/step_machine.h"
#include "src/worker/leaf_work.h"
#include "src/worker/reducer.h"

namespace espalier::worker {

// Progress of the loop, after a commit or within an evaluation.
struct StepReport {
  int64_t step = 0, steps_total = 0;
  double epoch = 0;
  int64_t fit = 0, fits = 0;  // number of the fit, from 1, and of all fits
  double fit_epoch = 0;
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
  // Called at the root in each step: returns whether a checkpoint should be written soon.
  std::function<bool()> checkpoint_due;
  std::function<void()> on_boundary;  // before each step: the machine's state is complete
  // Called with the rows that a leaf adds to a step, before any part of the sum is sent. On any
  // compute thread.
  std::function<void(const training::GradientAction&, int32_t leaf, std::span<const int64_t> rows)>
      on_leaf;
  std::function<void(int64_t step)> on_commit;  // that step (0-based) was applied
};

struct TrainerOptions {
  spec::Shuffle shuffle;
  int32_t leaves = 1;
  plan::LeafSpan own;  // this member's leaves
  int32_t members = 1;
  int32_t self = 0;
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

template <typename T>
class Trainer {
 public:
  // All references must outlive the trainer.
  Trainer(training::StepMachine<T>& machine, TrainerOptions options, const RowSource<T>& rows,
          ComputePool& pool, Reducer& reducer, StepTimes& times, TrainerHooks hooks);

  // Each function performs the action of that name, and returns the event with its result. At the
  // end of the job, machine.state().parameters are the weights to save.
  member::RoundReached NextRound();
  member::MemberEvent RunRound(const member::RunRound& action);
  member::MemberEvent SendSums(const member::SendSums& action);
  member::RoundReached Commit();
  // Ends the round in flight with this error, and later ones.
  void Abort(Status why);
  // REQUIRES: the machine has reached the end of the job.
  const training::FinishAction& finish() const { return std::get<training::FinishAction>(action_); }

 private:
  member::MemberEvent Perform(const training::GradientAction& step, bool checksum);
  member::MemberEvent Perform(const training::EvaluateAction& evaluate);
  training::Action Update(const training::UpdateAction& update);
  member::Failed Aborted();
  void ReportStep();
  void ReportEvaluation(double evaluated_share);
  // Calls the hook. The data of a step is that of the newest one.
  void Report(bool evaluating, double evaluated_share);

  training::StepMachine<T>& machine_;
  const TrainerOptions options_;
  ComputePool& pool_;
  Reducer& reducer_;
  StepTimes& times_;
  const TrainerHooks hooks_;

  LeafWork<T> work_;
  training::Action action_;                  // the round in flight
  std::vector<collective::Payload> totals_;  // totals of the round in flight, by bucket
  int64_t begun_us_ = 0, leaves_us_ = 0;     // of the step in flight: its begin, and of SendSums
  int64_t last_step_us_ = 0, last_report_us_ = 0, last_report_rows_ = 0, rows_done_ = 0;
  double rows_per_second_ = 0;

  std::atomic<bool> aborted_{false};
  Mutex abort_mutex_;
  Status abort_reason_ GUARDED_BY(abort_mutex_);
};

}  // namespace espalier::worker
