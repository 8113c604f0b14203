#include "src/data/parquet/numbers.h"

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "src/data/features/feature_decoder.h"
#include "src/data/parquet/columns.h"
#include "src/data/table/class_text.h"
#include "src/data/table/number.h"

namespace espalier::data {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kDayMs = 86'400'000;

template <typename T>
constexpr Native kNativeOf = [] {
  if constexpr (std::is_same_v<T, float>) return Native::kFloat;
  if constexpr (std::is_same_v<T, double>) return Native::kDouble;
  constexpr int kSize = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : sizeof(T) == 4 ? 4 : 6;
  return static_cast<Native>(kSize + (std::is_signed_v<T> ? 1 : 0));
}();

// Allocates `count` numbers that `numbers` owns.
template <typename T>
T* Own(Numbers* numbers, int64_t count) {
  std::shared_ptr<T[]> room(new T[count > 0 ? count : 1]);
  numbers->native = kNativeOf<T>;
  numbers->data = room.get();
  numbers->owned = room;
  return room.get();
}

// Returns numbers of type To, one per row, from `value(row)`. NaN where the array is null.
template <typename To, typename F>
Numbers Converted(const arrow::Array& array, F&& value) {
  Numbers numbers;
  const int64_t rows = array.length();
  To* out = Own<To>(&numbers, rows);
  if (array.null_count() == 0) {
    for (int64_t r = 0; r < rows; ++r) out[r] = static_cast<To>(value(r));
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      out[r] = array.IsNull(r) ? static_cast<To>(kNan) : static_cast<To>(value(r));
    }
  }
  return numbers;
}

// Returns the values directly from the array. Those of nulls are arbitrary.
template <typename T>
Numbers Raw(const arrow::Array& array) {
  Numbers numbers;
  numbers.native = kNativeOf<T>;
  numbers.data = array.data()->GetValues<T>(1);
  return numbers;
}

// Returns values that the array stores as T.
template <typename T>
Numbers Plain(const arrow::Array& array) {
  if (array.null_count() == 0) return Raw<T>(array);
  const T* values = array.data()->GetValues<T>(1);
  // Up to 16 bits fit exactly in a float. A float remains a float.
  using To = std::conditional_t<sizeof(T) <= 2 || std::is_same_v<T, float>, float, double>;
  return Converted<To>(array, [values](int64_t r) { return values[r]; });
}

// Converts integers in units of 1 / divisor.
template <typename T>
Numbers Scaled(const arrow::Array& array, int64_t divisor) {
  const T* values = array.data()->GetValues<T>(1);
  // Nanoseconds since 1970 have more digits than a double. Up to 2^53, the quotient is rounded
  // once. Above, the whole seconds are exact, and the error of the rest is far below their last
  // bit.
  constexpr int64_t kNanos = 1'000'000'000, kExact = int64_t{1} << 53;
  if (divisor == kNanos) {
    return Converted<double>(array, [=](int64_t r) {
      const auto value = static_cast<int64_t>(values[r]);
      if (-kExact <= value && value <= kExact) {
        return static_cast<double>(value) / static_cast<double>(kNanos);
      }
      return static_cast<double>(value / kNanos) +
             static_cast<double>(value % kNanos) / static_cast<double>(kNanos);
    });
  }
  return Converted<double>(array, [=](int64_t r) {
    return static_cast<double>(values[r]) / static_cast<double>(divisor);
  });
}

int64_t UnitsASecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1'000;
    case arrow::TimeUnit::MICRO:
      return 1'000'000;
    case arrow::TimeUnit::NANO:
      break;
  }
  return 1'000'000'000;
}

Numbers Booleans(const arrow::Array& array) {
  const auto& values = static_cast<const arrow::BooleanArray&>(array);
  const auto value = [&](int64_t r) { return values.Value(r) ? 1 : 0; };
  return array.null_count() == 0 ? Converted<uint8_t>(array, value)
                                 : Converted<float>(array, value);
}

