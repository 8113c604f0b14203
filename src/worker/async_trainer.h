// The step loop of one member of asynchronous training (SparkTorch's hogwild, with a bound on
// staleness): gets an order with parameters, computes, answers, until the generation or the job is
// over. At the holder there is the server too (async_server.h), which the own loop answers like
// everybody else, but without a link; the loop also tells of what the server does.
//
// The rows of a push are those of the next batch of the member's own rows: an epoch of theirs is
// cut like that of a job of their number. So each member goes through its own rows again and again,
// the quick one more often, and `train.batch` is what a step's gradient is of, whoever computed it.
//
// Thread rule: as Trainer's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/training/step_machine.h"
#include "src/worker/async_exchange.h"
#include "src/worker/async_server.h"
#include "src/worker/leaf_work.h"
#include "src/worker/trainer.h"

namespace espalier::worker {

template <typename T>
class AsyncTrainer final : public StepLoop {
 public:
  // All references must outlive the trainer. Whether this is the holder, the exchange says.
  AsyncTrainer(training::StepMachine<T>& machine, TrainerOptions options, const RowSource<T>& rows,
               ComputePool& pool, AsyncExchange& exchange, StepTimes& times, TrainerHooks hooks);

  Result<TrainerEnd> Run() override;
  void SwitchTo(Generation next) override { switch_to_ = next.value; }
  void EndEarly() override { ends_early_ = true; }
  void Abort(Status why) override;

 private:
  bool holds() const { return exchange_.self() == exchange_.holder(); }
  Result<TrainerEnd> ObeyOrders();
  void Fail(const Status& why);
  void TakeOrder(Letter order);
  Result<Letter> WaitForOrder();
  Result<Letter> Perform(const Letter& order);
  Status CheckOrder(const Letter& order) const;
  void ReadParameters(const Letter& order);
  void ComputePush(const Letter& order, Letter& answer);
  Status ComputeEvaluation(const Letter& order, Letter& answer);
  void Answer(Letter answer);
  Result<TrainerEnd> End(const Letter& order);
  // The batch that comes next, with rows if the member has any.
  typename LeafWork<T>::Batch NextBatch(const Letter& order);
  // At the holder, now and then: tells of history and progress, keeps the state, ends by time or by
  // plan.
  void Housekeep();
  void Report(bool evaluating, double evaluated_share);

  training::StepMachine<T>& machine_;
  TrainerOptions options_;
  AsyncExchange& exchange_;
  TrainerHooks hooks_;
  const int64_t own_rows_, own_steps_;  // of an epoch
  LeafWork<T> work_;
  std::unique_ptr<AsyncServer<T>> server_;  // at the holder, until Run is over
  AlignedVector<T> parameters_;             // of the order in hand
  int64_t batch_ = -1;                      // of the own rows, counted from the job's begin
  int64_t kept_house_us_ = 0, last_report_us_ = 0, last_report_rows_ = 0;
  double rows_per_second_ = 0;

  std::atomic<uint64_t> switch_to_{0};
  std::atomic<bool> ends_early_{false};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::optional<Letter> order_;
  Status failure_;
};

}  // namespace espalier::worker
