#include "src/data/input/column_sample.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "src/base/text.h"
#include "src/data/features/feature_decoder.h"
#include "src/data/parquet/columns.h"
#include "src/data/parquet/file.h"
#include "src/data/parquet/numbers.h"
#include "src/data/table/input_file.h"
#include "src/data/table/partitions.h"
#include "src/data/table/schema.h"
#include "src/data/text/text_input.h"

namespace espalier::data {
namespace {

constexpr int64_t kWindowBytes = 16 << 10;

size_t OwnColumns(const spec::Schema& schema) {
  return schema.names.size() - static_cast<size_t>(schema.partitions);
}

// Returns whether an error is about the content of the file. The profiling pass, which reads all of
// it, reports this error with its row. Other errors, such as storage that does not answer, must not
// decide the type of a column.
bool IsOfContent(const Status& error) {
  return error.code() == StatusCode::kBadInput || error.code() == StatusCode::kUnimplemented ||
         error.code() == StatusCode::kResourceExhausted || error.code() == StatusCode::kDataLoss;
}

int64_t RowsOf(const ParquetFile& parquet) {
  int64_t rows = 0;
  for (const ParquetGroup& group : parquet.groups()) rows += group.rows;
  return rows;
}

// Returns whether the values of a Parquet column decide its type: text, and columns that may number
// the rows.
bool IsJudged(const ParquetColumn& column) {
  if (column.vector) return false;
  return column.family == ColumnFamily::kText ||
         (column.family == ColumnFamily::kNumber && IsUnnamed(column.name));
}
// Returns whether a Parquet column takes its type from the file.
bool IsTyped(const ParquetColumn& column) {
  if (column.vector || IsJudged(column)) return false;
  return column.family == ColumnFamily::kNumber || column.family == ColumnFamily::kBoolean ||
         column.family == ColumnFamily::kDate || column.family == ColumnFamily::kTimestamp;
}
// Returns whether a column can be sampled as a label: anything that can be written as text.
bool IsSampledLabel(const ParquetColumn& column) {
  return !column.vector &&
         (column.family == ColumnFamily::kText || column.family == ColumnFamily::kNumber ||
          column.family == ColumnFamily::kBoolean);
}

// Returns the training files that are not empty, without those of weight 0.
std::vector<const spec::InputFile*> TrainingFiles(const spec::DataSpec& data,
                                                  const spec::InputPlan& plan) {
  std::vector<const spec::InputFile*> files;
  for (const spec::InputFile& file : plan.files) {
    if (file.role != spec::FileRole::kTrain || file.length == 0) continue;
    if (!IsWeightless(data, plan.schema, file)) files.push_back(&file);
  }
  return files;
}

// Returns the index of item `i` of `count` items spread evenly over `all`, from the first to the
// last.
size_t Spread(size_t i, size_t count, size_t all) {
  return count < 2 ? 0 : i * (all - 1) / (count - 1);
}

class Sampler {
 public:
  Sampler(const storage::FileSystem& files, const spec::DataSpec& data, const spec::InputPlan& plan,
          bool labels)
      : files_(files),
        data_(data),
        plan_(plan),
        training_(TrainingFiles(data, plan)),
        wanted_(plan.schema.names.size(), !labels),
        labels_(labels),
        rules_(data, spec::FormatOf(data, plan.files.front().path) == spec::DataFormat::kCsv) {
    const std::string& format = data.features.date_format;
    if (!format.empty() && format != "auto") format_.emplace(format);
    for (const int32_t label : plan.schema.label) wanted_[static_cast<size_t>(label)] = true;
    for (const spec::InputFile* file : training_) total_bytes_ += file->length;
    Forget();
  }

  Result<TableSample> Run() {
    const spec::DataFormat format = spec::FormatOf(data_, plan_.files.front().path);
    ESPALIER_RETURN_IF_ERROR(format == spec::DataFormat::kParquet ? SampleParquet() : SampleText());
    sample_.complete = sample_.complete && !failed_;
    sample_.exact = sample_.exact || sample_.complete;
    sample_.rows = sample_.exact ? rows_ : EstimatedRows();
    if (counted_ < seen_) {  // rows of weight 0 are as if absent
      sample_.rows = static_cast<int64_t>(
          std::llround(static_cast<double>(sample_.rows) * static_cast<double>(counted_) /
                       static_cast<double>(seen_)));
    }
    return std::move(sample_);
  }

 private:
  // A block of text: the first rows, up to a maximum number, that begin in a range of a file.
  struct Block {
    size_t file = 0;  // index in training_
    int64_t begin = 0, end = 0;
    int64_t rows_max = 0, bytes_max = 0;
  };

