#include "src/data/profile/survey.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/text.h"
#include "src/data/features/column_stats.h"
#include "src/data/features/sparse_choice.h"
#include "src/data/parquet/reader.h"
#include "src/data/table/input_file.h"
#include "src/data/table/number.h"
#include "src/data/table/pack_sparse.h"
#include "src/data/text/text_input.h"
#include "src/data/text/text_scan.h"
#include "src/spec/sparse_rows.h"

namespace espalier {
namespace {

// Enough to tell how many rows a shard will have, and whether they are sparse.
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
  for (const DecodedRows& set : scan->decoder().sets()) bytes += set.FeatureBytes();
  if (!take || bytes < bytes_min) return {};
  ESPALIER_RETURN_IF_ERROR(take(scan->decoder().sets(), scan->decoder().texts()));
  for (DecodedRows& set : scan->decoder().sets()) set.Clear();
  return {};
}

// Nothing: rows that are to be kept shall not be decoded sparse, as the first ones tell.
Result<std::optional<ShardRows>> ReadTextAs(bool sparse, const FileSystem& files,
                                            const InputPlan& plan, const JobSpec& job, int shard,
                                            RowRoom* room, const TakeRows& take) {
  const Shard& range = plan.shards[shard];
  ESPALIER_ASSIGN_OR_RETURN(auto input, OpenShard(files, plan, shard));
  const std::string& path = plan.files[range.file].path;
  TextScan scan(std::move(input), plan, job, shard, room, sparse);
  const auto width = static_cast<int64_t>(plan.schema.features.size());
  const std::vector<int32_t> coded = CodedFeatures(plan.schema);
  const ShardTexts& texts = scan.decoder().texts();
  ShardRows rows;
  for (int64_t taken = 0;;) {
    const TextScan::Outcome outcome = scan.Next();
    if (outcome == TextScan::Outcome::kEnd) break;
    if (outcome == TextScan::Outcome::kFailed) return scan.error();
    // Whatever becomes of a row: its texts are remembered, too.
    ESPALIER_RETURN_IF_ERROR(scan.decoder().features().CheckTexts(path));
    if (outcome == TextScan::Outcome::kRow) {
      ++taken;
      if (sparse && !take && taken == kRowsBeforeReserve &&
          !AreSparse(scan.decoder().sets(), width, coded)) {
        return std::nullopt;
      }
      if (!take) ReserveEarly(range, taken, &scan);
      ESPALIER_RETURN_IF_ERROR(HandOn(&scan, take, kPieceBytes));
      continue;
    }
    if (outcome == TextScan::Outcome::kDropped) {
      ++rows.dropped;
      continue;
    }
    ESPALIER_RETURN_IF_ERROR(
        TakeBadRow(job.data.bad_rows, &rows, [&scan] { return scan.BadRow(); }));
  }
  ESPALIER_RETURN_IF_ERROR(HandOn(&scan, take, 0));
  rows.checksum = scan.reader().checksum();
  rows.texts = texts;
  if (!take) rows.sample = scan.decoder().Sample();
  rows.sets = std::move(scan.decoder().sets());
  return rows;
}

Result<ShardRows> ReadText(const FileSystem& files, const InputPlan& plan, const JobSpec& job,
                           int shard, RowRoom* room, const TakeRows& take) {
  const std::string& path = plan.files[plan.shards[shard].file].path;
  const auto read = [&](bool sparse) {
    return ReadTextAs(sparse, files, plan, job, shard, room, take);
  };
  ESPALIER_ASSIGN_OR_RETURN(auto rows, read(DecodesSparse(job, plan.schema, path)));
  if (!rows) {
    ESPALIER_ASSIGN_OR_RETURN(rows, read(false));
  }
  return *std::move(rows);
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
  const std::vector<std::string>& texts = rows.texts.labels.texts();
  std::vector<int64_t> train(texts.size()), other(texts.size());
  for (int set = 0; set < kSets; ++set) {
    for (const int32_t label : rows.sets[set].labels) ++(set == kTrainSet ? train : other)[label];
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (train[i] > 0) survey->labels[texts[i]] = train[i];
    if (other[i] > 0) survey->evaluation_labels[texts[i]] = other[i];
  }
}

// How many rows have each code of a feature, of which there are `codes`.
std::vector<int64_t> CountCodes(const DecodedRows& rows, int64_t width, int64_t feature,
                                size_t codes) {
  std::vector<int64_t> counts(codes);
  WithStorage(rows.type, [&](auto type) {
    const auto* values = reinterpret_cast<const decltype(type)*>(rows.features.data());
    for (int64_t r = 0; r < rows.rows; ++r) {
      int64_t at = r * width + feature;
      if (rows.sparse) {  // where all codes are
        const int32_t* const columns = rows.columns.data();
        at = std::lower_bound(columns + rows.begin(r), columns + rows.ends[r], feature) - columns;
      }
      ++counts[static_cast<size_t>(values[at])];
    }
  });
  return counts;
}

// How many training rows have each value of the categorical features.
void CountCategories(const ShardRows& rows, const FeatureSpec& features, const Schema& schema,
                     ShardSurvey* survey) {
  const DecodedRows& train = rows.sets[kTrainSet];
  const auto width = static_cast<int64_t>(schema.features.size());
  for (size_t i = 0; i < schema.features.size(); ++i) {
    if (!HasVocabulary(features, schema.rule(i))) continue;
    const std::vector<std::string>& texts =
        rows.texts.categories[survey->categories.size()].texts();
    const std::vector<int64_t> counts =
        CountCodes(train, width, static_cast<int64_t>(i), texts.size());
    auto& of_feature = survey->categories.emplace_back();
    for (size_t k = 0; k < texts.size(); ++k) {
      if (counts[k] > 0) of_feature[texts[k]] = counts[k];
    }
  }
}

ShardSurvey SurveyOf(const ShardRows& rows, const Schema& schema, const JobSpec& job, int shard) {
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
  const DecodedRows& train = rows.sets[kTrainSet];
  const auto width = static_cast<int64_t>(schema.features.size());
  survey.features = train.sparse ? StatsOfSparse(train, width)
                                 : StatsOf(train.type, train.features.data(), train.rows, width);
  const std::vector<int32_t> coded = CodedFeatures(schema);
  for (const DecodedRows& set : rows.sets) {
    if (width >= kSparseFeaturesMin) survey.nonzeros += set.Nonzeros(width, coded);
  }
  CountCategories(rows, job.data.features, schema, &survey);
  if (job.model.task == Task::kClassification) {
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
  surveyed.survey = SurveyOf(surveyed.rows, plan.schema, job, shard);
  surveyed.survey.sample = std::exchange(surveyed.rows.sample, {});
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
    if (scan.decoder().sets()[kTrainSet].rows > 0) continue;
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
