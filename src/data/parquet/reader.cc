#include "src/data/parquet/reader.h"

#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>

#include "src/base/text.h"
#include "src/data/features/sparse_choice.h"
#include "src/data/parquet/decoder.h"
#include "src/data/parquet/file.h"
#include "src/data/parquet/kept_arrays.h"
#include "src/data/table/pack_sparse.h"
#include "src/data/table/partitions.h"
#include "src/spec/sparse_rows.h"

namespace espalier {
namespace {

// Of a batch: enough to make the cost of a batch small, few enough to stay near the processor.
// Where Spark's vectors are spelled out, which may take a thousand times their bytes in the file,
// these 32 MiB of doubles are kept to even if that is one row.
constexpr int64_t kBatchNumbers = 4 << 20;
constexpr int64_t kBatchRowsMin = 64, kBatchRowsMax = 64 << 10;
// A footer may say anything. More numbers than these in a shard are not begun with; room for more
// than these a byte of the file is not reserved before they are there.
constexpr int64_t kShardNumbersMax = int64_t{1} << 32;
constexpr int64_t kNumbersAByte = 64;

struct OpenShard {
  std::unique_ptr<ParquetFile> parquet;
  std::vector<size_t> groups;  // those of the shard that have rows
  int64_t rows = 0;            // of theirs
  ParquetProjection projection;
  std::vector<int> columns;                           // of the projection, those that the file has
  std::vector<std::optional<std::string>> constants;  // and of the others the value

  bool vectors = false;  // Spark's are among the columns