  static constexpr int64_t kSmallRows = 65'536;  // rows of a small Parquet table, read as a whole
  static constexpr int64_t kTypedCellsMax =
      4'000'000;  // values of a table whose typed columns are read
  static constexpr int64_t kTypedBytesMax = 16 << 20;  // size of that table
  bool small() const { return total_bytes_ <= kWholeTableBytes; }

  void Forget() {
    const size_t columns = plan_.schema.names.size();
    sample_.columns.clear();
    sample_.columns.resize(columns);
    for (size_t i = 0; i < columns; ++i) {
      if (IsUnnamed(plan_.schema.names[i])) sample_.columns[i].CountDifferent();
    }
    sample_.index.assign(columns, false);
    sample_.typed.assign(columns, false);
    rows_ = bytes_ = 0;
    failed_ = false;
    sample_.bad = {};
    begun_.clear();
  }

  // Estimates the rows of the training files from the rows that were read.
  int64_t EstimatedRows() const {
    constexpr double kCompression = 4;  // typical compression of text
    if (rows_ == 0) return 0;
    const double row =
        static_cast<double>(bytes_) / static_cast<double>(rows_) / (compressed_ ? kCompression : 1);
    return static_cast<int64_t>(static_cast<double>(total_bytes_) / std::max(row, 1e-3));
  }

  Status SampleText() {
    ESPALIER_ASSIGN_OR_RETURN(sample_.complete, ReadWhole());
    if (sample_.complete) return {};
    Forget();
    return SpreadBlocks();
  }

  // Reads all rows of a table with few rows. False: it has more, and only the first ones were read.
  Result<bool> ReadWhole() {
    constexpr int64_t kBytesMax = 16 << 20;  // limit for a table with few rows
    constexpr int64_t kSurely = 4;  // excess over the expected rows that is certainly too much
    if (training_.size() > kSampledFiles) return false;
    for (size_t i = 0; i < training_.size(); ++i) {
      Block block = {.file = i, .end = training_[i]->length, .bytes_max = kBytesMax - bytes_};
      if (!small() && i == 0) {
        block.rows_max = kBlockRows;
        ESPALIER_RETURN_IF_ERROR(AddText(block).status());
        if (EstimatedRows() > kSurely * kSampledRows) return false;
        Forget();
      }
      block.rows_max = (small() ? std::numeric_limits<int64_t>::max() : kSampledRows) - rows_;
      ESPALIER_ASSIGN_OR_RETURN(const bool ended, AddText(block));
      if (!ended) return false;
    }
    return true;
  }

  Status SpreadBlocks() {
    const int64_t step = total_bytes_ / (kBlocks - 1);
    int64_t last = total_bytes_ - step;
    size_t file = 0;
    int64_t file_begin = 0;  // position among the bytes of all files
    for (int i = 0; i < kBlocks; ++i) {
      if (i == 1 && rows_ > 0) {  // approximate beginning of the last rows
        last = std::max(last, total_bytes_ - std::max<int64_t>(1, kBlockRows * bytes_ / rows_));
      }
      const int64_t begin = i == kBlocks - 1 ? last : i * step;
      const int64_t next = i < kBlocks - 2 ? begin + step : i == kBlocks - 2 ? last : total_bytes_;
      while (begin >= file_begin + training_[file]->length) file_begin += training_[file++]->length;
      const Block block = {.file = file,
                           .begin = begin - file_begin,
                           .end = std::min(training_[file]->length, next - file_begin),
                           .rows_max = kBlockRows,
                           .bytes_max = kBlockBytesMax};
      ESPALIER_RETURN_IF_ERROR(AddText(block).status());
    }
    return {};
  }

