// Sums over shards: row samples and counts of categories.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"

namespace espalier::spec {

// Memory of one count by text, without the text, in bytes: a node of std::map.
inline constexpr size_t kCountBytes = 96;

// Merges the sample of a shard into that of other shards. The `SampledRowsMax` rows with the
// smallest keys remain, in ascending order of their keys, whatever the order of the shards
// (data/table/row_sample.h explains why this is the sample of all rows).
// kFailedPrecondition: its rows have another width.
Status MergeSample(const RowSample& more, RowSample* into);
int64_t MemoryBytes(const RowSample& sample);

// Adds the counts of a shard's categories to those of other shards (empty: there were none).
// Returns the additional memory in bytes. REQUIRES: both have the same columns.
using CategoryCounts = std::vector<std::map<std::string, int64_t>>;
int64_t AddCategories(const CategoryCounts& more, CategoryCounts* into);

}  // namespace espalier::spec
