#include "src/data/input/column_sample.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "src/data/parquet/columns.h"
#include "src/data/parquet/file.h"
#include "src/data/parquet/numbers.h"
#include "src/data/table/input_file.h"
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

// The columns of Parquet whose values are looked at: text, and what may number the rows.
bool IsSampled(const ParquetColumn& column) {
  if (column.vector) return false;
  return column.family == ColumnFamily::kText ||
         (column.family == ColumnFamily::kNumber && IsUnnamed(column.name));
}

class Sampler {
 public:
  Sampler(const storage::FileSystem& files, const spec::DataSpec& data, const spec::InputPlan& plan,
          TableSample* sample)
      : files_(files),
        data_(data),
        plan_(plan),
        sample_(*sample),
        rules_(data, spec::FormatOf(data, plan.files.front().path) == spec::DataFormat::kCsv) {
    const std::string& format = data.features.date_format;
    if (!format.empty() && format != "auto") format_.emplace(format);
  }

  int64_t left() const { return left_; }
  // Some column had no values in the files so far, whose type in a later one decides.
  bool seeks_type() const { return !untyped_.empty(); }
  bool failed() const { return failed_; }  // a file could not be read to its end

  Status AddText(const spec::InputFile& file) {
    if (file.length == 0) return {};
    const auto partitions = static_cast<size_t>(plan_.schema.partitions);
    const size_t own =
        file.columns.empty() ? OwnColumns(plan_.schema) : file.columns.size() - partitions;
    ESPALIER_ASSIGN_OR_RETURN(const auto input, TextInput::Open(files_, file, true));
    const CsvRange range = {0, file.length, spec::HasHeader(data_, file.path)};
    const auto reader = input->Records(data_, range, own, kWindowBytes);
    for (; left_ > 0; --left_) {
      const RecordReader::Outcome outcome = reader->Next();
      if (outcome == RecordReader::Outcome::kEnd) return {};
      if (outcome == RecordReader::Outcome::kFailed) {
        failed_ = true;
        return IsOfContent(reader->error()) ? Status() : reader->error();
      }
      if (outcome != RecordReader::Outcome::kRecord || reader->fields() != own) continue;
      for (size_t i = 0; i < own; ++i) {
        const auto column = file.columns.empty() ? static_cast<int32_t>(i) : file.columns[i];
        if (column >= 0) Add(static_cast<size_t>(column), reader->field(i));
      }
    }
    return {};
  }

  Status AddParquet(const spec::InputFile& file) {
    if (file.length == 0) return {};
    ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files_, file));
    ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*opened));
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < OwnColumns(plan_.schema); ++i) places.emplace(plan_.schema.names[i], i);
    for (const std::string& name : parquet->index_columns()) {
      if (const auto place = places.find(name); place != places.end()) {
        sample_.index[place->second] = true;
      }
    }
    std::vector<int> columns;
    std::vector<size_t> sampled;  // by column that is read
    const bool all = left_ > 0;   // else those that had no values alone
    for (size_t i = 0; i < parquet->columns().size(); ++i) {
      const ParquetColumn& column = parquet->columns()[i];
      const auto place = places.find(column.name);
      if (place == places.end()) continue;
      if (column.family == ColumnFamily::kNull) {
        if (all) untyped_.insert(place->second);
        continue;
      }
      const bool wanted = untyped_.erase(place->second) > 0 || all;
      if (!wanted || !IsSampled(column)) continue;
      columns.push_back(static_cast<int>(i));
      sampled.push_back(place->second);
    }
    if (columns.empty()) return {};
    const int64_t rows = all ? left_ : kSampledRows;
    const Status read =
        parquet->ReadFirst(columns, rows, [&](const arrow::RecordBatch& batch, int64_t) {
          left_ -= batch.num_rows();
          return AddBatch(batch, sampled);
        });
    failed_ = failed_ || !read.ok();
    return !read.ok() && !IsOfContent(read) ? read : Status();
  }

 private:
  void Add(size_t column, std::string_view text) {
    sample_.columns[column].Add(text, rules_, format_ ? &*format_ : nullptr);
  }

  Status AddBatch(const arrow::RecordBatch& batch, const std::vector<size_t>& sampled) {
    std::string scratch;
    for (size_t c = 0; c < sampled.size(); ++c) {
      ESPALIER_ASSIGN_OR_RETURN(const auto texts,
                                ColumnTexts::Make(*batch.column(static_cast<int>(c))));
      for (int64_t r = 0; r < batch.num_rows(); ++r) {
        if (const auto text = texts->At(r, &scratch)) {
          Add(sampled[c], *text);
        } else {
          sample_.columns[sampled[c]].AddNull();
        }
      }
    }
    return {};
  }

  const storage::FileSystem& files_;
  const spec::DataSpec& data_;
  const spec::InputPlan& plan_;
  TableSample& sample_;
  const ValueRules rules_;
  std::optional<DateFormat> format_;
  int64_t left_ = kSampledRows;
  bool failed_ = false;
  std::set<size_t> untyped_;  // columns
};

}  // namespace

Result<TableSample> SampleColumns(const storage::FileSystem& files, const spec::DataSpec& data,
                                  const spec::InputPlan& plan) {
  TableSample sample;
  sample.columns.resize(plan.schema.names.size());
  sample.index.resize(plan.schema.names.size());
  const bool parquet = spec::FormatOf(data, plan.files.front().path) == spec::DataFormat::kParquet;
  Sampler sampler(files, data, plan, &sample);
  for (int i = 0; sampler.left() > 0 || sampler.seeks_type(); ++i) {
    const auto at = static_cast<size_t>(i);
    const bool over = at == plan.files.size() || plan.files[at].role != spec::FileRole::kTrain;
    sample.complete = over && sampler.left() > 0;
    if (over || i == kSampledFiles) break;
    ESPALIER_RETURN_IF_ERROR(parquet ? sampler.AddParquet(plan.files[at])
                                     : sampler.AddText(plan.files[at]));
  }
  sample.complete = sample.complete && !sampler.failed();
  return sample;
}

}  // namespace espalier::data
