// Proposal of a job file from a sample of a table (`espalier init`).
//
// Thread rule: re-entrant. Reads files and keeps no state.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/data/input/column_sample.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::cli {

// Information in a sample of a table, before a label is known.
struct TableLook {
  std::string table;  // file, pattern or directory, as given
  // Keys of data.csv that the files require, with their values as YAML.
  std::vector<std::pair<std::string, std::string>> csv;
  spec::DataSpec data;  // without a label
  spec::InputPlan input;
  data::TableSample sample;
  // By column: the judged type, otherwise as in data/input/column_types.h.
  std::vector<std::string> types;
  const std::vector<std::string>& names() const { return input.schema.names; }
};

// Lists the files and reads a sample of rows. Tries other delimiters if the header is a single
// column, csv.header: false if the header consists of numbers, and csv.multiline and csv.escape if
// a record needs them. Also tries the decimal and thousands separators in the values. Errors are
// those of data::PlanTable. kInvalidArgument: LIBSVM text, fewer than two columns, or a path that
// is not UTF-8. kBadInput: a header that is not UTF-8.
Result<TableLook> LookAtTable(const storage::FileSystem& files, const std::string& table);

// Returns the column that is most likely the label: one with a common label name, or otherwise the
// last one.
std::string LikelyLabel(const TableLook& look);

// Returns kInvalidArgument, with the most similar name, if the table has no such column.
Status CheckLabel(const TableLook& look, const std::string& label);

// Returns the columns with their types, one on each line.
std::string ColumnList(const TableLook& look);

// Returns a name for the job: the file's name without its extension, or the directory's if the
// file's is generic ("churn/train.csv" gives churn). Letters, digits, '-' and '_' only.
std::string JobNameOf(const std::string& table);

struct JobDraft {
  std::string yaml;         // the job file
  std::string description;  // summary for people; ends with '\n'
};
// Drafts a job file. `path` is the job file's name, for its comments. `output` is the bundle's
// directory. Completes the job as `espalier check` does. Errors are those of data::JobCompletion,
// and kBadInput for a sampled label or category that is not UTF-8. Of a table whose sample has all
// rows, they are also those of the profiling pass, except for bad rows, which the draft describes.
// REQUIRES: CheckLabel(look, label).
Result<JobDraft> DraftJob(const storage::FileSystem& files, const TableLook& look,
                          const std::string& label, const std::string& path,
                          const std::string& output);

}  // namespace espalier::cli
