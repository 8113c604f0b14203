#include "src/data/profile/profile_shard.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "src/data/features/column_stats.h"
#include "src/data/features/sparse_choice.h"
#include "src/data/profile/alike.h"
#include "src/data/profile/judge_shard.h"
#include "src/data/profile/make_shard_reader.h"
#include "src/spec/sparse_rows.h"

namespace espalier::data {
namespace {

// Counts per label the rows of the training set and the rows of the other sets.
void CountLabels(const ShardRows& rows, spec::ShardProfile* profile) {
  const std::vector<std::string>& texts = rows.texts.labels.texts();
  std::vector<int64_t> train(texts.size()), other(texts.size());
  for (int set = 0; set < kSets; ++set) {
    for (const int32_t label : rows.sets[set].labels) ++(set == kTrainSet ? train : other)[label];
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (train[i] > 0) profile->labels[texts[i]] = train[i];
    if (other[i] > 0) profile->evaluation_labels[texts[i]] = other[i];
  }
}

// Returns the number of rows with each of the `codes` codes of a feature.
std::vector<int64_t> CountCodes(const DecodedRows& rows, int64_t width, int64_t feature,
                                size_t codes) {
  std::vector<int64_t> counts(codes);
  WithStorage(rows.type, [&](auto type) {
    const auto* values = reinterpret_cast<const decltype(type)*>(rows.features.data());
    for (int64_t r = 0; r < rows.rows; ++r) {
      int64_t at = r * width + feature;
      if (rows.sparse) {  // all codes are present
        const int32_t* const columns = rows.columns.data();
        at = std::lower_bound(columns + rows.begin(r), columns + rows.ends[r], feature) - columns;
      }
      ++counts[static_cast<size_t>(values[at])];
    }
  });
  return counts;
}

// Counts the training rows with each value of the categorical features.
void CountCategories(const ShardRows& rows, const spec::FeatureSpec& features,
                     const spec::Schema& schema, spec::ShardProfile* profile) {
  const DecodedRows& train = rows.sets[kTrainSet];
  const auto width = static_cast<int64_t>(schema.features.size());
  for (size_t i = 0; i < schema.features.size(); ++i) {
    if (!spec::HasVocabulary(features, schema.rule(i))) continue;
    const std::vector<std::string>& texts =
        rows.texts.categories[profile->categories.size()].texts();
    const std::vector<int64_t> counts =
        CountCodes(train, width, static_cast<int64_t>(i), texts.size());
    auto& of_feature = profile->categories.emplace_back();
    for (size_t k = 0; k < texts.size(); ++k) {
      if (counts[k] > 0) of_feature[texts[k]] = counts[k];
    }
  }
}

spec::ShardProfile ProfileOf(const ShardRows& rows, const spec::Schema& schema,
                             const spec::JobSpec& job, int shard, int32_t file,
                             std::vector<spec::ColumnEvidence> evidence) {
  spec::ShardProfile profile;
  profile.evidence = std::move(evidence);
  profile.shard = shard;
  profile.checksum = rows.checksum;
  profile.train_rows = rows.sets[0].rows;
  profile.validation_rows = rows.sets[1].rows;
  profile.test_rows = rows.sets[2].rows;
  profile.dropped_rows = rows.dropped;
  profile.skipped_rows = rows.skipped;
  profile.skipped = rows.skipped_first;
  profile.storage = rows.sets[0].type;
  const DecodedRows& train = rows.sets[kTrainSet];
  const auto width = static_cast<int64_t>(schema.features.size());
  profile.features = train.sparse ? StatsOfSparse(train, width)
                                  : StatsOf(train.type, train.features.data(), train.rows, width);
  const std::vector<int32_t> coded = CodedFeatures(schema);
  for (const DecodedRows& set : rows.sets) {
    if (width >= spec::kSparseFeaturesMin) profile.nonzeros += set.Nonzeros(width, coded);
  }
  CountCategories(rows, job.data.features, schema, &profile);
  const RowTexts texts(rows, schema, job);
  profile.alike = CountAlike(rows, texts);
  profile.probe = ProbeOf(rows, texts, file);
  if (job.model.task == spec::Task::kClassification) {
    CountLabels(rows, &profile);
  } else {
    profile.targets = StatsOf(spec::StorageType::kFloat64, train.targets.data(), train.rows,
                              static_cast<int64_t>(schema.label.size()));
  }
  profile.train_weight = static_cast<double>(train.rows);
  if (schema.weight >= 0) {
    profile.train_weight = 0;
    for (const double weight : train.weights) profile.train_weight += weight;
  }
  return profile;
}

// Removes columns whose texts the profile counts already.
void DropCounted(const TableSource& table, std::vector<spec::ColumnEvidence>* evidence) {
  const spec::Schema& schema = table.plan.schema;
  std::set<int32_t> counted;
  if (table.job.model.task == spec::Task::kClassification) {
    counted.insert(schema.label.begin(), schema.label.end());
  }
  for (size_t i = 0; i < schema.features.size(); ++i) {
    const bool vocabulary = spec::HasVocabulary(table.job.data.features, schema.rule(i));
    if (vocabulary) counted.insert(schema.features[i]);
  }
  std::erase_if(*evidence,
                [&](const spec::ColumnEvidence& e) { return counted.contains(e.column); });
}

}  // namespace

Result<ProfiledShard> ProfileShard(const ShardReader& reader, int shard) {
  const TableSource& table = reader.table();
  ProfiledShard profiled;
  Result<ShardRows> rows = reader.Read(shard);
  const auto file = static_cast<size_t>(table.plan.shards[static_cast<size_t>(shard)].file);
  const bool bad = rows.ok() ? rows->skipped > 0 : rows.status().code() == StatusCode::kBadInput;
  const bool training = table.plan.files[file].role == spec::FileRole::kTrain;
  if (table.plan.provisional && bad) {
    // The merge decides from all rows whether that row is bad or the plan is wrong. A row of
    // another set waits for this decision too.
    if (training) {
      auto evidence = JudgeShard(table, shard, reader.options().room);
      if (!evidence.ok()) return rows.ok() ? evidence.status() : rows.status();
      profiled.profile.evidence = *std::move(evidence);
    }
    if (!rows.ok()) {
      profiled.profile.shard = shard;
      profiled.profile.failure = rows.status();
      profiled.has_rows = false;
      return profiled;
    }
  }
  ESPALIER_RETURN_IF_ERROR(rows.status());
  profiled.rows = *std::move(rows);
  DropCounted(table, &profiled.profile.evidence);
  profiled.profile = ProfileOf(profiled.rows, table.plan.schema, table.job, shard,
                               static_cast<int32_t>(file), std::move(profiled.profile.evidence));
  profiled.profile.sample = std::exchange(profiled.rows.sample, {});
  profiled.profile.places = std::exchange(profiled.rows.places, {});
  profiled.rows.probed = {};
  return profiled;
}

Result<InputPosition> FindEvaluationLabel(const TableSource& table, int shard,
                                          const std::string& label) {
  std::optional<InputPosition> found;
  const auto find = [&](const RowPiece& piece) -> Status {
    const std::vector<std::string>& texts = piece.texts.labels.texts();
    for (const int set : {kValidationSet, kTestSet}) {
      const RowArray<int32_t>& labels = piece.sets[set].labels;
      for (size_t row = 0; row < labels.size(); ++row) {
        if (texts[labels[row]] != label) continue;
        found = piece.places.OfLabel(set, static_cast<int64_t>(row));
        return Cancelled("the label is found");
      }
    }
    return {};
  };
  const Status read = MakeShardReader(table, {.piece_bytes = 0})->Read(shard, find).status();
  if (!found) ESPALIER_RETURN_IF_ERROR(read);
  return found.value_or(InputPosition{});
}

}  // namespace espalier::data
