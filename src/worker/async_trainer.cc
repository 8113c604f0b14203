#include "src/worker/async_trainer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "src/base/text.h"
#include "src/model/arithmetic.h"
#include "src/model/metrics.h"

namespace espalier::worker {
namespace {

constexpr int64_t kHousekeepPauseUs = 10'000;  // because steps wait for it

int64_t CountOwnRows(const training::TrainingPlan& plan, const AsyncOptions& options) {
  return plan::LeafRows(plan.train_rows, options.leaves, options.own.end - 1).end -
         plan::LeafRows(plan.train_rows, options.leaves, options.own.begin).begin;
}

}  // namespace

template <typename T>
AsyncTrainer<T>::AsyncTrainer(training::StepMachine<T>& machine, AsyncOptions options,
                              const RowSource<T>& rows, ComputePool& pool, AsyncExchange& exchange,
                              StepTimes& times, AsyncHooks hooks)
    : machine_(machine),
      options_(options),
      exchange_(exchange),
      hooks_(std::move(hooks)),
      own_rows_(CountOwnRows(machine.plan(), options)),
      own_steps_(std::max<int64_t>(1, plan::StepsPerEpoch(own_rows_, machine.plan().train.batch))),
      work_(machine.plan(),
            {options.shuffle, options.leaves, options.own, own_steps_, true, /*own_numbers=*/0},
            rows, pool),
      parameters_(machine.state().parameters.size()) {
  if (!holds()) return;
  server_ = std::make_unique<AsyncServer<T>>(
      machine, work_, exchange, options.members,
      spec::StalenessLimit(machine.plan().train, options.members), times,
      typename AsyncServer<T>::Hooks{hooks_.now_us,
                                     [this](Letter order) { TakeOrder(std::move(order)); },
                                     [this](const Status& why) { Fail(why); }});
}

template <typename T>
void AsyncTrainer<T>::Fail(const Status& why) {
  {
    MutexLock lock(mutex_);
    if (failure_.ok()) failure_ = why;
  }
  failed_ = true;
  changed_.NotifyAll();
}

template <typename T>
void AsyncTrainer<T>::Abort(Status why) {
  Fail(why);
  exchange_.Abort(std::move(why));
}

template <typename T>
void AsyncTrainer<T>::TakeOrder(Letter order) {
  {
    MutexLock lock(mutex_);
    order_ = std::move(order);
  }
  changed_.NotifyAll();
}

template <typename T>
Result<AsyncEnd> AsyncTrainer<T>::Run() {
  model::PrepareComputeThread();
  last_report_us_ = hooks_.now_us();
  AsyncExchange::Listener listener;
  listener.on_failed = [this](const Status& why) { Fail(why); };
  if (holds()) {
    listener.on_letter = [this](Letter letter) { server_->OnAnswer(std::move(letter)); };
    listener.is_done = [this](int32_t member) { return server_->IsDone(member); };
  } else {
    listener.on_letter = [this](Letter letter) { TakeOrder(std::move(letter)); };
  }
  if (holds()) server_->Begin();
  exchange_.Listen(std::move(listener));
  Result<AsyncEnd> end = ObeyOrders();
  exchange_.Ignore();
  server_.reset();  // drops waiting answers, whatever the end
  return end;
}

template <typename T>
Result<AsyncEnd> AsyncTrainer<T>::ObeyOrders() {
  for (;;) {
    ESPALIER_ASSIGN_OR_RETURN(const Letter order, WaitForOrder());
    ESPALIER_RETURN_IF_ERROR(CheckOrder(order));
    if (order.header[kLetterAllBegan] != 0 && hooks_.on_all_began) {
      std::exchange(hooks_.on_all_began, nullptr)();
    }
    if (order.header[kLetterTask] == static_cast<double>(training::AsyncTask::kLevel))
      return End(order);
    ESPALIER_ASSIGN_OR_RETURN(Letter answer, Perform(order));
    Answer(std::move(answer));
  }
}

// A member without rows may wait long. Only its link shows that the holder is lost.
template <typename T>
Result<Letter> AsyncTrainer<T>::WaitForOrder() {
  const int64_t limit_us = options_.reduce_timeout_ms * 1000;
  int64_t since_us = hooks_.now_us(), events = -1;
  for (;;) {
    if (holds()) {
      if (hooks_.now_us() - kept_house_us_ >= kHousekeepPauseUs) Housekeep();
      const int64_t newest = server_->events();
      if (std::exchange(events, newest) != newest) since_us = hooks_.now_us();
    }
    {
      MutexLock lock(mutex_);
      changed_.WaitFor(mutex_, std::chrono::microseconds(options_.report_interval_us),
                       [this]() REQUIRES(mutex_) { return order_ || !failure_.ok(); });
      if (!failure_.ok()) return failure_;
      if (order_) return *std::exchange(order_, std::nullopt);
    }
    if (hooks_.now_us() - since_us < limit_us || (!holds() && own_rows_ == 0)) continue;
    std::vector<int32_t> missing = {exchange_.holder()};
    if (holds()) server_->WithState([&](auto& holder) { missing = holder.Missing(); });
    std::string who;
    for (const int32_t m : missing) {
      who += (who.empty() ? "" : ", ") + exchange_.NameOf(m);
    }
    return DeadlineExceeded("nothing came within " + HumanDuration(options_.reduce_timeout_ms) +
                            "; missing: " + who);
  }
}

template <typename T>
Result<Letter> AsyncTrainer<T>::Perform(const Letter& order) {
  ReadParameters(order);
  Letter answer;
  answer.member = exchange_.holder();
  answer.number = order.number;
  answer.header[kLetterTask] = order.header[kLetterTask];
  if (order.header[kLetterTask] == static_cast<double>(training::AsyncTask::kEvaluation)) {
    ESPALIER_RETURN_IF_ERROR(ComputeEvaluation(order, answer));
  } else {
    ComputePush(order, answer);
  }
  return answer;
}

// Validates an order, because data from a link may be anything.
template <typename T>
Status AsyncTrainer<T>::CheckOrder(const Letter& order) const {
  const std::vector<double>& header = order.header;
  bool fits = true;
  for (const LetterHeader number : {kLetterStep, kLetterNext, kLetterRound}) {
    fits = fits && header[number] >= 0 && header[number] < 0x1p53;
  }
  const double set = header[kLetterSet];
  const bool levels = header[kLetterTask] == static_cast<double>(training::AsyncTask::kLevel);
  const bool evaluates =
      header[kLetterTask] == static_cast<double>(training::AsyncTask::kEvaluation) &&
      (set == static_cast<double>(spec::FileRole::kTrain) ||
       set == static_cast<double>(spec::FileRole::kValidation) ||
       set == static_cast<double>(spec::FileRole::kTest));
  const bool computes = header[kLetterTask] == static_cast<double>(training::AsyncTask::kGradient);
  fits = fits && (levels || evaluates || computes);
  fits = fits && order.parts.size() == (levels ? 0 : work_.round_shape().size());
  for (size_t b = 0; fits && b < order.parts.size(); ++b) {
    fits = order.parts[b].size == static_cast<size_t>(work_.BucketSize(b)) * sizeof(T);
  }
  if (fits) return Status::Ok();
  return FailedPrecondition("order " + std::to_string(order.number) + " of " +
                            exchange_.NameOf(exchange_.holder()) +
                            " is invalid. Use the same version of the programs on all workers");
}

template <typename T>
void AsyncTrainer<T>::ReadParameters(const Letter& order) {
  const std::vector<plan::Chunk>& chunks = work_.chunks();
  for (size_t c = 0; c < chunks.size(); ++c) {
    std::memcpy(parameters_.data() + chunks[c].offset,
                work_.ChunkOf(order.parts, static_cast<int64_t>(c)),
                static_cast<size_t>(chunks[c].size) * sizeof(T));
  }
}

template <typename T>
typename LeafWork<T>::Batch AsyncTrainer<T>::NextBatch(const Letter& order) {
  const auto step = static_cast<int64_t>(order.header[kLetterStep]);
  if (batch_ < 0) {  // starts about as far in its own rows as the whole job is
    batch_ = plan::MulDiv(own_steps_, step, std::max<int64_t>(1, machine_.plan().StepsPerEpoch()));
  } else if (order.header[kLetterAgain] == 0) {
    ++batch_;
  }
  for (int64_t tries = 0;; ++tries, ++batch_) {
    const typename LeafWork<T>::Batch batch{batch_ / own_steps_, batch_ % own_steps_, step};
    if (tries == own_steps_ || work_.RowsOf(batch) > 0) return batch;
  }
}

template <typename T>
void AsyncTrainer<T>::ComputePush(const Letter& order, Letter& answer) {
  const typename LeafWork<T>::Batch batch = NextBatch(order);
  typename LeafWork<T>::OnLeaf on_leaf;
  if (hooks_.on_leaf) {
    on_leaf = [&](int32_t leaf, auto rows) {
      hooks_.on_leaf({batch.step, batch.epoch, batch.step_of_epoch}, leaf, rows);
    };
  }
  work_.RunLeaves(parameters_.data(), batch, on_leaf);
  answer.parts.resize(work_.round_shape().size());
  work_.Gradients(
      [&](uint32_t bucket, collective::Payload sum) { answer.parts[bucket] = std::move(sum); });
}

template <typename T>
Status AsyncTrainer<T>::ComputeEvaluation(const Letter& order, Letter& answer) {
  const auto set = static_cast<spec::FileRole>(order.header[kLetterSet]);
  const auto report = [this](double share) {
    if (holds() && hooks_.now_us() - last_report_us_ >= options_.report_interval_us) {
      Report(true, share);
    }
  };
  const training::EvaluationPart<T> part{machine_.plan().shape, {}, parameters_.data()};
  const Measured measured{.size = machine_.EvaluationSize(training::Measure::kTotals)};
  auto totals = work_.Evaluate(
      set, {&part, 1}, measured, [this] { return failed_.load(); }, report);
  if (totals.empty()) {
    MutexLock lock(mutex_);
    return failure_;
  }
  answer.parts.push_back(
      collective::MakePayload(AlignedVector<double>(totals[0].begin(), totals[0].end())));
  return Status::Ok();
}

template <typename T>
void AsyncTrainer<T>::Answer(Letter answer) {
  if (!holds()) return exchange_.Send(answer);
  answer.member = exchange_.self();
  server_->OnAnswer(std::move(answer));
}

template <typename T>
Result<AsyncEnd> AsyncTrainer<T>::End(const Letter& order) {
  const Generation next{static_cast<uint64_t>(order.header[kLetterNext])};
  if (holds()) {
    Housekeep();
    if (hooks_.offer_state) hooks_.offer_state();
    server_->OnOffered();
    const int64_t since_us = hooks_.now_us();
    while (!server_->over()) {
      MutexLock lock(mutex_);
      changed_.WaitFor(mutex_, std::chrono::milliseconds(1),
                       [this]() REQUIRES(mutex_) { return !failure_.ok(); });
      if (!failure_.ok()) return failure_;
      if (hooks_.now_us() - since_us < options_.reduce_timeout_ms * 1000) continue;
      return DeadlineExceeded("not all members took the job's state within " +
                              HumanDuration(options_.reduce_timeout_ms));
    }
  } else {
    if (hooks_.fetch_state) {
      const auto round = static_cast<uint64_t>(order.header[kLetterRound]);
      ESPALIER_RETURN_IF_ERROR(hooks_.fetch_state(round));
    }
    Letter answer;
    answer.member = exchange_.holder();
    answer.number = order.number;
    answer.header[kLetterTask] = order.header[kLetterTask];
    Answer(std::move(answer));
  }
  const training::Action action = machine_.Resume();
  if (const auto* finish = std::get_if<training::FinishAction>(&action))
    return AsyncEnd{*finish, {}};
  return AsyncEnd{std::nullopt, next};
}

template <typename T>
void AsyncTrainer<T>::Housekeep() {
  const int64_t now = hooks_.now_us();
  kept_house_us_ = now;
  server_->WithState([&](training::AsyncHolder<T>& holder) {
    const std::vector<spec::HistoryRow>& rows = machine_.state().history;
    for (; options_.history_reported < rows.size(); ++options_.history_reported) {
      if (!hooks_.on_history) continue;
      hooks_.on_history(static_cast<int64_t>(options_.history_reported),
                        rows[options_.history_reported]);
    }
    const int64_t elapsed_ms = (now - options_.begun_us) / 1000;
    const bool late = options_.max_time_ms > 0 && elapsed_ms >= options_.max_time_ms;
    if (ends_early_ || late) {
      holder.EndSoon(ends_early_ ? training::StepEnds::kByRequest : training::StepEnds::kByTime);
    }
    if (hooks_.checkpoint_due && hooks_.checkpoint_due() && hooks_.on_checkpoint) {
      hooks_.on_checkpoint();
    }
  });
  if (const uint64_t next = switch_to_.exchange(0); next != 0) server_->SwitchTo({next});
  const int64_t since = now - last_report_us_;
  if (since < options_.report_interval_us) return;
  const int64_t rows = server_->rows_done();
  rows_per_second_ =
      static_cast<double>(rows - last_report_rows_) * 1e6 / static_cast<double>(since);
  last_report_rows_ = rows;
  Report(false, 0);
}

template <typename T>
void AsyncTrainer<T>::Report(bool evaluating, double evaluated_share) {
  last_report_us_ = hooks_.now_us();
  if (!hooks_.on_report) return;
  StepReport report;
  server_->WithState([&](training::AsyncHolder<T>&) { report = ReportOf(machine_); });
  report.rows_per_second = rows_per_second_;
  report.evaluating = evaluating;
  report.evaluated_share = evaluated_share;
  hooks_.on_report(report);
}

template class AsyncTrainer<float>;
template class AsyncTrainer<double>;

}  // namespace espalier::worker