  // Returns whether the range ended before the limits. For a file that can only be read from its
  // beginning, adds its first rows, once.
  Result<bool> AddText(Block block) {
    const spec::InputFile& file = *training_[block.file];
    ESPALIER_ASSIGN_OR_RETURN(const auto input, TextInput::Open(files_, file, true));
    const bool json = spec::FormatOf(data_, file.path) == spec::DataFormat::kJson;
    if (input->is_one_shard() || (data_.csv.multiline && !json)) {
      if (!begun_.insert(block.file).second) return false;
      block.begin = 0;
      block.end = file.length;
    }
    for (ColumnSample& column : sample_.columns) column.BeginBlock();
    const auto partitions = static_cast<size_t>(plan_.schema.partitions);
    const size_t own =
        file.columns.empty() ? OwnColumns(plan_.schema) : file.columns.size() - partitions;
    const bool header = block.begin == 0 && spec::HasHeaderLine(data_, file.path);
    const CsvRange range = {block.begin, block.end, header};
    const bool sparse = spec::FormatOf(data_, file.path) == spec::DataFormat::kLibsvm;
    const spec::Schema in_file = InFileOrder(plan_.schema, file.columns);
    const std::span<const std::string> names(in_file.names.data(), own);
    const auto reader = input->Records(data_, range, names, kWindowBytes, sparse);
    const size_t fields = sparse ? 1 : own;  // only the label
    const int weight = sparse ? -1 : PlaceOf(plan_.schema.weight, file);
    compressed_ = compressed_ || input->has_other_length();
    int64_t bytes = 0;
    for (int64_t row = 0; row < block.rows_max && bytes <= block.bytes_max; ++row) {
      const RecordReader::Outcome outcome = reader->Next();
      if (outcome == RecordReader::Outcome::kEnd) return true;
      if (outcome == RecordReader::Outcome::kFailed) {
        failed_ = true;
        if (!IsOfContent(reader->error())) return reader->error();
        return true;
      }
      if (outcome == RecordReader::Outcome::kBadRecord && sample_.bad.ok()) {
        sample_.bad = reader->error();
      }
      bytes += reader->position() - reader->record_offset();
      bytes_ += reader->position() - reader->record_offset();
      if (HasZeroWeight(*reader, outcome, weight)) continue;
      ++rows_;
      if (outcome != RecordReader::Outcome::kRecord || reader->fields() != own) continue;
      for (size_t i = 0; i < fields; ++i) {
        const auto column = file.columns.empty() ? static_cast<int32_t>(i) : file.columns[i];
        if (column >= 0 && wanted_[static_cast<size_t>(column)]) {
          Add(static_cast<size_t>(column), reader->field(i));
        }
      }
    }
    return false;
  }

  // Returns the field of a column of the schema, or -1 if the file does not have it.
  static int PlaceOf(int32_t column, const spec::InputFile& file) {
    if (file.columns.empty() || column < 0) return column;
    const auto at = std::find(file.columns.begin(), file.columns.end(), column);
    return at == file.columns.end() ? -1 : static_cast<int>(at - file.columns.begin());
  }

  // Returns whether a record has the weight 0. `weight`: its field, or -1.
  bool HasZeroWeight(const RecordReader& reader, RecordReader::Outcome outcome, int weight) const {
    return weight >= 0 && outcome == RecordReader::Outcome::kRecord &&
           reader.fields() > static_cast<size_t>(weight) &&
           IsZeroWeight(reader.field(static_cast<size_t>(weight)), rules_);
  }

  // Columns to sample, in the order of the file.
  struct Wanted {
    std::vector<int> columns;     // in the file
    std::vector<size_t> sampled;  // in the schema
  };
  struct Opened {
    std::unique_ptr<storage::ReadableFile> raw;
    std::unique_ptr<ParquetFile> parquet;
    Wanted judged, typed;
    int weight = -1;  // column of the weights in the file; -1: none
  };

  Status SampleParquet() {
    std::vector<size_t> spread;
    int64_t rows = 0;
    double cells = 0;  // a hostile footer may claim more than 64 bits hold
    const size_t files = training_.size();
    bool whole = files <= kSampledFiles;
    for (size_t i = 0; whole && i < files; ++i) {
      ESPALIER_ASSIGN_OR_RETURN(const auto raw, OpenUnchanged(files_, *training_[i]));
      ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*raw));
      const int64_t more = RowsOf(*parquet);
      rows += more;
      cells += static_cast<double>(more) * static_cast<double>(parquet->columns().size());
      whole = rows <= (small() ? kSmallRows : kSampledRows);
    }
    const size_t count = whole ? files : std::min<size_t>(files, kSpreadFiles);
    for (size_t i = 0; i < count; ++i) spread.push_back(Spread(i, count, files));
    const bool typed = whole && total_bytes_ <= kTypedBytesMax && cells <= kTypedCellsMax;
    for (const size_t file : spread) {
      ESPALIER_ASSIGN_OR_RETURN(const Opened opened, OpenParquet(file, true, typed));
      const size_t blocks = whole ? 1 : std::max<size_t>(1, kBlocks / count);
      ESPALIER_RETURN_IF_ERROR(AddGroups(opened, opened.judged, blocks, whole, &failed_));
      ESPALIER_RETURN_IF_ERROR(AddTyped(opened));
    }
    // Columns without values so far take the type of a later file.
    for (size_t i = 0, looked = count; i < files && looked < kSampledFiles && !untyped_.empty();
         ++i) {
      if (std::find(spread.begin(), spread.end(), i) != spread.end()) continue;
      ++looked;
      const int64_t rows_before = rows_, bytes_before = bytes_;
      ESPALIER_ASSIGN_OR_RETURN(const Opened opened, OpenParquet(i, false, false));
      ESPALIER_RETURN_IF_ERROR(AddGroups(opened, opened.judged, 1, false, &failed_));
      rows_ = rows_before, bytes_ = bytes_before;
    }
    sample_.complete = whole && !typed_skipped_;
    sample_.exact = count == files && (whole || plan_.schema.weight < 0);
    return {};
  }

