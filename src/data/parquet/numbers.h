// An Arrow array as numbers, or as texts. Thread rule: pure functions.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/value_rules.h"

namespace espalier::data {

// How numbers lie in memory.
enum class Native : uint8_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat,
  kDouble,
};

// Calls f(T{}) with the C++ type of `native`.
template <typename F>
auto WithNative(Native native, F&& f) {
  switch (native) {
    case Native::kUint8:
      return f(uint8_t{});
    case Native::kInt8:
      return f(int8_t{});
    case Native::kUint16:
      return f(uint16_t{});
    case Native::kInt16:
      return f(int16_t{});
    case Native::kUint32:
      return f(uint32_t{});
    case Native::kInt32:
      return f(int32_t{});
    case Native::kUint64:
      return f(uint64_t{});
    case Native::kInt64:
      return f(int64_t{});
    case Native::kFloat:
      return f(float{});
    case Native::kDouble:
      break;
  }
  return f(double{});
}

class SparkVectors;

// Row-major [rows, width]. Nulls are NaN; only kFloat and kDouble have them.
struct Numbers {
  Native native = Native::kDouble;
  const void* data = nullptr;  // in the array, or in `owned`
  int64_t width = 1;
  std::shared_ptr<void> owned;
  std::shared_ptr<const SparkVectors> vectors;             // instead of `data`
  std::vector<int64_t> not_numbers;                        // rows of text that is no number
  std::vector<std::pair<int64_t, int64_t>> wrong_lengths;  // row, length of its vector
  std::vector<int64_t> faults;                             // rows of what is no vector

  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
  double At(int64_t index) const {
    return WithNative(native, [&](auto t) {
      return static_cast<double>(static_cast<const decltype(t)*>(data)[index]);
    });
  }
};

// The numbers of a column of a supported family (parquet_columns.h); `vector`: of its
// lists or Spark's vectors (parquet_vectors.h), which have `width` numbers. Whole numbers above
// 2^53 in decimals and texts become the nearest double. `words`: in texts, BooleanWord's are 1 and
// 0. `spelled`: as VectorNumbers has it. `rules`: which numbers and texts outside of vectors are
// null. The array must outlive the numbers. kInternal: the type is not supported, which planning
// has refused.
Result<Numbers> NumbersOf(const arrow::Array& array, bool vector, int64_t width, bool words = false,
                          bool spelled = true, const ValueRules& rules = {});

// The texts of a column, as labels are written: numbers in their shortest form (a whole one without
// point and exponent, decimals with all their digits), true and false, text as it is, dates and
// time stamps as DateText and MomentText write them (features/dates.h), or as the numbers that they
// are as features. The array must outlive it.
class ColumnTexts {
 public:
  enum class Moments : uint8_t { kTexts, kNumbers };
  static Result<std::unique_ptr<ColumnTexts>> Make(const arrow::Array& array,
                                                   Moments moments = Moments::kTexts);
  // Absent for null and NaN. It lies in the array or in *scratch.
  std::optional<std::string_view> At(int64_t row, std::string* scratch) const;
  // The column's whole numbers; nullptr when it has others, text or nulls.
  const Numbers* whole() const;

 private:
  ColumnTexts(const arrow::Array& array, Moments moments) : array_(array), moments_(moments) {}
  const arrow::Array& array_;
  const Moments moments_;
  Numbers numbers_;                          // of arrays that are not text
  std::unique_ptr<ColumnTexts> dictionary_;  // of a dictionary: its values
};

// For messages: what stands in a row (or in an element of its list, when element >= 0), shortened
// and printable; "null" for null.
std::string ShownValue(const arrow::Array& array, int64_t row, int64_t element);

}  // namespace espalier::data
