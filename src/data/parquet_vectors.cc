#include "src/data/parquet_vectors.h"

#include <arrow/array.h>
#include <arrow/type.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/text.h"

namespace espalier {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kSparse = 0, kDense = 1;  // Spark's types

// Where the list of a row lies among the elements.
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

// Room for `rows` vectors that `numbers` owns.
double* OwnVectors(Numbers* numbers, int64_t rows, int64_t width) {
  const auto room = std::make_shared<std::vector<double>>(static_cast<size_t>(rows * width));
  numbers->native = Native::kDouble;
  numbers->width = width;
  numbers->data = room->data();
  numbers->owned = room;
  return room->data();
}

// Lists that are there, of one length and one after the other need no copy.
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
    ESPALIER_ASSIGN_OR_RETURN(Numbers numbers, NumbersOf(*part, false, 1));
    numbers.width = width;
    return numbers;
  }
  ESPALIER_ASSIGN_OR_RETURN(const Numbers values, NumbersOf(*elements, false, 1));
  Numbers numbers;
  double* out = OwnVectors(&numbers, rows, width);
  for (int64_t r = 0; r < rows; ++r, out += width) {
    const bool null = array.IsNull(r);
    const List list = null ? List{0, width} : ListAt(array, r);
    if (list.length != width) numbers.wrong_lengths.emplace_back(r, list.length);
    for (int64_t i = 0; i < width; ++i) {
      out[i] = null ? kNan : list.length != width ? 0 : values.At(list.begin + i);
    }
  }
  return numbers;
}

// A column of Spark's vectors.
class SparkVectors {
 public:
  static Result<std::unique_ptr<SparkVectors>> Make(const arrow::Array& array) {
    std::unique_ptr<SparkVectors> made(new SparkVectors(array));
    ESPALIER_ASSIGN_OR_RETURN(made->types_, NumbersOf(*made->type_, false, 1));
    ESPALIER_ASSIGN_OR_RETURN(made->sizes_, NumbersOf(*made->size_, false, 1));
    made->index_elements_ = Elements(*made->indices_);
    made->value_elements_ = Elements(*made->values_);
    ESPALIER_ASSIGN_OR_RETURN(made->index_, NumbersOf(*made->index_elements_, false, 1));
    ESPALIER_ASSIGN_OR_RETURN(made->value_, NumbersOf(*made->value_elements_, false, 1));
    return made;
  }

  bool IsNull(int64_t row) const { return array_.IsNull(row); }
  // Its length; below 0: what stands there is no vector.
  int64_t Length(int64_t row) const {
    if (IsNull(row) || type_->IsNull(row) || values_->IsNull(row)) return -1;
    const double type = types_.At(row);
    if (type == kDense) return ListAt(*values_, row).length;
    if (type != kSparse || size_->IsNull(row) || indices_->IsNull(row)) return -1;
    const double size = sizes_.At(row);
    return size >= 0 ? static_cast<int64_t>(size) : -1;
  }
  // Writes it to `out`, which is 0. False: it is no vector after all. REQUIRES: Length(row) >= 0.
  bool Spell(int64_t row, int64_t length, double* out) const {
    const List values = ListAt(*values_, row);
    if (types_.At(row) == kDense) {
      for (int64_t i = 0; i < length; ++i) out[i] = value_.At(values.begin + i);
      return true;
    }
    const List indices = ListAt(*indices_, row);
    if (indices.length != values.length) return false;
    double last = -1;
    for (int64_t i = 0; i < indices.length; ++i) {  // a null index is NaN, and fails too
      const double index = index_.At(indices.begin + i);
      if (!(index > last && index < static_cast<double>(length))) return false;
      out[static_cast<int64_t>(index)] = value_.At(values.begin + i);
      last = index;
    }
    return true;
  }

 private:
  explicit SparkVectors(const arrow::Array& array)
      : array_(array),
        type_(Field("type")),
        size_(Field("size")),
        indices_(Field("indices")),
        values_(Field("values")) {}
  std::shared_ptr<arrow::Array> Field(const char* name) const {
    return static_cast<const arrow::StructArray&>(array_).GetFieldByName(name);
  }

  const arrow::Array& array_;
  const std::shared_ptr<arrow::Array> type_, size_, indices_, values_;
  std::shared_ptr<arrow::Array> index_elements_, value_elements_;
  Numbers types_, sizes_, index_, value_;
};

Result<Numbers> FromSpark(const arrow::Array& array, int64_t width) {
  ESPALIER_ASSIGN_OR_RETURN(const auto vectors, SparkVectors::Make(array));
  Numbers numbers;
  double* out = OwnVectors(&numbers, array.length(), width);
  for (int64_t r = 0; r < array.length(); ++r, out += width) {
    if (vectors->IsNull(r)) {
      std::fill(out, out + width, kNan);
      continue;
    }
    const int64_t length = vectors->Length(r);
    if (length >= 0 && length != width) {
      numbers.wrong_lengths.emplace_back(r, length);
    } else if (length < 0 || !vectors->Spell(r, width, out)) {
      numbers.faults.push_back(r);
      std::fill(out, out + width, 0);
    }
  }
  return numbers;
}

}  // namespace

bool IsSparkVector(const arrow::DataType& type) {
  if (type.id() != arrow::Type::STRUCT || type.num_fields() != 4) return false;
  const auto is = [&](int field, const char* name, arrow::Type::type id,
                      std::optional<arrow::Type::type> element = {}) {
    const arrow::Field& f = *type.field(field);
    return f.name() == name && f.type()->id() == id &&
           (!element || f.type()->field(0)->type()->id() == *element);
  };
  return is(0, "type", arrow::Type::INT8) && is(1, "size", arrow::Type::INT32) &&
         is(2, "indices", arrow::Type::LIST, arrow::Type::INT32) &&
         is(3, "values", arrow::Type::LIST, arrow::Type::DOUBLE);
}

int64_t VectorLength(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return 0;
  if (array.type_id() != arrow::Type::STRUCT) return ListAt(array, row).length;
  const auto one = array.Slice(row, 1);
  const auto vectors = SparkVectors::Make(*one);
  return vectors.ok() ? std::max<int64_t>(0, (*vectors)->Length(0)) : 0;
}

Result<Numbers> VectorNumbers(const arrow::Array& array, int64_t width) {
  return array.type_id() == arrow::Type::STRUCT ? FromSpark(array, width) : FromLists(array, width);
}

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
  const auto numbers = FromSpark(*one, length);
  return numbers.ok() ? ShortestDouble(numbers->At(element)) : "";
}

}  // namespace espalier
