#include "src/data/input/listing.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "src/base/in_order.h"
#include "src/base/text.h"
#include "src/data/features/validation_draw.h"
#include "src/data/input/extra_field.h"
#include "src/data/input/infer_features.h"
#include "src/data/input/table_formats.h"
#include "src/data/input/usual_ending.h"
#include "src/data/parquet/plan.h"
#include "src/data/table/input_file.h"
#include "src/data/table/number.h"
#include "src/data/table/partitions.h"
#include "src/data/table/schema.h"
#include "src/data/text/csv_reader.h"
#include "src/data/text/libsvm_reader.h"
#include "src/data/text/text_input.h"

namespace espalier::data {
namespace {

// Number of parallel reads of file beginnings and of parallel requests for block locations. Each
// one mostly waits for a remote file system.
constexpr int kFilesAtOnce = 16;
// Limits of the records whose keys are the columns of JSON, in each file.
constexpr int64_t kKeyRecordsMax = 1000, kKeyBytesMax = 1 << 20;
// Limits for the search for a good row in a file that begins with bad rows.
constexpr int64_t kBadRowsMax = 1000, kBadBytesMax = 1 << 20;

// Results from the first record of a file.
struct FirstRecord {
  bool any = false;
  HeaderRecord record;
  FirstRecords rows;       // CSV only
  JsonKeys keys;           // JSON only, which has no fields in `record`
  int64_t end = 0;         // first byte after the record
  bool one_shard = false;  // the file is one shard
  Status bad;              // first bad row, if no record was found
};

const char* NameOf(spec::DataFormat format) {
  switch (format) {
    case spec::DataFormat::kCsv:
      return "CSV";
    case spec::DataFormat::kParquet:
      return "Parquet";
    case spec::DataFormat::kLibsvm:
      return "LIBSVM";
    case spec::DataFormat::kJson:
      return "JSON";
  }
  return "unknown";
}

// Returns a path without the endings of backups and compressed copies.
std::string_view WithoutCopy(std::string_view path) {
  for (const std::string_view ending : {"~", ".bak", ".orig", ".tmp"}) {
    if (path.ends_with(ending)) path.remove_suffix(ending.size());
  }
  return spec::WithoutCodec(path);
}

class Planner {
 public:
  Planner(const storage::FileSystem& files, const spec::DataSpec& data,
          std::vector<std::string> optional)
      : files_(files), data_(data), optional_(std::move(optional)) {}

  Status List(spec::FileRole role, const std::string& field,
              const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
      Result<std::vector<storage::FileInfo>> found = files_.List(pattern);
      const bool answered = found.ok() || found.status().code() == StatusCode::kInvalidArgument ||
                            found.status().code() == StatusCode::kNotFound;
      if (!data_.raw && answered) {
        ESPALIER_RETURN_IF_ERROR(CheckTableFormats(
            files_, field, pattern, found.ok() ? *found : std::vector<storage::FileInfo>()));
      }
      if (!found.ok()) {
        return Status(found.status().code(), field + ": " + found.status().message())
            .At({.file = pattern});
      }
      if (found->empty()) {
        return NotFound(field + ": no file matches " + QuotedPath(pattern) +
                        " (names that start with _ or . and *._COPYING_ are left out)")
            .At({.file = pattern});
      }
      for (storage::FileInfo& info : *found) {
        const auto [at, added] = patterns_.emplace(info.path, pattern);
        if (!added) {
          return InvalidArgument(field + ": " + QuotedPath(info.path) + " is listed twice, by " +
                                 QuotedPath(at->second) + " and by " + QuotedPath(pattern) +
                                 " (expected each file in one set, once). Name it once");
        }
        ESPALIER_RETURN_IF_ERROR(AddPartitions(info));
        plan_.files.push_back({std::move(info.path), info.length, info.modified_ms, role});
      }
    }
    return {};
  }

