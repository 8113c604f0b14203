#include "src/data/parquet/passthrough_arrays.h"

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <utility>

namespace espalier::data {
namespace {

// Returns whether ColumnTexts writes exactly the value. Decimals, dates and times are excluded,
// because ColumnTexts may write another form or a bare number.
bool IsPlain(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY) {
    return IsPlain(*static_cast<const arrow::DictionaryType&>(type).value_type());
  }
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id()) ||
         arrow::is_base_binary_like(type.id()) || type.id() == arrow::Type::BOOL ||
         type.id() == arrow::Type::STRING_VIEW || type.id() == arrow::Type::BINARY_VIEW ||
         type.id() == arrow::Type::FIXED_SIZE_BINARY;
}

}  // namespace

Result<std::unique_ptr<ParquetArrays>> ParquetArrays::Make(Arrays arrays) {
  std::unique_ptr<ParquetArrays> kept(new ParquetArrays(std::move(arrays)));
  for (const auto& array : kept->arrays_) {
    kept->texts_.emplace_back();
    if (!IsPlain(*array->type())) continue;
    ESPALIER_ASSIGN_OR_RETURN(kept->texts_.back(), ColumnTexts::Make(*array));
  }
  return kept;
}

std::string_view ParquetArrays::Text(int64_t row, size_t column, std::string* scratch) const {
  if (texts_[column] != nullptr) return texts_[column]->At(row, scratch).value_or("");
  if (arrays_[column]->IsNull(row)) return "";
  const auto scalar = arrays_[column]->GetScalar(row);
  *scratch = scalar.ok() ? (*scalar)->ToString() : "";
  return *scratch;
}

}  // namespace espalier::data
