// Reads a table to be scored by a model that was trained on another table. Finds the columns by
// name, reads the rows in order and in pieces, separates rows that cannot be scored, and keeps
// selected columns unchanged.
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
  spec::JobSpec job;          // rules to decode rows
  std::vector<int32_t> kept;  // positions in the schema
  // If the model multiplies rows sparse, text and Spark vectors are decoded sparse as in training.
  bool sparse = false;
  // The training table may have been Parquet: as ReadOptions::truth_words.
  bool truth_words = false;
};

struct ScanRequest {
  const spec::JobSpec& job;       // job of the model: CSV options, rules for nulls, precision
  const spec::Schema& schema;     // schema of the training table
  std::vector<std::string> data;  // patterns
  bool labels = false;            // read labels (or targets) and, if the model has them, weights
  std::vector<std::string> keep;  // columns, by name (without a header by position)
  std::optional<spec::DataFormat> format;  // unset: by the names of the files
  int64_t shard_bytes = 16 << 20;
  bool sparse = false;  // the model's job multiplied rows sparse (sparse_choice.h)
  bool raw = false;     // as DataSpec::raw
  // A class of the model is one of kNullWords (number.h), so none of them is a missing label.
  bool null_classes = false;
};

// Lists the files, finds the columns and cuts the shards. With a header (Parquet always has one),
// the columns of the model are found by name, and further columns are ignored. Without a header,
// they are the columns at the same positions. If labels are not requested, the files may omit
// exactly the label columns. The positions are then those of the training table without its labels.
// LIBSVM text has the indices of the model.
//
// The schema has no weight, so that each row counts 1, for LIBSVM text and for named columns that
// do not include the weight column. If labels are requested, a note states this, and another note
// states that the model was trained on one of the files.
//
// Errors: kInvalidArgument, if a column is missing, kept twice or holds lists, or if a number or a
// date of the model has another Parquet type, such as durations; those of PlanTable.
// Thread rule: re-entrant.
Result<ScanPlan> PlanScan(const storage::FileSystem& files, const ScanRequest& request);

// Returns the same plan from its input, which PlanScan made in another process from the same
// request. Reads nothing. kInvalidArgument: a column to keep is not in the input.
Result<ScanPlan> ResumeScan(const storage::FileSystem& files, const ScanRequest& request,
                            spec::InputPlan input);

// Creates the reader of the table, which returns rows in pieces by RowRules::kScoring. `files` and
// `scan` must outlive the reader.
std::unique_ptr<ShardReader> MakeScanReader(const storage::FileSystem& files, const ScanPlan& scan,
                                            MemoryBudget* room = nullptr);

}  // namespace espalier::data
