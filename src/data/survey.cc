#include "src/data/survey.h"

#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/data/column_stats.h"
#include "src/data/listing.h"
#include "src/data/number.h"

namespace espalier {
namespace {

constexpr int kTrain = static_cast<int>(FileRole::kTrain);
// Enough to tell how many rows a shard will have.
constexpr int64_t kRowsBeforeReserve = 256;

// Reads one shard of a plan record by record.
class ShardScan {
 public:
  ShardScan(const ReadableFile& file, const InputPlan& plan, const JobSpec& job, int shard)
      : plan_(plan),
        lines_(file),
        reader_(file, job.data.csv, RangeOf(plan.shards[shard], job.data.csv)),
        decoder_(plan.schema, job, plan.files[plan.shards[shard].file].role,
                 plan.shards[shard].file) {}

  enum class Outcome : uint8_t { kRow, kDropped, kBad, kEnd, kFailed };

  Outcome Next() {
    switch (reader_.Next()) {
      case CsvReader::Outcome::kEnd:
        return Outcome::kEnd;
      case CsvReader::Outcome::kFailed:
        error_ = WithRow(reader_.error());
        return Outcome::kFailed;
      case CsvReader::Outcome::kBadRecord:
        in_reader_ = true;
        return Outcome::kBad;
      case CsvReader::Outcome::kRecord:
        break;
    }
    in_reader_ = false;
    switch (decoder_.Add(reader_)) {
      case RowDecoder::Outcome::kRow:
        return Outcome::kRow;
      case RowDecoder::Outcome::kDropped:
        return Outcome::kDropped;
      case RowDecoder::Outcome::kBad:
        break;
    }
    return Outcome::kBad;
  }

  // The last bad row, with its place. Counts lines: not for rows that nobody reads about.
  Status BadRow() { return WithRow(in_reader_ ? reader_.error() : Located(decoder_.problem())); }
  const Status& error() const { return error_; }
  const CsvReader& reader() const { return reader_; }
  RowDecoder& decoder() { return decoder_; }
  Result<int64_t> Row() { return lines_.LineOf(reader_.record_offset()); }

 private:
  static CsvRange RangeOf(const Shard& shard, const CsvOptions& csv) {
    return {shard.begin, shard.end, csv.header && shard.begin == 0};
  }

  Status Located(const RowProblem& problem) const {
    InputPosition at;
    at.offset = reader_.record_offset();
    if (problem.column >= 0) {
      at.column = plan_.schema.names[problem.column];
      at.offset = reader_.field_offset(problem.column);
      at.text = Printable(reader_.field(problem.column));
    } else {
      const size_t last = reader_.fields() - 1;
      at.text = Printable({reader_.text(), reader_.ends()[last]});
    }
    return BadInput(problem.message).At(std::move(at));
  }

  Status WithRow(const Status& error) {
    InputPosition at;
    at.file = plan_.files[FileIndex()].path;
    const bool of_content = error.code() == StatusCode::kBadInput;
    const int64_t offset = reader_.record_offset();
    if (Result<int64_t> row = lines_.LineOf(offset); of_content && row.ok()) at.row = *row;
    return error.At(std::move(at));
  }
  size_t FileIndex() const { return decoder_.file(); }

