// A job file proposed from the first rows of a table (`espalier init`).
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

// The table as its first rows show it, before a label is known.
struct TableLook {
  std::string table;  // file, pattern or directory, as given
  // Keys of data.csv that the files need, with their values as YAML.
  std::vector<std::pair<std::string, std::string>> csv;
  spec::DataSpec data;  // without a label
  spec::InputPlan input;
  data::TableSample sample;
  std::vector<std::string> types;  // by column, as in data/input/column_types.h
  const std::vector<std::string>& names() const { return input.schema.names; }
};

// Lists the files and reads their first rows. Tries other delimiters where the header is a single
// column, csv.header: false where the header is numbers, and the decimal and thousands signs of the
// values. Errors as of data::PlanTable; kInvalidArgument: LIBSVM text, or fewer than two columns.
Result<TableLook> LookAtTable(const storage::FileSystem& files, const std::string& table);

// The column that is most likely the label: one with a usual name, otherwise the last one.
std::string LikelyLabel(const TableLook& look);

// kInvalidArgument: the table has no such column. Names the nearest one.
Status CheckLabel(const TableLook& look, const std::string& label);

// The columns with their types, one a line.
std::string ColumnList(const TableLook& look);

// Name of the job: the file's without its extension, or the directory's where the file's says
// nothing ("churn/train.csv" is churn). Letters, digits, '-' and '_' only.
std::string JobNameOf(const std::string& table);

struct JobDraft {
  std::string yaml;         // the job file
  std::string description;  // what was found, for people; ends with '\n'
};
// `path`: the job file's name, for its comments. `output`: the bundle's directory. The job was
// completed as `espalier check` does; errors are those of data::JobCompletion.
// REQUIRES: CheckLabel(look, label).
Result<JobDraft> DraftJob(const storage::FileSystem& files, const TableLook& look,
                          const std::string& label, const std::string& path,
                          const std::string& output);

}  // namespace espalier::cli
