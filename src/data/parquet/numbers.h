// Converts an Arrow array to numbers or to texts. Thread rule: pure functions.
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

// Memory layout of a number.
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

// Row-major numbers [rows, width]. Nulls are NaN, so only kFloat and kDouble have them.
struct Numbers {
  Native native = Native::kDouble;
  const void* data = nullptr;  // in the array or in `owned`
  int64_t width = 1;
  std::shared_ptr<void> owned;
  std::shared_ptr<const SparkVectors> vectors;             // instead of `data`
  std::vector<int64_t> not_numbers;                        // rows with text that is not a number
  std::vector<std::pair<int64_t, int64_t>> wrong_lengths;  // row and length of its vector
  std::vector<int64_t> faults;                             // rows whose value is not a vector

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

// Returns the numbers of a column with a supported family (columns.h), which is not a column of
// vectors (vectors.h). Integers above 2^53 in decimals and texts become the nearest double.
// `words`: in texts, words of BooleanWord are 1 and 0. `rules`: numbers and texts that are null.
// The array must outlive the numbers. kInternal: the type is not supported, although planning
// rejects it.
Result<Numbers> NumbersOf(const arrow::Array& array, bool words = false,
                          const ValueRules& rules = {});

// Texts of a column, in the form of labels. Numbers have their shortest form: integers have no
// point or exponent, and decimals have all their digits. Booleans are true and false, and text is
// unchanged. Dates and timestamps are written by DateText and MomentText (features/dates.h), or as
// the numbers of a feature. The array must outlive this.
class ColumnTexts {
 public:
  enum class Moments : uint8_t { kTexts, kNumbers };
  static Result<std::unique_ptr<ColumnTexts>> Make(const arrow::Array& array,
                                                   Moments moments = Moments::kTexts);
  // Returns the text of a row, which is in the array or in *scratch. Absent: null or NaN.
  std::optional<std::string_view> At(int64_t row, std::string* scratch) const;
  // Returns the column's numbers if all values are integers. nullptr: other numbers, text or nulls.
  const Numbers* whole() const;

 private:
  ColumnTexts(const arrow::Array& array, Moments moments) : array_(array), moments_(moments) {}
  const arrow::Array& array_;
  const Moments moments_;
  Numbers numbers_;                          // for arrays that are not text
  std::unique_ptr<ColumnTexts> dictionary_;  // values of a dictionary array
};

}  // namespace espalier::data