  const InputPlan& plan_;
  LineCounter lines_;
  CsvReader reader_;
  RowDecoder decoder_;
  bool in_reader_ = false;
  Status error_;
};

Status TooManySkipped(const BadRows& policy, const Status& last) {
  const std::string limit = std::to_string(policy.limit);
  return BadInput("more than " + limit +
                  " bad rows, the limit of data.bad_rows; the last one: " + last.message())
      .At(last.position().value_or(InputPosition{}));
}

// Per label: rows of the training set, and rows of the others.
void CountLabels(const ShardRows& rows, ShardSurvey* survey) {
  std::vector<int64_t> train(rows.label_texts.size()), other(rows.label_texts.size());
  for (int set = 0; set < kSets; ++set) {
    for (const int32_t label : rows.sets[set].labels) ++(set == kTrain ? train : other)[label];
  }
  for (size_t i = 0; i < rows.label_texts.size(); ++i) {
    if (train[i] > 0) survey->labels[rows.label_texts[i]] = train[i];
    if (other[i] > 0) survey->evaluation_labels[rows.label_texts[i]] = other[i];
  }
}

ShardSurvey SurveyOf(const ShardRows& rows, const Schema& schema, bool classification, int shard) {
  ShardSurvey survey;
  survey.shard = shard;
  survey.checksum = rows.checksum;
  survey.train_rows = rows.sets[0].rows;
  survey.validation_rows = rows.sets[1].rows;
  survey.test_rows = rows.sets[2].rows;
  survey.dropped_rows = rows.dropped;
  survey.skipped_rows = rows.skipped;
  survey.skipped = rows.skipped_first;
  survey.storage = rows.sets[0].type;
  const DecodedRows& train = rows.sets[kTrain];
  survey.features = StatsOf(train.type, train.features.data(), train.rows,
                            static_cast<int64_t>(schema.features.size()));
  if (classification) {
    CountLabels(rows, &survey);
  } else {
    survey.targets = StatsOf(StorageType::kFloat64, train.targets.data(), train.rows,
                             static_cast<int64_t>(schema.label.size()));
  }
  survey.train_weight = static_cast<double>(train.rows);
  if (schema.weight >= 0) {
    survey.train_weight = 0;
    for (const double weight : train.weights) survey.train_weight += weight;
  }
  return survey;
}

}  // namespace

int64_t ShardRows::MemoryBytes() const {
  int64_t bytes = 0;
  for (const DecodedRows& set : sets) bytes += set.MemoryBytes();
  return bytes;
}

Result<ShardRows> ReadShard(const FileSystem& files, const InputPlan& plan, const JobSpec& job,
                            int shard) {
  ESPALIER_ASSIGN_OR_RETURN(const auto file,
                            OpenUnchanged(files, plan.files[plan.shards[shard].file]));
  ShardScan scan(*file, plan, job, shard);
  const BadRows& policy = job.data.bad_rows;
  const Shard& range = plan.shards[shard];
  ShardRows rows;
  for (int64_t taken = 0;;) {
    const ShardScan::Outcome outcome = scan.Next();
    if (outcome == ShardScan::Outcome::kRow) {
      if (++taken == kRowsBeforeReserve) {
        const double read = static_cast<double>(scan.reader().position() - range.begin);
        scan.decoder().Reserve(std::min(1.0, read / static_cast<double>(range.end - range.begin)));
      }
      continue;
    }
    if (outcome == ShardScan::Outcome::kEnd) break;
    if (outcome == ShardScan::Outcome::kFailed) return scan.error();
    if (outcome == ShardScan::Outcome::kDropped) {
      ++rows.dropped;
      continue;
    }
    if (!policy.skip) return scan.BadRow();
    ++rows.skipped;
    if (rows.skipped > policy.limit) return TooManySkipped(policy, scan.BadRow());
    if (rows.skipped_first.size() < kSkippedKept) rows.skipped_first.push_back(scan.BadRow());
  }
  const auto& labels = scan.decoder().labels().texts();
  if (labels.size() > kClassesMax) {
    return BadInput("the label has more than " + std::to_string(kClassesMax) +
                    " different values; is it a number (model.task: regression) or an identifier?")
        .At({.file = file->info().path, .column = plan.schema.names[plan.schema.label[0]]});
  }
  rows.checksum = scan.reader().checksum();
  rows.label_texts = labels;
  rows.sets = std::move(scan.decoder().sets());
  return rows;
}

Result<SurveyedShard> SurveyShard(const FileSystem& files, const InputPlan& plan,
                                  const JobSpec& job, int shard) {
  SurveyedShard surveyed;
  ESPALIER_ASSIGN_OR_RETURN(surveyed.rows, ReadShard(files, plan, job, shard));
  surveyed.survey =
      SurveyOf(surveyed.rows, plan.schema, job.model.task == Task::kClassification, shard);
  return surveyed;
}

Result<InputPosition> FindEvaluationLabel(const FileSystem& files, const InputPlan& plan,
                                          const JobSpec& job, int shard, const std::string& label) {
  ESPALIER_ASSIGN_OR_RETURN(const auto file,
                            OpenUnchanged(files, plan.files[plan.shards[shard].file]));
  ShardScan scan(*file, plan, job, shard);
  const int32_t column = plan.schema.label[0];
  for (;;) {
    const int64_t train_before = scan.decoder().sets()[kTrain].rows;
    const ShardScan::Outcome outcome = scan.Next();
    if (outcome == ShardScan::Outcome::kFailed) return scan.error();
    if (outcome == ShardScan::Outcome::kEnd) return InputPosition{};
    if (outcome != ShardScan::Outcome::kRow) continue;
    if (scan.decoder().sets()[kTrain].rows > train_before) continue;
    if (Trimmed(scan.reader().field(column)) != label) continue;
    ESPALIER_ASSIGN_OR_RETURN(const int64_t row, scan.Row());
    return InputPosition{.file = file->info().path,
                         .row = row,
                         .column = plan.schema.names[column],
                         .offset = scan.reader().field_offset(column),
                         .text = Printable(label)};
  }
}

}  // namespace espalier
