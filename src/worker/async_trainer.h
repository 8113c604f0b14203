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
  // All references must outlive the trainer. The exchange determines whether this member is the
  // holder.
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
  // Returns the next batch, with rows if the member has any.
  typename LeafWork<T>::Batch NextBatch(const Letter& order);
  // Runs from time to time at the holder: reports history and progress, keeps the state, and ends
  // the job or generation by time or by plan.
  void Housekeep();
  void Report(bool evaluating, double evaluated_share);

  training::StepMachine<T>& machine_;
  TrainerOptions options_;
  AsyncExchange& exchange_;
  TrainerHooks hooks_;
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
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::optional<Letter> order_;
  Status failure_;
};

}  // namespace espalier::worker
