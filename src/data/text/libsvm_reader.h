// LIBSVM text as records of a table. Column 0 is the label, column i the value of index i.
//
//   +1 3:0.5 7:2 # a comment          with 8 columns: 1,0,0,0.5,0,0,0,2
//
// Grammar: a record is a line `LABEL INDEX:VALUE INDEX:VALUE ...`, separated by spaces and tabs. A
// `#` starts a comment. Lines without other content are skipped. An index is an integer from 1 to
// columns - 1. If the job counts from 0, index i is column i + 1. Indices are in any order, and
// each appears at most once in a line. A missing index has the value 0. A value is any text, which
// the row decoder checks. The + of a numeric label is removed, so that `+1` and `1` are one class.
//
// A record is bad if it starts with a pair instead of the label, has several labels or contains
// `qid`. It is bad if the text before a colon is not an integer or nothing follows the colon. It is
// also bad if an index is 0 (counted from 1), too large or repeated.
//
// If the job has no label, lines may omit it. Text without a colon at the beginning of a line is
// still a label, whatever its content. Without that text, column 0 is empty.
//
// Byte ranges own records as in csv_reader.h. Thread rule: one thread per reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/data/table/record_reader.h"
#include "src/data/text/csv_reader.h"

namespace espalier::data {

// Returns the number of columns of a job's LIBSVM text, including the label. It is one more than
// the highest position in data.features.columns. 0: these name no column.
size_t LibsvmColumns(const spec::DataSpec& data);

class LibsvmReader final : public RecordReader {
 public:
  // REQUIRES: as CsvReader; columns <= kColumnsMax. `sparse`: returns sparse records. `labels`: the
  // job uses labels.
  LibsvmReader(const storage::ReadableFile& file, const spec::LibsvmOptions& options,
               const CsvRange& range, size_t columns,
               int64_t window_bytes = CsvReader::kWindowBytes, bool sparse = false,
               bool labels = true);

  Outcome Next() override;
  std::string_view record() const override { return line_; }
  std::string_view shown(size_t i) const override;
  int64_t field_offset(size_t i) const override;
  int64_t position() const override { return lines_.position(); }
  uint32_t checksum() const override { return lines_.checksum(); }

 private:
  Outcome Take();
  // Takes the label from `rest`. False: error_ is set.
  bool TakeLabel(std::string_view* rest, std::string_view* label);
  // Parses a pair and stores it. False: error_ is set.
  bool ParsePair(std::string_view token, Entry* pair);
  bool Bad(const std::string& why, std::string_view token);
  int64_t OffsetOf(std::string_view token) const;
  // Sorts the entries by column. False: an index appears twice, and error_ is set.
  bool Sort();
  void WriteDense(std::string_view label);

  CsvReader lines_;
  const size_t columns_;
  const std::string zeros_;  // "0,0,0,..." for all columns
  const bool sparse_, labels_;
  const uint32_t first_;  // lowest index: 0 or 1
  std::string_view line_;
  std::string dense_;  // kReadable bytes, then the record
};

}  // namespace espalier::data
