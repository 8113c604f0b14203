// Parquet files for tests, written by Arrow from columns in JSON.
#pragma once

#include <arrow/array.h>
#include <arrow/io/memory.h>
#include <arrow/json/from_string.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/data/fixture.h"

namespace espalier::data {

struct ParquetField {
  std::string name;
  std::shared_ptr<arrow::Array> values;
};

inline ParquetField Json(std::string name, const std::shared_ptr<arrow::DataType>& type,
                         const std::string& json) {
  auto values = arrow::json::ArrayFromJSONString(type, json);
  INFO(values.status().ToString());
  REQUIRE(values.ok());
  return {std::move(name), *values};
}

struct ParquetOptions {
  int64_t group_rows = 1 << 20;
  arrow::Compression::type codec = arrow::Compression::UNCOMPRESSED;
  bool checksums = true;
  bool dictionary = true;
  bool arrow_schema = true;  // false: without Arrow's types, as Spark writes it
  int64_t page_bytes = 1 << 20;
  bool int96 = false;  // time stamps as Hive and Spark used to write them
};

inline std::string ParquetText(const std::vector<ParquetField>& fields,
                               const ParquetOptions& options = {}) {
  arrow::FieldVector schema;
  arrow::ArrayVector arrays;
  for (const ParquetField& field : fields) {
    schema.push_back(arrow::field(field.name, field.values->type()));
    arrays.push_back(field.values);
  }
  const auto table = arrow::Table::Make(arrow::schema(schema), arrays);
  parquet::WriterProperties::Builder properties;
  properties.compression(options.codec)->data_pagesize(options.page_bytes);
  if (options.checksums) properties.enable_page_checksum();
  if (!options.dictionary) properties.disable_dictionary();
  parquet::ArrowWriterProperties::Builder arrow_properties;
  if (options.arrow_schema) arrow_properties.store_schema();
  if (options.int96) arrow_properties.enable_deprecated_int96_timestamps();
  const auto sink = *arrow::io::BufferOutputStream::Create();
  const auto written =
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink, options.group_rows,
                                 properties.build(), arrow_properties.build());
  INFO(written.ToString());
  REQUIRE(written.ok());
  return (*sink->Finish())->ToString();
}

using Strings = std::vector<std::string>;
using Doubles = std::vector<double>;

// Job of a regression over one Parquet file.
class ParquetFixture : public DataFixture {
 public:
  ParquetFixture() {
    job.model.task = spec::Task::kRegression;
    job.model.target_scale = spec::TargetScale::kNone;
    job.model.precision = spec::Precision::kFloat64;
  }
  std::string Write(const std::vector<ParquetField>& fields, const ParquetOptions& options = {},
                    const std::string& name = "train.parquet") {
    return Train(ParquetText(fields, options), name);
  }
  Status Error() {
    const auto profile = Profile();
    REQUIRE_FALSE(profile.ok());
    return profile.status();
  }
};

// Returns the label column: 0, 1, 2 and so on.
inline ParquetField Y(int rows) {
  std::string json = "[";
  for (int i = 0; i < rows; ++i) json += (i ? "," : "") + std::to_string(i);
  return Json("y", arrow::int64(), json + "]");
}

}  // namespace espalier::data
