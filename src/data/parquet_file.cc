#include "src/data/parquet_file.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <exception>
#include <limits>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/data/parquet_footer.h"

namespace espalier {
namespace {

constexpr int64_t kHoleBytesMax = 1 << 20;    // between columns: read rather than skipped
constexpr int64_t kRangeBytesMax = 64 << 20;  // of one request
constexpr int64_t kProbeRows = 256;

// Runs `body`, which calls Arrow, and turns exceptions into statuses.
template <typename F>
arrow::Status Guarded(F&& body) {
  try {
    return body();
  } catch (const parquet::ParquetStatusException& e) {
    return e.status();
  } catch (const std::bad_alloc&) {
    return arrow::Status::OutOfMemory("no memory");
  } catch (const std::exception& e) {
    return arrow::Status::IOError(e.what());
  }
}

void AddLeaves(const parquet::arrow::SchemaField& field, std::vector<int>* leaves) {
  if (field.is_leaf()) leaves->push_back(field.column_index);
  for (const auto& child : field.children) AddLeaves(child, leaves);
}

}  // namespace

// Serves what was fetched; what was not is read from the file.
class ParquetFile::Source : public arrow::io::RandomAccessFile {
 public:
  explicit Source(const ReadableFile& file) : file_(file) {}

  void Keep(int64_t offset, std::shared_ptr<arrow::ResizableBuffer> bytes) {
    pieces_.emplace_back(offset, std::move(bytes));
  }
  // Forgets what was fetched; a later Room may use its memory again.
  void Drop() {
    for (auto& [offset, bytes] : pieces_) {
      if (bytes.use_count() == 1) spare_.push_back(std::move(bytes));
    }
    pieces_.clear();
  }
  arrow::Result<std::shared_ptr<arrow::ResizableBuffer>> Room(int64_t size) {
    while (!spare_.empty()) {
      std::shared_ptr<arrow::ResizableBuffer> room = std::move(spare_.back());
      spare_.pop_back();
      if (room->capacity() < size) continue;
      ARROW_RETURN_NOT_OK(room->Resize(size, false));
      return room;
    }
    return arrow::AllocateResizableBuffer(size);
  }
  // The first error of the file itself.
  const Status& error() const { return error_; }

  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override {
    for (const auto& [offset, bytes] : pieces_) {
      if (position >= offset && position + size <= offset + bytes->size()) {
        return arrow::SliceBuffer(bytes, position - offset, size);
      }
    }
    const int64_t length = file_.info().length;
    if (position < 0 || size < 0 || position > length) {
      return arrow::Status::IOError("a read at byte ", position, " of a file of ", length);
    }
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(std::min(size, length - position)));
    ARROW_ASSIGN_OR_RAISE(const int64_t got,
                          ReadAt(position, buffer->size(), buffer->mutable_data()));
    return arrow::SliceBuffer(std::move(buffer), 0, got);
  }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    auto got = file_.ReadAt(position, {static_cast<char*>(out), static_cast<size_t>(size)});
    if (got.ok()) return static_cast<int64_t>(*got);
    if (error_.ok()) error_ = got.status();
    return arrow::Status::IOError(got.status().message());
  }
  arrow::Result<int64_t> Read(int64_t size, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position_, size, out));
    position_ += got;
    return got;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(auto bytes, ReadAt(position_, size));
    position_ += bytes->size();
    return bytes;
  }
  arrow::Result<int64_t> GetSize() override { return file_.info().length; }
  arrow::Status Seek(int64_t position) override {
    position_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }

 private:
  const ReadableFile& file_;
  std::vector<std::pair<int64_t, std::shared_ptr<arrow::ResizableBuffer>>> pieces_;
  std::vector<std::shared_ptr<arrow::ResizableBuffer>> spare_;
  Status error_;
  int64_t position_ = 0;
  bool closed_ = false;
};

