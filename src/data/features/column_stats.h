// Computes moments of columns, in double. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/data/table/decoded_rows.h"
#include "src/spec/input.h"

namespace espalier::data {

// Returns the statistics of row-major [rows, columns] numbers of `type`, with NaN as null. Bytes
// are summed exactly, in integers. Other types use two passes: the mean first, then squares with
// the correction term of Chan, Golub and LeVeque, "Algorithms for computing the sample variance",
// 1983.
std::vector<spec::ColumnStats> StatsOf(spec::StorageType type, const void* data, int64_t rows,
                                       int64_t columns);

// Returns the same for sparse rows. For bytes all bits are equal. For other types the last bits may
// differ, because the zeros are added at once.
std::vector<spec::ColumnStats> StatsOfSparse(const DecodedRows& rows, int64_t columns);

// Merges two statistics by the pairwise update of the same paper. The order changes the last bits.
spec::ColumnStats Merged(const spec::ColumnStats& a, const spec::ColumnStats& b);

}  // namespace espalier::data