  int64_t width() const { return std::max<int64_t>(projection.numbers_a_row, 1); }
};

// A batch with the columns that are the same in all rows after its own.
Result<std::shared_ptr<arrow::RecordBatch>> WithConstants(
    const arrow::RecordBatch& batch, const std::vector<std::optional<std::string>>& constants) {
  arrow::ArrayVector columns = batch.columns();
  arrow::FieldVector fields = batch.schema()->fields();
  for (const auto& constant : constants) {
    const auto made =
        constant ? arrow::MakeArrayFromScalar(arrow::StringScalar(*constant), batch.num_rows())
                 : arrow::MakeArrayOfNull(arrow::utf8(), batch.num_rows());
    if (!made.ok()) return ResourceExhausted(made.status().ToString());
    columns.push_back(*made);
    fields.push_back(arrow::field("", arrow::utf8()));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(),
                                  std::move(columns));
}

// More numbers than `numbers_max` in the rows of a shard.
Status TooManyNumbers(const OpenShard& opened, const std::string& path, int64_t numbers_max) {
  const size_t first = opened.groups.front(), last = opened.groups.back();
  const std::string groups =
      first == last ? "row group " + std::to_string(first)
                    : "row groups " + std::to_string(first) + " to " + std::to_string(last);
  return ResourceExhausted(groups + " of " + QuotedPath(path) + " (rows " +
                           std::to_string(opened.parquet->groups()[first].first_row + 1) +
                           " on): " + HumanCount(opened.rows) + " rows of " +
                           HumanCount(opened.width()) + " numbers, more than the " +
                           HumanCount(numbers_max) + " that are read at a time; " +
                           (first == last ? "write the file with smaller row groups"
                                          : "choose a smaller data.shard_bytes"))
      .At({.file = path});
}

Status CheckNumbers(const OpenShard& opened, const std::string& path, int64_t numbers_max) {
  if (opened.rows <= numbers_max / opened.width()) return {};
  return TooManyNumbers(opened, path, numbers_max);
}

Result<OpenShard> Open(const ReadableFile& file, const JobSpec& job, const InputPlan& plan,
                       const Shard& shard, RowRoom* room, std::span<const int32_t> kept = {}) {
  OpenShard opened;
  ESPALIER_ASSIGN_OR_RETURN(opened.parquet, ParquetFile::Open(file, room));
  const std::vector<ParquetColumn>& own = opened.parquet->columns();
  const size_t partitions = static_cast<size_t>(plan.schema.partitions);
  const auto names = std::span(plan.schema.names).last(partitions);
  const auto values = PartitionValues(plan.schema, file.info().path);
  ESPALIER_ASSIGN_OR_RETURN(
      opened.projection, Project(job.data.features, plan.schema, WithPartitionColumns(own, names),
                                 file.info().path, kept));
  for (const int column : opened.projection.columns) {
    if (static_cast<size_t>(column) < own.size()) {
      opened.columns.push_back(column);
      opened.vectors = opened.vectors || own[static_cast<size_t>(column)].spark;
    } else {
      opened.constants.push_back(values[static_cast<size_t>(column) - own.size()]);
    }
  }
  for (size_t i = 0; i < opened.parquet->groups().size(); ++i) {
    const ParquetGroup& group = opened.parquet->groups()[i];
    if (group.begin < shard.begin || group.begin >= shard.end || group.rows == 0) continue;
    opened.groups.push_back(i);
    opened.rows += group.rows;
  }
  // Where few numbers may be kept, more are begun with.
  const int64_t times = MayBeSparse(job, plan.schema) ? kSparseShare : 1;
  ESPALIER_RETURN_IF_ERROR(CheckNumbers(opened, file.info().path, kShardNumbersMax * times));
  return opened;
}

// Decodes the row groups of a shard in turn, until `stop`, asked after each batch, says so of a row
// group.
// `watch`, if given, sees each batch before `stop` is asked.
using WatchBatch = std::function<void(const arrow::RecordBatch& batch)>;
template <typename Stop>
Status ReadGroups(const OpenShard& opened, ParquetDecoder& decoder, Stop&& stop,
                  const WatchBatch& watch = {}) {
  ParquetFile& file = *opened.parquet;
  bool stopped = false;
  const auto add = [&](const arrow::RecordBatch& batch, int64_t first) -> Status {
    std::shared_ptr<arrow::RecordBatch> whole;
    if (!opened.constants.empty()) {
      ESPALIER_ASSIGN_OR_RETURN(whole, WithConstants(batch, opened.constants));
    }
    const arrow::RecordBatch& all = whole != nullptr ? *whole : batch;
    ESPALIER_RETURN_IF_ERROR(decoder.Add(all, first));
    if (watch) watch(all);
    return {};
  };
  for (size_t i = 0; i < opened.groups.size() && !stopped; ++i) {
    const size_t group = opened.groups[i];
    const int64_t rows_min = opened.vectors && !decoder.skips_zeros() ? 1 : kBatchRowsMin;
    const int64_t batch_rows = std::clamp(kBatchNumbers / opened.width(), rows_min, kBatchRowsMax);
    decoder.BeginGroup(file.groups()[group].first_row);
    ESPALIER_RETURN_IF_ERROR(
        file.ReadGroup(group, opened.columns, batch_rows,
                       [&](const arrow::RecordBatch& batch, int64_t first) -> Status {
                         ESPALIER_RETURN_IF_ERROR(add(batch, first));
                         ESPALIER_ASSIGN_OR_RETURN(stopped, stop());
                         return {};
                       }));
  }
  return {};
}

// Keeps the rows of a shard without their zeros if its first batch has few other numbers: packs
// them, unless the decoder has left out the zeros.
class Packer {
 public:
  Packer(const JobSpec& job, const Schema& schema, RowRoom* room, const ParquetDecoder& decoder)
      : width_(static_cast<int64_t>(schema.features.size())),
        coded_(CodedFeatures(schema)),
        undecided_(MayBeSparse(job, schema)),
        decoder_(decoder),
        packed_(room) {
    for (DecodedRows& set : packed_.sets) set.sparse = true;
  }
  // Whether the rows keep their zeros; not before all is decided.
  bool keeps_zeros() const { return !undecided_ && !sparse_; }

  // Takes the rows of a batch, unless all stay where they are.
  Status Take(DecodedSets* sets) {
    if (undecided_) Decide(*sets);
    for (size_t i = 0; packs() && i < sets->size(); ++i) {
      ESPALIER_RETURN_IF_ERROR(PackSparse((*sets)[i], width_, coded_, &packed_.sets[i]));
      (*sets)[i].Clear();
    }
    return {};
  }
  // All rows again.
  void Finish(DecodedSets* sets) {
    if (packs()) *sets = std::move(packed_.sets);
  }

 private:
  void Decide(const DecodedSets& sets) {
    const auto has_rows = [](const DecodedRows& set) { return set.rows > 0; };
    if (std::none_of(sets.begin(), sets.end(), has_rows)) return;
    undecided_ = false;
    sparse_ = AreSparse(sets, width_, coded_);
  }
  bool packs() const { return sparse_ && !decoder_.skips_zeros(); }

