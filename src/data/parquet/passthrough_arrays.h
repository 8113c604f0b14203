// Kept columns of a batch of Parquet rows, in Arrow's types. Thread rule: one thread at a time.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/data/parquet/numbers.h"
#include "src/data/table/passthrough_columns.h"

namespace espalier::data {

class ParquetArrays final : public PassthroughArrays {
 public:
  using Arrays = std::vector<std::shared_ptr<arrow::Array>>;

  static Result<std::unique_ptr<ParquetArrays>> Make(Arrays arrays);
  // Returns the arrays of kept columns, or null if these are text. Only Parquet keeps arrays.
  static const ParquetArrays* Of(const PassthroughColumns& kept) {
    return static_cast<const ParquetArrays*>(kept.arrays());
  }

  std::string_view Text(int64_t row, size_t column, std::string* scratch) const override;
  const Arrays& arrays() const { return arrays_; }

 private:
  explicit ParquetArrays(Arrays arrays) : arrays_(std::move(arrays)) {}

  const Arrays arrays_;
  std::vector<std::unique_ptr<ColumnTexts>> texts_;  // by array; null: Arrow writes the texts
};

}  // namespace espalier::data
