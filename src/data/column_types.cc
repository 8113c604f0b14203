#include "src/data/column_types.h"

#include <map>

#include "src/data/listing.h"
#include "src/data/number.h"
#include "src/data/parquet_columns.h"
#include "src/data/parquet_file.h"
#include "src/data/partitions.h"
#include "src/data/text_input.h"

namespace espalier {
namespace {

constexpr int kRowsLookedAt = 1000;
constexpr int64_t kWindowBytes = 16 << 10;

// "text" wins over "number", and both over "empty".
class TextTypes {
 public:
  explicit TextTypes(size_t columns) : types_(columns, "empty") {}
  void Add(size_t column, std::string_view text) {
    double value = 0;
    const NumberKind kind = ParseNumberSlowly(text, &value);
    if (kind == NumberKind::kNull || types_[column] == "text") return;
    types_[column] = kind == NumberKind::kNotNumber ? "text" : "number";
  }
  std::vector<std::string> Take() { return std::move(types_); }

 private:
  std::vector<std::string> types_;
};

// The types of the columns that stand in the names of directories.
void AddPartitions(const InputPlan& plan, TextTypes* types) {
  const Schema& schema = plan.schema;
  for (const InputFile& file : plan.files) {
    size_t column = schema.names.size() - static_cast<size_t>(schema.partitions);
    for (const auto& value : PartitionValues(schema, file.path)) {
      types->Add(column++, value.value_or(""));
    }
  }
}

Result<bool> AddRows(const FileSystem& files, const DataSpec& data, const InputPlan& plan,
                     const InputFile& file, TextTypes* types) {
  const size_t own = plan.schema.names.size() - static_cast<size_t>(plan.schema.partitions);
  ESPALIER_ASSIGN_OR_RETURN(const auto input, TextInput::Open(files, file, true));
  const CsvRange range = {0, file.length, HasHeader(data, file.path)};
  const auto reader = input->Records(data, range, own, kWindowBytes);
  bool any = false;
  for (int row = 0; row < kRowsLookedAt; ++row) {
    const RecordReader::Outcome outcome = reader->Next();
    if (outcome == RecordReader::Outcome::kFailed) return reader->error();
    if (outcome == RecordReader::Outcome::kEnd) break;
    if (outcome != RecordReader::Outcome::kRecord || reader->fields() != own) continue;
    any = true;
    for (size_t i = 0; i < own; ++i) {
      types->Add(file.columns.empty() ? i : static_cast<size_t>(file.columns[i]), reader->field(i));
    }
  }
  return any;
}

Result<std::vector<std::string>> ParquetTypes(const FileSystem& files, const InputPlan& plan,
                                              std::vector<std::string> types) {
  ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files, plan.files.front()));
  ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*opened));
  std::map<std::string, std::string> by_name;
  for (const ParquetColumn& column : parquet->columns()) by_name[column.name] = column.type;
  const size_t own = types.size() - static_cast<size_t>(plan.schema.partitions);
  for (size_t i = 0; i < own; ++i) {
    std::string name = plan.schema.names[i];
    int64_t element = 0;
    if (!by_name.contains(name)) ParseElementName(plan.schema.names[i], &name, &element);
    types[i] = by_name[name];
  }
  return types;
}

}  // namespace

Result<std::vector<std::string>> ColumnTypes(const FileSystem& files, const DataSpec& data,
                                             const InputPlan& plan) {
  TextTypes types(plan.schema.names.size());
  AddPartitions(plan, &types);
  if (FormatOf(data, plan.files.front().path) == DataFormat::kParquet) {
    return ParquetTypes(files, plan, types.Take());
  }
  for (const InputFile& file : plan.files) {
    if (file.length == 0) continue;
    ESPALIER_ASSIGN_OR_RETURN(const bool any, AddRows(files, data, plan, file, &types));
    if (any) break;
  }
  return types.Take();
}

}  // namespace espalier