  const int64_t width_;
  const std::vector<int32_t> coded_;
  bool undecided_, sparse_ = false;
  const ParquetDecoder& decoder_;
  ShardRows packed_;
};

}  // namespace

Result<ShardRows> ReadParquetShard(const ReadableFile& file, const InputPlan& plan,
                                   const JobSpec& job, int shard, RowRoom* room,
                                   const TakeRows& take) {
  const Shard& s = plan.shards[shard];
  const std::string& path = file.info().path;
  ESPALIER_ASSIGN_OR_RETURN(const OpenShard opened, Open(file, job, plan, s, room));
  ShardRows rows(room);
  ParquetDecoder decoder(plan, job, s.file, opened.projection, &rows);
  if (opened.vectors && MayBeSparse(job, plan.schema)) decoder.SkipZeros();
  Packer packer(job, plan.schema, room, decoder);
  // Rows that are kept with their zeros: makes room for all of them.
  bool reserved = take != nullptr;
  const auto reserve = [&]() -> Status {
    if (reserved || !packer.keeps_zeros()) return {};
    reserved = true;
    ESPALIER_RETURN_IF_ERROR(CheckNumbers(opened, path, kShardNumbersMax));
    decoder.Reserve(std::min(opened.rows, kNumbersAByte * (s.end - s.begin) / opened.width()));
    return {};
  };
  const auto after_batch = [&]() -> Result<bool> {
    ESPALIER_RETURN_IF_ERROR(decoder.features().CheckTexts(path));
    if (!take) {
      ESPALIER_RETURN_IF_ERROR(packer.Take(&rows.sets));
      ESPALIER_RETURN_IF_ERROR(reserve());
      return false;
    }
    ESPALIER_RETURN_IF_ERROR(take(rows.sets, decoder.texts()));
    for (DecodedRows& set : rows.sets) set.Clear();
    return false;
  };
  ESPALIER_RETURN_IF_ERROR(reserve());
  ESPALIER_RETURN_IF_ERROR(ReadGroups(opened, decoder, after_batch));
  packer.Finish(&rows.sets);
  rows.checksum = opened.parquet->checksum();
  rows.texts = decoder.texts();
  if (!take) rows.sample = decoder.Sample();
  return rows;
}

Status ScanParquetShard(const ReadableFile& file, const ScanPlan& scan, int shard, RowRoom* room,
                        const TakePiece& take) {
  const InputPlan& plan = scan.input;
  const Shard& s = plan.shards[shard];
  const std::string& path = file.info().path;
  ESPALIER_ASSIGN_OR_RETURN(const OpenShard opened, Open(file, scan.job, plan, s, room, scan.kept));
  ShardRows rows(room);
  ParquetDecoder decoder(plan, scan.job, s.file, opened.projection, &rows);
  if (scan.sparse && opened.vectors && MayBeSparse(scan.job, plan.schema)) decoder.SkipZeros();
  const std::vector<std::string>& labels = decoder.texts().labels.texts();
  KeptColumns kept(scan.kept.size());
  std::vector<Status> rejects;
  decoder.Reject(&rejects);
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  const auto watch = [&](const arrow::RecordBatch& batch) {
    arrays.clear();
    for (const int32_t source : opened.projection.kept) arrays.push_back(batch.column(source));
  };
  const std::function<InputPosition(int64_t)> place = [&](int64_t row) {
    return decoder.PlaceOf(row);
  };
  const auto after_batch = [&]() -> Result<bool> {
    if (!plan.schema.label.empty()) {
      ESPALIER_RETURN_IF_ERROR(
          CheckLabels(labels.size(), path, plan.schema.names[plan.schema.label[0]]));
    }
    ESPALIER_ASSIGN_OR_RETURN(auto of_batch,
                              ParquetArrays::Make(std::move(arrays), decoder.good()));
    kept.SetArrays(std::move(of_batch));
    ESPALIER_RETURN_IF_ERROR(take(
        {rows.sets[static_cast<size_t>(FileRole::kTest)], decoder.texts(), kept, rejects, place}));
    decoder.ForgetCategories();
    kept.Clear();
    rejects.clear();
    for (DecodedRows& set : rows.sets) set.Clear();
    return false;
  };
  return ReadGroups(opened, decoder, after_batch, watch);
}

Result<InputPosition> FindParquetLabel(const ReadableFile& file, const InputPlan& plan,
                                       const JobSpec& job, int shard, const std::string& label) {
  const Shard& s = plan.shards[shard];
  ESPALIER_ASSIGN_OR_RETURN(const OpenShard opened, Open(file, job, plan, s, nullptr));
  ShardRows rows;
  ParquetDecoder decoder(plan, job, s.file, opened.projection, &rows);
  if (opened.vectors && MayBeSparse(job, plan.schema)) decoder.SkipZeros();
  decoder.Watch(label);
  const auto after_batch = [&]() -> Result<bool> {
    for (DecodedRows& set : rows.sets) set.Clear();
    return decoder.watched_at().has_value();
  };
  ESPALIER_RETURN_IF_ERROR(ReadGroups(opened, decoder, after_batch));
  return decoder.watched_at().value_or(InputPosition{});
}

}  // namespace espalier