Numbers Halves(const arrow::Array& array) {
  const uint16_t* bits = array.data()->GetValues<uint16_t>(1);
  return Converted<float>(
      array, [bits](int64_t r) { return arrow::util::Float16::FromBits(bits[r]).ToFloat(); });
}

// Returns the nearest double. The quotient of two exact numbers is rounded once. Otherwise the text
// is parsed.
template <typename Decimal>
double DecimalNumber(const Decimal& value, int32_t scale) {
  static constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr int64_t kExact = int64_t{1} << 53;
  if (scale >= 0 && scale < static_cast<int32_t>(kPowers.size()) && value <= Decimal(kExact) &&
      value >= Decimal(-kExact)) {
    int64_t whole = 0;
    if constexpr (std::is_same_v<Decimal, arrow::Decimal256>) {
      whole = static_cast<int64_t>(value.low_bits());
    } else {
      whole = static_cast<int64_t>(value);
    }
    return static_cast<double>(whole) / kPowers[scale];
  }
  double number = 0;
  switch (ParseNumberSlowly(value.ToString(scale), &number)) {
    case NumberKind::kNumber:
      return number;
    case NumberKind::kInfinite:
      return std::numeric_limits<double>::infinity();
    default:
      return kNan;
  }
}

template <typename Decimal, typename Array>
Numbers Decimals(const arrow::Array& array) {
  const auto& values = static_cast<const Array&>(array);
  const int32_t scale = static_cast<const arrow::DecimalType&>(*array.type()).scale();
  return Converted<double>(
      array, [&](int64_t r) { return DecimalNumber(Decimal(values.GetValue(r)), scale); });
}

// Calls f with the array of texts. False: the array does not contain text.
template <typename F>
bool WithTexts(const arrow::Array& array, F&& f) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      f(static_cast<const arrow::BinaryArray&>(array));
      return true;
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      f(static_cast<const arrow::LargeBinaryArray&>(array));
      return true;
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      f(static_cast<const arrow::BinaryViewArray&>(array));
      return true;
    case arrow::Type::FIXED_SIZE_BINARY:
      f(static_cast<const arrow::FixedSizeBinaryArray&>(array));
      return true;
    default:
      return false;
  }
}

// Parses the texts as in CSV.
template <typename Array>
Numbers ParsedTexts(const Array& texts, bool words, const ValueRules& rules) {
  std::vector<int64_t> not_numbers;
  Numbers numbers = Converted<double>(texts, [&](int64_t r) {
    double value = 0;
    const auto word = words ? BooleanWord(texts.GetView(r)) : std::nullopt;
    if (word) return *word ? 1.0 : 0.0;
    switch (rules.ParseNumber(texts.GetView(r), &value)) {
      case NumberKind::kNumber:
        return value;
      case NumberKind::kInfinite:
        return std::numeric_limits<double>::infinity();
      case NumberKind::kNotNumber:
        not_numbers.push_back(r);
        return 0.0;
      case NumberKind::kNull:
        break;
    }
    return kNan;
  });
  numbers.not_numbers = std::move(not_numbers);
  return numbers;
}

Result<Numbers> FromDictionary(const arrow::Array& array, bool words, const ValueRules& rules) {
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
  ESPALIER_ASSIGN_OR_RETURN(const Numbers values,
                            NumbersOf(*dictionary.dictionary(), words, rules));
  const int64_t size = dictionary.dictionary()->length();
  std::vector<bool> bad(size);
  for (const int64_t i : values.not_numbers) bad[i] = true;
  std::vector<int64_t> not_numbers;
  Numbers numbers = Converted<double>(array, [&](int64_t r) {
    const int64_t index = dictionary.GetValueIndex(r);
    if (index < 0 || index >= size || bad[index]) {
      not_numbers.push_back(r);
      return 0.0;
    }
    return values.At(index);
  });
  numbers.not_numbers = std::move(not_numbers);
  return numbers;
}

