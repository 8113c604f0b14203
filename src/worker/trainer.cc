#include "src/worker/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/model/arithmetic.h"
#include "src/model/optimizer.h"
#include "src/model/vector_math.h"
#include "src/training/update.h"

namespace espalier {
namespace {

constexpr double kPaceSmoothing = 0.2;
constexpr size_t kStepTimesMax = 1 << 20;  // the newest of a long job are left out

RowOrder OrderOf(const Shuffle& shuffle) {
  switch (shuffle.kind) {
    case ShuffleKind::kFull:
      return RowOrder::kFull;
    case ShuffleKind::kWindow:
      return RowOrder::kWindow;
    case ShuffleKind::kNone:
      return RowOrder::kNone;
  }
  return RowOrder::kFull;
}

}  // namespace

int64_t RoundBytesMax(const NetworkShape& shape, size_t bytes_a_parameter, int32_t members) {
  const auto element = static_cast<int64_t>(bytes_a_parameter);
  const std::vector<Chunk> chunks = MakeChunks(Dims(shape), element);
  const BucketTable table = MakeBuckets(chunks, element);
  int64_t bytes = 0;
  for (const Bucket& b : table.buckets) bytes += b.size * element + kMessageBytesMin;
  for (const TotalsKind kind : {TotalsKind::kTraining, TotalsKind::kEvaluation}) {
    const int64_t doubles =
        TotalsSize(shape, kind) + kStepExtras + kMemberNumbers * members + kBucketAlignment;
    bytes += doubles * static_cast<int64_t>(sizeof(double)) + kMessageBytesMin;
  }
  return bytes;
}

template <typename T>
Trainer<T>::Trainer(StepMachine<T>& machine, TrainerOptions options, const RowSource<T>& rows,
                    ComputePool& pool, Reducer& reducer, bool is_root, StepTimes& times,
                    TrainerHooks hooks)
    : machine_(machine),
      options_(options),
      rows_(rows),
      pool_(pool),
      reducer_(reducer),
      is_root_(is_root),
      times_(times),
      hooks_(std::move(hooks)) {
  const TrainingPlan& p = machine_.plan();
  const std::vector<LayerDims> dims = Dims(p.shape);
  chunks_ = MakeChunks(dims, sizeof(T));
  table_ = MakeBuckets(chunks_, sizeof(T));
  for (const Bucket& b : table_.buckets) {
    round_shape_.push_back(sizeof(T) == 8 ? BucketShape{0, b.size} : BucketShape{b.size, 0});
  }
  stats_at_ = round_shape_.back().bytes();
  constexpr int64_t kGrain = kBucketAlignment / sizeof(double);
  round_shape_.back().doubles += (StatsSize() + kGrain - 1) / kGrain * kGrain;
  open_ = std::vector<OpenBucket>(table_.buckets.size());
  std::vector<TreeNode> singles;
  for (int32_t leaf = options_.own.begin; leaf < options_.own.end; ++leaf) {
    singles.push_back({0, leaf});
    const int64_t leaf_rows = LeafRows(p.train_rows, options_.leaves, leaf).size();
    const int64_t steps = std::max<int64_t>(1, p.StepsPerEpoch());
    passes_.push_back(std::make_unique<LeafPass<T>>(p.shape, (leaf_rows + steps - 1) / steps));
  }
  own_join_ = PlanJoin(singles, options_.leaves);
  pass_rows_.resize(passes_.size());
  leaf_stats_.resize(passes_.size());
}

template <typename T>
Result<TrainerEnd> Trainer<T>::Run() {
  PrepareComputeThread();
  thread_ = std::this_thread::get_id();
  last_report_us_ = last_step_us_ = hooks_.now_us();
  Action action = machine_.Resume();
  for (;;) {
    TellHistory();
    if (auto* failed = std::get_if<FailAction>(&action)) return failed->error;
    if (auto* finish = std::get_if<FinishAction>(&action)) {
      return TrainerEnd{std::move(*finish), {}};
    }
    // An update is never left out: its gradient's statistics are counted already.
    auto* update = std::get_if<UpdateAction>(&action);
    if (aborted_ && update == nullptr) {
      std::lock_guard lock(abort_mutex_);
      return abort_reason_;
    }
    if (next_ && update == nullptr) return TrainerEnd{std::nullopt, next_};
    Result<Action> next = Internal("no action");
    if (update != nullptr) next = Perform(*update);
    if (auto* gradient = std::get_if<GradientAction>(&action)) next = Perform(*gradient);
    if (auto* evaluate = std::get_if<EvaluateAction>(&action)) next = Perform(*evaluate);
    if (!next.ok()) return next.status();
    action = std::move(next).value();
  }
}

template <typename T>
void Trainer<T>::TellHistory() {
  const std::vector<HistoryRow>& rows = machine_.state().history;
  for (; options_.history_told < rows.size(); ++options_.history_told) {
    if (!hooks_.on_history) continue;
    hooks_.on_history(static_cast<int64_t>(options_.history_told), rows[options_.history_told]);
  }
}

template <typename T>
Result<std::vector<Payload>> Trainer<T>::WaitTotals() {
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
Result<Action> Trainer<T>::Perform(const GradientAction& step) {
  if (hooks_.on_boundary) hooks_.on_boundary();
  reducer_.BeginRound(machine_.state().round, round_shape_);

  const int64_t begin_us = hooks_.now_us();
  const auto own = static_cast<int64_t>(passes_.size());
  pool_.ParallelFor(own, [&](int64_t i) { RunLeaf(step, static_cast<int32_t>(i)); });
  const int64_t leaves_us = hooks_.now_us();
  const int64_t elapsed_ms = (leaves_us - options_.begun_us) / 1000;
  const int64_t extras = TotalsSize(machine_.plan().shape, TotalsKind::kTraining);
  if (is_root_ && options_.max_time_ms > 0 && elapsed_ms >= options_.max_time_ms) {
    leaf_stats_[0][extras + kExtraTimeIsUp] = 1;
  }
  if (is_root_) {
    leaf_stats_[0][extras + kExtraSwitch] = static_cast<double>(switch_to_);
    const bool due = !Compares(step.step) && hooks_.agreement_due && hooks_.agreement_due();
    leaf_stats_[0][extras + kExtraAgree] = due ? 1 : 0;
  }
  AddOwnNumbers(step);
  OpenBuckets();
  pool_.ParallelFor(static_cast<int64_t>(chunks_.size()),
                    [&](int64_t c) { ComputeChunk(static_cast<uint32_t>(c)); });

  const int64_t gradients_us = hooks_.now_us();
  ESPALIER_ASSIGN_OR_RETURN(totals_, WaitTotals());
  times_.sums.leaves_ms += static_cast<double>(leaves_us - begin_us) / 1000;
  times_.sums.gradients_ms += static_cast<double>(gradients_us - leaves_us) / 1000;
  times_.sums.wait_ms += static_cast<double>(hooks_.now_us() - gradients_us) / 1000;
  const double leaf_ms =
      static_cast<double>(gradients_us - begin_us) / 1000 / static_cast<double>(own);
  leaf_ms_ += (leaf_ms - leaf_ms_) * (leaf_ms_ == 0 ? 1 : kPaceSmoothing);
  const auto* stats = reinterpret_cast<const double*>(totals_.back().data + stats_at_);
  ESPALIER_RETURN_IF_ERROR(HearMembers(step, stats + extras + kStepExtras));
  next_ = {static_cast<uint64_t>(stats[extras + kExtraSwitch])};
  compares_next_ = stats[extras + kExtraAgree] != 0;
  rows_done_ += static_cast<int64_t>(stats[kTotalRows]);
  return machine_.OnGradient(std::vector<double>(stats, stats + extras + kStepExtras));
}

template <typename T>
int64_t Trainer<T>::StatsSize() const {
  return TotalsSize(machine_.plan().shape, TotalsKind::kTraining) + kStepExtras +
         kMemberNumbers * options_.members;
}

template <typename T>
const T* Trainer<T>::Total(int64_t chunk) const {
  if (totals_.empty()) return nullptr;  // left out, and only the end of a group of steps
  return reinterpret_cast<const T*>(totals_[table_.bucket_of[chunk]].data) +
         table_.offset_of[chunk];
}

// The last bucket gets the statistics, which are known before any chunk is.
template <typename T>
void Trainer<T>::OpenBuckets() {
  const size_t nodes = own_join_.kept.size();
  for (size_t b = 0; b < open_.size(); ++b) {
    const Bucket& bucket = table_.buckets[b];
    open_[b].nodes = AllocatePayload(nodes * static_cast<size_t>(round_shape_[b].bytes()));
    open_[b].chunks_left = bucket.chunk_end - bucket.chunk_begin;
  }
  const std::vector<std::vector<double>> stats = JoinStats(leaf_stats_);
  const auto stride = static_cast<size_t>(round_shape_.back().bytes());
  for (size_t k = 0; k < nodes; ++k) {
    std::byte* const at = open_.back().nodes.data + k * stride + stats_at_;
    const size_t bytes = stats[k].size() * sizeof(double);
    std::memcpy(at, stats[k].data(), bytes);
    std::memset(at + bytes, 0, stride - static_cast<size_t>(stats_at_) - bytes);
  }
}

template <typename T>
void Trainer<T>::ChunkIsDone(int32_t bucket) {
  if (--open_[bucket].chunks_left > 0) return;
  reducer_.Contribute(static_cast<uint32_t>(bucket), std::move(open_[bucket].nodes).Freeze());
}

template <typename T>
void Trainer<T>::RunLeaf(const GradientAction& step, int32_t own_index) {
  const TrainingPlan& plan = machine_.plan();
  const int32_t leaf = options_.own.begin + own_index;
  const Range range = LeafRows(plan.train_rows, options_.leaves, leaf);
  const Range positions = StepPositions(range.size(), plan.StepsPerEpoch(), step.step_of_epoch);
  // A line search compares sums over all rows: they are always added in one order.
  const RowOrder kind = plan.Searches() ? RowOrder::kNone : OrderOf(options_.shuffle);
  const RowPermutation order(kind, options_.shuffle.window_rows, range.size(), plan.train.seed,
                             step.epoch, leaf);
  std::vector<int64_t> rows;
  for (int64_t p = positions.begin; p < positions.end; ++p)
    rows.push_back(range.begin + order.At(p));

  LeafPass<T>& pass = *passes_[own_index];
  rows_.Gather(FileRole::kTrain, rows, pass.inputs(), pass.codes(), pass.labels(), pass.targets(),
               pass.weights(), &pass.sparse());
  const auto count = static_cast<int64_t>(rows.size());
  std::vector<double>& stats = leaf_stats_[own_index];
  const int64_t size = TotalsSize(plan.shape, TotalsKind::kTraining);
  stats.assign(StatsSize(), 0.0);
  const DropoutKey key{plan.train.seed, static_cast<uint64_t>(step.step),
                       static_cast<uint64_t>(leaf)};
  for (int64_t i = 0; !plan.class_weights.empty() && i < count; ++i) {
    pass.weights()[i] *= static_cast<T>(plan.class_weights[pass.labels()[i]]);
  }
  pass.ForwardBackward(machine_.state().parameters.data(), count, key, stats.data());
  if (stats[kTotalNonfinite] > 0) stats[size + kExtraNonfiniteLeaves] = NonfiniteMark(leaf);
  pass_rows_[own_index] = count;
  if (hooks_.on_leaf) hooks_.on_leaf(step, leaf, rows);
}

template <typename T>
void Trainer<T>::ComputeChunk(uint32_t chunk_index) {
  const Chunk& chunk = chunks_[chunk_index];
  const auto bytes = static_cast<size_t>(chunk.size) * sizeof(T);
  const int32_t bucket = table_.bucket_of[chunk_index];
  const int64_t begin = table_.offset_of[chunk_index];
  const bool last = static_cast<int32_t>(chunk_index) + 1 == table_.buckets[bucket].chunk_end;
  const int64_t end = last ? table_.buckets[bucket].size : table_.offset_of[chunk_index + 1];
  std::vector<T*> sum(passes_.size(), nullptr);  // where each leaf's subtree adds up
  for (size_t k = 0; k < own_join_.kept.size(); ++k) {
    auto* const node =
        reinterpret_cast<T*>(open_[bucket].nodes.data + k * round_shape_[bucket].bytes());
    sum[own_join_.kept[k]] = node + begin;
    std::fill(node + begin + chunk.size, node + end, T{0});
  }
  std::vector<MutablePayload> scratch;
  size_t next = 0;  // in own_join_.steps, which join in the order in which leaves arrive
  const auto joins_leaf = [&](int32_t leaf) {
    return next < own_join_.steps.size() && own_join_.steps[next].from == leaf;
  };
  for (int32_t i = 0; i < static_cast<int32_t>(passes_.size()); ++i) {
    const LeafPass<T>& pass = *passes_[i];
    if (joins_leaf(i) && pass_rows_[i] == 0) {
      ++next;  // An empty leaf is the identity of the sum.
    } else if (joins_leaf(i) && pass.AccumulateIsExact(chunk, pass_rows_[i])) {
      pass.WeightGradient(chunk, sum[own_join_.steps[next++].into], true);
    } else {
      if (sum[i] == nullptr) {
        scratch.push_back(AllocatePayload(bytes));
        sum[i] = reinterpret_cast<T*>(scratch.back().data);
      }
      if (pass_rows_[i] == 0) {
        std::fill(sum[i], sum[i] + chunk.size, T{-0.0});  // x + -0.0 is x, for every x
      } else {
        pass.WeightGradient(chunk, sum[i], false);
      }
    }
    for (; next < own_join_.steps.size() && own_join_.steps[next].from <= i; ++next) {
      T* into = sum[own_join_.steps[next].into];
      const T* from = sum[own_join_.steps[next].from];
      for (int64_t e = 0; e < chunk.size; ++e) into[e] += from[e];
    }
  }
  ChunkIsDone(bucket);
}

template <typename T>
std::vector<std::vector<double>> Trainer<T>::JoinStats(
    const std::vector<std::vector<double>>& leaf_stats) {
  std::vector<std::vector<double>> sums = leaf_stats;
  for (const JoinStep& s : own_join_.steps) {
    AddTotals(sums[s.into].data(), sums[s.from].data(), static_cast<int64_t>(sums[s.from].size()));
  }
  std::vector<std::vector<double>> nodes;
  for (int32_t k : own_join_.kept) nodes.push_back(std::move(sums[k]));
  return nodes;
}

template <typename T>
Result<Action> Trainer<T>::Perform(const UpdateAction& update) {
  const int64_t begin_us = hooks_.now_us();
  const TrainingPlan& plan = machine_.plan();
  TrainingState<T>& state = machine_.state();
  const auto count = static_cast<int64_t>(chunks_.size());
  std::atomic<bool> finite{true};
  if (UsesTotal(update, state)) {
    pool_.ParallelFor(count, [&](int64_t c) {
      if (!AllFinite(Total(c), chunks_[c].size)) finite = false;
    });
  }
  if (!finite) {
    totals_.clear();
    return machine_.OnNonfiniteGradient();
  }
  std::vector<double> squares(chunks_.size(), 0.0);
  const bool clips = update.apply && plan.train.clip_norm > 0;
  if (clips || update.add) {
    pool_.ParallelFor(count, [&](int64_t c) {
      AccumulateChunk(update, chunks_[c], Total(c), state);
      if (!clips) return;
      squares[c] = SquaredNorm<T>(chunks_[c], UpdateGradient(chunks_[c], Total(c), state),
                                  update.inverse_weight);
    });
  }
  double norm_squared = 0;
  for (double s : squares) norm_squared += s;
  const double clip_scale = ClipScale(norm_squared, plan.train.clip_norm);
  if (update.apply && plan.Searches()) {
    Advance<T>(
        plan, update, chunks_, [&](int64_t n, const auto& body) { pool_.ParallelFor(n, body); },
        state);
  } else if (update.apply) {
    pool_.ParallelFor(count, [&](int64_t c) {
      ApplyChunk(plan, update, chunks_[c], Total(c), clip_scale, state);
    });
  }
  totals_.clear();
  times_.sums.update_ms += static_cast<double>(hooks_.now_us() - begin_us) / 1000;
  const int64_t step = machine_.state().step;
  Action next = machine_.OnUpdated();
  if (hooks_.on_commit) hooks_.on_commit(step);
  ReportStep();
  return next;
}

template <typename T>
void Trainer<T>::ReportStep() {
  const int64_t now = hooks_.now_us();
  if (times_.step_ms.size() < kStepTimesMax) {
    times_.step_ms.push_back(static_cast<float>(now - last_step_us_) / 1000.0f);
  }
  ++times_.steps;
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
  const TrainingPlan& plan = machine_.plan();
  StepReport report;
  report.step = machine_.state().step;
  report.steps_total = plan.StepsTotal();
  report.epoch = static_cast<double>(report.step) / static_cast<double>(plan.StepsPerEpoch());
  report.learning_rate = machine_.LearningRateNow();
  report.rows_per_second = rows_per_second_;
  report.running = machine_.EpochMetrics();
  report.evaluating = evaluating;
  report.evaluated_share = evaluated_share;
  hooks_.on_report(report);
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace espalier
