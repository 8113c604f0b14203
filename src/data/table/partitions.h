// Columns that Hive and Spark write as directories: 'p/y=0/z=a/part-0.csv' is a file whose rows all
// have 0 in the column y and a in the column z. Names and values are percent-encoded there;
// __HIVE_DEFAULT_PARTITION__ stands for null.
//
// A file may have a column of the same name: the directory's value counts, as in Spark and Hive.
//
// In a schema they are the last columns, Schema::partitions many; their values are read from each
// file's path. Thread rule: pure functions; one thread a reader.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/record_reader.h"
#include "src/spec/input.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// The partition columns of a job's files.
struct Partitions {
  std::vector<std::string> names;  // sorted
  std::set<std::string> texts;     // those with a value that is no number
  // Leaves out columns that the files have themselves.
  void LeaveOut(const std::vector<std::string>& columns);
};

// The names of a listed file's partition columns, sorted: those of the directories name=value that
// its pattern does not spell out (FileInfo::found_below). kInvalidArgument: a name is there twice.
Result<std::vector<std::string>> PartitionNames(const storage::FileInfo& file);

// Logs that the directory's value of `column` counts, not that of the file.
void NoteShadowed(const std::string& path, const std::string& column);

// An error for a job that names columns by position where a file has a column that its directories
// give too.
Status PositionsAreAmbiguous(const std::string& path, const std::string& column);

// The value of the innermost directory `name=value` in `path`; absent: null.
std::optional<std::string> PartitionValue(const std::string& path, const std::string& name);

// The values of the schema's partition columns, in order.
std::vector<std::optional<std::string>> PartitionValues(const spec::Schema& schema,
                                                        const std::string& path);

// `reader`, with these fields after those of each record; null is the empty field. Without any it
// is `reader` itself.
std::unique_ptr<RecordReader> WithPartitions(std::unique_ptr<RecordReader> reader,
                                             const std::vector<std::optional<std::string>>& values);

}  // namespace espalier::data