  Result<spec::InputPlan> Finish(int64_t shard_bytes) {
    ESPALIER_RETURN_IF_ERROR(FindTwins());
    ESPALIER_RETURN_IF_ERROR(FixFormat());
    if (data_.format == spec::DataFormat::kParquet) {
      ESPALIER_RETURN_IF_ERROR(PlanParquet(files_, data_, shard_bytes, partitions_, &plan_));
      return std::move(plan_);
    }
    libsvm_names_ = PositionNames(LibsvmColumns(data_));
    std::string first_file;
    Status bad;
    ESPALIER_RETURN_IF_ERROR(InOrder<Result<FirstRecord>>(
        static_cast<int64_t>(plan_.files.size()), kFilesAtOnce,
        [this](int64_t i) { return ReadFirst(plan_.files[i]); },
        [&](int64_t i, Result<FirstRecord> read) -> Status {
          spec::InputFile* file = &plan_.files[i];
          if (!read.ok()) return AboutFile(read.status(), file->path);
          const FirstRecord first = *std::move(read);
          if (first.any) {
            const Status used = UseFirst(first, file, &first_file);
            if (!used.ok()) return AboutFile(used, file->path);
          }
          if (bad.ok()) bad = first.bad;
          const int64_t header_end = first.one_shard   ? file->length
                                     : HasHeaderLine() ? first.end
                                                       : 0;
          return Cut(static_cast<int32_t>(i), header_end, shard_bytes);
        }));
    if (first_file.empty()) {
      if (!bad.ok()) return bad;
      const size_t count = plan_.files.size();
      return BadInput("data.train: " +
                      (count == 1 ? QuotedPath(plan_.files[0].path) + " has"
                                  : "all " + std::to_string(count) + " files have") +
                      " no record (expected " + (HasHeaderLine() ? "a header and rows)" : "rows)"))
          .At({.file = plan_.files[0].path});
    }
    if (data_.format == spec::DataFormat::kJson) ESPALIER_RETURN_IF_ERROR(UseKeys());
    return std::move(plan_);
  }

 private:
  // Adds the partition columns of a file, which must be the same for all files of a job.
  Status AddPartitions(const storage::FileInfo& info) {
    ESPALIER_ASSIGN_OR_RETURN(std::vector<std::string> names, PartitionNames(info));
    if (plan_.files.empty()) {
      partitions_.names = std::move(names);
    } else if (names != partitions_.names) {
      const auto shown = [](const std::vector<std::string>& columns) {
        std::string text;
        for (const std::string& c : columns)
          text += (text.empty() ? "'" : ", '") + Printable(c) + "'";
        return text.empty() ? std::string("none") : text;
      };
      return InvalidArgument("the directories of " + QuotedPath(info.path) + " give the columns " +
                             shown(names) + ", those of " + QuotedPath(plan_.files[0].path) + " " +
                             shown(partitions_.names) +
                             ". All files need the same directories name=value. A pattern that "
                             "spells a directory out takes no column from it")
          .At({.file = info.path});
    }
    for (const std::string& name : partitions_.names) {
      const auto value = PartitionValue(info.path, name);
      double number = 0;
      const bool text = value && ParseNumberSlowly(*value, &number) == NumberKind::kNotNumber;
      if (text) partitions_.texts.insert(name);
    }
    return {};
  }

  // Finds files whose names differ only in these endings, because they hold the same rows.
  Status FindTwins() const {
    std::map<std::string_view, std::string_view> listed;  // WithoutCopy -> path
    for (const auto& [path, pattern] : patterns_) {
      const auto [twin, added] = listed.emplace(WithoutCopy(path), path);
      if (added) continue;
      return InvalidArgument(QuotedPath(twin->second) + " and " + QuotedPath(path) +
                             " are both listed, and the names say that they are copies of one "
                             "file (expected one of them). Delete one, or name the files by a "
                             "pattern that leaves it out")
          .At({.file = path});
    }
    return {};
  }

