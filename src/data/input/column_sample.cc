#include "src/data/input/column_sample.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <map>
#include <string>

#include "src/data/features/feature_decoder.h"
#include "src/data/parquet/columns.h"
#include "src/data/parquet/file.h"
#include "src/data/parquet/numbers.h"
#include "src/data/table/input_file.h"
#include "src/data/table/number.h"
#include "src/data/text/text_input.h"

namespace espalier::data {
namespace {

constexpr int64_t kWindowBytes = 16 << 10;

size_t OwnColumns(const spec::Schema& schema) {
  return schema.names.size() - static_cast<size_t>(schema.partitions);
}

// Whether an error is about the content of the file. The profiling pass, which reads all of it,
// reports such an error with its row. Other errors, such as storage that does not answer, must not
// decide the type of a column.
bool IsOfContent(const Status& error) {
  return error.code() == StatusCode::kBadInput || error.code() == StatusCode::kUnimplemented ||
         error.code() == StatusCode::kResourceExhausted || error.code() == StatusCode::kDataLoss;
}

// Both give the number of rows that they have looked at, at most `rows`.

Result<int64_t> AddText(const storage::FileSystem& files, const spec::DataSpec& data,
                        const spec::InputPlan& plan, const spec::InputFile& file, int64_t rows,
                        std::vector<ColumnSample>* samples) {
  if (file.length == 0) return int64_t{0};
  const size_t own = OwnColumns(plan.schema);
  ESPALIER_ASSIGN_OR_RETURN(const auto input, TextInput::Open(files, file, true));
  const CsvRange range = {0, file.length, spec::HasHeader(data, file.path)};
  const auto reader = input->Records(data, range, own, kWindowBytes);
  int64_t row = 0;
  for (; row < rows; ++row) {
    const RecordReader::Outcome outcome = reader->Next();
    if (outcome == RecordReader::Outcome::kFailed && !IsOfContent(reader->error())) {
      return reader->error();
    }
    if (outcome == RecordReader::Outcome::kFailed || outcome == RecordReader::Outcome::kEnd) break;
    if (outcome != RecordReader::Outcome::kRecord || reader->fields() != own) continue;
    for (size_t i = 0; i < own; ++i) {
      const size_t column = file.columns.empty() ? i : static_cast<size_t>(file.columns[i]);
      (*samples)[column].Add(reader->field(i));
    }
  }
  return row;
}

Result<int64_t> AddParquet(const storage::FileSystem& files, const spec::InputPlan& plan,
                           const spec::InputFile& file, int64_t rows,
                           std::vector<ColumnSample>* samples) {
  ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files, file));
  ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*opened));
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < OwnColumns(plan.schema); ++i) places.emplace(plan.schema.names[i], i);
  std::vector<int> columns;
  std::vector<size_t> sampled;  // by column that is read
  for (size_t i = 0; i < parquet->columns().size(); ++i) {
    const ParquetColumn& column = parquet->columns()[i];
    const auto place = places.find(column.name);
    if (place == places.end() || column.vector || column.family != ColumnFamily::kText) continue;
    columns.push_back(static_cast<int>(i));
    sampled.push_back(place->second);
  }
  if (columns.empty()) return rows;  // and so it is with the other files
  int64_t done = 0;
  const Status read =
      parquet->ReadFirst(columns, rows, [&](const arrow::RecordBatch& batch, int64_t) -> Status {
        for (size_t c = 0; c < sampled.size(); ++c) {
          const arrow::Array& array = *batch.column(static_cast<int>(c));
          ESPALIER_ASSIGN_OR_RETURN(const auto texts, ColumnTexts::Make(array));
          std::string scratch;
          for (int64_t r = 0; r < batch.num_rows(); ++r) {
            if (const auto text = texts->At(r, &scratch)) (*samples)[sampled[c]].Add(*text);
          }
        }
        done += batch.num_rows();
        return {};
      });
  if (!read.ok() && !IsOfContent(read)) return read;
  return done;
}

}  // namespace

void ColumnSample::Add(std::string_view text) {
  double value = 0;
  const NumberKind kind = ParseNumberSlowly(text, &value);
  if (kind == NumberKind::kNull) return;
  ++values;
  if (kind != NumberKind::kNotNumber) {
    ++numbers;
    booleans += kind == NumberKind::kNumber && (value == 0 || value == 1);
    return;
  }
  booleans += BooleanWord(text).has_value();
  dates += ParseDate(text).has_value();
}

Result<std::vector<ColumnSample>> SampleColumns(const storage::FileSystem& files,
                                                const spec::DataSpec& data,
                                                const spec::InputPlan& plan) {
  std::vector<ColumnSample> samples(plan.schema.names.size());
  int64_t left = kSampledRows;
  for (int i = 0; i < kSampledFiles && i < static_cast<int>(plan.files.size()) && left > 0; ++i) {
    const spec::InputFile& file = plan.files[static_cast<size_t>(i)];
    if (file.role != spec::FileRole::kTrain) break;
    const bool parquet =
        spec::FormatOf(data, plan.files.front().path) == spec::DataFormat::kParquet;
    ESPALIER_ASSIGN_OR_RETURN(const int64_t rows,
                              parquet ? AddParquet(files, plan, file, left, &samples)
                                      : AddText(files, data, plan, file, left, &samples));
    left -= rows;
  }
  return samples;
}

}  // namespace espalier::data
