#include "src/data/parquet/batches.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <string>
#include <utility>

namespace espalier::data {
namespace {

// Converts values of 16 bytes to the form "00112233-4455-6677-8899-aabbccddeeff".
arrow::Result<std::shared_ptr<arrow::Array>> TextsOf(std::shared_ptr<arrow::Array> array) {
  constexpr int kBytes = 16;
  constexpr const char* kDigits = "0123456789abcdef";
  if (array->type_id() == arrow::Type::EXTENSION) {
    array = static_cast<const arrow::ExtensionArray&>(*array).storage();
  }
  if (array->type_id() != arrow::Type::FIXED_SIZE_BINARY) {
    return arrow::Status::Invalid("a column of UUIDs has the type " + array->type()->ToString());
  }
  const auto& values = static_cast<const arrow::FixedSizeBinaryArray&>(*array);
  if (values.byte_width() != kBytes) return arrow::Status::Invalid("a UUID does not have 16 bytes");
  arrow::StringBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(values.length()));
  for (int64_t r = 0; r < values.length(); ++r) {
    if (values.IsNull(r)) {
      ARROW_RETURN_NOT_OK(builder.AppendNull());
      continue;
    }
    std::string text;
    for (int i = 0; i < kBytes; ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      const uint8_t byte = values.GetValue(r)[i];
      text += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
    ARROW_RETURN_NOT_OK(builder.Append(text));
  }
  return builder.Finish();
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ColumnsOf(
    const arrow::RecordBatch& batch, const std::vector<const ParquetSourceColumn*>& columns,
    arrow::MemoryPool* pool) {
  // Arrow reads the columns in the order in which they are first requested.
  std::vector<int> tops;
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const ParquetSourceColumn* column : columns) {
    const auto at = std::find(tops.begin(), tops.end(), column->top);
    const auto place = static_cast<int>(at - tops.begin());
    if (at == tops.end()) tops.push_back(column->top);
    if (place >= batch.num_columns()) return arrow::Status::Invalid("a column is missing");
    std::shared_ptr<arrow::Array> array = batch.column(place);
    for (const std::string& name : column->path) {
      if (array->type_id() != arrow::Type::STRUCT) {
        return arrow::Status::Invalid("the field " + name + " is not in a struct");
      }
      const auto& parent = static_cast<const arrow::StructArray&>(*array);
      const int field = parent.struct_type()->GetFieldIndex(name);
      if (field < 0) return arrow::Status::Invalid("the field " + name + " is missing");
      ARROW_ASSIGN_OR_RAISE(array, parent.GetFlattenedField(field, pool));
    }
    if (column->uuid) {
      ARROW_ASSIGN_OR_RAISE(array, TextsOf(array));
    }
    fields.push_back(arrow::field(column->field->name(), array->type()));
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(),
                                  std::move(arrays));
}

arrow::Status ParquetBatches::Start(int group, const std::vector<const Column*>& columns,
                                    int64_t batch_rows) {
  batch_rows_ = batch_rows;
  arrow::FieldVector fields;
  std::vector<PlainColumns::Wanted> plain;
  std::vector<int> leaves;
  is_plain_.clear();
  by_arrow_.clear();
  for (const Column* column : columns) {
    fields.push_back(column->field);
    is_plain_.push_back(column->plain);
    if (column->plain) {
      plain.push_back({column->leaves[0], column->field->type()});
    } else {
      by_arrow_.push_back(column);
      leaves.insert(leaves.end(), column->leaves.begin(), column->leaves.end());
    }
  }
  schema_ = arrow::schema(std::move(fields));
  has_plain_ = !plain.empty();
  others_ = nullptr;
  plain_.Start(*reader_.parquet_reader()->RowGroup(group), plain, batch_rows);
  if (leaves.empty()) return arrow::Status::OK();
  reader_.set_batch_size(batch_rows);
  ARROW_ASSIGN_OR_RAISE(others_, reader_.GetRecordBatchReader({group}, leaves));
  return arrow::Status::OK();
}

arrow::Status ParquetBatches::NextOfOthers(std::shared_ptr<arrow::RecordBatch>* batch) {
  do {
    ARROW_RETURN_NOT_OK(others_->ReadNext(batch));
  } while (*batch != nullptr && (*batch)->num_rows() == 0);
  if (*batch == nullptr) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK((*batch)->Validate());
  ARROW_ASSIGN_OR_RAISE(*batch, ColumnsOf(**batch, by_arrow_, pool_));
  return arrow::Status::OK();
}

arrow::Status ParquetBatches::Next(int64_t left, std::shared_ptr<arrow::RecordBatch>* batch) {
  *batch = nullptr;
  std::shared_ptr<arrow::RecordBatch> others;
  int64_t rows = std::min(batch_rows_, left);
  if (others_ != nullptr) {
    ARROW_RETURN_NOT_OK(NextOfOthers(&others));
    rows = others == nullptr ? 0 : others->num_rows();
    if (!has_plain_ || rows > left) {
      *batch = std::move(others);
      return arrow::Status::OK();
    }
  }
  // One row beyond the end, if a column has it, shows that there are too many.
  if (rows == 0 && left == 0 && plain_.HasMore()) rows = 1;
  ARROW_ASSIGN_OR_RAISE(const int64_t got, plain_.Read(rows));
  if (others_ != nullptr && got != (others == nullptr ? 0 : rows)) {
    return arrow::Status::Invalid("its columns have different numbers of rows");
  }
  if (rows == 0 || (got == 0 && left > 0)) return arrow::Status::OK();
  if (got == 0) return arrow::Status::Invalid("its columns have different numbers of rows");
  arrow::ArrayVector arrays;
  size_t plain = 0;
  int other = 0;
  for (const bool is_plain : is_plain_) {
    std::shared_ptr<arrow::Array> array =
        is_plain ? plain_.arrays()[plain++] : others->column(other++);
    arrays.push_back(array->length() == got ? std::move(array) : array->Slice(0, got));
  }
  *batch = arrow::RecordBatch::Make(schema_, got, std::move(arrays));
  return arrow::Status::OK();
}

}  // namespace espalier::data