  // Sets the format by the files, however they were selected.
  Status FixFormat() {
    if (plan_.files.empty()) return {};
    const spec::DataFormat format = spec::FormatOf(data_, plan_.files[0].path);
    for (const spec::InputFile& file : plan_.files) {
      const spec::DataFormat other = spec::FormatOf(data_, file.path);
      if (other == format || file.length == 0) continue;
      const UsualEnding usual(plan_.files);
      const bool odd = !usual.Has(file.path) || usual.Has(plan_.files[0].path);
      const std::string& path = odd ? file.path : plan_.files[0].path;
      return InvalidArgument(QuotedPath(path) + " is " + NameOf(odd ? other : format) +
                             " by its name, " + QuotedPath(odd ? plan_.files[0].path : file.path) +
                             " is " + NameOf(odd ? format : other) +
                             ". All files must have the same format. " + usual.Advice())
          .At({.file = path});
    }
    data_.format = format;
    if (format == spec::DataFormat::kLibsvm) partitions_ = {};
    return spec::ValidateFormat(data_);
  }

  // Adds to an error about the content of a file with an unusual name that the file may not belong
  // to the table.
  Status AboutFile(const Status& error, const std::string& path) const {
    const bool content =
        error.code() == StatusCode::kInvalidArgument || error.code() == StatusCode::kBadInput;
    const UsualEnding usual(plan_.files);
    if (!content || usual.Has(path)) return error;
    return Status(error.code(), error.message() + (error.message().ends_with('?') ? " " : ". ") +
                                    QuotedPath(path) + " may not belong to the table. " +
                                    usual.Advice())
        .At(error.position().value_or(InputPosition{.file = path}));
  }

  // Returns the error for a header that differs from the one of the first file. If the first file
  // is the one with an unusual name, the error is about it.
  Status OtherHeader(const Status& error, const HeaderRecord& header,
                     const std::string& first_file) const {
    const UsualEnding usual(plan_.files);
    if (!usual.Has(header.at.file) || usual.Has(first_file)) return error;
    const auto shown = [](const std::vector<std::string>& names) {
      constexpr size_t kShown = 3;
      std::string text;
      for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
        text += (i > 0 ? ", " : "") + Quoted(names[i]);
      }
      return text + (names.size() > kShown ? ", ..." : "");
    };
    return InvalidArgument(QuotedPath(first_file) + " does not have the columns of " +
                           QuotedPath(header.at.file) + " (found " + shown(plan_.schema.names) +
                           ", expected " + shown(header.fields) +
                           "). All files need the same columns. " + usual.Advice())
        .At({.file = first_file});
  }

  Result<FirstRecord> ReadFirst(const spec::InputFile& file) const {
    if (file.length == 0) return FirstRecord{};
    ESPALIER_ASSIGN_OR_RETURN(const auto input, TextInput::Open(files_, file, true));
    constexpr int64_t kWindowBytes = 16 << 10;
    if (data_.format == spec::DataFormat::kJson) return ReadKeys(*input, file);
    const auto records =
        input->Records(data_, {0, file.length, false}, libsvm_names_, kWindowBytes);
    RecordReader& reader = *records;
    RecordReader::Outcome outcome = reader.Next();
    FirstRecord first;
    first.one_shard = input->is_one_shard();
    if (outcome == RecordReader::Outcome::kFailed) return reader.error();
    if (outcome == RecordReader::Outcome::kBadRecord) {
      LineCounter lines(input->lines());
      ESPALIER_ASSIGN_OR_RETURN(const int64_t row, lines.LineOf(reader.record_offset()));
      const std::string where = spec::HasHeader(data_) ? "the header: " : "";
      first.bad = BadInput(where + reader.error().message())
                      .At(reader.error().position().value_or(InputPosition{}))
                      .At({.file = file.path, .row = row});
      // Without a header, the profiling pass decides about bad rows. With one, the job cannot
      // continue.
      if (spec::HasHeader(data_)) return first.bad;
    }
    for (int64_t i = 0; outcome == RecordReader::Outcome::kBadRecord && i < kBadRowsMax &&
                        reader.position() < kBadBytesMax;
         ++i) {
      outcome = reader.Next();
    }
    if (outcome == RecordReader::Outcome::kFailed) return reader.error();
    if (outcome != RecordReader::Outcome::kRecord) return first;
    first.any = true;
    first.bad = {};
    first.end = reader.position();
    LineCounter lines(input->lines());
    ESPALIER_ASSIGN_OR_RETURN(const int64_t row, lines.LineOf(reader.record_offset()));
    HeaderRecord& record = first.record;
    record.at = {.file = file.path,
                 .row = row,
                 .offset = reader.record_offset(),
                 .text = Printable(reader.record())};
    // Checked before each field takes a hundred bytes, in several files at once.
    if (reader.fields() > kColumnsMax) {
      InputPosition at = record.at;
      at.column = "";
      return InvalidArgument("the files have " + std::to_string(reader.fields()) +
                             " columns; at most " + std::to_string(kColumnsMax) +
                             " are supported: is this a table, one row per line?")
          .At(std::move(at));
    }
    record.fields.reserve(reader.fields());
    record.offsets.reserve(reader.fields());
    for (size_t i = 0; i < reader.fields(); ++i) {
      record.fields.emplace_back(reader.field(i));
      record.offsets.push_back(reader.field_offset(i));
    }
    if (data_.format == spec::DataFormat::kCsv) SampleRows(reader, &first);
    return first;
  }

