#include "src/spec/job_spec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>

#include "src/base/random.h"
#include "src/spec/metrics.h"

namespace espalier::spec {

constexpr int64_t kAsyncLeavesMin = 16;  // unless the job sets a number

namespace {

constexpr int64_t kRateBatch = 256;  // batch that the default learning rate is meant for
constexpr int64_t kMostBatch = 8192;

// A value for fewer rows than `below`.
struct ByRows {
  int64_t below;
  int64_t value;
};

}  // namespace

// Measured values for batch and epochs by the number of rows (docs/presets.md). From 120,000 rows
// on, a batch is about 1/240 of the rows, so that as many workers as possible can share it.
int64_t BatchFor(int64_t train_rows) {
  constexpr ByRows kBatches[] = {{500, 32}, {2'000, 64}, {8'000, 128}, {30'000, kRateBatch}};
  for (const ByRows& entry : kBatches) {
    if (train_rows < entry.below) return entry.value;
  }
  // The power of two nearest to rows / 240 by logarithm.
  int64_t batch = 2 * kRateBatch;
  const double exact = static_cast<double>(train_rows) / 240;
  while (batch < kMostBatch && exact * exact > 2.0 * static_cast<double>(batch * batch)) batch *= 2;
  return batch;
}

double EpochsFor(Preset preset, int64_t train_rows) {
  constexpr ByRows kEpochs[] = {{2'000, 100}, {8'000, 24}, {200'000, 16}, {1'000'000, 8}};
  double epochs = 6;
  for (const ByRows& entry : kEpochs) {
    if (train_rows >= entry.below) continue;
    epochs = static_cast<double>(entry.value);
    break;
  }
  return preset == Preset::kFast ? epochs / 2 : epochs;
}

int64_t FoldsOf(const TrainSpec& train) {
  const EnsembleSpec& e = train.ensemble;
  if (e.over == FitsOver::kSeeds || (e.fits == 1 && !e.folds)) return 0;
  return e.folds.value_or(e.fits);
}

int64_t FitRows(const TrainSpec& train, int64_t train_rows) {
  const int64_t folds = FoldsOf(train);
  return folds == 0 ? train_rows : std::max<int64_t>(1, train_rows - train_rows / folds);
}

bool HasFits(const TrainSpec& train) { return train.ensemble.fits > 1 || FoldsOf(train) > 0; }

bool Assembles(const TrainSpec& train) {
  return HasFits(train) || train.calibrate || train.threshold.kind != ThresholdKind::kNone ||
         train.intervals > 0;
}

uint64_t FitSeed(uint64_t seed, int64_t fit) {
  return fit == 0 ? seed : Mix64(seed ^ Mix64(static_cast<uint64_t>(fit)));
}

JobSpec Sized(JobSpec job, int64_t train_rows) {
  TrainSpec& train = job.train;
  if (train.batch == 0) train.batch = BatchFor(train_rows);
  if (train.epochs == 0.0) train.epochs = EpochsFor(job.preset, train_rows);
  if (std::exchange(train.rate_by_batch, RateByBatch::kNone) == RateByBatch::kSqrt) {
    const double times = static_cast<double>(train.batch) / kRateBatch;
    train.optimizer.learning_rate *= std::sqrt(std::max(1.0, times));
  }
  return job;
}

int64_t LeafCount(const TrainSpec& train) {
  if (train.leaves) return *train.leaves;
  const auto per_leaf = static_cast<uint64_t>(std::max<int64_t>(train.batch / 64, 1));
  // In async mode, leaves do not determine bits. They only limit the number of workers, each of
  // which needs rows in each step.
  const auto rows = static_cast<uint64_t>(std::max<int64_t>(train.batch, 1));
  const int64_t least =
      train.mode == TrainMode::kAsync
          ? std::min<int64_t>(kAsyncLeavesMin, static_cast<int64_t>(std::bit_floor(rows)))
          : 1;
  return std::clamp<int64_t>(static_cast<int64_t>(std::bit_floor(per_leaf)), least, 1024);
}

int64_t StalenessLimit(const TrainSpec& train, int64_t workers) {
  return train.staleness.value_or(std::max<int64_t>(4, 2 * workers));
}

std::optional<double> EpochLimit(const TrainSpec& train) {
  const bool ends = train.optimizer.kind == OptimizerKind::kLbfgs;
  if (train.epochs || train.steps || train.max_time_ms || ends) return train.epochs;
  return 10.0;
}

Loss EffectiveLoss(const ModelSpec& model) {
  if (model.loss) return *model.loss;
  if (model.task == Task::kMultilabel) return Loss::kBinaryCrossEntropy;
  return model.task == Task::kClassification ? Loss::kSoftmaxCrossEntropy : Loss::kMse;
}

bool PredictsNumbers(Task task) { return task == Task::kRegression || task == Task::kAutoencoder; }

bool LossFits(Loss loss, Task task) {
  switch (task) {
    case Task::kClassification:
      return loss == Loss::kSoftmaxCrossEntropy || loss == Loss::kBinaryCrossEntropy;
    case Task::kMultilabel:
      return loss == Loss::kBinaryCrossEntropy;
    case Task::kAutoencoder:
      return loss == Loss::kMse || loss == Loss::kMae || loss == Loss::kHuber;
    case Task::kRegression:
      return loss != Loss::kSoftmaxCrossEntropy && loss != Loss::kBinaryCrossEntropy;
  }
  return false;
}

TargetScale EffectiveTargetScale(const ModelSpec& model) {
  if (model.task != Task::kRegression) return TargetScale::kNone;
  if (model.target_scale) return *model.target_scale;
  return EffectiveLoss(model) == Loss::kPoisson ? TargetScale::kNone : TargetScale::kStandard;
}

// The defaults of PyTorch, except for the learning rate of plain gradient descent, which has no
// default there.
OptimizerSpec DefaultOptimizer(OptimizerKind kind) {
  OptimizerSpec o;
  o.kind = kind;
  if (kind == OptimizerKind::kAdam || kind == OptimizerKind::kAdamW) return o;
  o.learning_rate = kind == OptimizerKind::kLbfgs ? 1 : 1e-2;
  if (kind == OptimizerKind::kRmsprop) o.momentum = 0;
  if (kind == OptimizerKind::kAdagrad) o.epsilon = 1e-10;
  return o;
}

// An update from all rows takes an epoch with any batch size. A larger batch needs fewer sums, and
// more workers can share it.
int64_t DefaultBatch(OptimizerKind kind) {
  const bool whole = kind == OptimizerKind::kLbfgs || kind == OptimizerKind::kGd;
  return whole ? 8192 : TrainSpec().batch;
}

namespace {

bool HasHeader(const DataSpec& data, DataFormat format) {
  return format == DataFormat::kParquet || format == DataFormat::kJson ||
         (format == DataFormat::kCsv && data.csv.header);
}

}  // namespace

std::string_view WithoutCodec(std::string_view name) {
  for (const std::string_view codec : {".gz", ".zst", ".bz2", ".xz", ".lz4", ".snappy"}) {
    if (name.ends_with(codec)) return name.substr(0, name.size() - codec.size());
  }
  return name;
}

std::optional<DataFormat> FormatByName(std::string_view name) {
  name = WithoutCodec(name);
  if (name.ends_with(".libsvm") || name.ends_with(".svm")) return DataFormat::kLibsvm;
  if (name.ends_with(".parquet")) return DataFormat::kParquet;
  for (const std::string_view ending : {".json", ".jsonl", ".ndjson"}) {
    if (name.ends_with(ending)) return DataFormat::kJson;
  }
  if (name.ends_with(".csv")) return DataFormat::kCsv;
  return std::nullopt;
}

DataFormat FormatOf(const DataSpec& data) {
  if (data.format) return *data.format;
  if (data.train.empty()) return DataFormat::kCsv;
  return FormatByName(data.train.front()).value_or(DataFormat::kCsv);
}

DataFormat FormatOf(const DataSpec& data, const std::string& path) {
  if (data.format) return *data.format;
  const auto by_name = FormatByName(path);
  return by_name ? *by_name : FormatOf(data);
}

bool HasHeader(const DataSpec& data) { return HasHeader(data, FormatOf(data)); }
bool HasHeader(const DataSpec& data, const std::string& path) {
  return HasHeader(data, FormatOf(data, path));
}

bool HasHeaderLine(const DataSpec& data, const std::string& path) {
  return data.csv.header && FormatOf(data, path) == DataFormat::kCsv;
}

std::vector<std::string> MetricNames(Task task) {
  if (PredictsNumbers(task)) return {"loss", "rmse", "mae", "r2"};
  if (task == Task::kMultilabel) {
    return {"loss", "accuracy", "precision", "recall", "f1", "f1_micro", "f1_macro"};
  }
  return {"loss", "accuracy", "precision", "recall", "f1", "auc", "average_precision"};
}

bool HigherIsBetter(std::string_view metric) {
  return metric != "loss" && metric != "rmse" && metric != "mae";
}

std::optional<double> MetricValue(const Metrics& m, std::string_view metric) {
  if (metric == "loss") return m.loss;
  if (m.classification) {
    if (metric == "accuracy") return m.accuracy;
    if (metric == "auc") return m.auc;
    if (metric == "average_precision") return m.average_precision;
    if (metric == "f1_micro") return m.f1_micro;
    if (metric == "f1_macro") return m.f1_macro;
    if (m.classes.empty()) return std::nullopt;
    if (metric == "precision") return m.precision;
    if (metric == "recall") return m.recall;
    if (metric == "f1") return m.f1;
    return std::nullopt;
  }
  if (metric == "rmse") return m.rmse;
  if (metric == "mae") return m.mae;
  if (metric == "r2") return m.r2;
  return std::nullopt;
}

}  // namespace espalier::spec
