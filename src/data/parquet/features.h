// Features of Parquet columns that are not the numbers which these hold. Thread rule: one thread a
// decoder.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <string>

#include "src/base/status.h"
#include "src/data/features/feature_decoder.h"
#include "src/data/parquet/numbers.h"

namespace espalier::data {

// One number a row, made by `decoder` of what the column says; NaN for null. `bad` is told of rows
// with a value that is none. kBadInput: the column holds a vector a row.
Result<Numbers> DecodeColumn(const arrow::Array& array, size_t feature, FeatureDecoder* decoder,
                             const std::function<void(int64_t row, std::string problem)>& bad);

}  // namespace espalier::data
