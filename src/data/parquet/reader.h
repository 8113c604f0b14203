// Reads the shards of Parquet files: a shard is a run of row groups, those that start in its byte
// range. Rows are identified by their index in the file. Thread rule: re-entrant.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/data/parquet/scan_piece.h"
#include "src/data/table/row_room.h"
#include "src/data/table/shard_rows.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier {

// ReadShard or, where there is a `take`, StreamShard (survey.h) for a Parquet file. Besides rows,
// one row group as it is in the file draws on `room`.
Result<ShardRows> ReadParquetShard(const ReadableFile& file, const InputPlan& plan,
                                   const JobSpec& job, int shard, RowRoom* room,
                                   const TakeRows& take);

// ScanShard (table_scan.h) for a Parquet file.
Status ScanParquetShard(const ReadableFile& file, const ScanPlan& scan, int shard, RowRoom* room,
                        const TakePiece& take);

// FindEvaluationLabel (survey.h) for a Parquet file.
Result<InputPosition> FindParquetLabel(const ReadableFile& file, const InputPlan& plan,
                                       const JobSpec& job, int shard, const std::string& label);

}  // namespace espalier
