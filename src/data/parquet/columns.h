// What the columns of a Parquet file are to a job: numbers, text, vectors. Thread rule: pure
// functions.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace espalier::data {

// Columns of the same family, over all files, hold the same kind of value.
enum class ColumnFamily : uint8_t {
  kNumber,     // whole numbers of any width, float16/32/64, decimal
  kBoolean,    // 0 or 1 as a number; true or false as a label
  kText,       // also binary; as a number: what the text says, as in CSV
  kDate,       // as a number: days since 1970
  kTimestamp,  // as a number: seconds since 1970
  kTime,       // as a number: seconds since midnight
  kDuration,   // as a number: seconds
  kNull,       // no value at all: of any family, as the other files have it
  kUnsupported,
};

struct ParquetColumn {
  std::string name;
  ColumnFamily family = ColumnFamily::kUnsupported;  // of a vector: that of its elements
  bool vector = false;      // a list of numbers or booleans, or one of Spark's vectors
  bool spark = false;       // one of Spark's vectors
  int64_t width = 1;        // numbers a row; of a vector of any length 0, until it is known
  std::string type;         // as people write it
  std::vector<int> leaves;  // Parquet's own columns
  bool nested = false;      // a field of a struct, by its dotted name: "a.b"
};

// Dictionaries count as what they hold.
ColumnFamily FamilyOf(const arrow::DataType& type);
// Name, family, vector, width and type of a field; not its leaves.
ParquetColumn DescribeColumn(const arrow::Field& field);

// The columns of a file, then its partition columns (partitions.h), as text.
std::vector<ParquetColumn> WithPartitionColumns(std::vector<ParquetColumn> columns,
                                                std::span<const std::string> partitions);

// The name of one element of a vector: "v[3]".
std::string ElementName(const std::string& vector, int64_t element);
// The reverse; false when the name has not this form.
bool ParseElementName(const std::string& name, std::string* vector, int64_t* element);

}  // namespace espalier::data
