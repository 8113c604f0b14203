// ShardReader for Parquet files. A shard is a run of row groups: those that start in its byte
// range. Rows are identified by their index in the file. The reader's memory budget holds the rows
// and the raw bytes of one row group.
//
// Thread rule: re-entrant.
#pragma once

#include <memory>

#include "src/data/table/shard_reader.h"

namespace espalier::data {

std::unique_ptr<ShardReader> MakeParquetReader(const TableSource& table,
                                               const ReadOptions& options);

}  // namespace espalier::data
