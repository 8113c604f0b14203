#include "src/worker/leaf_work.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/model/metrics.h"

namespace espalier::worker {
namespace {

// Returns the rows of one evaluation call. A sparse network reads its whole first weight once per
// call.
int64_t EvaluationRows(const model::NetworkShape& shape) {
  return (shape.sparse ? 8 : 1) * int64_t{128};
}

plan::RowOrder OrderOf(const spec::Shuffle& shuffle) {
  switch (shuffle.kind) {
    case spec::ShuffleKind::kFull:
      return plan::RowOrder::kFull;
    case spec::ShuffleKind::kWindow:
      return plan::RowOrder::kWindow;
    case spec::ShuffleKind::kNone:
      return plan::RowOrder::kNone;
  }
  return plan::RowOrder::kFull;
}

}  // namespace

template <typename T>
LeafWork<T>::LeafWork(const training::TrainingPlan& plan, LeafWorkOptions options,
                      const RowSource<T>& rows, ComputePool& pool)
    : plan_(plan), options_(options), rows_(rows), pool_(pool) {
  chunks_ = plan::MakeChunks(model::Dims(plan_.shape), sizeof(T));
  table_ = plan::MakeBuckets(chunks_, sizeof(T));
  for (const plan::Bucket& b : table_.buckets) {
    round_shape_.push_back(sizeof(T) == 8 ? collective::BucketShape{0, b.size}
                                          : collective::BucketShape{b.size, 0});
  }
  stats_at_ = round_shape_.back().bytes();
  constexpr int64_t kGrain = plan::kBucketAlignment / sizeof(double);
  round_shape_.back().doubles += (StatsSize() + kGrain - 1) / kGrain * kGrain;
  open_ = std::vector<OpenBucket>(table_.buckets.size());
  std::vector<plan::TreeNode> singles;
  for (int32_t leaf = options_.own.begin; leaf < options_.own.end; ++leaf) {
    singles.push_back({0, leaf});
    const int64_t leaf_rows = plan::LeafRows(plan_.train_rows, options_.leaves, leaf).size();
    const int64_t steps = std::max<int64_t>(1, options_.steps_per_epoch);
    passes_.push_back(
        std::make_unique<model::LeafPass<T>>(plan_.shape, (leaf_rows + steps - 1) / steps));
  }
  if (options_.one_sum) {
    own_join_.kept = {0};
    for (int32_t i = 1; i < static_cast<int32_t>(singles.size()); ++i) {
      own_join_.steps.push_back({0, i});
    }
  } else {
    own_join_ = plan::PlanJoin(singles, options_.leaves);
  }
  pass_rows_.resize(passes_.size());
  leaf_stats_.resize(passes_.size());
  MakeFolds();
}

template <typename T>
void LeafWork<T>::MakeFolds() {
  const int64_t folds = spec::FoldsOf(plan_.train);
  for (int32_t i = 0; folds > 0 && i < static_cast<int32_t>(passes_.size()); ++i) {
    const plan::Range range = RowsOfLeaf(spec::FileRole::kTrain, i);
    std::vector<int32_t> labels(static_cast<size_t>(range.size()));
    if (plan_.shape.task == spec::Task::kClassification && range.size() > 0) {
      rows_.Labels(spec::FileRole::kTrain, range, labels.data());
    }
    folds_.emplace_back(labels, folds, plan_.train.seed, options_.own.begin + i);
  }
}

template <typename T>
plan::Range LeafWork<T>::RowsOfLeaf(spec::FileRole set, int32_t own_index) const {
  return plan::LeafRows(SetRows(set), options_.leaves, options_.own.begin + own_index);
}

template <typename T>
int64_t LeafWork<T>::StatsSize() const {
  return model::TotalsSize(plan_.shape, model::TotalsKind::kTraining) + training::kStepExtras +
         options_.own_numbers;
}

template <typename T>
const T* LeafWork<T>::ChunkOf(const std::vector<collective::Payload>& buckets,
                              int64_t chunk) const {
  return reinterpret_cast<const T*>(buckets[table_.bucket_of[chunk]].data) +
         table_.offset_of[chunk];
}

template <typename T>
T* LeafWork<T>::ChunkOf(const std::vector<collective::MutablePayload>& buckets,
                        int64_t chunk) const {
  return reinterpret_cast<T*>(buckets[table_.bucket_of[chunk]].data) + table_.offset_of[chunk];
}

template <typename T>
const double* LeafWork<T>::StatsOf(const std::vector<collective::Payload>& buckets) const {
  return reinterpret_cast<const double*>(buckets.back().data + stats_at_);
}

template <typename T>
int64_t LeafWork<T>::RowsOf(const Batch& batch) const {
  int64_t rows = 0;
  for (int32_t leaf = options_.own.begin; leaf < options_.own.end; ++leaf) {
    rows += plan::StepPositions(plan::LeafRows(plan_.train_rows, options_.leaves, leaf).size(),
                                options_.steps_per_epoch, batch.step_of_epoch)
                .size();
  }
  return rows;
}

template <typename T>
void LeafWork<T>::RunLeaves(const T* parameters, const Batch& batch, const OnLeaf& on_leaf,
                            const std::function<bool()>& cancelled) {
  pool_.ParallelFor(static_cast<int64_t>(passes_.size()), [&](int64_t i) {
    if (cancelled && cancelled()) return;
    RunLeaf(parameters, batch, static_cast<int32_t>(i), on_leaf);
  });
}

template <typename T>
void LeafWork<T>::RunLeaf(const T* parameters, const Batch& batch, int32_t own_index,
                          const OnLeaf& on_leaf) {
  const int32_t leaf = options_.own.begin + own_index;
  const plan::Range range = RowsOfLeaf(spec::FileRole::kTrain, own_index);
  // With folds: the rows of the range on which the fit trains.
  std::span<const int32_t> outside;
  if (!folds_.empty()) outside = folds_[own_index].Outside(batch.fit);
  const int64_t size_of_leaf = folds_.empty() ? range.size() : static_cast<int64_t>(outside.size());
  const plan::Range positions =
      plan::StepPositions(size_of_leaf, options_.steps_per_epoch, batch.step_of_epoch);
  // A line search compares sums over all rows, so these are always added in one order.
  const plan::RowOrder kind = plan_.Searches() ? plan::RowOrder::kNone : OrderOf(options_.shuffle);
  const uint64_t seed = spec::FitSeed(plan_.train.seed, batch.fit);
  const plan::RowPermutation order(kind, options_.shuffle.window_rows, size_of_leaf, seed,
                                   batch.epoch, leaf);
  std::vector<int64_t> rows;
  for (int64_t p = positions.begin; p < positions.end; ++p) {
    const int64_t row = order.At(p);
    rows.push_back(range.begin + (folds_.empty() ? row : outside[row]));
  }

  model::LeafPass<T>& pass = *passes_[own_index];
  rows_.Gather(spec::FileRole::kTrain, rows, pass.inputs(), pass.codes(), pass.labels(),
               pass.targets(), pass.weights(), &pass.sparse());
  const auto count = static_cast<int64_t>(rows.size());
  std::vector<double>& stats = leaf_stats_[own_index];
  const int64_t size = model::TotalsSize(plan_.shape, model::TotalsKind::kTraining);
  stats.assign(StatsSize(), 0.0);
  const model::DropoutKey key{seed, static_cast<uint64_t>(batch.step), static_cast<uint64_t>(leaf)};
  for (int64_t i = 0; !plan_.class_weights.empty() && i < count; ++i) {
    pass.weights()[i] *= static_cast<T>(plan_.class_weights[pass.labels()[i]]);
  }
  pass.ForwardBackward(parameters, count, key, stats.data());
  if (stats[model::kTotalNonfinite] > 0)
    stats[size + training::kExtraNonfiniteLeaves] = training::NonfiniteMark(leaf);
  pass_rows_[own_index] = count;
  if (on_leaf) on_leaf(leaf, rows);
}

template <typename T>
void LeafWork<T>::Gradients(const OnBucket& on_bucket, const std::function<bool()>& cancelled) {
  OpenBuckets();
  pool_.ParallelFor(static_cast<int64_t>(chunks_.size()), [&](int64_t c) {
    if (cancelled && cancelled()) return;
    ComputeChunk(static_cast<uint32_t>(c));
    const int32_t bucket = table_.bucket_of[c];
    if (--open_[bucket].chunks_left > 0) return;
    on_bucket(static_cast<uint32_t>(bucket), std::move(open_[bucket].nodes).Freeze());
  });
}

// The last bucket gets the statistics, which are known before any chunk.
template <typename T>
void LeafWork<T>::OpenBuckets() {
  const size_t nodes = own_join_.kept.size();
  for (size_t b = 0; b < open_.size(); ++b) {
    const plan::Bucket& bucket = table_.buckets[b];
    open_[b].nodes =
        collective::AllocatePayload(nodes * static_cast<size_t>(round_shape_[b].bytes()));
    open_[b].chunks_left = bucket.chunk_end - bucket.chunk_begin;
  }
  const std::vector<std::vector<double>> stats = Join(leaf_stats_);
  const auto stride = static_cast<size_t>(round_shape_.back().bytes());
  for (size_t k = 0; k < nodes; ++k) {
    std::byte* const at = open_.back().nodes.data + k * stride + stats_at_;
    const size_t bytes = stats[k].size() * sizeof(double);
    std::memcpy(at, stats[k].data(), bytes);
    std::memset(at + bytes, 0, stride - static_cast<size_t>(stats_at_) - bytes);
  }
}

template <typename T>
void LeafWork<T>::ComputeChunk(uint32_t chunk_index) {
  const plan::Chunk& chunk = chunks_[chunk_index];
  const auto bytes = static_cast<size_t>(chunk.size) * sizeof(T);
  const int32_t bucket = table_.bucket_of[chunk_index];
  const int64_t begin = table_.offset_of[chunk_index];
  const bool last = static_cast<int32_t>(chunk_index) + 1 == table_.buckets[bucket].chunk_end;
  const int64_t end = last ? table_.buckets[bucket].size : table_.offset_of[chunk_index + 1];
  std::vector<T*> sum(passes_.size(), nullptr);  // where each leaf's subtree is added up
  for (size_t k = 0; k < own_join_.kept.size(); ++k) {
    auto* const node =
        reinterpret_cast<T*>(open_[bucket].nodes.data + k * round_shape_[bucket].bytes());
    sum[own_join_.kept[k]] = node + begin;
    std::fill(node + begin + chunk.size, node + end, T{0});
  }
  std::vector<collective::MutablePayload> scratch;
  size_t next = 0;  // index in own_join_.steps, which join leaves in order of arrival
  const auto joins_leaf = [&](int32_t leaf) {
    return next < own_join_.steps.size() && own_join_.steps[next].from == leaf;
  };
  for (int32_t i = 0; i < static_cast<int32_t>(passes_.size()); ++i) {
    const model::LeafPass<T>& pass = *passes_[i];
    if (joins_leaf(i) && pass_rows_[i] == 0) {
      ++next;  // an empty leaf is the identity of the sum
    } else if (joins_leaf(i) && pass.AccumulateIsExact(chunk, pass_rows_[i])) {
      pass.WeightGradient(chunk, sum[own_join_.steps[next++].into], true);
    } else {
      if (sum[i] == nullptr) {
        scratch.push_back(collective::AllocatePayload(bytes));
        sum[i] = reinterpret_cast<T*>(scratch.back().data);
      }
      if (pass_rows_[i] == 0) {
        std::fill(sum[i], sum[i] + chunk.size, T{-0.0});  // x + -0.0 is x for every x
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
}

template <typename T>
std::vector<std::vector<double>> LeafWork<T>::Join(std::vector<std::vector<double>> sums) const {
  for (const plan::JoinStep& s : own_join_.steps) {
    model::AddTotals(sums[s.into].data(), sums[s.from].data(),
                     static_cast<int64_t>(sums[s.from].size()));
  }
  std::vector<std::vector<double>> nodes;
  for (int32_t k : own_join_.kept) nodes.push_back(std::move(sums[k]));
  return nodes;
}

template <typename T>
int64_t LeafWork<T>::SetRows(spec::FileRole set) const {
  if (set == spec::FileRole::kValidation) return plan_.validation_rows;
  return set == spec::FileRole::kTest ? plan_.test_rows : plan_.train_rows;
}

template <typename T>
std::vector<std::vector<double>> LeafWork<T>::Evaluate(
    spec::FileRole set, std::span<const training::EvaluationPart<T>> parts,
    const Measured& measured, const std::function<bool()>& cancelled,
    const std::function<void(double share)>& on_progress) {
  Evaluation evaluation{set, parts, measured, cancelled, on_progress, std::this_thread::get_id()};
  for (int32_t i = 0; i < static_cast<int32_t>(passes_.size()); ++i) {
    for (const training::EvaluationPart<T>& part : parts) {
      evaluation.rows_own +=
          part.fold < 0 ? RowsOfLeaf(set, i).size() : std::ssize(folds_[i].Inside(part.fold));
    }
  }
  std::vector<std::vector<double>> totals(passes_.size(), std::vector<double>(measured.size, 0.0));
  pool_.ParallelFor(static_cast<int64_t>(passes_.size()), [&](int64_t i) {
    for (const training::EvaluationPart<T>& part : parts) {
      EvaluatePart(evaluation, part, static_cast<int32_t>(i), totals[i]);
    }
  });
  if (cancelled()) return {};  // some rows were skipped
  return Join(std::move(totals));
}

template <typename T>
void LeafWork<T>::EvaluatePart(Evaluation& evaluation, const training::EvaluationPart<T>& part,
                               int32_t own_index, std::vector<double>& totals) {
  const plan::Range range = RowsOfLeaf(evaluation.set, own_index);
  std::span<const int32_t> inside;
  if (part.fold >= 0) inside = folds_[own_index].Inside(part.fold);
  const int64_t count = part.fold >= 0 ? static_cast<int64_t>(inside.size()) : range.size();
  std::unique_ptr<model::LeafPass<T>> pass = TakeEvaluationPass(part.shape);
  std::vector<int64_t> indices;
  const int64_t call = EvaluationRows(plan_.shape);
  for (int64_t begin = 0; begin < count && !evaluation.cancelled(); begin += call) {
    indices.clear();
    for (int64_t r = begin; r < std::min(count, begin + call); ++r) {
      indices.push_back(range.begin + (part.fold >= 0 ? inside[r] : r));
    }
    rows_.Gather(evaluation.set, indices, pass->inputs(), pass->codes(), pass->labels(),
                 pass->targets(), pass->weights(), &pass->sparse());
    const auto rows = static_cast<int64_t>(indices.size());
    switch (evaluation.measured.measure) {
      case training::Measure::kTotals:
        pass->Evaluate(part.parameters, rows, totals.data());
        break;
      case training::Measure::kTrials:
        pass->Try(part.parameters, rows, evaluation.measured.trials, totals.data());
        break;
      case training::Measure::kResiduals:
        pass->Residuals(part.parameters, rows, totals.data());
        break;
    }
    evaluation.rows_done += rows;
    if (std::this_thread::get_id() != evaluation.caller) continue;
    evaluation.on_progress(static_cast<double>(evaluation.rows_done) /
                           static_cast<double>(std::max<int64_t>(1, evaluation.rows_own)));
  }
  MutexLock lock(evaluation_mutex_);
  evaluation_passes_.push_back(std::move(pass));
}

template <typename T>
std::unique_ptr<model::LeafPass<T>> LeafWork<T>::TakeEvaluationPass(
    const model::NetworkShape& shape) {
  {
    MutexLock lock(evaluation_mutex_);
    const auto fits = [&](const auto& pass) {
      const model::NetworkShape& of = pass->shape();
      return of.fits == shape.fits && of.constant == shape.constant &&
             of.thresholds == shape.thresholds && of.half_widths == shape.half_widths;
    };
    std::erase_if(evaluation_passes_, [&](const auto& pass) { return !fits(pass); });
    if (!evaluation_passes_.empty()) {
      auto pass = std::move(evaluation_passes_.back());
      evaluation_passes_.pop_back();
      return pass;
    }
  }
  return std::make_unique<model::LeafPass<T>>(shape, EvaluationRows(plan_.shape));
}

template class LeafWork<float>;
template class LeafWork<double>;

}  // namespace espalier::worker
