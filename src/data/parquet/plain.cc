#include "src/data/parquet/plain.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/result.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <parquet/schema.h>

#include <algorithm>

namespace espalier::data {
namespace {

// Reads `rows` rows of a column across page boundaries, or fewer at its end. `values` receives the
// values without gaps, and *values_read their number.
template <typename Type>
arrow::Result<int64_t> ReadRows(parquet::ColumnReader& column, int64_t rows, int16_t* levels,
                                typename Type::c_type* values, int64_t* values_read) {
  auto& reader = static_cast<parquet::TypedColumnReader<Type>&>(column);
  int64_t done = 0;
  *values_read = 0;
  while (done < rows && reader.HasNext()) {
    int64_t more_values = 0;
    const int64_t more = reader.ReadBatch(rows - done, levels == nullptr ? nullptr : levels + done,
                                          nullptr, values + *values_read, &more_values);
    if (more <= 0) return arrow::Status::IOError("a page ends early");
    done += more;
    *values_read += more_values;
  }
  return done;
}

// Moves the values of a column with nulls to their rows and sets the validity bits.
template <typename From, typename T>
void Spread(const From* dense, const int16_t* levels, int64_t rows, T* values, uint8_t* bits) {
  for (int64_t r = 0; r < rows; ++r) {
    const bool there = levels[r] != 0;
    values[r] = there ? static_cast<T>(*dense) : T{};
    dense += there;
    arrow::bit_util::SetBitTo(bits, r, there);
  }
}

}  // namespace

bool PlainColumns::CanRead(const parquet::ColumnDescriptor& column, const arrow::DataType& type) {
  if (column.max_repetition_level() > 0 || column.max_definition_level() > 1) return false;
  switch (type.id()) {
    case arrow::Type::UINT8:
    case arrow::Type::INT8:
    case arrow::Type::UINT16:
    case arrow::Type::INT16:
    case arrow::Type::UINT32:
    case arrow::Type::INT32:
      return column.physical_type() == parquet::Type::INT32;
    case arrow::Type::UINT64:
    case arrow::Type::INT64:
      return column.physical_type() == parquet::Type::INT64;
    case arrow::Type::FLOAT:
      return column.physical_type() == parquet::Type::FLOAT;
    case arrow::Type::DOUBLE:
      return column.physical_type() == parquet::Type::DOUBLE;
    default:
      return false;
  }
}

void PlainColumns::Start(parquet::RowGroupReader& group, const std::vector<Wanted>& wanted,
                         int64_t batch_rows) {
  batch_rows_ = batch_rows;
  columns_.resize(wanted.size());
  arrays_.assign(wanted.size(), nullptr);
  for (size_t i = 0; i < wanted.size(); ++i) {
    columns_[i].reader = group.Column(wanted[i].leaf);
    columns_[i].type = wanted[i].type;
    columns_[i].optional = columns_[i].reader->descr()->max_definition_level() > 0;
  }
  levels_.resize(batch_rows);
  dense_.resize(batch_rows);
}

template <typename Type, typename T>
arrow::Status PlainColumns::ReadAs(int64_t rows, size_t index, int64_t* least) {
  using From = typename Type::c_type;
  Column& column = columns_[index];
  if (column.values == nullptr) {
    ARROW_ASSIGN_OR_RAISE(column.values, arrow::AllocateResizableBuffer(0, pool_));
  }
  const int64_t bytes = batch_rows_ * static_cast<int64_t>(sizeof(T));
  if (column.values->size() != bytes) ARROW_RETURN_NOT_OK(column.values->Resize(bytes, false));
  T* values = reinterpret_cast<T*>(column.values->mutable_data());
  From* dense = reinterpret_cast<From*>(dense_.data());
  if constexpr (sizeof(From) == sizeof(T)) dense = reinterpret_cast<From*>(values);
  int64_t values_read = 0;
  ARROW_ASSIGN_OR_RAISE(
      const int64_t got,
      ReadRows<Type>(*column.reader, rows, column.optional ? levels_.data() : nullptr, dense,
                     &values_read));
  *least = std::min(*least, got);
  std::shared_ptr<arrow::Buffer> bits;
  if (values_read != got) {
    const int64_t there = got - std::count(levels_.begin(), levels_.begin() + got, 0);
    if (!column.optional || values_read != there) {
      return arrow::Status::IOError("a page has fewer values than rows");
    }
    if constexpr (sizeof(From) == sizeof(T)) {
      std::copy_n(dense, values_read, reinterpret_cast<From*>(dense_.data()));
      dense = reinterpret_cast<From*>(dense_.data());
    }
    ARROW_ASSIGN_OR_RAISE(bits, arrow::AllocateBitmap(got, pool_));
    Spread(dense, levels_.data(), got, values, bits->mutable_data());
  } else if constexpr (sizeof(From) != sizeof(T)) {
    for (int64_t r = 0; r < got; ++r) values[r] = static_cast<T>(dense[r]);
  }
  std::shared_ptr<arrow::Array>& array = arrays_[index];
  // The array uses the same memory, which now has other values.
  const bool same = array != nullptr && array->length() == got && array->data()->buffers[0] == bits;
  if (same) return arrow::Status::OK();
  array = arrow::MakeArray(
      arrow::ArrayData::Make(column.type, got, {bits, column.values}, got - values_read));
  return arrow::Status::OK();
}

arrow::Status PlainColumns::ReadColumn(int64_t rows, size_t index, int64_t* least) {
  switch (columns_[index].type->id()) {
    case arrow::Type::UINT8:
    case arrow::Type::INT8:
      return ReadAs<parquet::Int32Type, uint8_t>(rows, index, least);
    case arrow::Type::UINT16:
    case arrow::Type::INT16:
      return ReadAs<parquet::Int32Type, uint16_t>(rows, index, least);
    case arrow::Type::UINT32:
    case arrow::Type::INT32:
      return ReadAs<parquet::Int32Type, int32_t>(rows, index, least);
    case arrow::Type::UINT64:
    case arrow::Type::INT64:
      return ReadAs<parquet::Int64Type, int64_t>(rows, index, least);
    case arrow::Type::FLOAT:
      return ReadAs<parquet::FloatType, float>(rows, index, least);
    case arrow::Type::DOUBLE:
      return ReadAs<parquet::DoubleType, double>(rows, index, least);
    default:
      return arrow::Status::Invalid("not a column of plain numbers");
  }
}

arrow::Result<int64_t> PlainColumns::Read(int64_t rows) {
  int64_t least = rows;
  for (size_t i = 0; i < columns_.size(); ++i) ARROW_RETURN_NOT_OK(ReadColumn(rows, i, &least));
  return least;
}

bool PlainColumns::HasMore() {
  return std::any_of(columns_.begin(), columns_.end(),
                     [](const Column& column) { return column.reader->HasNext(); });
}

}  // namespace espalier::data
