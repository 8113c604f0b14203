// Describes the columns of a Parquet file as a job sees them: numbers, text, vectors. Thread rule:
// pure functions.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace espalier::data {

// Kind of value. A column must have the same family in all files.
enum class ColumnFamily : uint8_t {
  kNumber,     // integers of any width, float16/32/64, decimal
  kBoolean,    // 0 or 1 as a number; true or false as a label
  kText,       // also binary; as a number: parsed as in CSV
  kDate,       // as a number: days since 1970
  kTimestamp,  // as a number: seconds since 1970
  kTime,       // as a number: seconds since midnight
  kDuration,   // as a number: seconds
  kNull,       // no value at all; takes the family that other files have
  kUnsupported,
};

struct ParquetColumn {
  std::string name;
  ColumnFamily family = ColumnFamily::kUnsupported;  // for a vector: family of its elements
  bool vector = false;      // a list of numbers or booleans, or one of Spark's vectors
  bool spark = false;       // one of Spark's vectors
  int64_t width = 1;        // numbers per row; 0: a vector whose length is not known yet
  std::string type;         // type name for messages
  std::vector<int> leaves;  // leaf columns of Parquet
  bool nested = false;      // a field of a struct, with its dotted name: "a.b"
};

// Returns the family of a type. A dictionary has the family of its values.
ColumnFamily FamilyOf(const arrow::DataType& type);
bool IsSparkVector(const arrow::DataType& type);
// Returns the name, family, vector flags, width and type of a field, but not its leaves.
ParquetColumn DescribeColumn(const arrow::Field& field);

// Returns the columns of a file followed by its partition columns (partitions.h), as text.
std::vector<ParquetColumn> WithPartitionColumns(std::vector<ParquetColumn> columns,
                                                std::span<const std::string> partitions);

// Returns what a column holds, for messages: "numbers (int32)", "lists of 3 numbers (list<...>)".
std::string KindAndType(const ParquetColumn& column);

// Returns the name of one element of a vector: "v[3]".
std::string ElementName(const std::string& vector, int64_t element);
// Parses the name of an element. False: the name has another form.
bool ParseElementName(const std::string& name, std::string* vector, int64_t* element);

}  // namespace espalier::data
