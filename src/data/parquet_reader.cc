#include "src/data/parquet_reader.h"

#include <algorithm>
#include <memory>

#include "src/base/text.h"
#include "src/data/parquet_decoder.h"
#include "src/data/parquet_file.h"

namespace espalier {
namespace {

// Of a batch: enough to make the cost of a batch small, few enough to stay near the processor.
constexpr int64_t kBatchNumbers = 4 << 20;
constexpr int64_t kBatchRowsMin = 64, kBatchRowsMax = 64 << 10;
// A footer may say anything. More numbers than these in a shard are not begun with; room for more
// than these a byte of the file is not reserved before they are there.
constexpr int64_t kShardNumbersMax = int64_t{1} << 32;
constexpr int64_t kNumbersAByte = 64;

struct OpenShard {
  std::unique_ptr<ParquetFile> parquet;
  ParquetProjection projection;
};

Result<OpenShard> Open(const ReadableFile& file, const InputPlan& plan, RowRoom* room) {
  OpenShard opened;
  ESPALIER_ASSIGN_OR_RETURN(opened.parquet, ParquetFile::Open(file, room));
  ESPALIER_ASSIGN_OR_RETURN(opened.projection,
                            Project(plan.schema, opened.parquet->columns(), file.info().path));
  return opened;
}

Status TooManyNumbers(const ParquetFile& file, const std::string& path, size_t first, size_t last,
                      int64_t rows, int64_t numbers_a_row) {
  const std::string groups =
      first == last ? "row group " + std::to_string(first)
                    : "row groups " + std::to_string(first) + " to " + std::to_string(last);
  return ResourceExhausted(groups + " of " + QuotedPath(path) + " (rows " +
                           std::to_string(file.groups()[first].first_row + 1) +
                           " on): " + HumanCount(rows) + " rows of " + HumanCount(numbers_a_row) +
                           " numbers, more than the " + HumanCount(kShardNumbersMax) +
                           " that are read at a time; " +
                           (first == last ? "write the file with smaller row groups"
                                          : "choose a smaller data.shard_bytes"))
      .At({.file = path});
}

// Decodes the row groups of a shard in turn, until `stop`, asked after each batch, says so of a row
// group. `keep`: the rows are kept, and so it makes room for all of them.
template <typename Stop>
Status ReadGroups(ParquetFile& file, const std::string& path, const Shard& shard,
                  ParquetDecoder& decoder, const ParquetProjection& projection, bool keep,
                  Stop&& stop) {
  const int64_t width = std::max<int64_t>(projection.numbers_a_row, 1);
  const int64_t batch_rows = std::clamp(kBatchNumbers / width, kBatchRowsMin, kBatchRowsMax);
  int64_t rows = 0;
  std::vector<size_t> groups;
  for (size_t i = 0; i < file.groups().size(); ++i) {
    const ParquetGroup& group = file.groups()[i];
    if (group.begin < shard.begin || group.begin >= shard.end || group.rows == 0) continue;
    groups.push_back(i);
    rows += group.rows;
  }
  if (rows > kShardNumbersMax / width) {
    return TooManyNumbers(file, path, groups.front(), groups.back(), rows, width);
  }
  if (keep) decoder.Reserve(std::min(rows, kNumbersAByte * (shard.end - shard.begin) / width));
  bool stopped = false;
  for (size_t i = 0; i < groups.size() && !stopped; ++i) {
    ESPALIER_RETURN_IF_ERROR(
        file.ReadGroup(groups[i], projection.columns, batch_rows,
                       [&](const arrow::RecordBatch& batch, int64_t first) -> Status {
                         ESPALIER_RETURN_IF_ERROR(decoder.Add(batch, first));
                         ESPALIER_ASSIGN_OR_RETURN(stopped, stop());
                         return {};
                       }));
  }
  return {};
}

}  // namespace

Result<ShardRows> ReadParquetShard(const ReadableFile& file, const InputPlan& plan,
                                   const JobSpec& job, int shard, RowRoom* room,
                                   const TakeRows& take) {
  const Shard& s = plan.shards[shard];
  const std::string& path = file.info().path;
  ESPALIER_ASSIGN_OR_RETURN(const OpenShard opened, Open(file, plan, room));
  ShardRows rows(room);
  ParquetDecoder decoder(plan, job, s.file, opened.projection, &rows);
  const std::vector<std::string>& labels = decoder.labels().texts();
  const auto after_batch = [&]() -> Result<bool> {
    ESPALIER_RETURN_IF_ERROR(
        CheckLabels(labels.size(), path, plan.schema.names[plan.schema.label[0]]));
    if (!take) return false;
    ESPALIER_RETURN_IF_ERROR(take(rows.sets, labels));
    for (DecodedRows& set : rows.sets) set.Clear();
    return false;
  };
  ESPALIER_RETURN_IF_ERROR(
      ReadGroups(*opened.parquet, path, s, decoder, opened.projection, !take, after_batch));
  rows.checksum = opened.parquet->checksum();
  rows.label_texts = labels;
  return rows;
}

Result<InputPosition> FindParquetLabel(const ReadableFile& file, const InputPlan& plan,
                                       const JobSpec& job, int shard, const std::string& label) {
  const Shard& s = plan.shards[shard];
  ESPALIER_ASSIGN_OR_RETURN(const OpenShard opened, Open(file, plan, nullptr));
  ShardRows rows;
  ParquetDecoder decoder(plan, job, s.file, opened.projection, &rows);
  decoder.Watch(label);
  const auto after_batch = [&]() -> Result<bool> {
    for (DecodedRows& set : rows.sets) set.Clear();
    return decoder.watched_at().has_value();
  };
  ESPALIER_RETURN_IF_ERROR(ReadGroups(*opened.parquet, file.info().path, s, decoder,
                                      opened.projection, false, after_batch));
  return decoder.watched_at().value_or(InputPosition{});
}

}  // namespace espalier
