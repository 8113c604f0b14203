// Columns that hold a vector a row: lists of numbers, and Spark's vectors, dense or sparse, as it
// writes them: struct<type: tinyint, size: int, indices: list<int>, values: list<double>>, where
// type 1 is dense (values alone), 0 sparse (values at indices, all others 0, of `size`).
//
// Thread rule: pure functions.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/data/parquet_numbers.h"

namespace espalier {

bool IsSparkVector(const arrow::DataType& type);

// How many numbers the vector in a row has; 0 for null and for one of Spark's that says nothing.
// REQUIRES: a column of vectors.
int64_t VectorLength(const arrow::Array& array, int64_t row);

// NumbersOf for vectors of `width`; a null is a row of nulls. Rows with other lengths are in
// wrong_lengths, those of Spark's that are no vectors in faults; their numbers are 0.
Result<Numbers> VectorNumbers(const arrow::Array& array, int64_t width);

// For messages: an element as ShownValue shows it, "a vector of 3" when element is below 0.
std::string ShownElement(const arrow::Array& array, int64_t row, int64_t element);

}  // namespace espalier
