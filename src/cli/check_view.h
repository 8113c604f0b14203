// Output of `espalier check`.
//
// Thread rule: pure functions, and a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/cli/json.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::cli {

inline constexpr size_t kColumnsShownMax = 20;

struct SetSummary {
  std::string name;  // "train", "validation", "test"
  int64_t files = 0, bytes = 0, rows = 0;
};

// A column of the files, or a key in the names of their directories.
struct ColumnEntry {
  std::string name;
  // Feature: "number", "boolean", "date" or "category"; other columns: "number" or "text". Parquet:
  // the file's type, except for booleans, dates and categories that are features.
  std::string type;
  std::string role;  // "feature", "label", "weight", "validation", "ignored"
};

// The role of each column of the files. All columns except the listed ones are features.
struct SchemaSummary {
  std::string format;  // "csv", "parquet", "libsvm", "json"
  int64_t columns = 0;
  std::vector<std::string> label, unused;
  std::string weight, validation;  // empty: none
  std::string inferred;            // InferredText
  std::vector<ColumnEntry> list;   // all, in order
};

// Statistics of a feature or a target over the training rows.
struct ColumnSummary {
  std::string name;
  spec::ColumnStats stats;
  std::string encoding = {};  // categorical feature: "12 values, one-hot"
};

struct LabelSummary {
  std::string label;
  int64_t train_rows = 0, evaluation_rows = 0;  // evaluation_rows: validation and test
};

// The part of the input that a worker could read from its own host's disks.
struct NearWorker {
  std::string worker, name, address;  // as in `espalier workers`
  int64_t shards = 0, bytes = 0;
};

// Information about a job before training.
struct CheckReport {
  std::string job_name;
  spec::Preset preset = spec::Preset::kNone;
  spec::Task task = spec::Task::kClassification;
  std::string task_why;            // if the labels determined the task
  std::vector<std::string> notes;  // JobSnapshot::notes
  std::vector<SetSummary> sets;
  SchemaSummary schema;
  int64_t shards = 0;
  // Bytes of the input that each host could read from its own disks; empty: unknown.
  std::vector<std::pair<std::string, int64_t>> hosts;
  std::optional<std::vector<NearWorker>> workers;  // of a cluster, if one was asked
  int64_t dropped_rows = 0, skipped_rows = 0;
  std::vector<Status> skipped;          // the first few bad rows, with positions
  std::vector<ColumnSummary> features;  // in the order of the model's inputs
  std::vector<ColumnSummary> targets;   // regression, multilabel
  std::vector<LabelSummary> labels;     // classification, in class order
  std::vector<int64_t> layers;          // widths: inputs (spec::InputShape::width), hidden, outputs
  int64_t parameters = 0;
  int64_t leaves = 0, batch = 0, steps_per_epoch = 0;
  int64_t fits = 1, folds = 0;  // averaged fits; folds of the rows, 0: none
  std::optional<double> epochs;
  std::string storage;           // type of stored values: "uint8", "float32", "float64"
  bool sparse = false;           // rows are stored without their zeros
  int64_t rows_bytes = 0;        // all rows, over all workers together
  int64_t model_bytes = 0;       // job state and gradients, on each worker
  int64_t evaluation_bytes = 0;  // totals of all leaves in an evaluation; 0: none
  int64_t reading_bytes = 0;     // largest shard, while a thread reads it
  std::string output;
  Status output_status;  // whether the job may write there
};

// Returns the tables for people. The last line states that all checks passed, if they did. Ends
// with '\n'.
std::string CheckText(const CheckReport& report, bool color);

// Returns the report as one object: {"status":"OK","job":..,"sets":[..],...}.
Json CheckJson(const CheckReport& report);

}  // namespace espalier::cli
