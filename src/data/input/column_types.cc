#include "src/data/input/column_types.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/data/input/column_sample.h"
#include "src/data/parquet/columns.h"
#include "src/data/parquet/file.h"
#include "src/data/table/input_file.h"
#include "src/data/table/partitions.h"

namespace espalier::data {
namespace {

// "text" takes precedence over "number", and both over "empty".
std::vector<std::string> TextTypes(const std::vector<ColumnSample>& samples) {
  std::vector<std::string> types;
  for (const ColumnSample& s : samples) {
    types.emplace_back(s.values() == 0 ? "empty" : s.numbers() == s.values() ? "number" : "text");
  }
  return types;
}

// Adds the values of columns from the names of directories.
void AddPartitions(const spec::InputPlan& plan, std::vector<ColumnSample>* samples) {
  const spec::Schema& schema = plan.schema;
  for (const spec::InputFile& file : plan.files) {
    size_t column = schema.names.size() - static_cast<size_t>(schema.partitions);
    for (const auto& value : PartitionValues(schema, file.path)) {
      (*samples)[column++].Add(value.value_or(""));
    }
  }
}

Result<std::vector<std::string>> ParquetTypes(const storage::FileSystem& files,
                                              const spec::InputPlan& plan,
                                              std::vector<std::string> types) {
  const auto first = std::find_if(plan.files.begin(), plan.files.end(),
                                  [](const spec::InputFile& file) { return file.length > 0; });
  if (first == plan.files.end()) return types;
  ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files, *first));
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

const char* TypeWord(spec::FeatureType type) {
  static constexpr const char* kWords[] = {"number", "boolean", "date", "category"};
  return kWords[static_cast<int>(type)];
}

Result<std::vector<std::string>> ColumnTypes(const storage::FileSystem& files,
                                             const spec::DataSpec& data,
                                             const spec::InputPlan& plan) {
  std::vector<ColumnSample> samples(plan.schema.names.size());
  const bool parquet = spec::FormatOf(data, plan.files.front().path) == spec::DataFormat::kParquet;
  if (!parquet) {
    ESPALIER_ASSIGN_OR_RETURN(TableSample sample, SampleColumns(files, data, plan));
    samples = std::move(sample.columns);
  }
  AddPartitions(plan, &samples);
  if (parquet) return ParquetTypes(files, plan, TextTypes(samples));
  return TextTypes(samples);
}

}  // namespace espalier::data
