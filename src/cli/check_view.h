// How `espalier check` shows what it found. Thread rule: pure functions, and a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/json_view.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::cli {

inline constexpr size_t kColumnsShownMax = 20;

struct SetSummary {
  std::string name;  // "train", "validation", "test"
  int64_t files = 0, bytes = 0, rows = 0;
};

// A column of the files, or of the names of their directories.
struct ColumnEntry {
  std::string name;
  std::string type;  // as found: "number" or "text", in Parquet the file's type
  std::string role;  // "feature", "label", "weight", "validation", "ignored"
};

// What each column of the files is for; all but the named ones are features.
struct SchemaSummary {
  std::string format;  // "csv", "parquet", "libsvm"
  int64_t columns = 0;
  std::vector<std::string> label, unused;
  std::string weight, validation;  // empty: none
  std::string inferred;            // InferredText
  std::vector<ColumnEntry> list;   // all, in order
};

// A feature or a target over the training rows.
struct ColumnSummary {
  std::string name;
  spec::ColumnStats stats;
  std::string encoding = {};  // of a category: "12 values, one-hot"; else empty
};

struct LabelSummary {
  std::string label;
  int64_t train_rows = 0, evaluation_rows = 0;  // the latter: validation and test together
};

// What of the input a worker could read from the disks of its own host.
struct NearWorker {
  std::string worker, name, address;  // as `espalier workers` shows them
  int64_t shards = 0, bytes = 0;
};

// What there is to know of a job before it is trained.
struct CheckReport {
  std::string job_name;
  spec::Preset preset = spec::Preset::kNone;
  spec::Task task = spec::Task::kClassification;
  std::string task_why;            // where the labels decided it
  std::vector<std::string> notes;  // JobSnapshot::notes
  std::vector<SetSummary> sets;
  SchemaSummary schema;
  int64_t shards = 0;
  // How many bytes of the input each host could read from its own disks; empty: not known.
  std::vector<std::pair<std::string, int64_t>> hosts;
  std::optional<std::vector<NearWorker>> workers;  // of a cluster, when one was asked
  int64_t dropped_rows = 0, skipped_rows = 0;
  std::vector<Status> skipped;          // the first few bad rows, with positions
  std::vector<ColumnSummary> features;  // in the order of the model's inputs
  std::vector<ColumnSummary> targets;   // regression, multilabel
  std::vector<LabelSummary> labels;     // classification, in class order
  std::vector<int64_t> layers;          // widths: inputs, hidden, outputs
  int64_t parameters = 0;
  int64_t leaves = 0, batch = 0, steps_per_epoch = 0;
  int64_t fits = 1, folds = 0;  // whose predictions are averaged; parts of the rows, 0: none
  std::optional<double> epochs;
  std::string storage;           // of a feature's value: "uint8", "float32", "float64"
  bool sparse = false;           // rows are stored without their zeros
  int64_t rows_bytes = 0;        // of all rows, over all workers together
  int64_t model_bytes = 0;       // of the job state and gradients, on each worker
  int64_t evaluation_bytes = 0;  // of all leaves' totals of an evaluation; 0: there is none
  int64_t reading_bytes = 0;     // of the shard that takes most, while a thread reads it
  std::string output;
};

// The tables for people; ends with '\n'.
std::string CheckText(const CheckReport& report, bool color);

// The same as one object: {"status":"OK","job":..,"sets":[..],...}.
Json CheckJson(const CheckReport& report);

}  // namespace espalier::cli
