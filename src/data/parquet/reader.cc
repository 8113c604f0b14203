#include "src/data/parquet/reader.h"

#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/data/features/sparse_choice.h"
#include "src/data/parquet/decoder.h"
#include "src/data/parquet/file.h"
#include "src/data/parquet/passthrough_arrays.h"
#include "src/data/table/input_file.h"
#include "src/data/table/pack_sparse.h"
#include "src/data/table/partitions.h"
#include "src/spec/sparse_rows.h"

namespace espalier::data {
namespace {

// Numbers per batch: enough to make the overhead of a batch small, few enough to stay in the cache.
// Expanded Spark vectors may take a thousand times their bytes in the file. For them this limit (32
// MiB of doubles) applies even if a batch then has only one row.
constexpr int64_t kBatchNumbers = 4 << 20;
constexpr int64_t kBatchRowsMin = 64, kBatchRowsMax = 64 << 10;
// A footer may claim any size. A shard with more numbers than the first limit is not read. Memory
// for more numbers per byte of the file than the second limit is not reserved in advance.
constexpr int64_t kShardNumbersMax = int64_t{1} << 32;
constexpr int64_t kNumbersAByte = 64;

struct OpenShard {
  std::unique_ptr<ParquetFile> parquet;
  std::vector<size_t> groups;  // groups of the shard that have rows
  int64_t rows = 0;            // rows in these groups
  ParquetProjection projection;
  std::vector<int> columns;  // columns of the projection that the file contains
  std::vector<std::optional<std::string>> constants;  // values of the other columns

  bool vectors = false;  // the columns include Spark vectors

  int64_t width() const { return std::max<int64_t>(projection.numbers_a_row, 1); }
};

// Appends the columns that have the same value in all rows.
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

// Returns the error for a shard whose rows have more than `numbers_max` numbers.
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

Result<OpenShard> Open(const storage::ReadableFile& file, const TableSource& table,
                       const ReadOptions& options, const spec::Shard& shard) {
  const spec::Schema& schema = table.plan.schema;
  const std::string& path = file.info().path;
  OpenShard opened;
  ESPALIER_ASSIGN_OR_RETURN(opened.parquet, ParquetFile::Open(file, options.room));
  const std::vector<ParquetColumn>& own = opened.parquet->columns();
  const auto names = std::span(schema.names).last(static_cast<size_t>(schema.partitions));
  const auto values = PartitionValues(schema, path);
  ESPALIER_ASSIGN_OR_RETURN(
      opened.projection, Project(table.job.data.features, schema, WithPartitionColumns(own, names),
                                 path, options.kept));
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
  // If only few numbers may be kept, a larger shard is allowed.
  const int64_t times = MayBeSparse(table.job, schema) ? spec::kSparseShare : 1;
  ESPALIER_RETURN_IF_ERROR(CheckNumbers(opened, path, kShardNumbersMax * times));
  return opened;
}

// Decodes the row groups of a shard in turn. Calls `after_batch` after the rows of each batch are
// added.
template <typename AfterBatch>
Status ReadGroups(const OpenShard& opened, ParquetDecoder& decoder, AfterBatch&& after_batch) {
  ParquetFile& file = *opened.parquet;
  const auto add = [&](const arrow::RecordBatch& batch, int64_t first) -> Status {
    std::shared_ptr<arrow::RecordBatch> whole;
    if (!opened.constants.empty()) {
      ESPALIER_ASSIGN_OR_RETURN(whole, WithConstants(batch, opened.constants));
    }
    const arrow::RecordBatch& all = whole != nullptr ? *whole : batch;
    ESPALIER_RETURN_IF_ERROR(decoder.Add(all, first));
    return after_batch(all);
  };
  for (const size_t group : opened.groups) {
    const int64_t rows_min = opened.vectors && !decoder.skips_zeros() ? 1 : kBatchRowsMin;
    const int64_t batch_rows = std::clamp(kBatchNumbers / opened.width(), rows_min, kBatchRowsMax);
    decoder.BeginGroup(file.groups()[group].first_row);
    ESPALIER_RETURN_IF_ERROR(file.ReadGroup(group, opened.columns, batch_rows, add));
  }
  return {};
}

// Keeps the rows of a shard without their zeros if its first batch has few nonzero numbers. Packs
// them unless the decoder has already omitted the zeros.
class Packer {
 public:
  Packer(const spec::JobSpec& job, const spec::Schema& schema, MemoryBudget* room,
         const ParquetDecoder& decoder)
      : width_(static_cast<int64_t>(schema.features.size())),
        coded_(CodedFeatures(schema)),
        undecided_(MayBeSparse(job, schema)),
        decoder_(decoder),
        packed_(room) {
    for (DecodedRows& set : packed_.sets) set.sparse = true;
  }
  // Returns whether the rows keep their zeros. False while this is undecided.
  bool keeps_zeros() const { return !undecided_ && !sparse_; }

