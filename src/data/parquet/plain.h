// Decodes columns of plain numbers in one row group, page by page, directly into arrays that are
// reused for each batch. Arrow's assembly of record batches returns the same arrays, but it
// allocates them each time and scans validity bits even if no value is null.
//
// Errors: exceptions of Arrow pass through, and callers catch them. Thread rule: one thread per
// PlainColumns.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/type_fwd.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace espalier::data {

class PlainColumns {
 public:
  // Returns whether this class can read a column: its elements are integers or floats that Parquet
  // stores in that form, one per row.
  static bool CanRead(const parquet::ColumnDescriptor& column, const arrow::DataType& type);

  explicit PlainColumns(arrow::MemoryPool* pool) : pool_(pool) {}

  struct Wanted {
    int leaf = 0;                           // leaf column of Parquet that satisfies CanRead
    std::shared_ptr<arrow::DataType> type;  // type of the array
  };
  // Starts a row group. Arrays of the previous group become invalid.
  void Start(parquet::RowGroupReader& group, const std::vector<Wanted>& wanted, int64_t batch_rows);

  // Reads the next `rows` rows (at most batch_rows) of each column into arrays(), in the order of
  // `wanted`. They are valid until the next call. Returns the number of rows of the shortest
  // column.
  arrow::Result<int64_t> Read(int64_t rows);
  const arrow::ArrayVector& arrays() const { return arrays_; }
  // Returns whether a column has rows left.
  bool HasMore();

 private:
  struct Column {
    std::shared_ptr<parquet::ColumnReader> reader;
    std::shared_ptr<arrow::DataType> type;
    bool optional = false;
    std::shared_ptr<arrow::ResizableBuffer> values;  // room for batch_rows_ values
  };
  arrow::Status ReadColumn(int64_t rows, size_t index, int64_t* least);
  template <typename Type, typename T>
  arrow::Status ReadAs(int64_t rows, size_t index, int64_t* least);

  arrow::MemoryPool* const pool_;
  int64_t batch_rows_ = 0;
  std::vector<Column> columns_;
  arrow::ArrayVector arrays_;
  std::vector<int16_t> levels_;  // levels of a column's batch: 1 is a value, 0 a null
  std::vector<int64_t> dense_;   // room for its values without nulls, as Parquet stores them
};

}  // namespace espalier::data