ParquetFile::ParquetFile(const ReadableFile& file)
    : file_(file),
      counted_(arrow::default_memory_pool()),
      pool_(&counted_, kDecodeBytesMax),
      source_(std::make_shared<Source>(file)) {}

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
    return ResourceExhausted("reading " + where + " of '" + path + "' takes more than " +
                             HumanBytes(kDecodeBytesMax) +
                             " of memory; its values are very long, or it is damaged: write it "
                             "again with smaller row groups and without the long values")
        .At({.file = path});
  }
  if (error.IsNotImplemented()) {
    return Unimplemented(where + " of '" + path + "' cannot be read: " + what +
                         "; write the file with plain types and snappy, zstd or gzip")
        .At({.file = path});
  }
  return DamagedParquet(path, where + " cannot be read (" + what + ")");
}

Result<std::unique_ptr<ParquetFile>> ParquetFile::Open(const ReadableFile& file) {
  ESPALIER_ASSIGN_OR_RETURN(const ParquetFooter footer, ReadParquetFooter(file));
  std::unique_ptr<ParquetFile> opened(new ParquetFile(file));
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
    ARROW_ASSIGN_OR_RAISE(
        reader_, parquet::arrow::FileReader::Make(
                     &pool_, parquet::ParquetFileReader::Open(source_, properties, metadata_),
                     arrow_properties));
    for (const auto& field : reader_->manifest().schema_fields) {
      columns_.push_back(DescribeColumn(*field.field));
      AddLeaves(field, &columns_.back().leaves);
    }
    return arrow::Status::OK();
  });
  return parsed.ok() ? Status() : Explain(parsed, -1);
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
  const arrow::Status read = Guarded([&] {
    const auto chunk = metadata_->RowGroup(static_cast<int>(group))->ColumnChunk(leaf);
    span.begin = chunk->data_page_offset();
    if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0) {
      span.begin = std::min(span.begin, chunk->dictionary_page_offset());
    }
    size = chunk->total_compressed_size();
    return arrow::Status::OK();
  });
  if (!read.ok()) return Explain(read, -1);
  span.end = span.begin + size;
  if (span.begin >= 0 && size >= 0 && span.begin <= footer_begin_ &&
      size <= footer_begin_ - span.begin) {
    return span;
  }
  return DamagedParquet(file_.info().path, "a column of row group " + std::to_string(group) +
                                               " is said to have " + std::to_string(size) +
                                               " bytes from byte " + std::to_string(span.begin) +
                                               ", expected a place before the footer at " +
                                               std::to_string(footer_begin_));
}

Status ParquetFile::FetchSpan(const Span& span) {
  auto buffer = source_->Room(span.end - span.begin);
  if (!buffer.ok()) return Explain(buffer.status(), -1);
  char* data = reinterpret_cast<char*>((*buffer)->mutable_data());
  const size_t size = static_cast<size_t>(span.end - span.begin);
  ESPALIER_ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(span.begin, {data, size}));
  if (got != size) {
    return DataLoss("'" + file_.info().path + "' became shorter while it was read")
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
    return ResourceExhausted("row group " + std::to_string(group) + " of '" + file_.info().path +
                             "' has " + HumanBytes(bytes) +
                             " in the columns of the job, expected at most " +
                             HumanBytes(kGroupBytesMax) +
                             "; write the file with smaller row groups (128 MiB is usual)")
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
    ESPALIER_RETURN_IF_ERROR(FetchSpan(span));
    span = next;
  }
  return FetchSpan(span);
}

Status ParquetFile::ReadGroup(size_t group, const std::vector<int>& columns, int64_t batch_rows,
                              const TakeBatch& take) {
  std::vector<int> leaves;
  for (const int column : columns) {
    leaves.insert(leaves.end(), columns_[column].leaves.begin(), columns_[column].leaves.end());
  }
  ESPALIER_RETURN_IF_ERROR(Fetch(group, leaves));
  reader_->set_batch_size(batch_rows);
  const Status read = ReadBatches(group, leaves, take);
  source_->Drop();
  return read;
}