  // Reads the keys of the first records of a JSON file.
  Result<FirstRecord> ReadKeys(const TextInput& input, const spec::InputFile& file) const {
    constexpr int64_t kWindowBytes = 64 << 10;
    FirstRecord first;
    const auto reader = input.KeyRecords(&first.keys, kWindowBytes);
    first.one_shard = input.is_one_shard();
    for (int64_t i = 0; i < kKeyRecordsMax && reader->position() < kKeyBytesMax; ++i) {
      const RecordReader::Outcome outcome = reader->Next();
      if (outcome == RecordReader::Outcome::kFailed) {
        return i == 0 && StartsWithArray(input) ? OneArray(file) : reader->error();
      }
      if (outcome == RecordReader::Outcome::kEnd) break;
      if (outcome == RecordReader::Outcome::kBadRecord && first.bad.ok()) {
        LineCounter lines(input.lines());
        ESPALIER_ASSIGN_OR_RETURN(const int64_t row, lines.LineOf(reader->record_offset()));
        first.bad = reader->error().At({.file = file.path, .row = row});
      }
      if (outcome != RecordReader::Outcome::kRecord) continue;
      if (!first.any) {
        first.record.at = {.file = file.path,
                           .offset = reader->record_offset(),
                           .text = Printable(reader->record())};
      }
      first.any = true;
    }
    if (first.any) first.bad = {};
    return first;
  }

  static bool StartsWithArray(const TextInput& input) {
    std::array<char, 256> begin;
    const auto read = input.lines().ReadAt(0, begin);
    if (!read.ok()) return false;
    const std::string_view text = std::string_view(begin.data(), *read);
    const size_t first = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
    return first != std::string_view::npos && text[first] == '[';
  }
  static Status OneArray(const spec::InputFile& file) {
    return BadInput(
               "the file is one JSON array (expected one JSON object on each line). Write one row "
               "on each line, for example by `jq -c '.[]'`")
        .At({.file = file.path, .row = 1, .offset = 0});
  }

  // Makes the schema from the keys of all JSON files. A column may be absent from some files.
  Status UseKeys() {
    if (UsesPositions(data_)) {
      return InvalidArgument(
          "the job names columns by their positions (expected names, because the keys of JSON "
          "records have no order). Write the names of the keys");
    }
    HeaderRecord record = json_record_;
    record.fields = keys_.Names();
    AddAbsent(&record.fields);
    record.offsets.assign(record.fields.size(), record.at.offset.value_or(0));
    record.not_auto = keys_.Arrays();
    const size_t own = record.fields.size();
    ESPALIER_RETURN_IF_ERROR(CheckHeaderTexts(record));
    ESPALIER_ASSIGN_OR_RETURN(const std::vector<size_t> taken, TakeShadowed(&record));
    std::vector<std::string> names = record.fields;
    names.insert(names.end(), partitions_.names.begin(), partitions_.names.end());
    AppendPartitions(&record);
    ESPALIER_ASSIGN_OR_RETURN(plan_.schema, MakeSchema(data_, std::move(names), record));
    plan_.schema.partitions = static_cast<int32_t>(partitions_.names.size());
    for (spec::InputFile& file : plan_.files) SetLeftOut(taken, Extra::kNone, own, &file);
    LeaveArraysOut(record.not_auto);
    return {};
  }

