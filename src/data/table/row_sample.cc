#include "src/data/table/row_sample.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/spec/sparse_rows.h"

namespace espalier::data {

RowPicker::RowPicker(const spec::JobSpec& job, const spec::Schema& schema)
    : width_(std::ssize(schema.features)) {
  const spec::FeatureSpec& features = job.data.features;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    bins_ = bins_ || spec::IsBinned(features, schema.rule(i));
    if (spec::IsSampled(features, schema.rule(i))) features_.push_back(static_cast<int32_t>(i));
  }
  if (spec::SamplesTargets(job.model)) targets_ = std::ssize(schema.label);
  rows_max_ = spec::SampledRowsMax(std::ssize(features_) + targets_, bins_);
  if (schema.label.size() == 1 && width_ < spec::kSparseFeaturesMin) {
    probed_max_ = static_cast<size_t>(spec::SampledRowsMax(width_ + kProbeBeside));
  }
}

void RowPicker::PruneProbed() {
  if (probed_.size() <= probed_max_) return;
  const auto end = probed_.begin() + static_cast<std::ptrdiff_t>(probed_max_);
  std::nth_element(probed_.begin(), end - 1, probed_.end());
  probed_cutoff_ = (end - 1)->key;
  probed_.erase(end, probed_.end());
}

std::vector<ProbedRow> RowPicker::TakeProbed() {
  PruneProbed();
  std::sort(probed_.begin(), probed_.end());
  return std::move(probed_);
}

void RowPicker::Offer(int32_t file, uint64_t position, int64_t row) {
  static const PhiloxKey kKey = MakeKey(0, RandomUse::kSample);  // data only, no seed
  const Picked offered = {RandomBits(kKey, static_cast<uint64_t>(file), position), row};
  if (static_cast<int64_t>(picked_.size()) == rows_max_) {
    if (picked_.front() < offered) return;
    std::pop_heap(picked_.begin(), picked_.end());
    picked_.pop_back();
  }
  picked_.push_back(offered);
  std::push_heap(picked_.begin(), picked_.end());
}

spec::RowSample RowPicker::Take(const DecodedRows& train) const {
  std::vector<Picked> picked = picked_;
  std::sort(picked.begin(), picked.end());
  spec::RowSample sample;
  sample.bins = bins_;
  WithStorage(train.type, [&](auto type) {
    const auto* rows = reinterpret_cast<const decltype(type)*>(train.features.data());
    for (const Picked& p : picked) {
      sample.keys.push_back(p.key);
      for (const int32_t feature : features_) {
        sample.values.push_back(static_cast<double>(rows[p.row * width_ + feature]));
      }
      for (int64_t k = 0; k < targets_; ++k) {
        sample.values.push_back(train.targets[static_cast<size_t>(p.row * targets_ + k)]);
      }
    }
  });
  return sample;
}

void SamplePruner::Prune(spec::RowSample* sample) {
  const size_t rows = sample->keys.size();
  if (rows == 0) return;
  const size_t width = sample->values.size() / rows;
  const auto most =
      static_cast<size_t>(spec::SampledRowsMax(static_cast<int64_t>(width), sample->bins));
  size_t kept = 0;
  for (; kept < rows; ++kept) {
    const uint64_t key = sample->keys[kept];
    if (smallest_.size() == most) {
      if (key > smallest_.front()) break;  // all later keys are larger too
      std::pop_heap(smallest_.begin(), smallest_.end());
      smallest_.pop_back();
    }
    smallest_.push_back(key);
    std::push_heap(smallest_.begin(), smallest_.end());
  }
  sample->keys.resize(kept);
  sample->values.resize(kept * width);
  sample->values.shrink_to_fit();
}

std::vector<std::vector<double>> SampledValues(std::span<const spec::ShardProfile> shards,
                                               std::span<const double> nulls) {
  struct Row {
    uint64_t key = 0;
    const double* values = nullptr;
  };
  std::vector<Row> rows;
  bool bins = false;
  for (const spec::ShardProfile& shard : shards) {
    bins = bins || shard.sample.bins;
    for (size_t i = 0; i < shard.sample.keys.size(); ++i) {
      rows.push_back({shard.sample.keys[i], shard.sample.values.data() + i * nulls.size()});
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.key < b.key; });
  rows.resize(std::min(rows.size(), static_cast<size_t>(spec::SampledRowsMax(
                                        static_cast<int64_t>(nulls.size()), bins))));
  std::vector<std::vector<double>> columns(nulls.size());
  for (size_t f = 0; f < nulls.size(); ++f) {
    for (const Row& row : rows) {
      const double value = std::isnan(row.values[f]) ? nulls[f] : row.values[f];
      if (!std::isnan(value)) columns[f].push_back(value);
    }
    std::sort(columns[f].begin(), columns[f].end());
  }
  return columns;
}

double QuantileOf(std::span<const double> ascending, double share) {
  const double place = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<size_t>(place);
  const double rest = place - static_cast<double>(below);
  if (rest == 0) return ascending[below];
  // The difference of the two values might overflow.
  return ascending[below] * (1 - rest) + ascending[below + 1] * rest;
}

Quartiles QuartilesOf(std::span<const double> ascending) {
  Quartiles q;
  q.values = std::ssize(ascending);
  if (ascending.empty()) return q;
  q.low = QuantileOf(ascending, 0.25);
  q.median = QuantileOf(ascending, 0.5);
  q.high = QuantileOf(ascending, 0.75);
  return q;
}

}  // namespace espalier::data
