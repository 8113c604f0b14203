// A table read to be scored by a model that was trained on another: its columns found by name, its
// rows in order and in pieces, those that cannot be scored told apart, and chosen columns kept as
// they stand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/memory_budget.h"
#include "src/data/table/shard_reader.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

struct ScanPlan {
  spec::InputPlan input;      // all files have the role kTest
  spec::JobSpec job;          // to decode rows by
  std::vector<int32_t> kept;  // positions in the schema
  // Text and Spark's vectors are decoded sparse where they were for the training, if the model
  // multiplies sparse.
  bool sparse = false;
};

struct ScanRequest {
  const spec::JobSpec& job;       // the model's: CSV's options, rules for nulls, precision
  const spec::Schema& schema;     // of the table that it was trained on
  std::vector<std::string> data;  // patterns
  bool labels = false;  // labels (or targets) and, where the model has them, weights are wanted
  std::vector<std::string> keep;           // columns, by name (without header by position)
  std::optional<spec::DataFormat> format;  // unset: by the files' names
  int64_t shard_bytes = 16 << 20;
  bool sparse = false;  // the model's job multiplied its rows sparse (sparse_choice.h)
  bool raw = false;     // as DataSpec::raw
};

// Lists the files, finds the columns and cuts the shards. With a header (Parquet always has one)
// the model's columns are found by name, and further ones are left alone; without one they are
// those at the same positions, and where labels are not wanted and the files have exactly as many
// columns less as the model has labels, those of the table without them. LIBSVM text has the
// model's indices. Where columns have names and that of the weights is not among them, or the text
// is LIBSVM's, the schema has no weight: each row counts 1.
//
// Errors: kInvalidArgument, a column is missing, or kept twice, or holds lists; PlanTable's.
// Thread rule: re-entrant.
Result<ScanPlan> PlanScan(const storage::FileSystem& files, const ScanRequest& request);

// The same plan from its input, which PlanScan has made elsewhere of the same request: reads
// nothing. kInvalidArgument: a kept column is not in it.
Result<ScanPlan> ResumeScan(const storage::FileSystem& files, const ScanRequest& request,
                            spec::InputPlan input);

// Reads the table: its rows in pieces, as RowRules::kScoring has it. Both must outlive the reader.
std::unique_ptr<ShardReader> MakeScanReader(const storage::FileSystem& files, const ScanPlan& scan,
                                            MemoryBudget* room = nullptr);

}  // namespace espalier::data
