// A Parquet file made in memory, run of rows by run of rows: kept columns (of Parquet in their own
// types, of text as text), a column of words, columns of numbers, one of reasons.
//
// One row group, Snappy, with checksums of pages. The same calls give the same bytes.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/kept_columns.h"

namespace espalier::data {

class ParquetTable {
 public:
  // Names of the columns, in order; `word` or `reason` empty: there is no column of them.
  ParquetTable(std::vector<std::string> kept, std::string word, std::vector<std::string> numbers,
               std::string reason = {});
  ~ParquetTable();

  // Adds rows. `words`: what word_of [rows] indexes, -1 is null; `values` [rows, numbers]
  // row-major, NaN is null; `reasons` [rows], empty texts are null, or none at all; `first`: which
  // row of `kept` is the first of these. kResourceExhausted: no memory; kInternal: a kept column
  // changed its type.
  Status Append(const KeptColumns& kept, int64_t rows, const std::vector<std::string>& words,
                std::span<const int32_t> word_of, std::span<const double> values,
                std::span<const std::string> reasons = {}, int64_t first = 0);

  // About what the file will have, uncompressed.
  int64_t bytes() const { return bytes_; }
  int64_t rows() const { return rows_; }

  // The file; then there are no rows any more. REQUIRES: rows() > 0.
  Result<std::string> Finish();

 private:
  struct Columns;  // Arrow's builders
  Status StartKept(const KeptColumns& kept);
  Status AppendKept(const KeptColumns& kept, int64_t first, int64_t rows);

  const std::vector<std::string> kept_names_;
  const std::string word_name_;
  const std::vector<std::string> number_names_;
  const std::string reason_name_;
  std::unique_ptr<Columns> columns_;
  int64_t bytes_ = 0, rows_ = 0;
};

}  // namespace espalier::data
