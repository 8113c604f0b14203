#include "src/data/parquet/file.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <limits>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/data/parquet/footer.h"
#include "src/data/parquet/guard.h"
#include "src/data/parquet/source.h"

namespace espalier::data {
namespace {

constexpr int64_t kHoleBytesMax = 1 << 20;    // gap between columns that is read, not skipped
constexpr int64_t kRangeBytesMax = 64 << 20;  // size of one request

void AddLeaves(const parquet::arrow::SchemaField& field, std::vector<int>* leaves) {
  if (field.is_leaf()) leaves->push_back(field.column_index);
  for (const auto& child : field.children) AddLeaves(child, leaves);
}

// Describes how to read a column. Sets the family of bytes with a logical type other than text,
// which Arrow does not recognize.
ParquetBatches::Column SourceOf(const parquet::arrow::SchemaField& field,
                                const parquet::SchemaDescriptor& schema, ParquetColumn* column) {
  ParquetBatches::Column source = {field.field, column->leaves};
  if (!field.is_leaf() || field.column_index < 0) return source;
  const parquet::ColumnDescriptor& leaf = *schema.Column(field.column_index);
  source.plain = !column->nested && PlainColumns::CanRead(leaf, *field.field->type());
  const bool flat = leaf.max_repetition_level() == 0 && !column->vector;
  if (leaf.logical_type() == nullptr || !flat) return source;
  if (leaf.logical_type()->is_UUID()) {
    source.uuid = true;
    source.field = arrow::field(field.field->name(), arrow::utf8());
    column->family = ColumnFamily::kText;
    column->type = "uuid";
  } else if (leaf.logical_type()->is_interval()) {
    column->family = ColumnFamily::kUnsupported;
    column->type = "interval";
  }
  return source;
}

}  // namespace

ParquetFile::ParquetFile(const storage::ReadableFile& file, MemoryBudget* room)
    : file_(file),
      counted_(arrow::default_memory_pool()),
      pool_(&counted_, kDecodeBytesMax),
      source_(std::make_shared<ParquetSource>(file, room)) {}

ParquetFile::~ParquetFile() = default;

Status ParquetFile::Explain(const arrow::Status& error, int64_t group) const {
  if (!source_->error().ok()) return source_->error();
  const std::string& path = file_.info().path;
  std::string what = error.message();
  what = Printable(what.substr(0, what.find('\n')), 300);
  std::string where = "its footer";
  if (group >= 0) {
    const ParquetGroup& g = groups_[group];
    where = "row group " + std::to_string(group) + " (rows " + std::to_string(g.first_row + 1) +
            " to " + std::to_string(g.first_row + g.rows) + ")";
  }
  if (error.IsOutOfMemory()) {
    return ResourceExhausted("reading " + where + " of " + QuotedPath(path) + " takes more than " +
                             HumanBytes(kDecodeBytesMax) +
                             " of memory; its values are very long, or it is damaged. Write it "
                             "again with smaller row groups and without the long values")
        .At({.file = path});
  }
  if (error.IsNotImplemented()) {
    return Unimplemented(where + " of " + QuotedPath(path) + " cannot be read: " + what +
                         ". Write the file with plain types and snappy, zstd or gzip")
        .At({.file = path});
  }
  return DamagedParquet(path, where + " cannot be read (" + what + ")");
}

Result<std::unique_ptr<ParquetFile>> ParquetFile::Open(const storage::ReadableFile& file,
                                                       MemoryBudget* room) {
  ESPALIER_ASSIGN_OR_RETURN(const ParquetFooter footer, ReadParquetFooter(file));
  std::unique_ptr<ParquetFile> opened(new ParquetFile(file, room));
  opened->footer_begin_ = footer.begin;
  opened->checksum_ = Crc32c(footer.bytes.data(), footer.bytes.size());
  ESPALIER_RETURN_IF_ERROR(opened->Parse(footer.bytes));
  ESPALIER_RETURN_IF_ERROR(opened->FindGroups());
  return opened;
}

Status ParquetFile::Parse(const std::string& footer) {
  const arrow::Status parsed = Guarded([&] {
    uint32_t size = static_cast<uint32_t>(footer.size());
    metadata_ = parquet::FileMetaData::Make(footer.data(), &size);
    parquet::ReaderProperties properties(&pool_);
    properties.set_page_checksum_verification(true);
    parquet::ArrowReaderProperties arrow_properties(false);
    arrow_properties.set_pre_buffer(false);
    // In nanoseconds, INT96 could only represent moments from 1677 to 2262.
    arrow_properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
    ARROW_ASSIGN_OR_RAISE(
        reader_, parquet::arrow::FileReader::Make(
                     &pool_, parquet::ParquetFileReader::Open(source_, properties, metadata_),
                     arrow_properties));
    const std::vector<parquet::arrow::SchemaField>& fields = reader_->manifest().schema_fields;
    for (size_t i = 0; i < fields.size(); ++i) {
      columns_.push_back(DescribeColumn(*fields[i].field));
      AddLeaves(fields[i], &columns_.back().leaves);
      sources_.push_back(SourceOf(fields[i], *metadata_->schema(), &columns_.back()));
      sources_.back().top = static_cast<int>(i);
    }
    for (size_t i = 0; i < fields.size(); ++i) names_.insert(columns_[i].name);
    for (size_t i = 0; i < fields.size(); ++i) {
      AddNested(fields[i], static_cast<int>(i), {});
    }
    batches_ = std::make_unique<ParquetBatches>(*reader_, &pool_);
    return arrow::Status::OK();
  });
  return parsed.ok() ? Status() : Explain(parsed, -1);
}

void ParquetFile::AddNested(const parquet::arrow::SchemaField& parent, int top,
                            const std::vector<std::string>& path) {
  const arrow::DataType& type = *parent.field->type();
  if (type.id() != arrow::Type::STRUCT || IsSparkVector(type)) return;
  const std::string prefix =
      path.empty() ? columns_[static_cast<size_t>(top)].name : columns_.back().name;
  for (const auto& child : parent.children) {
    std::vector<std::string> below = path;
    below.push_back(child.field->name());
    ParquetColumn column = DescribeColumn(*child.field);
    column.name = prefix + "." + column.name;
    column.nested = true;
    if (!names_.insert(column.name).second) continue;
    AddLeaves(child, &column.leaves);
    sources_.push_back(SourceOf(child, *metadata_->schema(), &column));
    sources_.back().top = top;
    sources_.back().path = below;
    columns_.push_back(std::move(column));
    AddNested(child, top, below);
  }
}

std::vector<std::string> ParquetFile::index_columns() const {
  constexpr std::string_view kKey = "\"index_columns\": [";
  std::vector<std::string> names;
  const auto& metadata = metadata_->key_value_metadata();
  const auto pandas =
      metadata == nullptr ? arrow::Result<std::string>("") : metadata->Get("pandas");
  if (!pandas.ok()) return names;
  size_t at = pandas->find(kKey);
  if (at == std::string::npos) return names;
  // A RangeIndex is an object at this place, because it has no column.
  for (at += kKey.size(); at < pandas->size() && (*pandas)[at] != ']';) {
    if ((*pandas)[at] == '{') return {};
    if ((*pandas)[at++] != '"') continue;
    std::string name;
    for (; at < pandas->size() && (*pandas)[at] != '"'; ++at) {
      if ((*pandas)[at] == '\\') ++at;
      if (at < pandas->size()) name += (*pandas)[at];
    }
    ++at;
    names.push_back(std::move(name));
  }
  return names;
}

Status ParquetFile::FindGroups() {
  int64_t rows = 0;
  const std::string& path = file_.info().path;
  for (int i = 0; i < metadata_->num_row_groups(); ++i) {
    ParquetGroup group;
    const arrow::Status read = Guarded([&] {
      group.rows = metadata_->RowGroup(i)->num_rows();
      return arrow::Status::OK();
    });
    if (!read.ok()) return Explain(read, -1);
    if (group.rows < 0 || group.rows > std::numeric_limits<int64_t>::max() - rows) {
      return DamagedParquet(path, "row group " + std::to_string(i) + " says it has " +
                                      std::to_string(group.rows) + " rows");
    }
    group.first_row = rows;
    rows += group.rows;
    if (!columns_.empty() && !columns_[0].leaves.empty()) {
      ESPALIER_ASSIGN_OR_RETURN(const Span chunk, ChunkOf(i, columns_[0].leaves[0]));
      group.begin = chunk.begin;
    }
    if (group.rows > 0 && group.begin >= footer_begin_) {
      return DamagedParquet(path, "row group " + std::to_string(i) + " has rows but no bytes");
    }
    if (i > 0 && group.begin < groups_.back().begin) {
      return DamagedParquet(path,
                            "row group " + std::to_string(i) + " lies before the one before it");
    }
    groups_.push_back(group);
  }
  if (rows == metadata_->num_rows()) return {};
  return DamagedParquet(path, "its row groups have " + std::to_string(rows) +
                                  " rows, but its footer says " +
                                  std::to_string(metadata_->num_rows()));
}

Result<ParquetFile::Span> ParquetFile::ChunkOf(size_t group, int leaf) const {
  Span span;
  int64_t size = 0;
  std::string elsewhere;
  auto codec = arrow::Compression::UNCOMPRESSED;
  const arrow::Status read = Guarded([&] {
    const auto chunk = metadata_->RowGroup(static_cast<int>(group))->ColumnChunk(leaf);
    span.begin = chunk->data_page_offset();
    if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0) {
      span.begin = std::min(span.begin, chunk->dictionary_page_offset());
    }
    size = chunk->total_compressed_size();
    elsewhere = chunk->file_path();
    codec = chunk->compression();
    return arrow::Status::OK();
  });
  if (!read.ok()) return Explain(read, -1);
  const std::string& path = file_.info().path;
  if (!elsewhere.empty()) {
    return Unimplemented(QuotedPath(path) +
                         " is a summary of other Parquet files: its columns lie in " +
                         QuotedPath(elsewhere) + ". Name those files instead")
        .At({.file = path});
  }
  if (!arrow::util::Codec::IsAvailable(codec)) {
    return Unimplemented(
               "row group " + std::to_string(group) + " of " + QuotedPath(path) +
               " is compressed with " + arrow::util::Codec::GetCodecAsString(codec) +
               ", which cannot be read. Write the file with snappy, zstd, gzip or no compression")
        .At({.file = path,
             .column = Printable(metadata_->schema()->Column(leaf)->path()->ToDotString())});
  }
  span.end = span.begin + size;
  if (span.begin >= 0 && size >= 0 && span.begin <= footer_begin_ &&
      size <= footer_begin_ - span.begin) {
    return span;
  }
  return DamagedParquet(
      path, "a column of row group " + std::to_string(group) + " is said to have " +
                std::to_string(size) + " bytes from byte " + std::to_string(span.begin) +
                ", expected a place before the footer at " + std::to_string(footer_begin_));
}

