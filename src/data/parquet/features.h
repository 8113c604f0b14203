// Decodes Parquet columns into features that differ from the numbers in the column. Thread rule:
// one thread per decoder.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <string>

#include "src/base/status.h"
#include "src/data/features/feature_decoder.h"
#include "src/data/parquet/numbers.h"

namespace espalier::data {

// Returns one number per row, which `decoder` makes from the column value. NaN: null. Calls `bad`
// for each row with an invalid value. kBadInput: the column holds a vector per row.
Result<Numbers> DecodeColumn(const arrow::Array& array, size_t feature, FeatureDecoder* decoder,
                             const std::function<void(int64_t row, std::string problem)>& bad);

}  // namespace espalier::data
