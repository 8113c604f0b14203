#include <algorithm>
#include <cmath>

#include "src/rpc/convert.h"
#include "src/rpc/fields.h"

namespace espalier::rpc {

namespace {

constexpr int64_t kSkippedMax = 10'000;
constexpr int64_t kTotalsMax = 10'000'000;  // a confusion matrix of 1,000 classes has a tenth

void SchemaToProto(const Schema& schema, pb::Schema* out) {
  out->mutable_names()->Add(schema.names.begin(), schema.names.end());
  out->mutable_features()->Add(schema.features.begin(), schema.features.end());
  out->mutable_label()->Add(schema.label.begin(), schema.label.end());
  out->set_weight(schema.weight);
  out->set_validation(schema.validation);
  out->set_partitions(schema.partitions);
  for (const FeatureRule& rule : schema.rules) {
    pb::FeatureRule* p = out->add_rules();
    p->set_type(static_cast<pb::FeatureType>(static_cast<int>(rule.type) + 1));
    p->set_group(rule.group);
    p->set_part(static_cast<pb::DatePart>(static_cast<int>(rule.part) + 1));
  }
}

FeatureRule RuleFromProto(const pb::FeatureRule& in, Fields& f) {
  FeatureRule out;
  out.type = static_cast<FeatureType>(
      f.In("rules.type", in.type(), pb::FEATURE_TYPE_NUMERIC, pb::FEATURE_TYPE_CATEGORICAL) - 1);
  out.group = f.In("rules.group", in.group(), -1, kListMax - 1);
  out.part = static_cast<DatePart>(
      f.In("rules.part", in.part(), pb::DATE_PART_YEAR, pb::DATE_PART_EPOCH) - 1);
  return out;
}

Result<Schema> SchemaFromProto(const pb::Schema& in) {
  Fields f("Schema");
  Schema out;
  const int64_t columns = in.names_size();
  if (!f.Few("names", columns, kListMax) || !f.Few("features", in.features_size(), kListMax) ||
      !f.Few("label", in.label_size(), columns)) {
    return f.status();
  }
  if (in.rules_size() != 0) {
    f.In("rules", in.rules_size(), in.features_size(), in.features_size());
  }
  for (const pb::FeatureRule& rule : in.rules()) out.rules.push_back(RuleFromProto(rule, f));
  for (const std::string& n : in.names()) out.names.push_back(f.Text("names", n, kTextBytesMax));
  for (int32_t c : in.features()) out.features.push_back(f.In("features", c, 0, columns - 1));
  for (int32_t c : in.label()) out.label.push_back(f.In("label", c, 0, columns - 1));
  out.weight = f.In("weight", in.weight(), -1, columns - 1);
  out.validation = f.In("validation", in.validation(), -1, columns - 1);
  out.partitions = f.In("partitions", in.partitions(), 0, columns);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return out;
}

void StatsToProto(const ColumnStats& stats, pb::ColumnStats* out) {
  out->set_count(stats.count);
  out->set_nulls(stats.nulls);
  out->set_mean(stats.mean);
  out->set_m2(stats.m2);
  out->set_min(stats.min);
  out->set_max(stats.max);
}

// The moments may overflow, for huge values; what scaling makes of that is not rpc's to judge.
ColumnStats StatsFromProto(const pb::ColumnStats& in, Fields& f) {
  ColumnStats out;
  out.count = f.NotNegative("statistics.count", in.count());
  out.nulls = f.NotNegative("statistics.nulls", in.nulls());
  out.mean = in.mean();
  out.m2 = in.m2();
  out.min = f.Finite("statistics.min", in.min());
  out.max = f.Finite("statistics.max", in.max());
  return out;
}

using StatsList = google::protobuf::RepeatedPtrField<pb::ColumnStats>;

std::vector<ColumnStats> StatsFromProto(const char* field, const StatsList& in, Fields& f) {
  std::vector<ColumnStats> out;
  if (!f.Few(field, in.size(), kListMax)) return out;
  out.reserve(in.size());
  for (const pb::ColumnStats& s : in) out.push_back(StatsFromProto(s, f));
  return out;
}

using Labels = google::protobuf::RepeatedPtrField<pb::LabelCount>;

void LabelsToProto(const std::map<std::string, int64_t>& labels, Labels* out) {
  for (const auto& [label, rows] : labels) {
    pb::LabelCount* p = out->Add();
    p->set_label(label);
    p->set_rows(rows);
  }
}

std::map<std::string, int64_t> LabelsFromProto(const char* field, const Labels& in, Fields& f) {
  std::map<std::string, int64_t> out;
  if (!f.Few(field, in.size(), kListMax)) return out;
  for (const pb::LabelCount& p : in) {
    const int64_t rows = f.NotNegative(field, p.rows());
    if (!out.emplace(f.Text(field, p.label(), kTextBytesMax), rows).second) {
      f.Fail(field, "names a label twice");
      break;
    }
  }
  return out;
}

RowSample SampleFromProto(const pb::RowSample& in, Fields& f) {
  RowSample out;
  if (!f.Few("sample.keys", in.keys_size(), kSampledRowsMost)) return out;
  out.keys.assign(in.keys().begin(), in.keys().end());
  out.values.assign(in.values().begin(), in.values().end());
  if (!std::is_sorted(out.keys.begin(), out.keys.end())) f.Fail("sample.keys", "do not ascend");
  if (std::any_of(out.values.begin(), out.values.end(), [](double v) { return std::isinf(v); })) {
    f.Fail("sample.values", "are infinite");
  }
  return out;
}

StorageType StorageFromProto(pb::StorageType in, Fields& f) {
  return static_cast<StorageType>(
      f.In("storage", in, pb::STORAGE_TYPE_UINT8, pb::STORAGE_TYPE_FLOAT64) - 1);
}

pb::StorageType StorageToProto(StorageType type) {
  return static_cast<pb::StorageType>(static_cast<int>(type) + 1);
}

void PreprocessingToProto(const Preprocessing& in, pb::Preprocessing* out) {
  for (const FittedFeature& feature : in.features) {
    pb::FittedFeature* p = out->add_features();
    p->set_name(feature.name);
    p->set_shift(feature.shift);
    p->set_factor(feature.factor);
    p->set_null_value(feature.null_value);
    p->set_null_indicator(feature.null_indicator);
    p->set_codes(feature.codes);
    p->set_embedding(feature.embedding);
    p->set_hashed(feature.hashed);
    p->mutable_vocabulary()->Add(feature.vocabulary.begin(), feature.vocabulary.end());
  }
  for (const FittedTarget& target : in.targets) {
    pb::FittedTarget* p = out->add_targets();
    p->set_name(target.name);
    p->set_shift(target.shift);
    p->set_factor(target.factor);
  }
  out->mutable_classes()->Add(in.classes.begin(), in.classes.end());
  out->mutable_class_weights()->Add(in.class_weights.begin(), in.class_weights.end());
}

FittedFeature FeatureFromProto(const pb::FittedFeature& in, Fields& f) {
  FittedFeature out;
  out.name = f.Text("features.name", in.name(), kTextBytesMax);
  out.shift = f.Finite("features.shift", in.shift());
  out.factor = f.Finite("features.factor", in.factor());
  out.null_value = f.Finite("features.null_value", in.null_value());
  out.null_indicator = in.null_indicator();
  out.codes = f.In("features.codes", in.codes(), 0, kCodesMax);
  out.embedding = f.In("features.embedding", in.embedding(), 0, kEmbeddingMax);
  out.hashed = in.hashed();
  if (!f.Few("features.vocabulary", in.vocabulary_size(), out.codes)) return out;
  for (const std::string& text : in.vocabulary()) {
    out.vocabulary.push_back(f.Text("features.vocabulary", text, kTextBytesMax));
  }
  return out;
}

Result<Preprocessing> PreprocessingFromProto(const pb::Preprocessing& in) {
  Fields f("Preprocessing");
  Preprocessing out;
  if (!f.Few("features", in.features_size(), kListMax) ||
      !f.Few("targets", in.targets_size(), kListMax) ||
      !f.Few("classes", in.classes_size(), kListMax)) {
    return f.status();
  }
  for (const pb::FittedFeature& p : in.features()) {
    out.features.push_back(FeatureFromProto(p, f));
  }
  for (const pb::FittedTarget& p : in.targets()) {
    out.targets.push_back({f.Text("targets.name", p.name(), kTextBytesMax),
                           f.Finite("targets.shift", p.shift()),
                           f.Finite("targets.factor", p.factor())});
  }
  for (const std::string& c : in.classes()) {
    out.classes.push_back(f.Text("classes", c, kTextBytesMax));
  }
  const int weights = in.class_weights_size();
  const int weighed = in.classes_size() > 0 ? in.classes_size() : in.targets_size();
  if (weights != 0) f.In("class_weights", weights, weighed, weighed);
  for (double weight : in.class_weights()) {
    out.class_weights.push_back(f.Finite("class_weights", weight));
  }
  ESPALIER_RETURN_IF_ERROR(f.status());
  return out;
}

InputFile FileFromProto(const pb::InputFile& in, Fields& f) {
  InputFile out;
  out.path = f.Text("files.path", in.path(), kTextBytesMax);
  out.length = f.NotNegative("files.length", in.length());
  out.modified_ms = in.modified_ms();
  out.role = static_cast<FileRole>(
      f.In("files.role", in.role(), pb::FILE_ROLE_TRAIN, pb::FILE_ROLE_TEST) - 1);
  out.columns.assign(in.columns().begin(), in.columns().end());
  return out;
}

// A file's columns are each of the schema's once.
void CheckColumns(const InputFile& file, size_t columns, Fields& f) {
  if (file.columns.empty()) return;
  std::vector<bool> seen(columns);
  bool right = file.columns.size() == columns;
  for (size_t i = 0; right && i < columns; ++i) {
    const int32_t column = file.columns[i];
    right = column >= 0 && static_cast<size_t>(column) < columns && !seen[column];
    if (right) seen[column] = true;
  }
  if (!right) f.Fail("files.columns", "are not each of the schema's once");
}

Shard ShardFromProto(const pb::Shard& in, const std::vector<InputFile>& files, Fields& f) {
  Shard out;
  if (files.empty()) {
    f.Fail("shards", "are there without files");
    return out;
  }
  out.file = f.In("shards.file", in.file(), 0, static_cast<int64_t>(files.size()) - 1);
  out.end = f.In("shards.end", in.end(), 0, files[out.file].length);
  out.begin = f.In("shards.begin", in.begin(), 0, out.end);
  return out;
}

}  // namespace

void ToProto(const InputPlan& plan, pb::InputPlan* out) {
  for (const InputFile& file : plan.files) {
    pb::InputFile* p = out->add_files();
    p->set_path(file.path);
    p->set_length(file.length);
    p->set_modified_ms(file.modified_ms);
    p->set_role(static_cast<pb::FileRole>(static_cast<int>(file.role) + 1));
    p->mutable_columns()->Add(file.columns.begin(), file.columns.end());
  }
  for (const Shard& shard : plan.shards) {
    pb::Shard* p = out->add_shards();
    p->set_file(shard.file);
    p->set_begin(shard.begin);
    p->set_end(shard.end);
  }
  SchemaToProto(plan.schema, out->mutable_schema());
}

Result<InputPlan> FromProto(const pb::InputPlan& in) {
  Fields f("InputPlan");
  InputPlan out;
  if (!f.Few("files", in.files_size(), kListMax) || !f.Few("shards", in.shards_size(), kListMax)) {
    return f.status();
  }
  out.files.reserve(in.files_size());
  for (const pb::InputFile& file : in.files()) out.files.push_back(FileFromProto(file, f));
  out.shards.reserve(in.shards_size());
  for (const pb::Shard& s : in.shards()) out.shards.push_back(ShardFromProto(s, out.files, f));
  out.schema = Part(f, "schema", SchemaFromProto(in.schema()));
  for (const InputFile& file : out.files) CheckColumns(file, out.schema.names.size(), f);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return out;
}

namespace {

void ScoreToProto(const ShardScore& score, pb::ShardScore* out) {
  out->set_rows(score.rows);
  out->set_rejected(score.rejected);
  for (const Status& why : score.first_rejects) ToProto(why, out->add_first_rejects());
  out->set_parts(score.parts);
  out->set_reject_parts(score.reject_parts);
  out->set_generation(score.generation);
  out->mutable_totals()->Add(score.totals.begin(), score.totals.end());
}

Result<ShardScore> ScoreFromProto(const pb::ShardScore& in) {
  Fields f("ShardScore");
  ShardScore out;
  out.rows = f.NotNegative("rows", in.rows());
  out.rejected = f.NotNegative("rejected", in.rejected());
  out.first_rejects = RejectsFromProto(in.first_rejects(), f);
  out.parts = f.NotNegative("parts", in.parts());
  out.reject_parts = f.NotNegative("reject_parts", in.reject_parts());
  out.generation = in.generation();
  if (!f.Few("totals", in.totals_size(), kTotalsMax)) return f.status();
  out.totals.assign(in.totals().begin(), in.totals().end());
  ESPALIER_RETURN_IF_ERROR(f.status());
  return out;
}

}  // namespace

void ToProto(const ShardSurvey& survey, pb::ShardSurvey* out) {
  out->set_shard(survey.shard);
  out->set_checksum(survey.checksum);
  out->set_train_rows(survey.train_rows);
  out->set_validation_rows(survey.validation_rows);
  out->set_test_rows(survey.test_rows);
  out->set_dropped_rows(survey.dropped_rows);
  out->set_skipped_rows(survey.skipped_rows);
  for (const Status& why : survey.skipped) ToProto(why, out->add_skipped());
  out->set_storage(StorageToProto(survey.storage));
  for (const ColumnStats& stats : survey.features) StatsToProto(stats, out->add_features());
  for (const ColumnStats& stats : survey.targets) StatsToProto(stats, out->add_targets());
  LabelsToProto(survey.labels, out->mutable_labels());
  LabelsToProto(survey.evaluation_labels, out->mutable_evaluation_labels());
  out->set_train_weight(survey.train_weight);
  out->set_nonzeros(survey.nonzeros);
  for (const auto& values : survey.categories) {
    LabelsToProto(values, out->add_categories()->mutable_values());
  }
  const RowSample& sample = survey.sample;
  if (!sample.keys.empty()) {
    out->mutable_sample()->mutable_keys()->Add(sample.keys.begin(), sample.keys.end());
    out->mutable_sample()->mutable_values()->Add(sample.values.begin(), sample.values.end());
  }
  if (survey.score) ScoreToProto(*survey.score, out->mutable_score());
}

Result<ShardSurvey> FromProto(const pb::ShardSurvey& in) {
  Fields f("ShardSurvey");
  ShardSurvey out;
  out.shard = f.In("shard", in.shard(), 0, kListMax - 1);
  out.checksum = in.checksum();
  out.train_rows = f.NotNegative("train_rows", in.train_rows());
  out.validation_rows = f.NotNegative("validation_rows", in.validation_rows());
  out.test_rows = f.NotNegative("test_rows", in.test_rows());
  out.dropped_rows = f.NotNegative("dropped_rows", in.dropped_rows());
  out.skipped_rows = f.NotNegative("skipped_rows", in.skipped_rows());
  if (!f.Few("skipped", in.skipped_size(), kSkippedMax)) return f.status();
  for (const pb::ErrorDetail& detail : in.skipped()) {
    Status why;
    if (Status bad = ErrorFromProto(detail, &why); !bad.ok()) f.Take("skipped", bad);
    out.skipped.push_back(std::move(why));
  }
  out.storage = StorageFromProto(in.storage(), f);
  out.features = StatsFromProto("features", in.features(), f);
  out.targets = StatsFromProto("targets", in.targets(), f);
  out.labels = LabelsFromProto("labels", in.labels(), f);
  out.evaluation_labels = LabelsFromProto("evaluation_labels", in.evaluation_labels(), f);
  out.train_weight = f.Finite("train_weight", in.train_weight());
  out.nonzeros = f.NotNegative("nonzeros", in.nonzeros());
  if (!f.Few("categories", in.categories_size(), kListMax)) return f.status();
  for (const pb::CategoryCounts& counts : in.categories()) {
    out.categories.push_back(LabelsFromProto("categories", counts.values(), f));
  }
  out.sample = SampleFromProto(in.sample(), f);
  if (in.has_score()) out.score = Part(f, "score", ScoreFromProto(in.score()));
  ESPALIER_RETURN_IF_ERROR(f.status());
  return out;
}

void ToProto(const SurveyResult& result, pb::SurveyResult* out) {
  for (const ShardSurvey& shard : result.shards) ToProto(shard, out->add_shards());
  PreprocessingToProto(result.preprocessing, out->mutable_preprocessing());
  out->set_storage(StorageToProto(result.storage));
  out->set_sparse(result.sparse);
  out->set_train_rows(result.train_rows);
  out->set_validation_rows(result.validation_rows);
  out->set_test_rows(result.test_rows);
  out->set_skipped_rows(result.skipped_rows);
  out->set_data_fingerprint(Utf8(result.data_fingerprint, kNameBytesMax));
}

Result<SurveyResult> FromProto(const pb::SurveyResult& in) {
  Fields f("SurveyResult");
  SurveyResult out;
  if (!f.Few("shards", in.shards_size(), kListMax)) return f.status();
  out.shards.reserve(in.shards_size());
  for (int i = 0; i < in.shards_size() && f.status().ok(); ++i) {
    out.shards.push_back(Part(f, "shards", FromProto(in.shards(i))));
    f.In("shards.shard", out.shards.back().shard, i, i);
  }
  out.preprocessing = Part(f, "preprocessing", PreprocessingFromProto(in.preprocessing()));
  out.storage = StorageFromProto(in.storage(), f);
  out.sparse = in.sparse();
  out.train_rows = f.NotNegative("train_rows", in.train_rows());
  out.validation_rows = f.NotNegative("validation_rows", in.validation_rows());
  out.test_rows = f.NotNegative("test_rows", in.test_rows());
  out.skipped_rows = f.NotNegative("skipped_rows", in.skipped_rows());
  out.data_fingerprint = f.Text("data_fingerprint", in.data_fingerprint(), kNameBytesMax);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return out;
}

}  // namespace espalier::rpc
