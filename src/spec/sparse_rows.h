// Wide rows of which most numbers are 0: when they are kept as the others alone, and a batch of
// such rows as the first layer takes it. Codes of categories lie beside them, as beside other rows.
//
// Thread rule: values.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier::spec {

// From so many features on that are numbers, rows may be sparse ...
inline constexpr int64_t kSparseFeaturesMin = 1024;
// ... if at most one number in so many is not 0. Measured (tools/benchmarks/sparse_step.cc): with
// 1,024 features the sparse first layer is then a tenth faster than BLAS over all numbers and at
// one in eight half as fast; with 16,384 twice as fast.
inline constexpr int64_t kSparseShare = 16;
// An input is kept as what it differs by from a scaled 0. Of a column whose scaled 0 is farther
// from 0 than this, as of years or times in seconds, that would be lost in rounding: its inputs are
// kept as they are, in every row. Hardly a row of such a column is 0: of standardized ones one in
// 257.
inline constexpr double kSparseBaseMax = 16;
inline bool IsFarFromZero(double shift, double factor) {
  return std::fabs(shift * factor) > kSparseBaseMax;
}

template <typename T>
struct SparseRows {
  std::vector<int64_t> ends;     // [rows]: where a row's entries end; the next one's begin there
  std::vector<int32_t> columns;  // [entries], ascending within a row
  std::vector<T> values;         // [entries]: by how much the input differs from the base
  // [columns of numbers]: the inputs of a row without entries; owned by who filled the rows. Empty:
  // all 0.
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