  // Adds the columns that records may lack, if any of them is there.
  void AddAbsent(std::vector<std::string>* names) const {
    const std::set<std::string> found(names->begin(), names->end());
    const auto is_there = [&found](const std::string& name) { return found.contains(name); };
    if (std::none_of(optional_.begin(), optional_.end(), is_there)) return;
    for (const std::string& name : optional_) {
      if (!is_there(name)) names->push_back(name);
    }
  }

  // Records that `columns: auto` leaves out columns with arrays.
  void LeaveArraysOut(const std::vector<std::string>& arrays) {
    spec::Schema& schema = plan_.schema;
    if (!IsAuto(data_.features, schema.names)) return;
    const std::set<std::string> names(arrays.begin(), arrays.end());
    std::set<int32_t> used(schema.features.begin(), schema.features.end());
    used.insert(schema.label.begin(), schema.label.end());
    used.insert({schema.weight, schema.validation});
    for (int32_t c = 0; c < std::ssize(schema.names); ++c) {
      if (used.contains(c) || !names.contains(schema.names[static_cast<size_t>(c)])) continue;
      schema.left_out.push_back({c, spec::LeftOutReason::kNested});
    }
  }

  // Reads rows after the first record while they may have an extra field, or may contain the only
  // text of a first line of numbers.
  void SampleRows(RecordReader& reader, FirstRecord* first) const {
    HeaderRecord& record = first->record;
    const bool header = spec::HasHeader(data_);
    FirstRecords& rows = first->rows;
    if (!header) rows.Add(reader);
    const size_t none = record.fields.size();
    const size_t text = header && none > 1 ? OnlyText(record.fields).value_or(none) : none;
    bool open = data_.csv.extra_field != spec::ExtraField::kNone;
    for (int64_t read = rows.records(); read < FirstRecords::kRecordsMax &&
                                        reader.position() - first->end < FirstRecords::kBytesMax;
         ++read) {
      const bool usual = rows.fields() == record.fields.size() && !rows.ends_empty();
      open = open && (rows.records() == 0 || (rows.fields() != 0 && !usual));
      const bool sought = text < none && !record.text_recurs;
      if (!open && !sought) break;
      const RecordReader::Outcome outcome = reader.Next();
      if (outcome == RecordReader::Outcome::kEnd || outcome == RecordReader::Outcome::kFailed) {
        break;
      }
      if (outcome != RecordReader::Outcome::kRecord) continue;
      if (open) rows.Add(reader);
      record.text_recurs = record.text_recurs || (sought && text < reader.fields() &&
                                                  reader.field(text) == record.fields[text]);
    }
    if (header) record.row_fields = rows.fields();
  }

  Status UseFirst(FirstRecord first, spec::InputFile* file, std::string* first_file) {
    if (data_.format == spec::DataFormat::kJson) {
      if (!keys_.Add(first.keys)) return InvalidArgument(kTooManyKeys).At(first.record.at);
      if (first_file->empty()) json_record_ = first.record;
      if (first_file->empty()) *first_file = first.record.at.file;
      return {};
    }
    const bool header = spec::HasHeader(data_);
    HeaderRecord& record = first.record;
    ESPALIER_ASSIGN_OR_RETURN(const Extra extra, TakeExtra(&first, !first_file->empty()));
    const size_t own = record.fields.size();  // fields of the file, without the extra one
    std::vector<size_t> taken;
    if (header) {
      ESPALIER_RETURN_IF_ERROR(CheckHeaderTexts(record));
      ESPALIER_ASSIGN_OR_RETURN(taken, TakeShadowed(&record));
    }
    if (!first_file->empty()) {
      if (!header) {
        SetLeftOut({}, extra, own, file);
        return {};
      }
      AppendPartitions(&record);
      auto columns = MatchHeader(plan_.schema, record, *first_file);
      if (!columns.ok()) return OtherHeader(columns.status(), record, *first_file);
      file->columns = *std::move(columns);
      SetLeftOut(taken, extra, own, file);
      return {};
    }
    *first_file = record.at.file;
    if (header) ESPALIER_RETURN_IF_ERROR(CheckHeaderNames(data_, record));
    std::vector<std::string> names = header ? record.fields : PositionNames(record.fields.size());
    if (!header) partitions_.LeaveOut(names);
    names.insert(names.end(), partitions_.names.begin(), partitions_.names.end());
    AppendPartitions(&record);
    ESPALIER_ASSIGN_OR_RETURN(plan_.schema, MakeSchema(data_, std::move(names), record));
    plan_.schema.partitions = static_cast<int32_t>(partitions_.names.size());
    SetLeftOut(taken, extra, own, file);
    return {};
  }

