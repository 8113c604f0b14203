// Examines the columns of a shard, independently of how the plan reads them. Thread rule:
// re-entrant.
#pragma once

#include <vector>

#include "src/base/status.h"
#include "src/data/table/memory_budget.h"
#include "src/data/table/shard_reader.h"
#include "src/spec/input.h"

namespace espalier::data {

// Reads a shard again and examines the values of all its records as texts. It examines the columns
// that `columns: auto` judges (OpenColumns) and the label, by position. In Parquet it examines only
// text columns. REQUIRES: the plan is provisional; the shard has training rows.
Result<std::vector<spec::ColumnEvidence>> JudgeShard(const TableSource& table, int shard,
                                                     MemoryBudget* room);

}  // namespace espalier::data
