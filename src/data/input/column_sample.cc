#include "src/data/input/column_sample.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <algorithm>
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
// Labels may be anything that is a text.
bool IsSampledLabel(const ParquetColumn& column) {
  return !column.vector &&
         (column.family == ColumnFamily::kText || column.family == ColumnFamily::kNumber ||
          column.family == ColumnFamily::kBoolean);
}

class Sampler {
 public:
  Sampler(const storage::FileSystem& files, const spec::DataSpec& data, const spec::InputPlan& plan,
          bool labels, TableSample* sample)
      : files_(files),
        data_(data),
        plan_(plan),
        sample_(*sample),
        wanted_(plan.schema.names.size(), !labels),
        labels_(labels),
        rules_(data, spec::FormatOf(data, plan.files.front().path) == spec::DataFormat::kCsv) {
    const std::string& format = data.features.date_format;
    if (!format.empty() && format != "auto") format_.emplace(format);
    for (const int32_t label : plan.schema.label) wanted_[static_cast<size_t>(label)] = true;
  }

  int64_t left() const { return left_; }
  // Some column had no values in the files so far, whose type in a later one decides.
  bool seeks_type() const { return !untyped_.empty(); }
  bool failed() const { return failed_; }  // a file could not be read to its end
  // Rows of training files of so many bytes.
  int64_t RowsOf(int64_t bytes) const {
    constexpr double kCompression = 4;  // of text, about
    if (rows_ == 0) return 0;
    const double row =
        static_cast<double>(bytes_) / static_cast<double>(rows_) / (compressed_ ? kCompression : 1);
    return static_cast<int64_t>(static_cast<double>(bytes) / std::max(row, 1e-3));
  }
  int64_t rows() const { return rows_; }

  Status AddText(const spec::InputFile& file) {
    if (file.length == 0) return {};
    const auto partitions = static_cast<size_t>(plan_.schema.partitions);
    const size_t own =
        file.columns.empty() ? OwnColumns(plan_.schema) : file.columns.size() - partitions;
    ESPALIER_ASSIGN_OR_RETURN(const auto input, TextInput::Open(files_, file, true));
    const CsvRange range = {0, file.length, spec::HasHeader(data_, file.path)};
    const bool sparse = spec::FormatOf(data_, file.path) == spec::DataFormat::kLibsvm;
    const auto reader = input->Records(data_, range, own, kWindowBytes, sparse);
    const size_t fields = sparse ? 1 : own;  // the label alone
    compressed_ = compressed_ || input->has_other_length();
    int64_t at = 0;
    for (; left_ > 0; --left_) {
      const RecordReader::Outcome outcome = reader->Next();
      bytes_ += reader->position() - at;
      at = reader->position();
      if (outcome == RecordReader::Outcome::kEnd) return {};
      if (outcome == RecordReader::Outcome::kFailed) {
        failed_ = true;
        return IsOfContent(reader->error()) ? Status() : reader->error();
      }
      ++rows_;
      if (outcome != RecordReader::Outcome::kRecord || reader->fields() != own) continue;
      for (size_t i = 0; i < fields; ++i) {
        const auto column = file.columns.empty() ? static_cast<int32_t>(i) : file.columns[i];
        if (column >= 0 && wanted_[static_cast<size_t>(column)]) {
          Add(static_cast<size_t>(column), reader->field(i));
        }
      }
    }
    return {};
  }

  Status AddParquet(const spec::InputFile& file) {
    if (file.length == 0) return {};
    ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files_, file));
    ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*opened));
    for (const ParquetGroup& group : parquet->groups()) rows_ += group.rows;
    bytes_ += file.length;
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
      if (place == places.end() || !wanted_[place->second]) continue;
      if (column.family == ColumnFamily::kNull) {
        if (all) untyped_.insert(place->second);
        continue;
      }
      const bool wanted = untyped_.erase(place->second) > 0 || all;
      if (!wanted || !(labels_ ? IsSampledLabel(column) : IsSampled(column))) continue;
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
  std::vector<bool> wanted_;  // by column
  const bool labels_;
  const ValueRules rules_;
  std::optional<DateFormat> format_;
  int64_t left_ = kSampledRows;
  int64_t rows_ = 0, bytes_ = 0;  // of what was read; of Parquet all rows of the files
  bool failed_ = false, compressed_ = false;
  std::set<size_t> untyped_;  // columns
};

Result<TableSample> Sample(const storage::FileSystem& files, const spec::DataSpec& data,
                           const spec::InputPlan& plan, bool labels) {
  TableSample sample;
  sample.columns.resize(plan.schema.names.size());
  sample.index.resize(plan.schema.names.size());
  const bool parquet = spec::FormatOf(data, plan.files.front().path) == spec::DataFormat::kParquet;
  Sampler sampler(files, data, plan, labels, &sample);
  for (int i = 0; sampler.left() > 0 || sampler.seeks_type(); ++i) {
    const auto at = static_cast<size_t>(i);
    const bool over = at == plan.files.size() || plan.files[at].role != spec::FileRole::kTrain;
    sample.complete = over && sampler.left() > 0;
    if (over || i == kSampledFiles) break;
    ESPALIER_RETURN_IF_ERROR(parquet ? sampler.AddParquet(plan.files[at])
                                     : sampler.AddText(plan.files[at]));
  }
  sample.complete = sample.complete && !sampler.failed();
  int64_t bytes = 0, training = 0;
  for (const spec::InputFile& file : plan.files) {
    if (file.role != spec::FileRole::kTrain) continue;
    bytes += file.length;
    ++training;
  }
  sample.exact = sample.complete || (parquet && training == 1);
  sample.rows = sample.exact ? sampler.rows() : sampler.RowsOf(bytes);
  return sample;
}

}  // namespace

Result<TableSample> SampleColumns(const storage::FileSystem& files, const spec::DataSpec& data,
                                  const spec::InputPlan& plan) {
  return Sample(files, data, plan, false);
}

Result<TableSample> SampleLabels(const storage::FileSystem& files, const spec::DataSpec& data,
                                 const spec::InputPlan& plan) {
  return Sample(files, data, plan, true);
}

}  // namespace espalier::data
