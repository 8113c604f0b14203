// Creates the ShardReader of a table by the format of its files. Thread rule: re-entrant.
#pragma once

#include <memory>

#include "src/data/table/shard_reader.h"

namespace espalier::data {

// REQUIRES: the plan's files have one format, which planning ensures.
std::unique_ptr<ShardReader> MakeShardReader(const TableSource& table,
                                             const ReadOptions& options = {});

}  // namespace espalier::data
