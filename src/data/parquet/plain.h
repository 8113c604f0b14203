// Columns of plain numbers of one row group, decoded page by page straight into arrays that are
// used again for each batch. Arrow's own assembly of record batches gives the same arrays, but
// allocates them anew, and walks validity bits even where nothing is null.
//
// Arrow's exceptions pass through: callers catch them. Thread rule: one thread a PlainColumns.
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
  // Whether a column can be read so: its elements are whole numbers or floats that Parquet stores
  // as such, one a row.
  static bool CanRead(const parquet::ColumnDescriptor& column, const arrow::DataType& type);

  explicit PlainColumns(arrow::MemoryPool* pool) : pool_(pool) {}

  struct Wanted {
    int leaf = 0;                           // Parquet's column, for which CanRead
    std::shared_ptr<arrow::DataType> type;  // of the array
  };
  // Starts with a group. The arrays of the one before become invalid.
  void Start(parquet::RowGroupReader& group, const std::vector<Wanted>& wanted, int64_t batch_rows);

  // Reads the next `rows` rows (at most batch_rows) of each column; arrays() then has them, in the
  // order of `wanted`, until the next call. Returns how many rows the shortest column had.
  arrow::Result<int64_t> Read(int64_t rows);
  const arrow::ArrayVector& arrays() const { return arrays_; }
  // Whether a column has rows left.
  bool HasMore();

 private:
  struct Column {
    std::shared_ptr<parquet::ColumnReader> reader;
    std::shared_ptr<arrow::DataType> type;
    bool optional = false;
    std::shared_ptr<arrow::ResizableBuffer> values;  // batch_rows_ of them
  };
  arrow::Status ReadColumn(int64_t rows, size_t index, int64_t* least);
  template <typename Type, typename T>
  arrow::Status ReadAs(int64_t rows, size_t index, int64_t* least);

  arrow::MemoryPool* const pool_;
  int64_t batch_rows_ = 0;
  std::vector<Column> columns_;
  arrow::ArrayVector arrays_;
  std::vector<int16_t> levels_;  // of a batch of a column: 1 is a value, 0 a null
  std::vector<int64_t> dense_;   // room for its values without nulls, as Parquet stores them
};

}  // namespace espalier::data