  // Finds the extra field of a CSV file and removes it from the record if it is there. `further`:
  // the schema is already known.
  Result<Extra> TakeExtra(FirstRecord* first, bool further) {
    if (data_.format != spec::DataFormat::kCsv) return Extra::kNone;
    const bool header = spec::HasHeader(data_);
    HeaderRecord& record = first->record;
    ESPALIER_ASSIGN_OR_RETURN(const Extra extra,
                              FindExtraField(data_, header, record, first->rows));
    if (extra == Extra::kNone) return extra;
    const size_t schema = plan_.schema.names.size() - static_cast<size_t>(plan_.schema.partitions);
    if (!header && further && record.fields.size() != schema + 1) return Extra::kNone;
    const bool in_record = !header || Trimmed(record.fields.back()).empty();
    if (extra != Extra::kFirst && in_record) {
      record.fields.pop_back();
      record.offsets.pop_back();
    }
    if (noted_extra_.insert(extra).second) {
      plan_.notes.push_back(ExtraFieldText(record.at.file, extra));
    }
    return extra;
  }

  // Fills InputFile::columns with the positions of the fields in use, or with nothing if they are
  // in schema order. `taken`: fields that the directories provide. `own`: number of fields without
  // the extra one.
  void SetLeftOut(std::vector<size_t> taken, Extra extra, size_t own, spec::InputFile* file) const {
    if (extra == Extra::kFirst) {
      for (size_t& field : taken) ++field;
      taken.insert(taken.begin(), 0);
    }
    if (extra == Extra::kLast) taken.push_back(own);
    file->columns = WithTakenColumns(std::move(file->columns), plan_.schema.names.size(), taken);
    if (extra == Extra::kLast) file->columns[own] = spec::InputFile::kEmpty;
  }

  // Removes the fields that the directories also provide.
  Result<std::vector<size_t>> TakeShadowed(HeaderRecord* record) {
    const std::vector<std::string> fields = record->fields;
    std::vector<size_t> taken = TakeColumns(record, partitions_.names);
    for (const size_t i : taken) {
      if (UsesPositions(data_)) return PositionsAreAmbiguous(record->at.file, fields[i]);
      if (noted_.insert(fields[i]).second) {
        plan_.notes.push_back(ShadowedText(record->at.file, fields[i]));
      }
    }
    return taken;
  }

  void AppendPartitions(HeaderRecord* record) const {
    for (const std::string& name : partitions_.names) {
      record->fields.push_back(name);
      record->offsets.push_back(record->at.offset.value_or(0));
    }
    record->directory_texts.assign(partitions_.texts.begin(), partitions_.texts.end());
  }

  bool HasHeaderLine() const { return spec::HasHeaderLine(data_, plan_.files.front().path); }

  Status Cut(int32_t file, int64_t header_end, int64_t shard_bytes) {
    const int64_t length = plan_.files[file].length;
    const auto whole_strata = [this](int64_t bytes) {
      const int64_t unit = data_.validation.by_part() ? kStratumBytes : 1;
      return (bytes + unit - 1) / unit * unit;
    };
    shard_bytes = whole_strata(shard_bytes);
    for (int64_t begin = 0; begin < length;) {
      // A short rest belongs to the shard before it, because a request for few bytes takes as much
      // time.
      const bool whole = data_.csv.multiline && data_.format != spec::DataFormat::kJson;
      const bool last = whole || length - begin - shard_bytes < shard_bytes / 2;
      int64_t end = last ? length : begin + shard_bytes;
      end = std::max(end, std::min(whole_strata(header_end), length));
      plan_.shards.push_back({file, begin, end});
      begin = end;
    }
    return CheckShardCount(plan_.shards.size(), shard_bytes);
  }

