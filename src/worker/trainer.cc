#include "src/worker/trainer.h"

#include <utility>

#include "src/member/round.h"
#include "src/model/arithmetic.h"
#include "src/model/metrics.h"
#include "src/training/state_codec.h"
#include "src/training/update.h"

namespace espalier::worker {
namespace {

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
    const int64_t doubles = totals + training::SignalNumbers(members) + plan::kBucketAlignment;
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
  report.fit = machine.CurrentFit();
  report.fits = plan.train.ensemble.fits;
  report.fit_epoch = machine.FitEpoch();
  report.learning_rate = machine.LearningRateNow();
  report.running = machine.EpochMetrics();
  return report;
}
template StepReport ReportOf<float>(const training::StepMachine<float>&);
template StepReport ReportOf<double>(const training::StepMachine<double>&);

template <typename T>
Trainer<T>::Trainer(training::StepMachine<T>& machine, TrainerOptions options,
                    const RowSource<T>& rows, ComputePool& pool, Reducer& reducer, StepTimes& times,
                    TrainerHooks hooks)
    : machine_(machine),
      options_(options),
      pool_(pool),
      reducer_(reducer),
      times_(times),
      hooks_(std::move(hooks)),
      work_(machine.plan(),
            {options.shuffle, options.leaves, options.own, machine.plan().StepsPerEpoch(), false,
             training::kMemberNumbers * options.members},
            rows, pool) {}

template <typename T>
void Trainer<T>::Abort(Status why) {
  {
    MutexLock lock(abort_mutex_);
    if (abort_reason_.ok()) abort_reason_ = why;
  }
  aborted_ = true;
  reducer_.Abort(std::move(why));
}

template <typename T>
member::Failed Trainer<T>::Aborted() {
  MutexLock lock(abort_mutex_);
  return {abort_reason_};
}

template <typename T>
member::RoundReached Trainer<T>::NextRound() {
  model::PrepareComputeThread();
  last_report_us_ = last_step_us_ = hooks_.now_us();
  action_ = machine_.Resume();
  Report(false, 0);  // the totals, which readers of the first evaluation need
  return member::ReachedOf(machine_.state(), action_);
}

template <typename T>
member::MemberEvent Trainer<T>::RunRound(const member::RunRound& action) {
  if (const auto* step = std::get_if<training::GradientAction>(&action_)) {
    return Perform(*step, action.checksum);
  }
  return Perform(std::get<training::EvaluateAction>(action_));
}

template <typename T>
member::MemberEvent Trainer<T>::Perform(const training::GradientAction& step, bool checksum) {
  if (hooks_.on_boundary) hooks_.on_boundary();
  reducer_.BeginRound(machine_.state().round, work_.round_shape());
  begun_us_ = hooks_.now_us();
  typename LeafWork<T>::OnLeaf on_leaf;
  if (hooks_.on_leaf) {
    on_leaf = [&](int32_t leaf, auto rows) { hooks_.on_leaf(step, leaf, rows); };
  }
  work_.RunLeaves(machine_.state().parameters.data(),
                  {step.epoch, step.step_of_epoch, step.step, step.fit}, on_leaf,
                  [this] { return aborted_.load(); });
  if (aborted_) return Aborted();
  leaves_us_ = hooks_.now_us();
  member::LeavesDone done;
  if (checksum) done.state_checksum = training::ChecksumOf(machine_.state());
  done.checkpoint_due = hooks_.checkpoint_due && hooks_.checkpoint_due();
  return done;
}

template <typename T>
member::MemberEvent Trainer<T>::SendSums(const member::SendSums& action) {
  const int64_t extras = model::TotalsSize(machine_.plan().shape, model::TotalsKind::kTraining);
  const auto numbers = static_cast<size_t>(training::SignalNumbers(options_.members));
  training::EncodeSignals(action.root ? &*action.root : nullptr, action.own, options_.self,
                          {work_.own_stats() + extras, numbers});
  work_.Gradients(
      [this](uint32_t bucket, collective::Payload nodes) {
        reducer_.Contribute(bucket, std::move(nodes));
      },
      [this] { return aborted_.load(); });
  const int64_t gradients_us = hooks_.now_us();
  auto totals = reducer_.WaitTotals(options_.reduce_timeout_ms);
  if (!totals.ok()) return member::Failed{totals.status()};
  totals_ = *std::move(totals);
  times_.sums.leaves_ms += static_cast<double>(leaves_us_ - begun_us_) / 1000;
  times_.sums.gradients_ms += static_cast<double>(gradients_us - leaves_us_) / 1000;
  times_.sums.wait_ms += static_cast<double>(hooks_.now_us() - gradients_us) / 1000;
  member::TotalsCame came;
  came.leaf_ms = static_cast<double>(gradients_us - begun_us_) / 1000 /
                 static_cast<double>(options_.own.end - options_.own.begin);
  came.signals = training::DecodeSignals({work_.StatsOf(totals_) + extras, numbers});
  return came;
}

template <typename T>
member::MemberEvent Trainer<T>::Perform(const training::EvaluateAction& evaluate) {
  const int64_t size = machine_.EvaluationSize(evaluate.measure);
  const bool tries = evaluate.measure == training::Measure::kTrials;
  const Measured measured{evaluate.measure, size, tries ? machine_.Trials() : model::Trials()};
  reducer_.BeginRound(machine_.state().round, {{0, size}});
  Report(true, 0);
  const auto parts = machine_.EvaluationParts();
  const auto sums = work_.Evaluate(
      evaluate.set, parts, measured, [this] { return aborted_.load(); },
      [this](double share) { ReportEvaluation(share); });
  if (sums.empty()) return Aborted();  // some rows were skipped: the sum must not be sent
  AlignedVector<double> nodes;
  for (const std::vector<double>& node : sums) nodes.insert(nodes.end(), node.begin(), node.end());
  reducer_.Contribute(0, collective::MakePayload(std::move(nodes)));
  auto totals = reducer_.WaitTotals(options_.reduce_timeout_ms);
  if (!totals.ok()) return member::Failed{totals.status()};
  totals_ = *std::move(totals);
  return member::TotalsCame{};
}

template <typename T>
member::RoundReached Trainer<T>::Commit() {
  const bool evaluated = std::holds_alternative<training::EvaluateAction>(action_);
  const double* numbers =
      evaluated ? reinterpret_cast<const double*>(totals_[0].data) : work_.StatsOf(totals_);
  if (!evaluated) rows_done_ += static_cast<int64_t>(numbers[model::kTotalRows]);
  action_ = member::CommitRound(machine_, action_, numbers,
                                [this](const auto& update) { return Update(update); });
  if (evaluated) last_step_us_ = hooks_.now_us();  // not part of the next step's time
  totals_.clear();
  return member::ReachedOf(machine_.state(), action_);
}

template <typename T>
training::Action Trainer<T>::Update(const training::UpdateAction& update) {
  const int64_t begin_us = hooks_.now_us();
  const bool finite = training::PerformUpdate<T>(
      machine_.plan(), update, work_.chunks(),
      [&](int64_t c) { return totals_.empty() ? nullptr : work_.ChunkOf(totals_, c); },
      [&](int64_t n, const auto& body) { pool_.ParallelFor(n, body); }, machine_.state());
  totals_.clear();
  if (!finite) return machine_.OnNonfiniteGradient();
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

// Reports an evaluation. Its time does not count for the pace of steps.
template <typename T>
void Trainer<T>::ReportEvaluation(double evaluated_share) {
  const int64_t now = hooks_.now_us();
  if (now - last_report_us_ < options_.report_interval_us) return;
  last_report_us_ = now;
  last_report_rows_ = rows_done_;
  Report(true, evaluated_share);
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
