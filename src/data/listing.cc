#include "src/data/listing.h"

#include <algorithm>
#include <map>

#include "src/base/in_order.h"
#include "src/base/text.h"
#include "src/data/csv_reader.h"
#include "src/data/libsvm_reader.h"
#include "src/data/parquet_plan.h"
#include "src/data/schema.h"
#include "src/data/text_input.h"

namespace espalier {
namespace {

constexpr size_t kShardsMax = 10'000'000;
// Beginnings of files that are read, and places of blocks that are asked for, at a time: each is
// mostly waiting for a file system far away.
constexpr int kFilesAtOnce = 16;

// What the first record of a file tells.
struct FirstRecord {
  bool any = false;
  HeaderRecord record;
  int64_t end = 0;          // first byte after it
  bool compressed = false;  // the file is
};

class Planner {
 public:
  Planner(const FileSystem& files, const DataSpec& data)
      : files_(files), data_(data), libsvm_columns_(LibsvmColumns(data)) {}

  Status List(FileRole role, const std::string& field, const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
      Result<std::vector<FileInfo>> found = files_.List(pattern);
      if (!found.ok()) {
        return Status(found.status().code(), field + ": " + found.status().message())
            .At({.file = pattern});
      }
      if (found->empty()) {
        return NotFound(field + ": no file matches " + QuotedPath(pattern) +
                        " (names that start with _ or . and *._COPYING_ are left out)")
            .At({.file = pattern});
      }
      for (FileInfo& info : *found) {
        const auto [at, added] = patterns_.emplace(info.path, pattern);
        if (!added) {
          return InvalidArgument(field + ": " + QuotedPath(info.path) + " is listed twice, by " +
                                 QuotedPath(at->second) + " and by " + QuotedPath(pattern) +
                                 "; each file may belong to one set, once");
        }
        plan_.files.push_back({std::move(info.path), info.length, info.modified_ms, role});
      }
    }
    return {};
  }

  Result<InputPlan> Finish(int64_t shard_bytes) {
    if (!plan_.files.empty() && FormatOf(data_, plan_.files[0].path) == DataFormat::kParquet) {
      ESPALIER_RETURN_IF_ERROR(PlanParquet(files_, data_, shard_bytes, &plan_));
      return std::move(plan_);
    }
    std::string first_file;
    ESPALIER_RETURN_IF_ERROR(InOrder<Result<FirstRecord>>(
        static_cast<int64_t>(plan_.files.size()), kFilesAtOnce,
        [this](int64_t i) { return ReadFirst(plan_.files[i]); },
        [&](int64_t i, Result<FirstRecord> read) -> Status {
          ESPALIER_ASSIGN_OR_RETURN(const FirstRecord first, std::move(read));
          InputFile* file = &plan_.files[i];
          if (first.any) ESPALIER_RETURN_IF_ERROR(UseFirst(first.record, file, &first_file));
          const int64_t header_end = first.compressed   ? file->length
                                     : HasHeader(data_) ? first.end
                                                        : 0;
          return Cut(static_cast<int32_t>(i), header_end, shard_bytes);
        }));
    if (first_file.empty()) {
      const size_t count = plan_.files.size();
      return BadInput("data.train: " +
                      (count == 1 ? QuotedPath(plan_.files[0].path) + " has"
                                  : "all " + std::to_string(count) + " files have") +
                      " no record; expected " + (HasHeader(data_) ? "a header and rows" : "rows"))
          .At({.file = plan_.files[0].path});
    }
    return std::move(plan_);
  }

 private:
  Result<FirstRecord> ReadFirst(const InputFile& file) const {
    if (file.length == 0) return FirstRecord{};
    ESPALIER_ASSIGN_OR_RETURN(const auto input, TextInput::Open(files_, file, true));
    const auto records = input->Records(data_, {0, file.length, false}, libsvm_columns_, 16 << 10);
    RecordReader& reader = *records;
    RecordReader::Outcome outcome = reader.Next();
    FirstRecord first;
    first.compressed = input->compressed();
    if (outcome == RecordReader::Outcome::kFailed) return reader.error();
    // Without header bad rows are the survey's to judge; with one nothing can go on.
    while (outcome == RecordReader::Outcome::kBadRecord && !HasHeader(data_))
      outcome = reader.Next();
    if (outcome == RecordReader::Outcome::kBadRecord && HasHeader(data_)) {
      LineCounter lines(input->lines());
      ESPALIER_ASSIGN_OR_RETURN(const int64_t row, lines.LineOf(reader.record_offset()));
      return BadInput("the header: " + reader.error().message())
          .At(reader.error().position().value_or(InputPosition{}))
          .At({.row = row});
    }
    if (outcome != RecordReader::Outcome::kRecord) return first;
    first.any = true;
    first.end = reader.position();
    LineCounter lines(input->lines());
    ESPALIER_ASSIGN_OR_RETURN(const int64_t row, lines.LineOf(reader.record_offset()));
    HeaderRecord& record = first.record;
    record.at = {.file = file.path,
                 .row = row,
                 .offset = reader.record_offset(),
                 .text = Printable(reader.record())};
    record.fields.reserve(reader.fields());
    record.offsets.reserve(reader.fields());
    for (size_t i = 0; i < reader.fields(); ++i) {
      record.fields.emplace_back(reader.field(i));
      record.offsets.push_back(reader.field_offset(i));
    }
    return first;
  }