  // Packs the rows of a batch, unless they stay as they are.
  Status Take(DecodedSets* sets) {
    if (undecided_) Decide(*sets);
    for (size_t i = 0; packs() && i < sets->size(); ++i) {
      ESPALIER_RETURN_IF_ERROR(PackSparse((*sets)[i], width_, coded_, &packed_.sets[i]));
      (*sets)[i].Clear();
    }
    return {};
  }
  // Returns all rows.
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

// A shard in the process of being read.
class ParquetShard final : public RowPlaces {
 public:
  ParquetShard(const ShardReader& reader, const spec::Shard& range, const OpenShard& opened)
      : table_(reader.table()),
        options_(reader.options()),
        range_(range),
        opened_(opened),
        path_(table_.plan.files[range.file].path),
        rows_(options_.room),
        unusable_(options_.rules, table_.job.data.bad_rows, &rows_),
        decoder_(table_, range.file, opened.projection, &rows_, &unusable_) {
    const bool may_skip = options_.sparse && MayBeSparse(table_.job, table_.plan.schema);
    if (opened.vectors && may_skip) decoder_.SkipZeros();
    if (options_.rules != RowRules::kScoring) decoder_.RequireUtf8();
  }

  Result<ShardRows> ReadPieces(const TakePiece& take) {
    PassthroughColumns kept(options_.kept.size());
    ESPALIER_RETURN_IF_ERROR(
        ReadGroups(opened_, decoder_, [&](const arrow::RecordBatch& batch) -> Status {
          ESPALIER_RETURN_IF_ERROR(decoder_.features().CheckTexts(path_, options_.rules));
          if (!options_.kept.empty()) ESPALIER_RETURN_IF_ERROR(Keep(batch, &kept));
          ESPALIER_RETURN_IF_ERROR(take(
              {rows_.sets, decoder_.texts(), kept, unusable_.rejects(), decoder_.good(), *this}));
          for (DecodedRows& set : rows_.sets) set.Clear();
          if (options_.rules == RowRules::kScoring) decoder_.ForgetCategories();
          kept.Clear();
          unusable_.ForgetRejects();
          return {};
        }));
    rows_.checksum = opened_.parquet->checksum();
    return std::move(rows_);
  }

  Result<ShardRows> ReadWhole() {
    Packer packer(table_.job, table_.plan.schema, options_.room, decoder_);
    ESPALIER_RETURN_IF_ERROR(Reserve(packer));
    ESPALIER_RETURN_IF_ERROR(
        ReadGroups(opened_, decoder_, [&](const arrow::RecordBatch&) -> Status {
          ESPALIER_RETURN_IF_ERROR(decoder_.features().CheckTexts(path_, options_.rules));
          ESPALIER_RETURN_IF_ERROR(packer.Take(&rows_.sets));
          return Reserve(packer);
        }));
    packer.Finish(&rows_.sets);
    rows_.checksum = opened_.parquet->checksum();
    rows_.sample = decoder_.Sample();
    rows_.probed = decoder_.TakeProbed();
    rows_.places = decoder_.TakePlaces();
    rows_.texts = decoder_.TakeTexts();
    return std::move(rows_);
  }

  InputPosition OfRow(int64_t row) override { return decoder_.PlaceOf(row); }
  InputPosition OfLabel(int set, int64_t row) override { return decoder_.PlaceOfLabel(set, row); }

 private:
  // Reserves memory for all rows after it is known that they keep their zeros.
  Status Reserve(const Packer& packer) {
    if (reserved_ || !packer.keeps_zeros()) return {};
    reserved_ = true;
    ESPALIER_RETURN_IF_ERROR(CheckNumbers(opened_, path_, kShardNumbersMax));
    const int64_t numbers_max = kNumbersAByte * (range_.end - range_.begin);
    decoder_.Reserve(std::min(opened_.rows, numbers_max / opened_.width()));
    return {};
  }

  Status Keep(const arrow::RecordBatch& batch, PassthroughColumns* kept) const {
    ParquetArrays::Arrays arrays;
    for (const int32_t source : opened_.projection.kept) arrays.push_back(batch.column(source));
    ESPALIER_ASSIGN_OR_RETURN(auto of_batch, ParquetArrays::Make(std::move(arrays)));
    kept->SetArrays(std::move(of_batch));
    return {};
  }

  const TableSource& table_;
  const ReadOptions& options_;
  const spec::Shard& range_;
  const OpenShard& opened_;
  const std::string& path_;
  ShardRows rows_;
  UnusableRows unusable_;
  ParquetDecoder decoder_;
  bool reserved_ = false;
};

class ParquetReader final : public ShardReader {
 public:
  using ShardReader::ShardReader;

  Result<ShardRows> Read(int shard, const TakePiece& take) const override {
    const spec::Shard& range = table().plan.shards[shard];
    ESPALIER_ASSIGN_OR_RETURN(const auto file,
                              OpenUnchanged(table().files, table().plan.files[range.file]));
    ESPALIER_ASSIGN_OR_RETURN(const OpenShard opened, Open(*file, table(), options(), range));
    ParquetShard underway(*this, range, opened);
    return take ? underway.ReadPieces(take) : underway.ReadWhole();
  }
};

}  // namespace

std::unique_ptr<ShardReader> MakeParquetReader(const TableSource& table,
                                               const ReadOptions& options) {
  return std::make_unique<ParquetReader>(table, options);
}

}  // namespace espalier::data