Status ParquetFile::FetchSpan(const Span& span, size_t group, int64_t group_bytes) {
  auto buffer = source_->Room(span.end - span.begin);
  if (!buffer.ok()) {
    return Status(buffer.status().code(), "row group " + std::to_string(group) + " of " +
                                              QuotedPath(file_.info().path) + " has " +
                                              HumanBytes(group_bytes) +
                                              " in the columns of the job, which are fetched at "
                                              "once: " +
                                              buffer.status().message())
        .At({.file = file_.info().path});
  }
  char* data = (*buffer)->room();
  const size_t size = static_cast<size_t>(span.end - span.begin);
  ESPALIER_ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(span.begin, {data, size}));
  if (got != size) {
    return DataLoss(QuotedPath(file_.info().path) + " became shorter while it was read")
        .At({.file = file_.info().path, .offset = span.begin});
  }
  checksum_ = Crc32c(data, size, checksum_);
  source_->Keep(span.begin, std::move(*buffer));
  return {};
}

Status ParquetFile::Fetch(size_t group, const std::vector<int>& leaves) {
  std::vector<Span> chunks;
  int64_t bytes = 0;
  for (const int leaf : leaves) {
    ESPALIER_ASSIGN_OR_RETURN(chunks.emplace_back(), ChunkOf(group, leaf));
    bytes += chunks.back().end - chunks.back().begin;
  }
  if (bytes > kGroupBytesMax) {
    return ResourceExhausted("row group " + std::to_string(group) + " of " +
                             QuotedPath(file_.info().path) + " has " + HumanBytes(bytes) +
                             " in the columns of the job, expected at most " +
                             HumanBytes(kGroupBytesMax) +
                             ". Write the file with smaller row groups (128 MiB is usual)")
        .At({.file = file_.info().path});
  }
  std::sort(chunks.begin(), chunks.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  source_->Drop();
  Span span = chunks[0];
  for (size_t i = 1; i < chunks.size(); ++i) {
    const Span& next = chunks[i];
    const int64_t end = std::max(span.end, next.end);
    if (next.begin - span.end <= kHoleBytesMax && end - span.begin <= kRangeBytesMax) {
      span.end = end;
      continue;
    }
    ESPALIER_RETURN_IF_ERROR(FetchSpan(span, group, bytes));
    span = next;
  }
  return FetchSpan(span, group, bytes);
}

Status ParquetFile::ReadGroup(size_t group, const std::vector<int>& columns, int64_t batch_rows,
                              const TakeBatch& take) {
  std::vector<int> leaves;
  for (const int column : columns) {
    leaves.insert(leaves.end(), columns_[column].leaves.begin(), columns_[column].leaves.end());
  }
  ESPALIER_RETURN_IF_ERROR(Fetch(group, leaves));
  const Status read = ReadBatches(group, columns, batch_rows, take);
  source_->Drop();
  return read;
}

std::string ParquetFile::FirstBadColumn(size_t group, const std::vector<int>& columns) {
  for (const int column : columns) {
    const arrow::Status read = Guarded([&] {
      ARROW_ASSIGN_OR_RAISE(auto batches, reader_->GetRecordBatchReader({static_cast<int>(group)},
                                                                        columns_[column].leaves));
      std::shared_ptr<arrow::RecordBatch> batch;
      do {
        ARROW_RETURN_NOT_OK(batches->ReadNext(&batch));
      } while (batch != nullptr);
      return arrow::Status::OK();
    });
    if (!read.ok()) return columns_[column].name;
  }
  return {};
}

Status ParquetFile::ExplainGroup(const arrow::Status& error, size_t group,
                                 const std::vector<int>& columns) {
  const Status status = Explain(error, static_cast<int64_t>(group));
  if (!source_->error().ok()) return status;
  const std::string column = FirstBadColumn(group, columns);
  return column.empty() ? status : status.At({.column = Printable(column)});
}

Status ParquetFile::ReadBatches(size_t group, const std::vector<int>& columns, int64_t batch_rows,
                                const TakeBatch& take) {
  const ParquetGroup& g = groups_[group];
  std::vector<const ParquetBatches::Column*> sources;
  for (const int column : columns) sources.push_back(&sources_[column]);
  arrow::Status read =
      Guarded([&] { return batches_->Start(static_cast<int>(group), sources, batch_rows); });
  if (!read.ok()) return ExplainGroup(read, group, columns);
  for (int64_t rows = 0;;) {
    std::shared_ptr<arrow::RecordBatch> batch;
    read = Guarded([&] { return batches_->Next(g.rows - rows, &batch); });
    if (!read.ok()) return ExplainGroup(read, group, columns);
    const int64_t more = batch == nullptr ? 0 : batch->num_rows();
    if (batch == nullptr ? rows != g.rows : more > g.rows - rows) {
      return DamagedParquet(file_.info().path, "row group " + std::to_string(group) + " holds " +
                                                   (batch == nullptr ? "" : "more than ") +
                                                   std::to_string(rows) + " rows, expected " +
                                                   std::to_string(g.rows));
    }
    if (batch == nullptr) return {};
    ESPALIER_RETURN_IF_ERROR(take(*batch, g.first_row + rows));
    rows += more;
  }
}

Result<bool> ParquetFile::PagesHaveChecksums() const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].rows == 0) continue;
    char head[64] = {};
    ESPALIER_ASSIGN_OR_RETURN(const size_t size, file_.ReadAt(groups_[group].begin, head));
    return PageHasChecksum({head, size});
  }
  return true;
}

}  // namespace espalier::data
