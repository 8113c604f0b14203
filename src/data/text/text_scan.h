// Reads one text shard of a plan record by record. Each record becomes a row of the decoder, or a
// bad row with its position. Thread rule: one thread per scan.
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

  // `room` may be null. `sparse`: decodes sparse rows. REQUIRES: `sparse` only if DecodesSparse
  // (sparse_choice.h).
  static Result<std::unique_ptr<TextScan>> Open(const TableSource& table, int shard,
                                                MemoryBudget* room, bool sparse);

  Outcome Next();

  // Returns the last bad row, with its position. With `count_lines`, adds its line, which costs a
  // second read of the file up to that row.
  Status BadRow(bool count_lines);
  // Returns the last dropped row in the same way.
  Status DroppedRow(bool count_lines);
  // Returns the file, the offset and (with `count_lines`) the line of the record that began at that
  // offset. Counting reads the file a second time: once in total if the calls are in file order.
  InputPosition PlaceOf(int64_t record_offset, bool count_lines);
  // Returns the position of the last row's label, with its text. REQUIRES: the job has one label.
  InputPosition PlaceOfLabel();
  const Status& error() const { return error_; }
  // Returns whether the last bad row was a record with fields.
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
  LineCounter lines_;   // for records as they are read
  LineCounter places_;  // for earlier records
  const std::unique_ptr<RecordReader> reader_;
  RowDecoder decoder_;
  bool in_reader_ = false;  // the reader returned the last bad row, so it has no fields
  Status error_;
};

}  // namespace espalier::data
