// Reads the rows of one row group as record batches. PlainColumns reads columns of plain numbers,
// and Arrow's reader reads the others.
//
// Errors: exceptions of Arrow pass through, and callers catch them. Thread rule: one thread.
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

// Describes how to read a column of a file.
struct ParquetSourceColumn {
  std::shared_ptr<arrow::Field> field;
  std::vector<int> leaves;        // leaf columns of Parquet
  bool plain = false;             // PlainColumns::CanRead
  bool uuid = false;              // values of 16 bytes, which become text
  int top = 0;                    // index of the top-level column that it is or is part of
  std::vector<std::string> path;  // field names within structs, from there
};

// Selects `columns` from the batches that Arrow reads, in which the fields of one struct are one
// column.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> ColumnsOf(
    const arrow::RecordBatch& batch, const std::vector<const ParquetSourceColumn*>& columns,
    arrow::MemoryPool* pool);

class ParquetBatches {
 public:
  using Column = ParquetSourceColumn;

  // `reader` must outlive this.
  ParquetBatches(parquet::arrow::FileReader& reader, arrow::MemoryPool* pool)
      : reader_(reader), pool_(pool), plain_(pool) {}

  // Starts with a row group and some of its `columns`, in batches of at most `batch_rows`. The
  // columns must stay valid until the last batch.
  arrow::Status Start(int group, const std::vector<const Column*>& columns, int64_t batch_rows);

  // Stores the next batch, or null at the end of the group. `left`: rows that the group should
  // still have. A batch with more rows shows that the group has more than that. Valid until the
  // next call.
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
