#include "src/scoring/part_files.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "src/base/text.h"
#include "src/data/parquet/table.h"
#include "src/scoring/csv_text.h"

namespace espalier::scoring {
namespace {

class CsvPart final : public PartTable {
 public:
  explicit CsvPart(const PartColumns& columns)
      : columns_(columns),
        append_text_(columns.spreadsheet_safe ? AppendSpreadsheetField : AppendCsvField) {
    std::vector<std::string> names = columns.kept;
    if (!columns.word.empty()) names.push_back(columns.word);
    names.insert(names.end(), columns.numbers.begin(), columns.numbers.end());
    if (!columns.reason.empty()) names.push_back(columns.reason);
    for (size_t i = 0; i < names.size(); ++i) append_text_(names[i], i == 0, &header_);
    header_ += '\n';
  }

  Status Add(const PartRows& rows) override {
    if (text_.empty()) text_ = header_;
    for (int64_t r = 0; r < rows.rows; ++r) AddRow(rows, r);
    rows_ += rows.rows;
    return {};
  }

  int64_t bytes() const override { return static_cast<int64_t>(text_.size()); }
  int64_t rows() const override { return rows_; }
  Result<std::string> Take() override {
    rows_ = 0;
    if (text_.empty()) return header_;
    return std::exchange(text_, {});
  }

 private:
  void AddRow(const PartRows& rows, int64_t r) {
    const auto row = static_cast<size_t>(r);
    const size_t width = columns_.numbers.size();
    bool begins = true;
    const auto add = [&](std::string_view text) {
      append_text_(text, std::exchange(begins, false), &text_);
    };
    for (size_t i = 0; i < columns_.kept.size(); ++i) {
      add(rows.kept.Text(rows.first + r, i, &scratch_));
    }
    if (!columns_.word.empty()) {
      const int32_t word = rows.word_of[row];
      add(word < 0 ? std::string_view() : columns_.words[static_cast<size_t>(word)]);
    }
    for (const double value : rows.numbers.subspan(row * width, width)) {
      if (std::isnan(value)) {
        add("");
      } else {
        AppendCsvNumber(value, columns_.narrow, std::exchange(begins, false), &text_);
      }
    }
    if (!columns_.reason.empty()) add(rows.reasons.empty() ? "" : rows.reasons[row]);
    text_ += '\n';
  }

  const PartColumns& columns_;
  void (*const append_text_)(std::string_view field, bool first, std::string* text);
  std::string header_, text_, scratch_;
  int64_t rows_ = 0;
};

class ParquetPart final : public PartTable {
 public:
  explicit ParquetPart(const PartColumns& columns)
      : columns_(columns), table_(columns.kept, columns.word, columns.numbers, columns.reason) {}
  Status Add(const PartRows& rows) override {
    return table_.Append(rows.kept, rows.rows, columns_.words, rows.word_of, rows.numbers,
                         rows.reasons, rows.first);
  }
  int64_t bytes() const override { return table_.bytes(); }
  int64_t rows() const override { return table_.rows(); }
  Result<std::string> Take() override { return table_.Finish(); }

 private:
  const PartColumns& columns_;
  data::ParquetTable table_;
};

// Returns whether `name` is "part-00003.csv", "part-00003_0001.parquet" and so on. The names of
// Spark, Hive and MapReduce have more parts, or fewer.
bool IsPartName(std::string_view name) {
  const auto skip_digits = [&name] {
    const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    name.remove_prefix(digits);
    return digits;
  };
  if (!name.starts_with("part-")) return false;
  name.remove_prefix(5);
  if (skip_digits() < 5) return false;
  if (name.starts_with("_")) {
    name.remove_prefix(1);
    if (skip_digits() < 4) return false;
  }
  return name == ".csv" || name == ".parquet";
}

}  // namespace

bool IsPredictionName(const std::string& name) {
  if (name == kSuccessFile || name == kRejectsDirectory || IsPartName(name)) return true;
  if (name.starts_with(kFillingMark)) return true;
  const size_t end = name.find(".tmp-");  // name of a file that storage is writing
  if (!name.starts_with(".") || end == std::string::npos) return false;
  const std::string written = name.substr(1, end - 1);
  return written == kSuccessFile || written.starts_with(kFillingMark) || IsPartName(written);
}

std::string PartName(int64_t shard, int64_t shards, int64_t piece, spec::PartFormat format) {
  const int digits =
      std::max(5, static_cast<int>(std::to_string(std::max<int64_t>(shards - 1, 0)).size()));
  char name[64];
  int length =
      std::snprintf(name, sizeof name, "part-%0*lld", digits, static_cast<long long>(shard));
  if (piece > 0) {
    std::snprintf(name + length, sizeof name - static_cast<size_t>(length), "_%04lld",
                  static_cast<long long>(piece));
  }
  return std::string(name) + (format == spec::PartFormat::kCsv ? ".csv" : ".parquet");
}

Status CheckPredictions(const storage::FileSystem& files, const std::string& output,
                        bool overwrite) {
  const Result<storage::FileInfo> found = files.Stat(output);
  if (!found.ok()) {
    return found.status().code() == StatusCode::kNotFound ? Status()
                                                          : found.status().Wrap("the output");
  }
  if (!found->is_directory) {
    return AlreadyExists(QuotedPath(output) + " is a file; name another place for the output");
  }
  ESPALIER_ASSIGN_OR_RETURN(auto names, files.Names(output));
  // A mark in progress has no meaning yet, because the content of the output is still there.
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with(std::string(".") + kFillingMark) || name.starts_with(kProbeName);
  });
  const auto emptied =
      std::erase_if(names, [](const std::string& name) { return name.starts_with(kFillingMark); });
  if (emptied > 0 && !overwrite) {
    return AlreadyExists(QuotedPath(output) + " holds '" + kFillingMark +
                         "...' of an interrupted job: the previous content returns when the "
                         "coordinator cleans up that job; name another place, or replace it with "
                         "--overwrite");
  }
  if (names.empty()) return {};
  if (!overwrite) {
    const bool whole = std::count(names.begin(), names.end(), kSuccessFile) > 0;
    return AlreadyExists(QuotedPath(output) + " already exists" +
                         (whole ? "" : ", without a _SUCCESS: what wrote it did not finish") +
                         ". Choose another output, or replace it with --overwrite");
  }
  for (const std::string& name : names) {
    if (IsPredictionName(name)) continue;
    return InvalidArgument(QuotedPath(output) + " holds '" + Printable(name) +
                           "', which is not part of a prediction. Choose another "
                           "--output");
  }
  return {};
}

