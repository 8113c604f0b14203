#include "src/data/parquet/features.h"

#include <arrow/array.h>

#include <memory>
#include <optional>
#include <vector>

#include "src/data/parquet/columns.h"

namespace espalier::data {

Result<Numbers> DecodeColumn(const arrow::Array& array, size_t feature, FeatureDecoder* decoder,
                             const std::function<void(int64_t row, std::string problem)>& bad) {
  if (array.type()->num_fields() > 0) {
    return BadInput(
        "the column holds lists; boolean, date, categorical and log1p features are made of columns "
        "with one value per row");
  }
  const int64_t rows = array.length();
  const ColumnFamily family = FamilyOf(*array.type());
  const auto values = std::make_shared<std::vector<double>>(static_cast<size_t>(rows));
  const auto take = [&](int64_t row, std::optional<std::string> problem) {
    if (problem) bad(row, *std::move(problem));
  };
  const bool moment = family == ColumnFamily::kDate || family == ColumnFamily::kTimestamp ||
                      family == ColumnFamily::kTime;  // also with a format, as datetime.time
  if (decoder->is_date(feature) && moment) {
    const double unit = family == ColumnFamily::kDate ? 86'400 : 1;  // seconds
    ESPALIER_ASSIGN_OR_RETURN(const Numbers numbers, NumbersOf(array));
    for (int64_t r = 0; r < rows; ++r) {
      take(r, decoder->DecodeSeconds(feature, numbers.At(r) * unit, &(*values)[r]));
    }
  } else {
    const auto moments = decoder->is_category(feature) ? ColumnTexts::Moments::kTexts
                                                       : ColumnTexts::Moments::kNumbers;
    ESPALIER_ASSIGN_OR_RETURN(const auto texts, ColumnTexts::Make(array, moments));
    std::string scratch;
    for (int64_t r = 0; r < rows; ++r) {
      take(r, decoder->Decode(feature, texts->At(r, &scratch), &(*values)[r]));
    }
  }
  Numbers numbers;
  numbers.native = Native::kDouble;
  numbers.data = values->data();
  numbers.owned = values;
  return numbers;
}

}  // namespace espalier::data
