#include "src/data/survey.h"

#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/data/column_stats.h"
#include "src/data/listing.h"
#include "src/data/number.h"
#include "src/data/parquet_reader.h"
#include "src/data/text_input.h"
#include "src/data/text_scan.h"

namespace espalier {
namespace {

constexpr int kTrain = static_cast<int>(FileRole::kTrain);
// Enough to tell how many rows a shard will have.
constexpr int64_t kRowsBeforeReserve = 256;
// Of rows that are handed on while the shard is read: they stay in the cache.
constexpr size_t kPieceBytes = 512 << 10;

Result<std::unique_ptr<TextInput>> OpenShard(const FileSystem& files, const InputPlan& plan,
                                             int shard) {
  const Shard& range = plan.shards[shard];
  const InputFile& file = plan.files[range.file];
  return TextInput::OpenShard(files, file, range.begin, range.end);
}

// Of rows that are kept: makes room for the whole shard as soon as it can be told how much.
void ReserveEarly(const Shard& range, int64_t taken, TextScan* scan) {
  // What a compressed file will hold cannot be told: its begin may be unlike the rest.
  if (taken != kRowsBeforeReserve || scan->compressed()) return;
  const double read = static_cast<double>(scan->reader().position() - range.begin);
  scan->decoder().Reserve(std::min(1.0, read / static_cast<double>(range.end - range.begin)));
}

// Hands on what there is of at least so many bytes, if anybody takes it.
Status HandOn(TextScan* scan, const TakeRows& take, size_t bytes_min) {
  size_t bytes = 0;
  for (const DecodedRows& set : scan->decoder().sets()) bytes += set.features.size();
  if (!take || bytes < bytes_min) return {};
  ESPALIER_RETURN_IF_ERROR(take(scan->decoder().sets(), scan->decoder().labels().texts()));
  for (DecodedRows& set : scan->decoder().sets()) set.Clear();
  return {};
}

Result<ShardRows> ReadText(const FileSystem& files, const InputPlan& plan, const JobSpec& job,
                           int shard, RowRoom* room, const TakeRows& take) {
  const Shard& range = plan.shards[shard];
  ESPALIER_ASSIGN_OR_RETURN(auto input, OpenShard(files, plan, shard));
  TextScan scan(std::move(input), plan, job, shard, room);
  const auto& labels = scan.decoder().labels().texts();
  ShardRows rows;
  for (int64_t taken = 0;;) {
    const TextScan::Outcome outcome = scan.Next();
    if (outcome == TextScan::Outcome::kRow) {
      if (labels.size() > kClassesMax) break;
      ++taken;
      if (!take) ReserveEarly(range, taken, &scan);
      ESPALIER_RETURN_IF_ERROR(HandOn(&scan, take, kPieceBytes));
      continue;
    }
    if (outcome == TextScan::Outcome::kEnd) break;
    if (outcome == TextScan::Outcome::kFailed) return scan.error();
    if (outcome == TextScan::Outcome::kDropped) {
      ++rows.dropped;
      continue;
    }
    ESPALIER_RETURN_IF_ERROR(
        TakeBadRow(job.data.bad_rows, &rows, [&scan] { return scan.BadRow(); }));
  }
  ESPALIER_RETURN_IF_ERROR(CheckLabels(labels.size(), plan.files[range.file].path,
                                       plan.schema.names[plan.schema.label[0]]));
  ESPALIER_RETURN_IF_ERROR(HandOn(&scan, take, 0));
  rows.checksum = scan.reader().checksum();
  rows.label_texts = labels;
  rows.sets = std::move(scan.decoder().sets());
  return rows;
}

Result<ShardRows> Read(const FileSystem& files, const InputPlan& plan, const JobSpec& job,
                       int shard, RowRoom* room, const TakeRows& take) {
  const InputFile& listed = plan.files[plan.shards[shard].file];
  if (FormatOf(job.data, listed.path) != DataFormat::kParquet) {
    return ReadText(files, plan, job, shard, room, take);
  }
  ESPALIER_ASSIGN_OR_RETURN(const auto file, OpenUnchanged(files, listed));
  return ReadParquetShard(*file, plan, job, shard, room, take);
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

Result<ShardRows> ReadShard(const FileSystem& files, const InputPlan& plan, const JobSpec& job,
                            int shard, RowRoom* room) {
  return Read(files, plan, job, shard, room, nullptr);
}

Result<ShardRows> StreamShard(const FileSystem& files, const InputPlan& plan, const JobSpec& job,
                              int shard, RowRoom* room, const TakeRows& take) {
  return Read(files, plan, job, shard, room, take);
}

Result<SurveyedShard> SurveyShard(const FileSystem& files, const InputPlan& plan,
                                  const JobSpec& job, int shard, RowRoom* room) {
  SurveyedShard surveyed;
  ESPALIER_ASSIGN_OR_RETURN(surveyed.rows, ReadShard(files, plan, job, shard, room));
  surveyed.survey =
      SurveyOf(surveyed.rows, plan.schema, job.model.task == Task::kClassification, shard);
  return surveyed;
}

Result<InputPosition> FindEvaluationLabel(const FileSystem& files, const InputPlan& plan,
                                          const JobSpec& job, int shard, const std::string& label) {
  const InputFile& listed = plan.files[plan.shards[shard].file];
  if (FormatOf(job.data, listed.path) == DataFormat::kParquet) {
    ESPALIER_ASSIGN_OR_RETURN(const auto file, OpenUnchanged(files, listed));
    return FindParquetLabel(*file, plan, job, shard, label);
  }
  ESPALIER_ASSIGN_OR_RETURN(auto input, OpenShard(files, plan, shard));
  TextScan scan(std::move(input), plan, job, shard, nullptr);
  const int32_t column = scan.schema().label[0];
  for (;;) {
    for (DecodedRows& set : scan.decoder().sets()) set.Clear();
    const TextScan::Outcome outcome = scan.Next();
    if (outcome == TextScan::Outcome::kFailed) return scan.error();
    if (outcome == TextScan::Outcome::kEnd) return InputPosition{};
    if (outcome != TextScan::Outcome::kRow) continue;
    if (scan.decoder().sets()[kTrain].rows > 0) continue;
    if (Trimmed(scan.reader().field(column)) != label) continue;
    ESPALIER_ASSIGN_OR_RETURN(const int64_t row, scan.Row());
    return InputPosition{.file = listed.path,
                         .row = row,
                         .column = scan.schema().names[column],
                         .offset = scan.reader().field_offset(column),
                         .text = Printable(label)};
  }
}

}  // namespace espalier