  // `all`: opens all selected columns, otherwise only those without values so far. `typed`: also
  // opens columns that take their type from the file.
  Result<Opened> OpenParquet(size_t file, bool all, bool typed) {
    Opened opened;
    ESPALIER_ASSIGN_OR_RETURN(opened.raw, OpenUnchanged(files_, *training_[file]));
    ESPALIER_ASSIGN_OR_RETURN(opened.parquet, ParquetFile::Open(*opened.raw));
    rows_ += RowsOf(*opened.parquet);
    bytes_ += training_[file]->length;
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < OwnColumns(plan_.schema); ++i) places.emplace(plan_.schema.names[i], i);
    for (const std::string& name : opened.parquet->index_columns()) {
      if (const auto place = places.find(name); place != places.end()) {
        sample_.index[place->second] = true;
      }
    }
    for (size_t i = 0; i < opened.parquet->columns().size(); ++i) {
      const ParquetColumn& column = opened.parquet->columns()[i];
      const auto place = places.find(column.name);
      if (place == places.end()) continue;
      const bool weight = static_cast<int32_t>(place->second) == plan_.schema.weight;
      if (weight && !column.vector) opened.weight = static_cast<int>(i);
      if (!wanted_[place->second]) continue;
      if (column.family == ColumnFamily::kNull) {
        if (all && !typed_.contains(place->second)) untyped_.insert(place->second);
        if (all) sample_.columns[place->second].AddNulls(RowsOf(*opened.parquet));
        continue;
      }
      typed_.insert(place->second);
      const bool wanted = untyped_.erase(place->second) > 0 || all;
      const bool by_type = !labels_ && typed && IsTyped(column);
      typed_skipped_ = typed_skipped_ || (!labels_ && !typed && IsTyped(column));
      if (!wanted || !(labels_ ? IsSampledLabel(column) : IsJudged(column) || by_type)) continue;
      sample_.typed[place->second] = by_type;
      Wanted& to = by_type ? opened.typed : opened.judged;
      to.columns.push_back(static_cast<int>(i));
      to.sampled.push_back(place->second);
    }
    return opened;
  }

  // Columns of a batch: those to sample, and the weights.
  struct BatchPlan {
    const std::vector<size_t>& sampled;
    int weight = -1;           // position of the weights; -1: none
    bool adds_weight = false;  // the weights are not among the columns to sample
  };

  // Adds rows of `blocks` row groups with rows: a block of each, or with `whole` all rows. Sets
  // *failed if the content cannot be read.
  Status AddGroups(const Opened& opened, const Wanted& wanted, size_t blocks, bool whole,
                   bool* failed) {
    ParquetFile& parquet = *opened.parquet;
    std::vector<int> columns = wanted.columns;
    BatchPlan plan{.sampled = wanted.sampled};
    if (opened.weight >= 0) {
      const auto at = std::lower_bound(columns.begin(), columns.end(), opened.weight);
      plan.weight = static_cast<int>(at - columns.begin());
      plan.adds_weight = at == columns.end() || *at != opened.weight;
      if (plan.adds_weight) columns.insert(at, opened.weight);
    }
    std::vector<size_t> groups;
    for (size_t i = 0; i < parquet.groups().size(); ++i) {
      if (parquet.groups()[i].rows > 0) groups.push_back(i);
    }
    if (wanted.columns.empty() || groups.empty()) return {};
    blocks = std::min(blocks, groups.size());
    const int64_t rows_max =
        whole ? std::numeric_limits<int64_t>::max()
              : std::max(kBlockRows, kSampledRows / static_cast<int64_t>(blocks));
    for (size_t i = 0; i < blocks; ++i) {
      const size_t group = groups[Spread(i, blocks, groups.size())];
      const int64_t rows = whole ? rows_max : std::min(rows_max, parquet.groups()[group].rows);
      for (const size_t column : wanted.sampled) sample_.columns[column].BeginBlock();
      const Status read = parquet.ReadFirst(
          group, columns, rows,
          [&](const arrow::RecordBatch& batch, int64_t) { return AddBatch(batch, plan); });
      *failed = *failed || !read.ok();
      if (!read.ok() && !IsOfContent(read)) return read;
    }
    return {};
  }

  // Adds all rows of the typed columns. If they cannot be read, the profiling pass reports it, and
  // typed columns are not judged.
  Status AddTyped(const Opened& opened) {
    ESPALIER_RETURN_IF_ERROR(AddGroups(opened, opened.typed, 1, true, &typed_failed_));
    if (!typed_failed_) return {};
    for (size_t c = 0; c < sample_.columns.size(); ++c) {
      if (sample_.typed[c]) sample_.columns[c] = ColumnSample();
    }
    return {};
  }

  void Add(size_t column, std::string_view text) {
    const bool formatted = format_ && !sample_.typed[column];  // a typed date needs no format
    sample_.columns[column].Add(text, rules_, formatted ? &*format_ : nullptr);
  }

  // Returns the rows of a batch that do not have the weight 0.
  Result<std::vector<int64_t>> CountedRows(const arrow::RecordBatch& batch, int weight) {
    std::vector<int64_t> rows;
    std::unique_ptr<ColumnTexts> weights;
    if (weight >= 0) {
      ESPALIER_ASSIGN_OR_RETURN(weights, ColumnTexts::Make(*batch.column(weight)));
    }
    std::string scratch;
    for (int64_t r = 0; r < batch.num_rows(); ++r) {
      const auto text = weights != nullptr ? weights->At(r, &scratch) : std::nullopt;
      if (!text || !IsZeroWeight(*text, rules_)) rows.push_back(r);
    }
    seen_ += batch.num_rows();
    counted_ += std::ssize(rows);
    return rows;
  }

  Status AddBatch(const arrow::RecordBatch& batch, const BatchPlan& plan) {
    ESPALIER_ASSIGN_OR_RETURN(const std::vector<int64_t> rows, CountedRows(batch, plan.weight));
    std::string scratch;
    for (size_t c = 0; c < plan.sampled.size(); ++c) {
      const int at = static_cast<int>(c);
      const bool after = plan.adds_weight && at >= plan.weight;
      ESPALIER_ASSIGN_OR_RETURN(const auto texts,
                                ColumnTexts::Make(*batch.column(at + (after ? 1 : 0))));
      for (const int64_t r : rows) {
        if (const auto text = texts->At(r, &scratch)) {
          Add(plan.sampled[c], *text);
        } else {
          sample_.columns[plan.sampled[c]].AddNull();
        }
      }
    }
    return {};
  }

  const storage::FileSystem& files_;
  const spec::DataSpec& data_;
  const spec::InputPlan& plan_;
  const std::vector<const spec::InputFile*> training_;
  std::vector<bool> wanted_;  // by column
  const bool labels_;
  const ValueRules rules_;
  std::optional<DateFormat> format_;
  int64_t total_bytes_ = 0;  // size of the training files
  TableSample sample_;
  int64_t rows_ = 0, bytes_ = 0;    // what was read; for Parquet, all rows of the files
  int64_t seen_ = 0, counted_ = 0;  // Parquet: rows that were read, and those with a weight
  bool failed_ = false;             // a file could not be read to its end
  bool typed_skipped_ = false;      // typed columns of Parquet were not sampled
  bool typed_failed_ = false;       // the same for typed columns of Parquet
  bool compressed_ = false;
  std::set<size_t> begun_;            // files read that can only be read from the beginning
  std::set<size_t> typed_, untyped_;  // columns with a type, and columns without one so far
};

}  // namespace

bool IsWeightless(const spec::DataSpec& data, const spec::Schema& schema,
                  const spec::InputFile& file) {
  if (schema.weight < static_cast<int32_t>(OwnColumns(schema))) return false;
  const auto value = PartitionValue(file.path, schema.names[static_cast<size_t>(schema.weight)]);
  return value && IsZeroWeight(*value, ValueRules(data, false));
}

Result<TableSample> SampleColumns(const storage::FileSystem& files, const spec::DataSpec& data,
                                  const spec::InputPlan& plan) {
  return Sampler(files, data, plan, false).Run();
}

Result<TableSample> SampleLabels(const storage::FileSystem& files, const spec::DataSpec& data,
                                 const spec::InputPlan& plan) {
  return Sampler(files, data, plan, true).Run();
}

}  // namespace espalier::data
