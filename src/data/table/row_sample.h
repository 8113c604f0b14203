// A sample of the training rows that depends on the data alone: the rows with the smallest keyed
// hashes of their identity (file ordinal, byte offset | Parquet row index). However the shards are
// cut, and whoever reads them, the smallest of the shards' smallest are the smallest of all
// (bottom- k sampling; Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC'07).
// Quartiles are taken from it.
//
// Thread rule: one thread a picker; pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/random.h"
#include "src/data/table/decoded_rows.h"
#include "src/data/table/shard_rows.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Finds the rows of a shard that may be in the sample.
class RowPicker {
 public:
  // Of a job whose scales and bins need no sample it picks nothing.
  RowPicker(const spec::FeatureSpec& features, const spec::Schema& schema);

  bool any() const { return rows_max_ > 0; }
  // The shard's training row number `row`, which is at `position` of its file.
  void Offer(int32_t file, uint64_t position, int64_t row);
  // The picked rows of all that were offered, with their values.
  spec::RowSample Take(const DecodedRows& train) const;

  // Does the same for warnings, of any job with one label and not too many features. Their keys are
  // cheap, because each row has one.
  void Probe(int32_t file, uint64_t position, int64_t row) {
    if (probed_max_ == 0) return;
    uint64_t key = (position + static_cast<uint64_t>(file) * 0x9e3779b97f4a7c15) * kMix;
    key = (key ^ (key >> 32)) * kMix;
    key ^= key >> 29;
    if (key > probed_cutoff_) return;
    probed_.push_back({key, row, position});
    if (probed_.size() == 2 * probed_max_) PruneProbed();
  }
  // By key.
  std::vector<ProbedRow> TakeProbed();

 private:
  struct Picked {
    uint64_t key = 0;
    int64_t row = 0;
    auto operator<=>(const Picked&) const = default;
  };
  static constexpr uint64_t kMix = 0xff51afd7ed558ccd;
  // Leaves the probed_max_ rows with the smallest keys.
  void PruneProbed();

  std::vector<int32_t> features_;  // those whose values are wanted
  int64_t width_ = 0;              // of a row
  int64_t rows_max_ = 0;
  bool bins_ = false;
  std::vector<Picked> picked_;     // a heap, the largest key first
  std::vector<ProbedRow> probed_;  // fewer than 2 * probed_max_, the wanted ones among them
  size_t probed_max_ = 0;
  uint64_t probed_cutoff_ = ~uint64_t{0};  // no wanted row has a larger key
};

// Leaves out of the samples of shards what cannot be in that of all, as enough rows with smaller
// keys were seen before: so that those of many shards together are little to tell, whatever the
// width. What is left out depends on the order of the shards, the sample of all does not.
class SamplePruner {
 public:
  void Prune(spec::RowSample* sample);

 private:
  std::vector<uint64_t> smallest_;  // keys of rows seen so far; a heap, the largest first
};

// The values of each sampled feature, ascending. Parameters as of QuartilesOf.
std::vector<std::vector<double>> SampledValues(std::span<const spec::ShardProfile> shards,
                                               std::span<const double> nulls);

// Of a feature's values in the sample, by linear interpolation between them (R's type 7, NumPy's
// default).
struct Quartiles {
  int64_t values = 0;
  double low = 0, median = 0, high = 0;  // only when there are values
};

Quartiles QuartilesOf(std::span<const double> ascending);
// Over the shards' samples, in shard order: one a feature that is scaled by quartiles. `nulls`: the
// number that stands for such a feature's nulls; NaN: they are left out. REQUIRES: each sample has
// nulls.size() values a row.
std::vector<Quartiles> QuartilesOf(std::span<const spec::ShardProfile> shards,
                                   std::span<const double> nulls);

}  // namespace espalier::data