Status ParquetFile::ReadBatches(size_t group, const std::vector<int>& leaves,
                                const TakeBatch& take) {
  const ParquetGroup& g = groups_[group];
  std::unique_ptr<arrow::RecordBatchReader> batches;
  arrow::Status read = Guarded([&] {
    ARROW_ASSIGN_OR_RAISE(batches,
                          reader_->GetRecordBatchReader({static_cast<int>(group)}, leaves));
    return arrow::Status::OK();
  });
  if (!read.ok()) return Explain(read, static_cast<int64_t>(group));
  for (int64_t rows = 0;;) {
    std::shared_ptr<arrow::RecordBatch> batch;
    read = Guarded([&] {
      ARROW_RETURN_NOT_OK(batches->ReadNext(&batch));
      return batch == nullptr ? arrow::Status::OK() : batch->Validate();
    });
    if (!read.ok()) return Explain(read, static_cast<int64_t>(group));
    const int64_t more = batch == nullptr ? 0 : batch->num_rows();
    if (batch == nullptr ? rows != g.rows : more > g.rows - rows) {
      return DamagedParquet(file_.info().path, "row group " + std::to_string(group) + " holds " +
                                                   (batch == nullptr ? "" : "more than ") +
                                                   std::to_string(rows) + " rows, expected " +
                                                   std::to_string(g.rows));
    }
    if (batch == nullptr) return {};
    if (more > 0) ESPALIER_RETURN_IF_ERROR(take(*batch, g.first_row + rows));
    rows += more;
  }
}

Result<int64_t> ParquetFile::FirstWidthIn(size_t group, int column,
                                          parquet::arrow::FileReader* reader) {
  int64_t width = 0;
  const arrow::Status read = Guarded([&] {
    ARROW_ASSIGN_OR_RAISE(auto batches, reader->GetRecordBatchReader({static_cast<int>(group)},
                                                                     columns_[column].leaves));
    for (std::shared_ptr<arrow::RecordBatch> batch; width == 0;) {
      ARROW_RETURN_NOT_OK(batches->ReadNext(&batch));
      if (batch == nullptr) break;
      const arrow::Array& lists = *batch->column(0);
      for (int64_t r = 0; r < lists.length() && width == 0; ++r) {
        if (lists.IsNull(r)) continue;
        if (lists.type_id() == arrow::Type::LIST) {
          width = static_cast<const arrow::ListArray&>(lists).value_length(r);
        } else if (lists.type_id() == arrow::Type::LARGE_LIST) {
          width = static_cast<const arrow::LargeListArray&>(lists).value_length(r);
        }
      }
    }
    return arrow::Status::OK();
  });
  if (!read.ok()) return Explain(read, static_cast<int64_t>(group));
  return width;
}

Result<int64_t> ParquetFile::FirstWidth(int column) {
  // A reader of its own, which reads pages one by one instead of whole columns.
  std::unique_ptr<parquet::arrow::FileReader> reader;
  const arrow::Status made = Guarded([&] {
    parquet::ReaderProperties properties(&pool_);
    properties.set_page_checksum_verification(true);
    properties.enable_buffered_stream();
    properties.set_buffer_size(256 << 10);
    parquet::ArrowReaderProperties arrow_properties(false);
    arrow_properties.set_pre_buffer(false);
    arrow_properties.set_batch_size(kProbeRows);
    ARROW_ASSIGN_OR_RAISE(
        reader, parquet::arrow::FileReader::Make(
                    &pool_, parquet::ParquetFileReader::Open(source_, properties, metadata_),
                    arrow_properties));
    return arrow::Status::OK();
  });
  if (!made.ok()) return Explain(made, -1);
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].rows == 0) continue;
    for (const int leaf : columns_[column].leaves) {
      ESPALIER_RETURN_IF_ERROR(ChunkOf(group, leaf).status());
    }
    ESPALIER_ASSIGN_OR_RETURN(const int64_t width, FirstWidthIn(group, column, reader.get()));
    if (width > 0) return width;
  }
  return int64_t{0};
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

}  // namespace espalier
