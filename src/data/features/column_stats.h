// Moments of columns, in double. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/data/table/decoded_rows.h"
#include "src/spec/input.h"

namespace espalier::data {

// Over row-major [rows, columns] numbers of `type`, NaN being null. Bytes are summed exactly, in
// whole numbers; others in two passes (mean first, then squares with the correction term of Chan,
// Golub and LeVeque, "Algorithms for computing the sample variance", 1983).
std::vector<spec::ColumnStats> StatsOf(spec::StorageType type, const void* data, int64_t rows,
                                       int64_t columns);

// The same of sparse rows: the same bits for bytes, other last bits for others, whose zeros are
// added at once.
std::vector<spec::ColumnStats> StatsOfSparse(const DecodedRows& rows, int64_t columns);

// The statistics of both: the pairwise update of the same paper. Order matters in the last bits.
spec::ColumnStats Merged(const spec::ColumnStats& a, const spec::ColumnStats& b);

}  // namespace espalier::data
