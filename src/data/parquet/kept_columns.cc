#include "src/data/parquet/kept_columns.h"

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <utility>

namespace espalier {
namespace {

// Whether ColumnTexts says exactly what a value is: not so of decimals, dates and times, which are
// approximate or bare numbers there.
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

Status KeptColumns::SetArrays(std::vector<std::shared_ptr<arrow::Array>> arrays,
                              std::vector<int64_t> rows) {
  Clear();
  arrays_ = std::move(arrays);
  array_rows_ = std::move(rows);
  for (const auto& array : arrays_) {
    texts_.emplace_back();
    if (!IsPlain(*array->type())) continue;
    ESPALIER_ASSIGN_OR_RETURN(texts_.back(), ColumnTexts::Make(*array));
  }
  return {};
}

void KeptColumns::Clear() {
  text_.clear();
  ends_.clear();
  texts_.clear();
  arrays_.clear();
  array_rows_.clear();
}

std::string_view KeptColumns::Text(int64_t row, size_t column, std::string* scratch) const {
  if (arrays_.empty()) {
    const size_t field = static_cast<size_t>(row) * columns_ + column;
    const size_t begin = field == 0 ? 0 : ends_[field - 1];
    return std::string_view(text_).substr(begin, ends_[field] - begin);
  }
  const int64_t at = array_rows_[static_cast<size_t>(row)];
  if (texts_[column] != nullptr) return texts_[column]->At(at, scratch).value_or("");
  if (arrays_[column]->IsNull(at)) return "";
  const auto scalar = arrays_[column]->GetScalar(at);
  *scratch = scalar.ok() ? (*scalar)->ToString() : "";
  return *scratch;
}

}  // namespace espalier
