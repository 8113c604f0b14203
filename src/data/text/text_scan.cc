#include "src/data/text/text_scan.h"

#include <utility>

#include "src/base/text.h"
#include "src/data/table/number.h"
#include "src/data/table/partitions.h"
#include "src/data/table/row_words.h"
#include "src/data/table/schema.h"

namespace espalier::data {

Result<std::unique_ptr<TextScan>> TextScan::Open(const TableSource& table, int shard,
                                                 MemoryBudget* room, bool sparse) {
  const spec::Shard& range = table.plan.shards[shard];
  ESPALIER_ASSIGN_OR_RETURN(
      auto input,
      TextInput::OpenShard(table.files, table.plan.files[range.file], range.begin, range.end));
  return std::unique_ptr<TextScan>(new TextScan(std::move(input), table, shard, room, sparse));
}

TextScan::TextScan(std::unique_ptr<TextInput> input, const TableSource& table, int shard,
                   MemoryBudget* room, bool sparse)
    : input_(std::move(input)),
      file_(table.plan.files[table.plan.shards[shard].file]),
      sparse_(sparse),
      schema_(InFileOrder(table.plan.schema, file_.columns)),
      lines_(input_->lines()),
      places_(input_->places()),
      reader_(MakeReader(table.job.data, table.plan.shards[shard])),
      decoder_(table, schema_, table.plan.shards[shard].file, room, sparse) {}

std::unique_ptr<RecordReader> TextScan::MakeReader(const spec::DataSpec& data,
                                                   const spec::Shard& shard) const {
  const CsvRange range = {shard.begin, shard.end,
                          spec::HasHeaderLine(data, file_.path) && shard.begin == 0};
  const std::span<const std::string> names(schema_.names.begin(),
                                           schema_.names.end() - schema_.partitions);
  return WithPartitions(input_->Records(data, range, names, CsvReader::kWindowBytes, sparse_),
                        PartitionValues(schema_, file_.path));
}

TextScan::Outcome TextScan::Next() {
  switch (reader_->Next()) {
    case RecordReader::Outcome::kEnd:
      return Outcome::kEnd;
    case RecordReader::Outcome::kFailed:
      error_ = WithRow(reader_->error());
      return Outcome::kFailed;
    case RecordReader::Outcome::kBadRecord:
      in_reader_ = true;
      return Outcome::kBad;
    case RecordReader::Outcome::kRecord:
      break;
  }
  in_reader_ = false;
  switch (decoder_.Add(*reader_)) {
    case RowDecoder::Outcome::kRow:
      return Outcome::kRow;
    case RowDecoder::Outcome::kDropped:
      return Outcome::kDropped;
    case RowDecoder::Outcome::kFailed:
      error_ = decoder_.error().At({.file = file_.path});
      return Outcome::kFailed;
    case RowDecoder::Outcome::kBad:
      break;
  }
  return Outcome::kBad;
}

Status TextScan::BadRow(bool count_lines) {
  return WithRow(in_reader_ ? reader_->error() : Located(decoder_.problem()), count_lines);
}

Status TextScan::DroppedRow(bool count_lines) {
  return WithRow(Located({DroppedFault()}), count_lines);
}

Status TextScan::Located(const RowProblem& problem) const {
  InputPosition at;
  at.offset = reader_->record_offset();
  if (problem.column >= 0) {
    at.column = schema_.names[problem.column];
    at.offset = reader_->field_offset(problem.column);
    at.text = Printable(reader_->shown(problem.column));
  } else {
    at.text = Printable(reader_->record());
  }
  return BadInput(problem.message).At(std::move(at));
}

InputPosition TextScan::PlaceOf(int64_t record_offset, bool count_lines) {
  InputPosition at = {.file = file_.path, .offset = record_offset};
  if (!count_lines) return at;
  if (const Result<int64_t> row = places_.LineOf(record_offset); row.ok()) at.row = *row;
  return at;
}

InputPosition TextScan::PlaceOfLabel() {
  const auto column = static_cast<size_t>(schema_.label[0]);
  InputPosition at = PlaceOf(reader_->record_offset(), true);
  at.column = schema_.names[column];
  at.offset = reader_->field_offset(column);
  at.text = Printable(Trimmed(reader_->field(column)));
  return at;
}

Status TextScan::WithRow(const Status& error, bool count_lines) {
  InputPosition at;
  at.file = file_.path;
  if (count_lines && error.code() == StatusCode::kBadInput) {
    if (Result<int64_t> row = lines_.LineOf(reader_->record_offset()); row.ok()) at.row = *row;
  }
  return error.At(std::move(at));
}

}  // namespace espalier::data