  Status UseFirst(const HeaderRecord& record, InputFile* file, std::string* first_file) {
    if (!first_file->empty()) {
      if (!HasHeader(data_)) return {};
      ESPALIER_ASSIGN_OR_RETURN(file->columns, MatchHeader(plan_.schema, record, *first_file));
      return {};
    }
    *first_file = record.at.file;
    std::vector<std::string> names =
        HasHeader(data_) ? record.fields : PositionNames(record.fields.size());
    ESPALIER_ASSIGN_OR_RETURN(plan_.schema, MakeSchema(data_, std::move(names), record));
    return {};
  }

  Status Cut(int32_t file, int64_t header_end, int64_t shard_bytes) {
    const int64_t length = plan_.files[file].length;
    for (int64_t begin = 0; begin < length;) {
      // A short rest belongs to the shard before it: a request for a few bytes costs as much time.
      const bool last = data_.csv.multiline || length - begin - shard_bytes < shard_bytes / 2;
      int64_t end = last ? length : begin + shard_bytes;
      end = std::max(end, std::min(header_end, length));
      plan_.shards.push_back({file, begin, end});
      begin = end;
    }
    if (plan_.shards.size() <= kShardsMax) return {};
    return InvalidArgument("data.shard_bytes: " + std::to_string(shard_bytes) +
                           " bytes give more than " + std::to_string(kShardsMax) +
                           " shards; choose larger ones");
  }

  const FileSystem& files_;
  const DataSpec& data_;
  const size_t libsvm_columns_;  // of LIBSVM text
  InputPlan plan_;
  std::map<std::string, std::string> patterns_;  // path -> the pattern that listed it
};

// The hosts that hold most of the shard, sorted.
std::vector<std::string> HoldersOf(const Shard& shard, const std::vector<BlockLocation>& blocks) {
  std::map<std::string, int64_t> bytes;
  int64_t most = 0;
  for (const BlockLocation& b : blocks) {
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

Result<InputPlan> PlanInput(const FileSystem& files, const DataSpec& data, int64_t shard_bytes) {
  if (shard_bytes <= 0) {
    return InvalidArgument("data.shard_bytes: " + std::to_string(shard_bytes) +
                           " bytes; expected a number above 0");
  }
  Planner planner(files, data);
  ESPALIER_RETURN_IF_ERROR(planner.List(FileRole::kTrain, "data.train", data.train));
  ESPALIER_RETURN_IF_ERROR(
      planner.List(FileRole::kValidation, "data.validation.files", data.validation.files));
  ESPALIER_RETURN_IF_ERROR(planner.List(FileRole::kTest, "data.test", data.test));
  return planner.Finish(shard_bytes);
}

void FindHosts(const FileSystem& files, InputPlan* plan) {
  constexpr size_t kFilesAsked = 4096;
  using Blocks = std::vector<BlockLocation>;
  plan->hosts.assign(plan->shards.size(), {});
  size_t shard = 0;  // the next one; they are in the order of the files
  const auto ask = [&](int64_t i) {
    const InputFile& file = plan->files[i];
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

Result<std::unique_ptr<ReadableFile>> OpenUnchanged(const FileSystem& files,
                                                    const InputFile& file) {
  Result<std::unique_ptr<ReadableFile>> found = files.Open(file.path);
  if (!found.ok()) return found.status().At({.file = file.path});
  auto opened = *std::move(found);
  const FileInfo& info = opened->info();
  if (info.length == file.length && info.modified_ms == file.modified_ms) return opened;
  const std::string how = info.length != file.length
                              ? "it had " + std::to_string(file.length) + " bytes and now has " +
                                    std::to_string(info.length)
                              : "its time of change differs";
  return DataLoss(QuotedPath(file.path) + " changed after it was listed: " + how +
                  "; submit the job again when its input is at rest")
      .At({.file = file.path});
}

}  // namespace espalier