Result<bool> BeginPredictions(const storage::FileSystem& files, const std::string& output) {
  const Result<storage::FileInfo> found = files.Stat(output);
  if (found.ok()) {
    ESPALIER_RETURN_IF_ERROR(DropPredictions(files, output, false));
    return false;
  }
  if (found.status().code() != StatusCode::kNotFound) return found.status();
  ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(output));
  return true;
}

Status DropPredictions(const storage::FileSystem& files, const std::string& output, bool directory,
                       const std::string& keep) {
  if (directory) return files.RemoveTree(output);
  ESPALIER_ASSIGN_OR_RETURN(const auto names, files.Names(output));
  for (const std::string& name : names) {
    if (!IsPredictionName(name) || name == keep) continue;
    ESPALIER_RETURN_IF_ERROR(files.RemoveTree(output + "/" + name));
  }
  return {};
}

Status EndPredictions(const storage::FileSystem& files, const std::string& output) {
  return files.WriteAtomically(output + "/" + kSuccessFile, "");
}

std::unique_ptr<PartTable> PartTable::Make(spec::PartFormat format, const PartColumns& columns) {
  if (format == spec::PartFormat::kParquet) return std::make_unique<ParquetPart>(columns);
  return std::make_unique<CsvPart>(columns);
}

PartWriter::PartWriter(const storage::FileSystem& files, std::string directory, int64_t shard,
                       int64_t shards, spec::PartFormat format, const PartColumns& columns,
                       int64_t part_bytes)
    : files_(files),
      directory_(std::move(directory)),
      shard_(shard),
      shards_(shards),
      part_bytes_(part_bytes),
      format_(format),
      table_(PartTable::Make(format, columns)) {}

Status PartWriter::Add(const PartRows& rows) {
  if (rows.rows == 0) return {};
  ESPALIER_RETURN_IF_ERROR(table_->Add(rows));
  return table_->bytes() < part_bytes_ ? Status() : Finish();
}

Status PartWriter::Finish(bool even_empty) {
  if (table_->rows() == 0 && (!even_empty || parts_ > 0)) return {};
  ESPALIER_ASSIGN_OR_RETURN(const std::string bytes, table_->Take());
  return files_.WriteAtomically(directory_ + "/" + PartName(shard_, shards_, parts_++, format_),
                                bytes);
}

std::string ReasonOf(const Status& reject) {
  const InputPosition at = reject.position().value_or(InputPosition{});
  if (at.column.empty()) return reject.message();
  return Printable(at.column) + ": " + reject.message() +
         (at.text.empty() ? "" : " (found '" + at.text + "')");
}

PartColumns RejectColumns(bool spreadsheet_safe) {
  return {.kept = {"file", "row", "offset", "column", "text", "reason"},
          .spreadsheet_safe = spreadsheet_safe};
}

void AddReject(const Status& reject, data::PassthroughColumns* row) {
  const InputPosition at = reject.position().value_or(InputPosition{});
  row->AddField(at.file);
  row->AddField(at.row ? std::to_string(*at.row) : "");
  row->AddField(at.offset ? std::to_string(*at.offset) : "");
  row->AddField(at.column);
  row->AddField(at.text);
  row->AddField(reject.message());
}

}  // namespace espalier::scoring
