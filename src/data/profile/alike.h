// Prepares the rows of a shard for warnings (warnings.h). Thread rule: pure functions and a value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/data/table/shard_rows.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Numbers that replace the texts of a shard, the same in every shard: hashes that a double holds
// exactly.
class RowTexts {
 public:
  RowTexts(const ShardRows& rows, const spec::Schema& schema, const spec::JobSpec& job);

  int64_t features() const { return features_; }
  bool any() const { return !coded_.empty(); }
  // Returns the number of a row's feature: the text of a category, otherwise the value. Null is
  // NaN.
  double Feature(int64_t feature, double value) const {
    const std::vector<double>& codes = codes_[static_cast<size_t>(feature)];
    if (codes.empty() || value != value) return value;
    return codes[static_cast<size_t>(value)];
  }
  // Returns the number of the only label of a row in a set.
  double Label(const DecodedRows& set, int64_t row) const {
    if (labels_.empty()) return set.targets.size() == 0 ? 0 : set.targets[static_cast<size_t>(row)];
    return labels_[static_cast<size_t>(set.labels[static_cast<size_t>(row)])];
  }

 private:
  int64_t features_ = 0;
  std::vector<int32_t> coded_;              // features with a vocabulary
  std::vector<std::vector<double>> codes_;  // by feature, by code; empty: a number
  std::vector<double> labels_;              // by label text; empty: labels are numbers
};

// Counts training and validation rows with equal features and an equal label. Counts nothing for
// tables that may be sparse or have several labels.
spec::RowCounts CountAlike(const ShardRows& rows, const RowTexts& texts);

// Returns all values of the probed rows: features, label, `file`, position.
spec::RowSample ProbeOf(const ShardRows& rows, const RowTexts& texts, int32_t file);

}  // namespace espalier::data
