// Chosen columns of a run of rows as they stand in the input: fields of text, or Arrow's arrays.
// Thread rule: one thread at a time.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/data/parquet/numbers.h"

namespace espalier {

class KeptColumns {
 public:
  explicit KeptColumns(size_t columns = 0) : columns_(columns) {}

  size_t columns() const { return columns_; }
  // Of text; nothing is known of what arrays take.
  size_t bytes() const { return text_.size() + ends_.size() * sizeof(size_t); }

  // Of text: columns() fields a row, row by row.
  void AddField(std::string_view field) {
    text_ += field;
    ends_.push_back(text_.size());
  }
  // Of Parquet: a batch's columns, of which `rows` are meant. Replaces what there was.
  Status SetArrays(std::vector<std::shared_ptr<arrow::Array>> arrays, std::vector<int64_t> rows);
  void Clear();

  // What stands in a row: text as it is, numbers in their shortest form, dates and times as
  // Arrow writes them; null is empty. It lies here or in *scratch.
  std::string_view Text(int64_t row, size_t column, std::string* scratch) const;

  // Of Parquet; empty of text.
  const std::vector<std::shared_ptr<arrow::Array>>& arrays() const { return arrays_; }
  const std::vector<int64_t>& array_rows() const { return array_rows_; }

 private:
  size_t columns_;
  std::string text_;
  std::vector<size_t> ends_;
  std::vector<std::shared_ptr<arrow::Array>> arrays_;
  std::vector<std::unique_ptr<ColumnTexts>> texts_;  // by array; null where it is written by Arrow
  std::vector<int64_t> array_rows_;
};

}  // namespace espalier
