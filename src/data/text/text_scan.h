// Reads one shard of text of a plan record by record: each becomes a row of its decoder, or a bad
// one with its place. Thread rule: one thread a scan.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/status.h"
#include "src/data/table/shard_reader.h"
#include "src/data/text/row_decoder.h"
#include "src/data/text/text_input.h"
#include "src/spec/input.h"

namespace espalier::data {

class TextScan {
 public:
  enum class Outcome : uint8_t { kRow, kDropped, kBad, kEnd, kFailed };

  // `room` may be null. `sparse`: the rows are decoded sparse. REQUIRES: then DecodesSparse
  // (sparse_choice.h).
  static Result<std::unique_ptr<TextScan>> Open(const TableSource& table, int shard,
                                                MemoryBudget* room, bool sparse);

  Outcome Next();

  // The last bad row, with its place; with `count_lines` also its line, for which the file is read
  // up to there a second time.
  Status BadRow(bool count_lines);
  // The same of the last dropped row.
  Status DroppedRow(bool count_lines);
  // Of a record that began there: its file, offset and, with `count_lines`, its line. Reads the
  // file a second time; once from its begin when called in the order of the file.
  InputPosition PlaceOf(int64_t record_offset, bool count_lines);
  // Of the label of the last row, with its text. REQUIRES: there is one label.
  InputPosition PlaceOfLabel();
  const Status& error() const { return error_; }
  // Whether the last bad row was a record with fields.
  bool has_fields() const { return !in_reader_; }
  const RecordReader& reader() const { return *reader_; }
  const spec::Schema& schema() const { return schema_; }  // in the order of the file's columns
  bool has_other_length() const { return input_->has_other_length(); }
  bool sparse() const { return sparse_; }
  RowDecoder& decoder() { return decoder_; }

 private:
  TextScan(std::unique_ptr<TextInput> input, const TableSource& table, int shard,
           MemoryBudget* room, bool sparse);
  std::unique_ptr<RecordReader> MakeReader(const spec::DataSpec& data,
                                           const spec::Shard& shard) const;
  Status Located(const RowProblem& problem) const;
  Status WithRow(const Status& error, bool count_lines = true);

  const std::unique_ptr<TextInput> input_;
  const spec::InputFile& file_;
  const bool sparse_;
  const spec::Schema schema_;
  LineCounter lines_;   // of records as they are read
  LineCounter places_;  // of former ones
  const std::unique_ptr<RecordReader> reader_;
  RowDecoder decoder_;
  bool in_reader_ = false;  // the last bad row was no record
  Status error_;
};

}  // namespace espalier::data
