#include "src/data/parquet/columns.h"

#include <arrow/type.h>

#include <charconv>
#include <optional>

#include "src/base/text.h"

namespace espalier::data {
namespace {

constexpr size_t kTypeShown = 120;

// Returns the element type of a list, or null.
const arrow::DataType* ElementType(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
      return type.field(0)->type().get();
    default:
      return nullptr;
  }
}

}  // namespace

ColumnFamily FamilyOf(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::UINT8:
    case arrow::Type::INT8:
    case arrow::Type::UINT16:
    case arrow::Type::INT16:
    case arrow::Type::UINT32:
    case arrow::Type::INT32:
    case arrow::Type::UINT64:
    case arrow::Type::INT64:
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
      return ColumnFamily::kNumber;
    case arrow::Type::BOOL:
      return ColumnFamily::kBoolean;
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::FIXED_SIZE_BINARY:
      return ColumnFamily::kText;
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
      return ColumnFamily::kDate;
    case arrow::Type::TIMESTAMP:
      return ColumnFamily::kTimestamp;
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
      return ColumnFamily::kTime;
    case arrow::Type::DURATION:
      return ColumnFamily::kDuration;
    case arrow::Type::NA:
      return ColumnFamily::kNull;
    case arrow::Type::DICTIONARY:
      return FamilyOf(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return ColumnFamily::kUnsupported;
  }
}

bool IsSparkVector(const arrow::DataType& type) {
  if (type.id() != arrow::Type::STRUCT || type.num_fields() != 4) return false;
  const auto is = [&](int field, const char* name, arrow::Type::type id,
                      std::optional<arrow::Type::type> element = {}) {
    const arrow::Field& f = *type.field(field);
    return f.name() == name && f.type()->id() == id &&
           (!element || f.type()->field(0)->type()->id() == *element);
  };
  return is(0, "type", arrow::Type::INT8) && is(1, "size", arrow::Type::INT32) &&
         is(2, "indices", arrow::Type::LIST, arrow::Type::INT32) &&
         is(3, "values", arrow::Type::LIST, arrow::Type::DOUBLE);
}

ParquetColumn DescribeColumn(const arrow::Field& field) {
  ParquetColumn column;
  column.name = field.name();
  column.type = Printable(field.type()->ToString(), kTypeShown);
  if (IsSparkVector(*field.type())) {
    column.family = ColumnFamily::kNumber;
    column.vector = column.spark = true;
    column.width = 0;
    return column;
  }
  const arrow::DataType* element = ElementType(*field.type());
  if (element == nullptr) {
    column.family = FamilyOf(*field.type());
    return column;
  }
  const ColumnFamily family = FamilyOf(*element);
  if (family != ColumnFamily::kNumber && family != ColumnFamily::kBoolean) return column;
  column.family = family;
  column.vector = true;
  column.width = 0;
  if (field.type()->id() == arrow::Type::FIXED_SIZE_LIST) {
    column.width = static_cast<const arrow::FixedSizeListType&>(*field.type()).list_size();
  }
  return column;
}

std::vector<ParquetColumn> WithPartitionColumns(std::vector<ParquetColumn> columns,
                                                std::span<const std::string> partitions) {
  for (const std::string& name : partitions) {
    columns.push_back({.name = name, .family = ColumnFamily::kText, .type = "name of a directory"});
  }
  return columns;
}

std::string KindAndType(const ParquetColumn& column) {
  static constexpr const char* kNames[] = {"numbers",   "booleans",    "text",
                                           "dates",     "time stamps", "times of day",
                                           "durations", "no values",   "values"};
  std::string kind = kNames[static_cast<int>(column.family)];
  if (column.vector) {
    kind = "lists of " + (column.width > 0 ? std::to_string(column.width) + " " : "") + kind;
  }
  return kind + " (" + column.type + ")";
}

std::string ElementName(const std::string& vector, int64_t element) {
  return vector + "[" + std::to_string(element) + "]";
}

bool ParseElementName(const std::string& name, std::string* vector, int64_t* element) {
  const size_t open = name.rfind('[');
  if (open == std::string::npos || name.back() != ']' || open + 2 >= name.size()) return false;
  const char* begin = name.data() + open + 1;
  const char* end = name.data() + name.size() - 1;
  const auto [stop, error] = std::from_chars(begin, end, *element);
  if (error != std::errc() || stop != end || *element < 0) return false;
  *vector = name.substr(0, open);
  return ElementName(*vector, *element) == name;
}

}  // namespace espalier::data
