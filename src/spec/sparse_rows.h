// Wide rows whose numbers are mostly 0, stored as their nonzero numbers only. SparseRows is a batch
// of these rows, as the first layer reads it. Codes of categories are stored separately, as for
// other rows.
//
// Thread rule: values.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier::spec {

// Minimum number of numeric features for sparse rows.
inline constexpr int64_t kSparseFeaturesMin = 1024;
// Rows are sparse if at most one number in kSparseShare is nonzero. Measured
// (tools/benchmarks/sparse_step.cc): with 1,024 features, the sparse first layer is then 10 %
// faster than BLAS over all numbers. At one in eight, it has half the speed. With 16,384 features,
// it is twice as fast.
inline constexpr int64_t kSparseShare = 16;
// An input is stored as its difference from a scaled 0. If a column's scaled 0 is farther from 0
// than this (years, times in seconds), rounding would lose the difference. The inputs of the column
// are then stored unchanged, in every row. Few rows of these columns are 0: for standardized
// columns, one in 257.
inline constexpr double kSparseBaseMax = 16;
inline bool IsFarFromZero(double shift, double factor) {
  return std::fabs(shift * factor) > kSparseBaseMax;
}

template <typename T>
struct SparseRows {
  // [rows]: end of a row's entries; the next row's entries begin there.
  std::vector<int64_t> ends;
  std::vector<int32_t> columns;  // [entries], ascending within a row
  std::vector<T> values;         // [entries]: difference between the input and the base
  // [numeric columns]: the inputs of a row without entries. Owned by the code that filled the rows.
  // Empty: all 0.
  std::span<const T> base;

  void Clear() {
    ends.clear();
    columns.clear();
    values.clear();
    base = {};
  }
  int64_t begin(int64_t row) const { return row == 0 ? 0 : ends[static_cast<size_t>(row) - 1]; }
};

}  // namespace espalier::spec