// Writes the shortest form, and an integer without exponent.
template <typename T>
std::string_view Written(T value, std::string* scratch) {
  scratch->resize(32);
  char* const begin = scratch->data();
  std::to_chars_result end{};
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T kWholeMax = static_cast<T>(int64_t{1} << 53);
    end = std::fabs(value) <= kWholeMax && value == std::trunc(value)
              ? std::to_chars(begin, begin + 32, static_cast<int64_t>(value))
              : std::to_chars(begin, begin + 32, value);
  } else {
    end = std::to_chars(begin, begin + 32, value);
  }
  return {begin, static_cast<size_t>(end.ptr - begin)};
}

// Returns the exact digits of a decimal. Absent: other types.
std::optional<std::string> TextOfDecimal(const arrow::Array& array, int64_t row) {
  std::string digits;
  switch (array.type_id()) {
    case arrow::Type::DECIMAL32:
      digits = static_cast<const arrow::Decimal32Array&>(array).FormatValue(row);
      break;
    case arrow::Type::DECIMAL64:
      digits = static_cast<const arrow::Decimal64Array&>(array).FormatValue(row);
      break;
    case arrow::Type::DECIMAL128:
      digits = static_cast<const arrow::Decimal128Array&>(array).FormatValue(row);
      break;
    case arrow::Type::DECIMAL256:
      digits = static_cast<const arrow::Decimal256Array&>(array).FormatValue(row);
      break;
    default:
      return std::nullopt;
  }
  return PlainDecimal(digits).value_or(digits);
}

// Returns the text of a date or a timestamp. Absent: other types, and years outside the range of
// dates.
std::optional<std::string> TextOfMoment(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case arrow::Type::DATE32:
      return DateText(array.data()->GetValues<int32_t>(1)[row]);
    case arrow::Type::DATE64: {
      const int64_t ms = array.data()->GetValues<int64_t>(1)[row];
      return DateText(ms / kDayMs - (ms % kDayMs < 0 ? 1 : 0));
    }
    case arrow::Type::TIMESTAMP:
      return MomentText(
          array.data()->GetValues<int64_t>(1)[row],
          UnitsASecond(static_cast<const arrow::TimestampType&>(*array.type()).unit()));
    default:
      return std::nullopt;
  }
}

// Returns numbers, some of which mean null.
Result<Numbers> WithNullNumbers(const arrow::Array& array, bool words, const ValueRules& rules) {
  ESPALIER_ASSIGN_OR_RETURN(const Numbers all, NumbersOf(array, words));
  return Converted<double>(array, [&](int64_t r) {
    const double value = all.At(r);
    return rules.IsNullNumber(value) ? kNan : value;
  });
}

}  // namespace

