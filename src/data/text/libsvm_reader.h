// LIBSVM text as records of a table: column 0 is the label, column i the value of index i.
//
//   +1 3:0.5 7:2 # a comment          with 8 columns: 1,0,0,0.5,0,0,0,2
//
// Grammar: a record is a line `LABEL INDEX:VALUE INDEX:VALUE ...`, divided by spaces and tabs; what
// follows a `#` is a comment; lines without anything else are skipped. An index is a whole number
// from 1 to columns - 1, or counted from 0 if the job says so: index i is then column i + 1. They
// are in any order, each once a line; what is not there is 0. A value is any text: the row decoder
// judges it. A + before a label that is a number is left out, so that `+1` and `1` are one class.
// Bad records: a pair where the label should be, more than one label, no number before the colon,
// nothing behind it, an index that is 0, too large or there twice, `qid`. Where no label is wanted
// a line may do without: what has no colon at its begin is still a label, whatever it says, and
// column 0 is empty where there is none.
// Byte ranges own records as in csv_reader.h.
//
// Thread rule: one thread a reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/data/table/record_reader.h"
#include "src/data/text/csv_reader.h"

namespace espalier::data {

// The columns of a job's LIBSVM text, the label's included: one more than the highest position in
// data.features.columns. 0: none is there.
size_t LibsvmColumns(const spec::DataSpec& data);

class LibsvmReader final : public RecordReader {
 public:
  // REQUIRES: as CsvReader; columns <= kColumnsMax.
  // `sparse`: gives sparse records. `labels`: they are wanted.
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
  // Takes it off `rest`. False: error_ is set.
  bool TakeLabel(std::string_view* rest, std::string_view* label);
  // Stores *pair. False: error_ is set.
  bool ParsePair(std::string_view token, Entry* pair);
  bool Bad(const std::string& why, std::string_view token);
  int64_t OffsetOf(std::string_view token) const;
  // False: an index is there twice.
  bool Sort();
  void WriteDense(std::string_view label);

  CsvReader lines_;
  const size_t columns_;
  const std::string zeros_;  // "0,0,0,..." for all columns
  const bool sparse_, labels_;
  const uint32_t first_;  // the least index
  std::string_view line_;
  std::string dense_;  // kReadable bytes, then the record
};

}  // namespace espalier::data
