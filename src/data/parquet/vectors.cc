#include "src/data/parquet/vectors.h"

#include <arrow/array.h>
#include <arrow/type.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "src/base/text.h"

namespace espalier::data {
namespace {

constexpr int64_t kSparse = 0, kDense = 1;  // Spark's types

// Position of a row's list among the elements.
struct List {
  int64_t begin = 0, length = 0;
};

List ListAt(const arrow::Array& array, int64_t row) {
  if (array.type_id() == arrow::Type::LIST) {
    const auto& lists = static_cast<const arrow::ListArray&>(array);
    return {lists.value_offset(row), lists.value_length(row)};
  }
  if (array.type_id() == arrow::Type::LARGE_LIST) {
    const auto& lists = static_cast<const arrow::LargeListArray&>(array);
    return {lists.value_offset(row), lists.value_length(row)};
  }
  const auto& lists = static_cast<const arrow::FixedSizeListArray&>(array);
  return {lists.value_offset(row), lists.value_length(row)};
}

std::shared_ptr<arrow::Array> Elements(const arrow::Array& array) {
  if (array.type_id() == arrow::Type::LIST) {
    return static_cast<const arrow::ListArray&>(array).values();
  }
  if (array.type_id() == arrow::Type::LARGE_LIST) {
    return static_cast<const arrow::LargeListArray&>(array).values();
  }
  return static_cast<const arrow::FixedSizeListArray&>(array).values();
}

std::shared_ptr<arrow::Array> FieldOf(const arrow::Array& array, const char* name) {
  return static_cast<const arrow::StructArray&>(array).GetFieldByName(name);
}

// Allocates `rows` vectors that `numbers` owns.
double* OwnVectors(Numbers* numbers, int64_t rows, int64_t width) {
  const auto room = std::make_shared<std::vector<double>>(static_cast<size_t>(rows * width));
  numbers->native = Native::kDouble;
  numbers->width = width;
  numbers->data = room->data();
  numbers->owned = room;
  return room->data();
}

// Consecutive lists of one length and without nulls need no copy.
Result<Numbers> FromLists(const arrow::Array& array, int64_t width) {
  const int64_t rows = array.length();
  const std::shared_ptr<arrow::Array> elements = Elements(array);
  const int64_t first = rows > 0 ? ListAt(array, 0).begin : 0;
  bool dense = array.null_count() == 0;
  for (int64_t r = 0; r < rows && dense; ++r) {
    const List list = ListAt(array, r);
    dense = list.length == width && list.begin == first + r * width;
  }
  if (dense) {
    const auto part = elements->Slice(first, rows * width);
    ESPALIER_ASSIGN_OR_RETURN(Numbers numbers, NumbersOf(*part));
    numbers.width = width;
    return numbers;
  }
  ESPALIER_ASSIGN_OR_RETURN(const Numbers values, NumbersOf(*elements));
  Numbers numbers;
  double* out = OwnVectors(&numbers, rows, width);
  for (int64_t r = 0; r < rows; ++r, out += width) {
    const bool null = array.IsNull(r);
    const List list = null ? List{0, width} : ListAt(array, r);
    if (list.length != width) numbers.wrong_lengths.emplace_back(r, list.length);
    for (int64_t i = 0; i < width; ++i) {
      out[i] = null                   ? std::numeric_limits<double>::quiet_NaN()
               : list.length != width ? 0
                                      : values.At(list.begin + i);
    }
  }
  return numbers;
}

// Finds the rows with wrong lengths and faults.
Numbers CheckedVectors(const SparkVectors& vectors, int64_t rows, int64_t width) {
  Numbers numbers;
  numbers.width = width;
  for (int64_t r = 0; r < rows; ++r) {
    if (vectors.IsNull(r)) continue;
    const int64_t length = vectors.Length(r);
    if (length >= 0 && length != width) {
      numbers.wrong_lengths.emplace_back(r, length);
    } else if (length < 0 || !vectors.IsVector(r)) {
      numbers.faults.push_back(r);
    }
  }
  return numbers;
}

Result<Numbers> FromSpark(const arrow::Array& array, int64_t width, bool spelled) {
  const int64_t rows = array.length();
  ESPALIER_ASSIGN_OR_RETURN(std::unique_ptr<SparkVectors> vectors, SparkVectors::Make(array));
  Numbers numbers = CheckedVectors(*vectors, rows, width);
  if (!spelled) {
    numbers.vectors = std::move(vectors);
    return numbers;
  }
  double* const out = OwnVectors(&numbers, rows, width);
  std::vector<bool> bad(static_cast<size_t>(rows));
  for (const auto& [row, length] : numbers.wrong_lengths) bad[row] = true;
  for (const int64_t row : numbers.faults) bad[row] = true;
  for (int64_t r = 0; r < rows; ++r) {
    if (bad[r]) continue;
    vectors->ForEntries(r, 0, width, [&](int64_t i, double value) { out[r * width + i] = value; });
  }
  return numbers;
}

// Returns an element for messages, as in ShownValue, or "a vector of 3" if element is below 0.
std::string ShownElement(const arrow::Array& array, int64_t row, int64_t element) {
  const int64_t length = VectorLength(array, row);
  if (element < 0 || element >= length) {
    return (array.type_id() == arrow::Type::STRUCT ? "a vector of " : "a list of ") +
           std::to_string(length);
  }
  if (array.type_id() != arrow::Type::STRUCT) {
    return ShownValue(*Elements(array), ListAt(array, row).begin + element, -1);
  }
  const auto one = array.Slice(row, 1);
  const auto numbers = FromSpark(*one, length, true);
  return numbers.ok() ? ShortestDouble(numbers->At(element)) : "";
}

}  // namespace

SparkVectors::SparkVectors(const arrow::Array& array)
    : array_(array),
      type_(FieldOf(array, "type")),
      size_(FieldOf(array, "size")),
      indices_(FieldOf(array, "indices")),
      values_(FieldOf(array, "values")) {}

Result<std::unique_ptr<SparkVectors>> SparkVectors::Make(const arrow::Array& array) {
  std::unique_ptr<SparkVectors> made(new SparkVectors(array));
  ESPALIER_ASSIGN_OR_RETURN(made->types_, NumbersOf(*made->type_));
  ESPALIER_ASSIGN_OR_RETURN(made->sizes_, NumbersOf(*made->size_));
  made->index_elements_ = Elements(*made->indices_);
  made->value_elements_ = Elements(*made->values_);
  ESPALIER_ASSIGN_OR_RETURN(made->index_, NumbersOf(*made->index_elements_));
  ESPALIER_ASSIGN_OR_RETURN(made->value_, NumbersOf(*made->value_elements_));
  return made;
}

bool SparkVectors::IsNull(int64_t row) const { return array_.IsNull(row); }

int64_t SparkVectors::Length(int64_t row) const {
  if (IsNull(row) || type_->IsNull(row) || values_->IsNull(row)) return -1;
  const double type = types_.At(row);
  if (type == kDense) return ListAt(*values_, row).length;
  if (type != kSparse || size_->IsNull(row) || indices_->IsNull(row)) return -1;
  const double size = sizes_.At(row);
  return size >= 0 ? static_cast<int64_t>(size) : -1;
}

SparkVectors::Entries SparkVectors::At(int64_t row) const {
  const List values = ListAt(*values_, row);
  if (types_.At(row) == kDense) return {true, 0, values.begin, values.length};
  return {false, ListAt(*indices_, row).begin, values.begin, values.length};
}

bool SparkVectors::IsVector(int64_t row) const {
  const Entries entries = At(row);
  if (entries.dense) return true;
  if (ListAt(*indices_, row).length != entries.count) return false;
  const auto length = static_cast<double>(Length(row));
  double last = -1;
  for (int64_t e = 0; e < entries.count; ++e) {  // also fails for a null index, which is NaN
    const double index = index_.At(entries.indices + e);
    if (!(index > last && index < length)) return false;
    last = index;
  }
  return true;
}

int64_t SparkVectors::FirstAt(const Entries& entries, int64_t index) const {
  int64_t begin = 0, end = entries.count;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    const bool below = index_.At(entries.indices + middle) < static_cast<double>(index);
    (below ? begin : end) = below ? middle + 1 : middle;
  }
  return begin;
}

int64_t VectorLength(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return 0;
  if (array.type_id() != arrow::Type::STRUCT) return ListAt(array, row).length;
  const auto one = array.Slice(row, 1);
  const auto vectors = SparkVectors::Make(*one);
  return vectors.ok() ? std::max<int64_t>(0, (*vectors)->Length(0)) : 0;
}

Result<Numbers> VectorNumbers(const arrow::Array& array, int64_t width, bool spelled) {
  return array.type_id() == arrow::Type::STRUCT ? FromSpark(array, width, spelled)
                                                : FromLists(array, width);
}

std::string ShownValue(const arrow::Array& array, int64_t row, int64_t element) {
  if (array.IsNull(row)) return "null";
  if (array.type()->num_fields() > 0) return ShownElement(array, row, element);
  std::string scratch;
  const auto one = array.Slice(row, 1);
  const auto texts = ColumnTexts::Make(*one);
  if (!texts.ok()) return "";
  const auto text = (*texts)->At(0, &scratch);
  return text ? Printable(*text) : "nan";
}

}  // namespace espalier::data
