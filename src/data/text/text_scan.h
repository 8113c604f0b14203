// Reads one shard of text of a plan record by record: each becomes a row of its decoder, or a bad
// one with its place. Thread rule: one thread a scan.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/status.h"
#include "src/data/text/row_decoder.h"
#include "src/data/text/text_input.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier {

class TextScan {
 public:
  enum class Outcome : uint8_t { kRow, kDropped, kBad, kEnd, kFailed };

  // `input` is that of the shard; `plan` and `job` must outlive it; `room` may be null. `sparse`:
  // the rows are decoded sparse. REQUIRES: then DecodesSparse (sparse_choice.h).
  TextScan(std::unique_ptr<TextInput> input, const InputPlan& plan, const JobSpec& job, int shard,
           RowRoom* room, bool sparse = false);

  Outcome Next();

  // The last bad row, with its place. Counts lines, which means reading the file up to there a
  // second time: not for rows that nobody reads about. Without `count_lines` the row is left out.
  Status BadRow(bool count_lines = true);
  // The same of the last dropped row.
  Status DroppedRow(bool count_lines);
  // Of a record that began there: its file, offset and, with `count_lines`, its line. Reads the
  // file a second time; once from its begin when called in the order of the file.
  InputPosition PlaceOf(int64_t record_offset, bool count_lines);
  const Status& error() const { return error_; }
  const RecordReader& reader() const { return *reader_; }
  const Schema& schema() const { return schema_; }  // in the order of the file's columns
  bool compressed() const { return input_->compressed(); }
  RowDecoder& decoder() { return decoder_; }
  Result<int64_t> Row() { return lines_.LineOf(reader_->record_offset()); }

 private:
  std::unique_ptr<RecordReader> MakeReader(const DataSpec& data, const InputPlan& plan,
                                           const Shard& shard, bool sparse) const;
  Status Located(const RowProblem& problem) const;
  Status WithRow(const Status& error, bool count_lines = true);
  size_t FileIndex() const { return static_cast<size_t>(decoder_.file()); }

  const InputPlan& plan_;
  const std::unique_ptr<TextInput> input_;
  const Schema schema_;
  LineCounter lines_;   // of records as they are read
  LineCounter places_;  // of former ones
  const std::unique_ptr<RecordReader> reader_;
  RowDecoder decoder_;
  bool in_reader_ = false;  // the last bad row was no record
  Status error_;
};

}  // namespace espalier
