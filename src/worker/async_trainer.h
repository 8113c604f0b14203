// The step loop of one member of asynchronous training (SparkTorch's hogwild, with a bound on
// staleness). It gets an order with parameters, computes, and answers, until the generation or the
// job is over. At the holder, it also runs the server (async_server.h). The holder's own loop
// answers the server like every other member, but without a link. It also reports the server's
// progress.
//
// The rows of a push are the next batch of the member's own rows. The division of an epoch of these
// rows is that of a job with this number of rows. So each member goes through its own rows
// repeatedly, a fast member more often. `train.batch` is the batch size of a step's gradient,
// regardless of the member that computed it.
//
// Thread rule: as Trainer's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/training/step_machine.h"
#include "src/worker/async_exchange.h"
#include "src/worker/async_server.h"
#include "src/worker/leaf_work.h"
#include "src/worker/trainer.h"

namespace espalier::worker {

// Functions that the shell provides. All except on_leaf are called on the trainer's thread.
struct AsyncHooks {
  std::function<int64_t()> now_us;                   // a clock that never goes back
  std::function<void(const StepReport&)> on_report;  // a few calls per second
  std::function<void(int64_t number, const spec::HistoryRow&)> on_history;
  std::function<void()> on_all_began;  // every member has begun the generation
  // Called with the rows that a leaf adds to a gradient. On any compute thread.
  std::function<void(const training::GradientAction&, int32_t leaf, std::span<const int64_t> rows)>
      on_leaf;
  // At the holder: whether a checkpoint should be written soon, and the time to write it.
  std::function<bool()> checkpoint_due;
  std::function<void()> on_checkpoint;
  // The holder calls offer_state before the others get the order to take its state. They call
  // fetch_state, which replaces the machine's state by that of `round`.
  std::function<void()> offer_state;
  std::function<Status(uint64_t round)> fetch_state;
};

struct AsyncOptions : TrainerOptions {
  int64_t max_time_ms = 0;      // 0: no limit; counted from `begun_us`
  int64_t begun_us = 0;         // start of training at this worker
  size_t history_reported = 0;  // rows of the history that on_history has received
};

// The end of a trainer's run.
struct AsyncEnd {
  std::optional<training::FinishAction> finish;  // the job is trained
  Generation next;                               // otherwise: the generation that begins now
};

template <typename T>
class AsyncTrainer {
 public:
  // All references must outlive the trainer. The exchange determines whether this member is the
  // holder.
  AsyncTrainer(training::StepMachine<T>& machine, AsyncOptions options, const RowSource<T>& rows,
               ComputePool& pool, AsyncExchange& exchange, StepTimes& times, AsyncHooks hooks);

  // Runs until the end of the job or of the generation. At the end of the job,
  // machine.state().parameters are the weights to save.
  Result<AsyncEnd> Run();
  // The next three are safe from any thread. The first two are for the holder: the next step is the
  // last one of this generation, or of the job.
  void SwitchTo(Generation next) { switch_to_ = next.value; }
  void EndEarly() { ends_early_ = true; }
  // Ends Run soon with this error.
  void Abort(Status why);

 private:
  bool holds() const { return exchange_.self() == exchange_.holder(); }
  Result<AsyncEnd> ObeyOrders();
  void Fail(const Status& why);
  void TakeOrder(Letter order);
  Result<Letter> WaitForOrder();
  Result<Letter> Perform(const Letter& order);
  Status CheckOrder(const Letter& order) const;
  void ReadParameters(const Letter& order);
  void ComputePush(const Letter& order, Letter& answer);
  Status ComputeEvaluation(const Letter& order, Letter& answer);
  void Answer(Letter answer);
  Result<AsyncEnd> End(const Letter& order);
  // Returns the next batch, with rows if the member has any.
  typename LeafWork<T>::Batch NextBatch(const Letter& order);
  // Runs from time to time at the holder: reports history and progress, keeps the state, and ends
  // the job or generation by time or by plan.
  void Housekeep();
  void Report(bool evaluating, double evaluated_share);

  training::StepMachine<T>& machine_;
  AsyncOptions options_;
  AsyncExchange& exchange_;
  AsyncHooks hooks_;
  const int64_t own_rows_, own_steps_;  // per epoch
  LeafWork<T> work_;
  std::unique_ptr<AsyncServer<T>> server_;  // at the holder, until Run is over
  AlignedVector<T> parameters_;             // parameters of the current order
  int64_t batch_ = -1;  // batch of the own rows, counted from the start of the job
  int64_t kept_house_us_ = 0, last_report_us_ = 0, last_report_rows_ = 0;
  double rows_per_second_ = 0;

  std::atomic<uint64_t> switch_to_{0};
  std::atomic<bool> ends_early_{false};
  std::atomic<bool> failed_{false};
  Mutex mutex_;
  CondVar changed_;
  std::optional<Letter> order_ GUARDED_BY(mutex_);
  Status failure_ GUARDED_BY(mutex_);
};

}  // namespace espalier::worker