Result<Numbers> NumbersOf(const arrow::Array& array, bool words, const ValueRules& rules) {
  using arrow::Type;
  if (rules.has_null_numbers() && FamilyOf(*array.type()) == ColumnFamily::kNumber) {
    return WithNullNumbers(array, words, rules);
  }
  switch (array.type_id()) {
    case Type::UINT8:
      return Plain<uint8_t>(array);
    case Type::INT8:
      return Plain<int8_t>(array);
    case Type::UINT16:
      return Plain<uint16_t>(array);
    case Type::INT16:
      return Plain<int16_t>(array);
    case Type::UINT32:
      return Plain<uint32_t>(array);
    case Type::INT32:
    case Type::DATE32:
      return Plain<int32_t>(array);
    case Type::UINT64:
      return Plain<uint64_t>(array);
    case Type::INT64:
      return Plain<int64_t>(array);
    case Type::FLOAT:
      return Plain<float>(array);
    case Type::DOUBLE:
      return Plain<double>(array);
    case Type::NA:
      return Converted<float>(array, [](int64_t) { return kNan; });
    case Type::HALF_FLOAT:
      return Halves(array);
    case Type::BOOL:
      return Booleans(array);
    case Type::DATE64:
      return Scaled<int64_t>(array, kDayMs);
    case Type::TIMESTAMP:
      return Scaled<int64_t>(
          array, UnitsASecond(static_cast<const arrow::TimestampType&>(*array.type()).unit()));
    case Type::TIME32:
      return Scaled<int32_t>(
          array, UnitsASecond(static_cast<const arrow::TimeType&>(*array.type()).unit()));
    case Type::TIME64:
      return Scaled<int64_t>(
          array, UnitsASecond(static_cast<const arrow::TimeType&>(*array.type()).unit()));
    case Type::DURATION:
      return Scaled<int64_t>(
          array, UnitsASecond(static_cast<const arrow::DurationType&>(*array.type()).unit()));
    case Type::DECIMAL32:
      return Decimals<arrow::Decimal32, arrow::Decimal32Array>(array);
    case Type::DECIMAL64:
      return Decimals<arrow::Decimal64, arrow::Decimal64Array>(array);
    case Type::DECIMAL128:
      return Decimals<arrow::Decimal128, arrow::Decimal128Array>(array);
    case Type::DECIMAL256:
      return Decimals<arrow::Decimal256, arrow::Decimal256Array>(array);
    case Type::DICTIONARY:
      return FromDictionary(array, words, rules);
    default:
      break;
  }
  Numbers numbers;
  if (WithTexts(array, [&](const auto& texts) { numbers = ParsedTexts(texts, words, rules); }))
    return numbers;
  return Internal("a column of type " + array.type()->ToString() + " as numbers");
}

Result<std::unique_ptr<ColumnTexts>> ColumnTexts::Make(const arrow::Array& array, Moments moments) {
  std::unique_ptr<ColumnTexts> texts(new ColumnTexts(array, moments));
  if (array.type_id() == arrow::Type::DICTIONARY) {
    const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
    ESPALIER_ASSIGN_OR_RETURN(texts->dictionary_, Make(*dictionary.dictionary(), moments));
  } else if (array.type_id() == arrow::Type::INT64) {  // exact even with nulls
    texts->numbers_ = Raw<int64_t>(array);
  } else if (array.type_id() == arrow::Type::UINT64) {
    texts->numbers_ = Raw<uint64_t>(array);
  } else if (!WithTexts(array, [](const auto&) {})) {
    ESPALIER_ASSIGN_OR_RETURN(texts->numbers_, NumbersOf(array));
  }
  return texts;
}

const Numbers* ColumnTexts::whole() const {
  const bool all = numbers_.data != nullptr && numbers_.native < Native::kFloat;
  return all && array_.null_count() == 0 ? &numbers_ : nullptr;
}

std::optional<std::string_view> ColumnTexts::At(int64_t row, std::string* scratch) const {
  if (array_.IsNull(row)) return std::nullopt;
  if (dictionary_ != nullptr) {
    const int64_t index = static_cast<const arrow::DictionaryArray&>(array_).GetValueIndex(row);
    if (index < 0 || index >= dictionary_->array_.length()) return std::nullopt;
    return dictionary_->At(index, scratch);
  }
  std::string_view text;
  if (WithTexts(array_, [&](const auto& texts) { text = texts.GetView(row); })) return text;
  if (moments_ == Moments::kTexts) {
    if (std::optional<std::string> moment = TextOfMoment(array_, row)) {
      *scratch = *std::move(moment);
      return *scratch;
    }
  }
  if (std::optional<std::string> decimal = TextOfDecimal(array_, row)) {
    *scratch = *std::move(decimal);
    return *scratch;
  }
  if (array_.type_id() == arrow::Type::BOOL) return numbers_.At(row) != 0 ? "true" : "false";
  return WithNative(numbers_.native, [&](auto t) -> std::optional<std::string_view> {
    const auto value = numbers_.as<decltype(t)>()[row];
    if (value != value) return std::nullopt;
    return Written(value, scratch);
  });
}

}  // namespace espalier::data
