#include "src/data/parquet_reader.h"

#include <algorithm>
#include <memory>

#include "src/data/parquet_decoder.h"
#include "src/data/parquet_file.h"

namespace espalier {
namespace {

// Of a batch: enough to make the cost of a batch small, few enough to stay near the processor.
constexpr int64_t kBatchNumbers = 4 << 20;
constexpr int64_t kBatchRowsMin = 64, kBatchRowsMax = 64 << 10;

struct OpenShard {
  std::unique_ptr<ParquetFile> parquet;
  ParquetProjection projection;
};

Result<OpenShard> Open(const ReadableFile& file, const InputPlan& plan) {
  OpenShard opened;
  ESPALIER_ASSIGN_OR_RETURN(opened.parquet, ParquetFile::Open(file));
  ESPALIER_ASSIGN_OR_RETURN(opened.projection,
                            Project(plan.schema, opened.parquet->columns(), file.info().path));
  return opened;
}

// Decodes the row groups of a shard in turn, until `stop` says so.
template <typename Stop>
Status ReadGroups(ParquetFile& file, const Shard& shard, ParquetDecoder& decoder,
                  const ParquetProjection& projection, Stop&& stop) {
  const int64_t batch_rows = std::clamp(
      kBatchNumbers / std::max<int64_t>(projection.numbers_a_row, 1), kBatchRowsMin, kBatchRowsMax);
  int64_t rows = 0;
  std::vector<size_t> groups;
  for (size_t i = 0; i < file.groups().size(); ++i) {
    const ParquetGroup& group = file.groups()[i];
    if (group.begin < shard.begin || group.begin >= shard.end || group.rows == 0) continue;
    groups.push_back(i);
    rows += group.rows;
  }
  decoder.Reserve(rows);
  for (const size_t group : groups) {
    ESPALIER_RETURN_IF_ERROR(file.ReadGroup(
        group, projection.columns, batch_rows,
        [&](const arrow::RecordBatch& batch, int64_t first) { return decoder.Add(batch, first); }));
    if (stop()) break;
  }
  return {};
}

}  // namespace

Result<ShardRows> ReadParquetShard(const ReadableFile& file, const InputPlan& plan,
                                   const JobSpec& job, int shard) {
  const Shard& s = plan.shards[shard];
  ESPALIER_ASSIGN_OR_RETURN(const OpenShard opened, Open(file, plan));
  ShardRows rows;
  ParquetDecoder decoder(plan, job, s.file, opened.projection, &rows);
  ESPALIER_RETURN_IF_ERROR(
      ReadGroups(*opened.parquet, s, decoder, opened.projection, [] { return false; }));
  if (decoder.labels().texts().size() > kClassesMax) {
    return TooManyLabels(file.info().path, plan.schema.names[plan.schema.label[0]]);
  }
  rows.checksum = opened.parquet->checksum();
  rows.label_texts = decoder.labels().texts();
  return rows;
}

Result<InputPosition> FindParquetLabel(const ReadableFile& file, const InputPlan& plan,
                                       const JobSpec& job, int shard, const std::string& label) {
  const Shard& s = plan.shards[shard];
  ESPALIER_ASSIGN_OR_RETURN(const OpenShard opened, Open(file, plan));
  ShardRows rows;
  ParquetDecoder decoder(plan, job, s.file, opened.projection, &rows);
  decoder.Watch(label);
  ESPALIER_RETURN_IF_ERROR(ReadGroups(*opened.parquet, s, decoder, opened.projection,
                                      [&] { return decoder.watched_at().has_value(); }));
  return decoder.watched_at().value_or(InputPosition{});
}

}  // namespace espalier