  const storage::FileSystem& files_;
  spec::DataSpec data_;                    // with the format of the files
  std::vector<std::string> libsvm_names_;  // LIBSVM text only
  JsonKeys keys_;                          // JSON only
  HeaderRecord json_record_;               // first record of all JSON files
  const std::vector<std::string> optional_;
  Partitions partitions_;
  std::set<std::string> noted_;  // columns of ShadowedText
  std::set<Extra> noted_extra_;
  spec::InputPlan plan_;
  std::map<std::string, std::string> patterns_;  // path -> pattern that listed it
};

// Returns the hosts that store the largest part of the shard, sorted.
std::vector<std::string> HoldersOf(const spec::Shard& shard,
                                   const std::vector<storage::BlockLocation>& blocks) {
  std::map<std::string, int64_t> bytes;
  int64_t most = 0;
  for (const storage::BlockLocation& b : blocks) {
    const int64_t here = std::min(shard.end, b.offset + b.length) - std::max(shard.begin, b.offset);
    if (here <= 0) continue;
    for (const std::string& host : b.hosts) most = std::max(most, bytes[host] += here);
  }
  std::vector<std::string> hosts;
  for (const auto& [host, held] : bytes) {
    if (held == most) hosts.push_back(host);
  }
  return hosts;
}

}  // namespace

Result<spec::InputPlan> PlanTable(const storage::FileSystem& files, const spec::DataSpec& data,
                                  int64_t shard_bytes, std::vector<std::string> optional) {
  if (shard_bytes <= 0) {
    return InvalidArgument("data.shard_bytes: " + std::to_string(shard_bytes) +
                           " bytes (expected a number above 0)");
  }
  Planner planner(files, data, std::move(optional));
  ESPALIER_RETURN_IF_ERROR(planner.List(spec::FileRole::kTrain, "data.train", data.train));
  ESPALIER_RETURN_IF_ERROR(
      planner.List(spec::FileRole::kValidation, "data.validation.files", data.validation.files));
  ESPALIER_RETURN_IF_ERROR(planner.List(spec::FileRole::kTest, "data.test", data.test));
  return planner.Finish(shard_bytes);
}

Result<spec::InputPlan> PlanInput(const storage::FileSystem& files, const spec::DataSpec& data,
                                  int64_t shard_bytes) {
  ESPALIER_ASSIGN_OR_RETURN(spec::InputPlan plan, PlanTable(files, data, shard_bytes));
  ESPALIER_RETURN_IF_ERROR(InferFeatures(files, data, &plan));
  return plan;
}

void FindHosts(const storage::FileSystem& files, spec::InputPlan* plan) {
  constexpr size_t kFilesAsked = 4096;
  using Blocks = std::vector<storage::BlockLocation>;
  plan->hosts.assign(plan->shards.size(), {});
  size_t shard = 0;  // next shard; they are in file order
  const auto ask = [&](int64_t i) {
    const spec::InputFile& file = plan->files[i];
    if (file.length == 0) return Blocks();
    auto found = files.BlockLocations(file.path, 0, file.length);
    return found.ok() ? std::move(found).value() : Blocks();
  };
  const auto use = [&](int64_t i, Blocks blocks) -> Status {
    for (; shard < plan->shards.size() && plan->shards[shard].file == i; ++shard) {
      plan->hosts[shard] = HoldersOf(plan->shards[shard], blocks);
    }
    return {};
  };
  const auto count = static_cast<int64_t>(std::min(plan->files.size(), kFilesAsked));
  (void)InOrder<Blocks>(count, kFilesAtOnce, ask, use);
}

}  // namespace espalier::data
