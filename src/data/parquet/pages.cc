// The functions of ParquetFile that read the first rows of columns, page by page.
#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include <algorithm>

#include "src/data/parquet/file.h"
#include "src/data/parquet/guard.h"
#include "src/data/parquet/source.h"
#include "src/data/parquet/vectors.h"

namespace espalier::data {
namespace {

constexpr int64_t kProbeRows = 256;

}  // namespace

Result<std::unique_ptr<parquet::arrow::FileReader>> ParquetFile::PageReader() {
  std::unique_ptr<parquet::arrow::FileReader> reader;
  const arrow::Status made = Guarded([&] {
    parquet::ReaderProperties properties(&pool_);
    properties.set_page_checksum_verification(true);
    properties.enable_buffered_stream();
    properties.set_buffer_size(256 << 10);
    parquet::ArrowReaderProperties arrow_properties(false);
    arrow_properties.set_pre_buffer(false);
    arrow_properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
    arrow_properties.set_batch_size(kProbeRows);
    ARROW_ASSIGN_OR_RAISE(
        reader, parquet::arrow::FileReader::Make(
                    &pool_, parquet::ParquetFileReader::Open(source_, properties, metadata_),
                    arrow_properties));
    return arrow::Status::OK();
  });
  if (!made.ok()) return Explain(made, -1);
  return reader;
}

Status ParquetFile::ReadPages(parquet::arrow::FileReader* reader, size_t group,
                              const std::vector<int>& columns, const TakeUntil& take) {
  std::vector<int> leaves;
  for (const int column : columns) {
    leaves.insert(leaves.end(), columns_[column].leaves.begin(), columns_[column].leaves.end());
  }
  for (const int leaf : leaves) ESPALIER_RETURN_IF_ERROR(ChunkOf(group, leaf).status());
  std::vector<const ParquetSourceColumn*> sources;
  for (const int column : columns) sources.push_back(&sources_[column]);
  std::unique_ptr<arrow::RecordBatchReader> batches;
  std::shared_ptr<arrow::RecordBatch> batch;
  for (bool enough = false; !enough;) {
    const arrow::Status read = Guarded([&] {
      if (batches == nullptr) {
        ARROW_ASSIGN_OR_RAISE(batches,
                              reader->GetRecordBatchReader({static_cast<int>(group)}, leaves));
      }
      ARROW_RETURN_NOT_OK(batches->ReadNext(&batch));
      if (batch == nullptr) return arrow::Status::OK();
      ARROW_RETURN_NOT_OK(batch->Validate());
      ARROW_ASSIGN_OR_RAISE(batch, ColumnsOf(*batch, sources, &pool_));
      return arrow::Status::OK();
    });
    if (!read.ok()) return Explain(read, static_cast<int64_t>(group));
    if (batch == nullptr) return {};
    ESPALIER_ASSIGN_OR_RETURN(enough, take(*batch));
  }
  return {};
}

Status ParquetFile::ReadFirst(size_t group, const std::vector<int>& columns, int64_t rows,
                              const TakeBatch& take) {
  ESPALIER_ASSIGN_OR_RETURN(const auto reader, PageReader());
  int64_t done = 0;
  for (; group < groups_.size() && done < rows; ++group) {
    if (groups_[group].rows == 0) continue;
    const int64_t first_row = groups_[group].first_row;
    int64_t of_group = 0;
    ESPALIER_RETURN_IF_ERROR(ReadPages(
        reader.get(), group, columns, [&](const arrow::RecordBatch& batch) -> Result<bool> {
          const auto first = batch.Slice(0, std::min(batch.num_rows(), rows - done));
          ESPALIER_RETURN_IF_ERROR(take(*first, first_row + of_group));
          of_group += first->num_rows();
          done += first->num_rows();
          return done >= rows;
        }));
  }
  return {};
}

Result<int64_t> ParquetFile::FirstWidth(int column) {
  ESPALIER_ASSIGN_OR_RETURN(const auto reader, PageReader());
  int64_t width = 0;
  for (size_t group = 0; group < groups_.size() && width == 0; ++group) {
    if (groups_[group].rows == 0) continue;
    ESPALIER_RETURN_IF_ERROR(ReadPages(
        reader.get(), group, {column}, [&](const arrow::RecordBatch& batch) -> Result<bool> {
          const arrow::Array& vectors = *batch.column(0);
          for (int64_t r = 0; r < vectors.length() && width == 0; ++r) {
            width = VectorLength(vectors, r);
          }
          return width > 0;
        }));
  }
  return width;
}

}  // namespace espalier::data
