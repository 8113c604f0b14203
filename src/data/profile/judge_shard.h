// What the columns of a shard hold, whatever the plan reads them as. Thread rule: re-entrant.
#pragma once

#include <vector>

#include "src/base/status.h"
#include "src/data/table/memory_budget.h"
#include "src/data/table/shard_reader.h"
#include "src/spec/input.h"

namespace espalier::data {

// Reads a shard again and looks at the values of all its records as texts: of the columns that
// `columns: auto` judges (OpenColumns) and of a label, by position; in Parquet of those of text.
// REQUIRES: the plan is provisional, and the shard is of training rows.
Result<std::vector<spec::ColumnEvidence>> JudgeShard(const TableSource& table, int shard,
                                                     MemoryBudget* room);

}  // namespace espalier::data
