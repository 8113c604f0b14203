// Columns that Hive and Spark write as directories. All rows of the file 'p/y=0/z=a/part-0.csv'
// have 0 in column y and a in column z. Names and values in a path are percent-encoded.
// __HIVE_DEFAULT_PARTITION__ means null.
//
// If a file has a column of the same name, the value of the directory takes precedence, as in Spark
// and Hive.
//
// In a schema, these are the last Schema::partitions columns. Their values come from the path of
// each file. Thread rule: pure functions; one thread per reader.
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

// Partition columns of a job's files.
struct Partitions {
  std::vector<std::string> names;  // sorted
  std::set<std::string> texts;     // columns with a value that is not a number
  // Removes columns that the files themselves contain.
  void LeaveOut(const std::vector<std::string>& columns);
};

// Returns the sorted names of a listed file's partition columns. These are the directories
// name=value that its pattern does not spell out (FileInfo::found_below). kInvalidArgument: a name
// appears twice.
Result<std::vector<std::string>> PartitionNames(const storage::FileInfo& file);

// Returns the note that the value of `column` in the directory takes precedence over the one in the
// file.
std::string ShadowedText(const std::string& path, const std::string& column);

// Returns the error for a job that names columns by position, if a file contains a column that its
// directories also provide.
Status PositionsAreAmbiguous(const std::string& path, const std::string& column);

// Returns the value of the innermost directory `name=value` in `path`. Absent: null.
std::optional<std::string> PartitionValue(const std::string& path, const std::string& name);

// Returns the values of the schema's partition columns, in order.
std::vector<std::optional<std::string>> PartitionValues(const spec::Schema& schema,
                                                        const std::string& path);

// Returns a reader that appends these fields to each record of `reader`. A null becomes an empty
// field. Without values, returns `reader` itself.
std::unique_ptr<RecordReader> WithPartitions(std::unique_ptr<RecordReader> reader,
                                             const std::vector<std::optional<std::string>>& values);

}  // namespace espalier::data
