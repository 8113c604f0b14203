// The rows of one row group as record batches: columns of plain numbers by PlainColumns, the others
// by Arrow's own reader.
//
// Arrow's exceptions pass through: callers catch them. Thread rule: one thread.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type_fwd.h>
#include <parquet/arrow/reader.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/data/parquet/plain.h"

namespace espalier::data {

// How a column of a file is read.
struct ParquetSourceColumn {
  std::shared_ptr<arrow::Field> field;
  std::vector<int> leaves;        // Parquet's own columns
  bool plain = false;             // PlainColumns::CanRead
  bool uuid = false;              // 16 bytes a value, which become text
  int top = 0;                    // number of the file's column that it is, or that it lies in
  std::vector<std::string> path;  // from there: names of fields within structs
};

// From the batches that Arrow reads, where fields of one struct are one column, to `columns`.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> ColumnsOf(
    const arrow::RecordBatch& batch, const std::vector<const ParquetSourceColumn*>& columns,
    arrow::MemoryPool* pool);

class ParquetBatches {
 public:
  using Column = ParquetSourceColumn;

  // `reader` must outlive it.
  ParquetBatches(parquet::arrow::FileReader& reader, arrow::MemoryPool* pool)
      : reader_(reader), pool_(pool), plain_(pool) {}

  // Starts with a row group and `columns` of it, in batches of at most `batch_rows`. The columns
  // must stay until the last batch.
  arrow::Status Start(int group, const std::vector<const Column*>& columns, int64_t batch_rows);

  // The next batch, of which the group should have `left` rows left; null where it ends. More than
  // `left` rows: the group holds more than that. The batch is valid until the next call.
  arrow::Status Next(int64_t left, std::shared_ptr<arrow::RecordBatch>* batch);

 private:
  arrow::Status NextOfOthers(std::shared_ptr<arrow::RecordBatch>* batch);

  parquet::arrow::FileReader& reader_;
  arrow::MemoryPool* const pool_;
  PlainColumns plain_;
  std::unique_ptr<arrow::RecordBatchReader> others_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<bool> is_plain_;  // by column
  std::vector<const Column*> by_arrow_;
  bool has_plain_ = false;
  int64_t batch_rows_ = 0;
};

}  // namespace espalier::data
