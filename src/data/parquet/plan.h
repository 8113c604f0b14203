// Plans the input for Parquet files. Takes the schema from the first file, compares all others by
// name, and cuts row groups into shards.
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
// A vector column `v` of width n (a list of numbers or booleans, or Spark vectors) appears in the
// schema as the columns "v[0]" ... "v[n-1]". The spec may name the whole column ("v"), its position
// in the file or one element ("v[2]"). For vectors of variable length, the width is that of the
// first vector in the first file with rows. All other positions also count the columns of the file.
//
// Other files may have the columns in another order and numbers of another type. A shard is a run
// of row groups of about `shard_bytes`, at least one. It owns those that start in its byte range.
//
// Partition columns that the first file does not contain itself are the last columns, as text.
//
// Errors: a file is not a whole Parquet file (footer.h); duplicate names; no column of the files is
// used; a column of the job is missing, has another kind than in the first file or has an
// unsupported type; with `columns: auto`, columns that the first file does not have; and those of
// MakeSchema. Each error names the file, and also the first file if the two differ. Thread rule:
// re-entrant.
Status PlanParquet(const storage::FileSystem& files, const spec::DataSpec& data,
                   int64_t shard_bytes, Partitions partitions, spec::InputPlan* plan);

}  // namespace espalier::data
