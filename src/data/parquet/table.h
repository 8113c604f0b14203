// Builds a Parquet file in memory, one run of rows at a time. Its columns are the kept columns
// (with their types from Parquet, or as text), a column of words, columns of numbers and a column
// of reasons.
//
// The file has one row group, with Snappy and page checksums. The same calls produce the same
// bytes. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/passthrough_columns.h"

namespace espalier::data {

class ParquetTable {
 public:
  // Column names, in order. If `word` or `reason` is empty, that column is omitted.
  ParquetTable(std::vector<std::string> kept, std::string word, std::vector<std::string> numbers,
               std::string reason = {});
  ~ParquetTable();

  // Adds rows. `words`: texts that word_of [rows] indexes; -1 is null. `values`: [rows, numbers],
  // row-major; NaN is null. `reasons`: [rows], where empty texts are null, or empty. `first`: index
  // of the first of these rows in `kept`. kResourceExhausted: no memory. kInternal: a kept column
  // changed its type.
  Status Append(const PassthroughColumns& kept, int64_t rows, const std::vector<std::string>& words,
                std::span<const int32_t> word_of, std::span<const double> values,
                std::span<const std::string> reasons = {}, int64_t first = 0);

  // Returns the approximate size of the uncompressed content in bytes.
  int64_t bytes() const { return bytes_; }
  int64_t rows() const { return rows_; }

  // Returns the file and removes all rows. REQUIRES: rows() > 0.
  Result<std::string> Finish();

 private:
  struct Columns;  // builders of Arrow
  Status StartKept(const PassthroughColumns& kept);
  Status AppendKept(const PassthroughColumns& kept, int64_t first, int64_t rows);

  const std::vector<std::string> kept_names_;
  const std::string word_name_;
  const std::vector<std::string> number_names_;
  const std::string reason_name_;
  std::unique_ptr<Columns> columns_;
  int64_t bytes_ = 0, rows_ = 0;
};

}  // namespace espalier::data
