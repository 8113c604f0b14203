#include "src/data/profile/profile_shard.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/data/features/column_stats.h"
#include "src/data/features/sparse_choice.h"
#include "src/data/profile/make_shard_reader.h"
#include "src/spec/sparse_rows.h"

namespace espalier::data {
namespace {

// Per label: rows of the training set, and rows of the others.
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
                             const spec::JobSpec& job, int shard) {
  spec::ShardProfile profile;
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

}  // namespace

Result<ProfiledShard> ProfileShard(const ShardReader& reader, int shard) {
  const TableSource& table = reader.table();
  ProfiledShard profiled;
  ESPALIER_ASSIGN_OR_RETURN(profiled.rows, reader.Read(shard));
  profiled.profile = ProfileOf(profiled.rows, table.plan.schema, table.job, shard);
  profiled.profile.sample = std::exchange(profiled.rows.sample, {});
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
