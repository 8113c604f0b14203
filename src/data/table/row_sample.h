// A sample of the training rows that depends only on the data: the rows with the smallest keyed
// hashes of their identity (file ordinal, byte offset | Parquet row index). The smallest of the
// shards' smallest rows are the smallest of all, for any division into shards and any assignment to
// workers (bottom-k sampling; Cohen and Kaplan, "Summarizing data using bottom-k sketches",
// PODC'07). Quartiles are computed from it.
//
// Thread rule: one thread per picker; pure functions.
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
  // Picks nothing for a job that does not use a sample.
  RowPicker(const spec::JobSpec& job, const spec::Schema& schema);

  bool any() const { return rows_max_ > 0; }
  // Offers the shard's training row number `row`, which is at `position` in its file.
  void Offer(int32_t file, uint64_t position, int64_t row);
  // Returns the picked rows of all that were offered, with their values.
  spec::RowSample Take(const DecodedRows& train) const;

  // Offers a row for the sample that warnings use, in any job with one label and not too many
  // features. The keys are cheap to compute, because each row needs one.
  void Probe(int32_t file, uint64_t position, int64_t row) {
    if (probed_max_ == 0) return;
    uint64_t key = (position + static_cast<uint64_t>(file) * 0x9e3779b97f4a7c15) * kMix;
    key = (key ^ (key >> 32)) * kMix;
    key ^= key >> 29;
    if (key > probed_cutoff_) return;
    probed_.push_back({key, row, position});
    if (probed_.size() == 2 * probed_max_) PruneProbed();
  }
  // Returns the probed rows, sorted by key.
  std::vector<ProbedRow> TakeProbed();

 private:
  struct Picked {
    uint64_t key = 0;
    int64_t row = 0;
    auto operator<=>(const Picked&) const = default;
  };
  static constexpr uint64_t kMix = 0xff51afd7ed558ccd;
  // Keeps the probed_max_ rows with the smallest keys.
  void PruneProbed();

  std::vector<int32_t> features_;  // sampled features
  int64_t width_ = 0;              // features per row
  int64_t targets_ = 0;            // sampled targets per row
  int64_t rows_max_ = 0;
  bool bins_ = false;
  std::vector<Picked> picked_;     // heap, largest key first
  std::vector<ProbedRow> probed_;  // fewer than 2 * probed_max_, including the rows to keep
  size_t probed_max_ = 0;
  uint64_t probed_cutoff_ = ~uint64_t{0};  // no row to keep has a larger key
};

// Removes rows from the samples of shards that cannot be in the overall sample, because enough rows
// with smaller keys were seen before. The samples of many shards together therefore stay small,
// whatever their width. The removed rows depend on the order of the shards. The overall sample does
// not.
class SamplePruner {
 public:
  void Prune(spec::RowSample* sample);

 private:
  std::vector<uint64_t> smallest_;  // keys of rows seen so far; heap, largest first
};

// Returns the values of each sampled column over the shards' samples, ascending. `nulls`:
// replacement for the nulls of each column; NaN: nulls are left out. REQUIRES: each sample has
// nulls.size() values per row.
std::vector<std::vector<double>> SampledValues(std::span<const spec::ShardProfile> shards,
                                               std::span<const double> nulls);

// Returns a quantile of values, with linear interpolation between them (R's type 7, NumPy's
// default). REQUIRES: `ascending` is sorted and not empty, 0 <= share <= 1.
double QuantileOf(std::span<const double> ascending, double share);

// Quartiles of a column's values in the sample.
struct Quartiles {
  int64_t values = 0;
  double low = 0, median = 0, high = 0;  // valid if values > 0
};
Quartiles QuartilesOf(std::span<const double> ascending);

}  // namespace espalier::data
