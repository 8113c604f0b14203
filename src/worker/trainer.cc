#include "src/worker/trainer.h"

#include <algorithm>
#include <utility>

#include "src/model/arithmetic.h"
#include "src/model/metrics.h"
#include "src/training/update.h"

namespace espalier::worker {
namespace {

constexpr double kPaceSmoothing = 0.2;
constexpr size_t kStepTimesMax = 1 << 20;  // the newest steps of a long job are not recorded

}  // namespace

int64_t RoundBytesMax(const training::TrainingPlan& plan, size_t bytes_a_parameter,
                      int32_t members) {
  const auto element = static_cast<int64_t>(bytes_a_parameter);
  const std::vector<plan::Chunk> chunks = plan::MakeChunks(model::Dims(plan.shape), element);
  const plan::BucketTable table = plan::MakeBuckets(chunks, element);
  int64_t bytes = 0;
  for (const plan::Bucket& b : table.buckets) bytes += b.size * element + kMessageBytesMin;
  for (const int64_t totals :
       {model::TotalsSize(plan.shape, model::TotalsKind::kTraining), plan.EvaluationNumbersMax()}) {
    const int64_t doubles =
        totals + training::kStepExtras + kMemberNumbers * members + plan::kBucketAlignment;
    bytes += doubles * static_cast<int64_t>(sizeof(double)) + kMessageBytesMin;
  }
  return bytes;
}

void StepTimes::Add(float ms, int64_t count) {
  for (int64_t i = 0; i < count && step_ms.size() < kStepTimesMax; ++i) step_ms.push_back(ms);
  steps += count;
}

template <typename T>
StepReport ReportOf(const training::StepMachine<T>& machine) {
  const training::TrainingPlan& plan = machine.plan();
  StepReport report;
  report.step = machine.state().step;
  report.steps_total = machine.AllSteps();
  report.epoch = static_cast<double>(report.step) / static_cast<double>(plan.StepsPerEpoch());
  report.learning_rate = machine.LearningRateNow();
  report.running = machine.EpochMetrics();
  return report;
}
template StepReport ReportOf<float>(const training::StepMachine<float>&);
template StepReport ReportOf<double>(const training::StepMachine<double>&);

template <typename T>
Trainer<T>::Trainer(training::StepMachine<T>& machine, TrainerOptions options,
                    const RowSource<T>& rows, ComputePool& pool, Reducer& reducer, bool is_root,
                    StepTimes& times, TrainerHooks hooks)
    : machine_(machine),
      options_(options),
      pool_(pool),
      reducer_(reducer),
      is_root_(is_root),
      times_(times),
      hooks_(std::move(hooks)),
      work_(machine.plan(),
            {options.shuffle, options.leaves, options.own, machine.plan().StepsPerEpoch(), false,
             kMemberNumbers * options.members},
            rows, pool) {}

template <typename T>
Result<TrainerEnd> Trainer<T>::Run() {
  model::PrepareComputeThread();
  last_report_us_ = last_step_us_ = hooks_.now_us();
  training::Action action = machine_.Resume();
  for (;;) {
    TellHistory();
    if (auto* failed = std::get_if<training::FailAction>(&action)) return failed->error;
    if (auto* finish = std::get_if<training::FinishAction>(&action)) {
      return TrainerEnd{std::move(*finish), {}};
    }
    // An update is never skipped, because its gradient's statistics are counted already.
    auto* update = std::get_if<training::UpdateAction>(&action);
    if (aborted_ && update == nullptr) {
      std::lock_guard lock(abort_mutex_);
      return abort_reason_;
    }
    if (next_ && update == nullptr) return TrainerEnd{std::nullopt, next_};
    Result<training::Action> next = Internal("no action");
    if (update != nullptr) next = Perform(*update);
    if (auto* gradient = std::get_if<training::GradientAction>(&action)) next = Perform(*gradient);
    if (auto* evaluate = std::get_if<training::EvaluateAction>(&action)) next = Perform(*evaluate);
    if (!next.ok()) return next.status();
    action = std::move(next).value();
  }
}

template <typename T>
void Trainer<T>::TellHistory() {
  const std::vector<spec::HistoryRow>& rows = machine_.state().history;
  for (; options_.history_told < rows.size(); ++options_.history_told) {
    if (!hooks_.on_history) continue;
    hooks_.on_history(static_cast<int64_t>(options_.history_told), rows[options_.history_told]);
  }
}

template <typename T>
Result<std::vector<collective::Payload>> Trainer<T>::WaitTotals() {
  auto totals = reducer_.WaitTotals(options_.reduce_timeout_ms);
  if (totals.ok() && hooks_.on_first_totals) std::exchange(hooks_.on_first_totals, nullptr)();
  return totals;
}

template <typename T>
void Trainer<T>::Abort(Status why) {
  {
    std::lock_guard lock(abort_mutex_);
    if (abort_reason_.ok()) abort_reason_ = why;
  }
  aborted_ = true;
  reducer_.Abort(std::move(why));
}

template <typename T>
Result<training::Action> Trainer<T>::Perform(const training::GradientAction& step) {
  if (hooks_.on_boundary) hooks_.on_boundary();
  reducer_.BeginRound(machine_.state().round, work_.round_shape());

  const int64_t begin_us = hooks_.now_us();
  typename LeafWork<T>::OnLeaf on_leaf;
  if (hooks_.on_leaf) {
    on_leaf = [&](int32_t leaf, auto rows) { hooks_.on_leaf(step, leaf, rows); };
  }
  const auto aborted = [this] { return aborted_.load(); };
  work_.RunLeaves(machine_.state().parameters.data(),
                  {step.epoch, step.step_of_epoch, step.step, step.fit}, on_leaf, aborted);
  if (aborted()) {
    std::lock_guard lock(abort_mutex_);
    return abort_reason_;
  }
  const int64_t leaves_us = hooks_.now_us();
  const int64_t elapsed_ms = (leaves_us - options_.begun_us) / 1000;
  const int64_t extras = model::TotalsSize(machine_.plan().shape, model::TotalsKind::kTraining);
  if (is_root_) {
    const bool late = options_.max_time_ms > 0 && elapsed_ms >= options_.max_time_ms;
    work_.own_stats()[extras + training::kExtraTimeIsUp] = ends_early_ ? training::kEndedByRequest
                                                           : late      ? training::kEndedByTime
                                                                       : 0;
    work_.own_stats()[extras + training::kExtraSwitch] = static_cast<double>(switch_to_);
    const bool due = !Compares(step.step) && hooks_.agreement_due && hooks_.agreement_due();
    work_.own_stats()[extras + training::kExtraAgree] = due ? 1 : 0;
  }
  AddOwnNumbers(step);
  work_.Gradients(
      [this](uint32_t bucket, collective::Payload nodes) {
        reducer_.Contribute(bucket, std::move(nodes));
      },
      aborted);

  const int64_t gradients_us = hooks_.now_us();
  ESPALIER_ASSIGN_OR_RETURN(totals_, WaitTotals());
  times_.sums.leaves_ms += static_cast<double>(leaves_us - begin_us) / 1000;
  times_.sums.gradients_ms += static_cast<double>(gradients_us - leaves_us) / 1000;
  times_.sums.wait_ms += static_cast<double>(hooks_.now_us() - gradients_us) / 1000;
  const double leaf_ms = static_cast<double>(gradients_us - begin_us) / 1000 /
                         static_cast<double>(options_.own.end - options_.own.begin);
  leaf_ms_ += (leaf_ms - leaf_ms_) * (leaf_ms_ == 0 ? 1 : kPaceSmoothing);
  const double* stats = work_.StatsOf(totals_);
  ESPALIER_RETURN_IF_ERROR(HearMembers(step, stats + extras + training::kStepExtras));
  next_ = {static_cast<uint64_t>(stats[extras + training::kExtraSwitch])};
  compares_next_ = stats[extras + training::kExtraAgree] != 0;
  rows_done_ += static_cast<int64_t>(stats[model::kTotalRows]);
  return machine_.OnGradient(std::vector<double>(stats, stats + extras + training::kStepExtras));
}

template <typename T>
Result<training::Action> Trainer<T>::Perform(const training::UpdateAction& update) {
  const int64_t begin_us = hooks_.now_us();
  const bool finite = training::PerformUpdate<T>(
      machine_.plan(), update, work_.chunks(),
      // A left-out step that only ends a group has no totals.
      [&](int64_t c) { return totals_.empty() ? nullptr : work_.ChunkOf(totals_, c); },
      [&](int64_t n, const auto& body) { pool_.ParallelFor(n, body); }, machine_.state());
  if (!finite) {
    totals_.clear();
    return machine_.OnNonfiniteGradient();
  }
  totals_.clear();
  times_.sums.update_ms += static_cast<double>(hooks_.now_us() - begin_us) / 1000;
  const int64_t step = machine_.state().step;
  training::Action next = machine_.OnUpdated();
  if (hooks_.on_commit) hooks_.on_commit(step);
  ReportStep();
  return next;
}

template <typename T>
void Trainer<T>::ReportStep() {
  const int64_t now = hooks_.now_us();
  times_.Add(static_cast<float>(now - last_step_us_) / 1000.0f, 1);
  last_step_us_ = now;
  const int64_t since = now - last_report_us_;
  if (since < options_.report_interval_us) return;
  rows_per_second_ =
      static_cast<double>(rows_done_ - last_report_rows_) * 1e6 / static_cast<double>(since);
  last_report_us_ = now;
  last_report_rows_ = rows_done_;
  Report(false, 0);
}

template <typename T>
void Trainer<T>::Report(bool evaluating, double evaluated_share) {
  if (!hooks_.on_report) return;
  StepReport report = ReportOf(machine_);
  report.rows_per_second = rows_per_second_;
  report.evaluating = evaluating;
  report.evaluated_share = evaluated_share;
  hooks_.on_report(report);
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace espalier::worker
