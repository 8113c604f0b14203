// ShardReader for Parquet files: a shard is a run of row groups, those that start in its byte
// range. Rows are identified by their index in the file. Besides rows, one row group as it is in
// the file draws on the reader's room.
//
// Thread rule: re-entrant.
#pragma once

#include <memory>

#include "src/data/table/shard_reader.h"

namespace espalier::data {

std::unique_ptr<ShardReader> MakeParquetReader(const TableSource& table,
                                               const ReadOptions& options);

}  // namespace espalier::data
