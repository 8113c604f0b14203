// Planning over Parquet files: schema from the first file, all others compared by name, row groups
// cut into shards.
#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/data/table/partitions.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Fills schema and shards of a plan whose files are listed. Reads every footer.
//
// A vector column `v` (a list of numbers or booleans, or Spark's vectors) of width n stands in the
// schema as the columns "v[0]" ... "v[n-1]"; the spec may name it as a whole ("v"), by its position
// in the file, or one element ("v[2]"). The width of vectors of any length is that of the first one
// in the first file that has rows. All other positions, too, count the columns of the file.
//
// Other files may have the columns in another order and numbers of another type. A shard is a run
// of row groups of about `shard_bytes`, at least one; it owns those that start in its byte range.
//
// The partition columns that the first file does not have itself are the last columns, as text.
//
// Errors: a file is no whole Parquet file (parquet_footer.h); names that occur twice; no column of
// the files is used; a column of the job is missing, of another kind than in the first
// file, or of a type that cannot be used; with `columns: auto` columns that the first file lacks;
// and those of MakeSchema. Each names the file, and the first one where two differ.
// Thread rule: re-entrant.
Status PlanParquet(const storage::FileSystem& files, const spec::DataSpec& data,
                   int64_t shard_bytes, Partitions partitions, spec::InputPlan* plan);

}  // namespace espalier::data
