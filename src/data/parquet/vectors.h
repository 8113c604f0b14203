// Columns with one vector per row: lists of numbers, and Spark vectors, dense or sparse. Spark
// writes them as struct<type: tinyint, size: int, indices: list<int>, values: list<double>>. Type 1
// is dense (only values). Type 0 is sparse: values at indices, all others 0, with `size` numbers in
// total.
//
// Thread rule: pure functions.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/data/parquet/numbers.h"

namespace espalier::data {

// Returns the number of elements in the vector of a row; 0 for null and for an invalid Spark
// vector. REQUIRES: a column of vectors.
int64_t VectorLength(const arrow::Array& array, int64_t row);

// A column of Spark vectors, read in place.
class SparkVectors {
 public:
  // The array must outlive the result.
  static Result<std::unique_ptr<SparkVectors>> Make(const arrow::Array& array);

  bool IsNull(int64_t row) const;
  // Returns the length of the vector in a row. Below 0: the value is not a vector.
  int64_t Length(int64_t row) const;
  // Returns whether the entries are valid for a vector. REQUIRES: Length(row) >= 0.
  bool IsVector(int64_t row) const;
  // Calls f(element, value) in ascending order for the elements in [begin, end) that the row names.
  // For a null, calls f for all of them with NaN. REQUIRES: the row is null or a vector of at least
  // `end` numbers.
  template <typename F>
  void ForEntries(int64_t row, int64_t begin, int64_t end, F f) const;

 private:
  struct Entries {
    bool dense = false;
    int64_t indices = 0, values = 0, count = 0;  // begin of each list, and number of entries
  };
  explicit SparkVectors(const arrow::Array& array);
  Entries At(int64_t row) const;
  // Returns the first entry whose index is at least `index`.
  int64_t FirstAt(const Entries& entries, int64_t index) const;

  const arrow::Array& array_;
  const std::shared_ptr<arrow::Array> type_, size_, indices_, values_;
  std::shared_ptr<arrow::Array> index_elements_, value_elements_;
  Numbers types_, sizes_, index_, value_;
};

template <typename F>
void SparkVectors::ForEntries(int64_t row, int64_t begin, int64_t end, F f) const {
  if (IsNull(row)) {
    for (int64_t i = begin; i < end; ++i) f(i, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const Entries entries = At(row);
  if (entries.dense) {
    for (int64_t i = begin; i < end; ++i) f(i, value_.At(entries.values + i));
    return;
  }
  for (int64_t e = FirstAt(entries, begin); e < entries.count; ++e) {
    const auto element = static_cast<int64_t>(index_.At(entries.indices + e));
    if (element >= end) return;
    f(element, value_.At(entries.values + e));
  }
}

// Returns the numbers of vectors with `width` elements. A null vector is a row of nulls. Rows with
// other lengths are in wrong_lengths, and invalid Spark vectors are in faults. Their numbers are 0.
// `spelled`: false returns Spark vectors as `vectors`, and the caller must not read the numbers of
// these rows.
Result<Numbers> VectorNumbers(const arrow::Array& array, int64_t width, bool spelled = true);

// Returns the value of a row of any column for messages, shortened and printable, with "null" for
// null. If element >= 0, returns that element of its vector.
std::string ShownValue(const arrow::Array& array, int64_t row, int64_t element);

}  // namespace espalier::data
