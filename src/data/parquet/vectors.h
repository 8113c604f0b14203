// Columns that hold a vector a row: lists of numbers, and Spark's vectors, dense or sparse, as it
// writes them: struct<type: tinyint, size: int, indices: list<int>, values: list<double>>, where
// type 1 is dense (values alone), 0 sparse (values at indices, all others 0, of `size`).
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

bool IsSparkVector(const arrow::DataType& type);

// How many numbers the vector in a row has; 0 for null and for one of Spark's that says nothing.
// REQUIRES: a column of vectors.
int64_t VectorLength(const arrow::Array& array, int64_t row);

// A column of Spark's vectors, read where they lie.
class SparkVectors {
 public:
  // The array must outlive it.
  static Result<std::unique_ptr<SparkVectors>> Make(const arrow::Array& array);

  bool IsNull(int64_t row) const;
  // Its length; below 0: what stands there is no vector.
  int64_t Length(int64_t row) const;
  // Whether its entries are those of a vector. REQUIRES: Length(row) >= 0.
  bool IsVector(int64_t row) const;
  // Calls f(element, value), ascending, for those of elements [begin, end) that the row names; of a
  // null for all, with NaN. REQUIRES: the row is null, or a vector of at least `end` numbers.
  template <typename F>
  void ForEntries(int64_t row, int64_t begin, int64_t end, F f) const;

 private:
  struct Entries {
    bool dense = false;
    int64_t indices = 0, values = 0, count = 0;  // where they begin, and how many there are
  };
  explicit SparkVectors(const arrow::Array& array);
  Entries At(int64_t row) const;
  // The first of the entries whose index is not below `index`.
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

// NumbersOf for vectors of `width`; a null is a row of nulls. Rows with other lengths are in
// wrong_lengths, those of Spark's that are no vectors in faults; their numbers are 0. `spelled`:
// false leaves Spark's as `vectors`, where the numbers of such rows must not be asked for.
Result<Numbers> VectorNumbers(const arrow::Array& array, int64_t width, bool spelled = true);

// For messages: an element as ShownValue shows it, "a vector of 3" when element is below 0.
std::string ShownElement(const arrow::Array& array, int64_t row, int64_t element);

}  // namespace espalier::data
