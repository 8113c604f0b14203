// ShardReader for text: CSV, JSON or LIBSVM, plain or compressed. Thread rule: re-entrant.
#pragma once

#include <memory>

#include "src/data/table/shard_reader.h"

namespace espalier::data {

std::unique_ptr<ShardReader> MakeTextReader(const TableSource& table, const ReadOptions& options);

}  // namespace espalier::data
