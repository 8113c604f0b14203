// The input of a job and the results of its shards.
#include <algorithm>
#include <cmath>

#include "src/rpc/convert_fields.h"

namespace espalier::rpc {
constexpr int64_t kSkippedMax = 10'000;
constexpr int64_t kNotesMax = 1'000;
constexpr int64_t kTotalsMax = 10'000'000;  // ten times a confusion matrix of 1,000 classes

// ---- the plan --------------------------------------------------------------------------------

template <typename W>
void Map(W& w, Is<spec::FeatureRule> auto& r) {
  w(ESPALIER_AT(type), r.type);
  w(ESPALIER_AT(group), r.group, Within{-1, kListMax - 1});
  w(ESPALIER_AT(part), r.part);
}

template <typename W>
void Map(W& w, Is<spec::LeftOutColumn> auto& c) {
  w(ESPALIER_AT(column), c.column, kAny);
  w(ESPALIER_AT(reason), c.reason);
}

static void CheckSchema(const spec::Schema& s, Fields& f) {
  const auto columns = static_cast<int64_t>(s.names.size());
  const auto features = static_cast<int64_t>(s.features.size());
  f.Few("label", static_cast<int64_t>(s.label.size()), columns);
  if (!s.rules.empty()) f.In("rules", static_cast<int64_t>(s.rules.size()), features, features);
  for (int32_t c : s.features) f.In("features", c, 0, columns - 1);
  for (int32_t c : s.label) f.In("label", c, 0, columns - 1);
  f.In("weight", s.weight, -1, columns - 1);
  f.In("validation", s.validation, -1, columns - 1);
  f.In("partitions", s.partitions, 0, columns);
  for (const spec::LeftOutColumn& c : s.left_out) f.In("left_out", c.column, 0, columns - 1);
}

template <typename W>
void Map(W& w, Is<spec::Schema> auto& s) {
  w(ESPALIER_AT(names), s.names, Raw());
  w(ESPALIER_AT(features), s.features, kAny);
  w(ESPALIER_AT(label), s.label, kAny);
  w(ESPALIER_AT(weight), s.weight, kAny);
  w(ESPALIER_AT(validation), s.validation, kAny);
  w(ESPALIER_AT(partitions), s.partitions, kAny);
  w(ESPALIER_AT(rules), s.rules);
  w(ESPALIER_AT(left_out), s.left_out);
  if constexpr (W::kDecodes) CheckSchema(s, w.fields());
}

template <typename W>
void Map(W& w, Is<spec::InputFile> auto& file) {
  w(ESPALIER_AT(path), file.path, Raw());
  w(ESPALIER_AT(length), file.length);
  w(ESPALIER_AT(modified_ms), file.modified_ms, kAny);
  w(ESPALIER_AT(role), file.role);
  w(ESPALIER_AT(columns), file.columns, kAny);
}

template <typename W>
void Map(W& w, Is<spec::Shard> auto& shard) {
  w(ESPALIER_AT(file), shard.file);
  w(ESPALIER_AT(begin), shard.begin);
  w(ESPALIER_AT(end), shard.end);
}

static bool IsUnused(int32_t column) {
  return column == spec::InputFile::kLeftOut || column == spec::InputFile::kEmpty;
}

// Checks that a file's columns contain each column of the schema once.
static void CheckColumns(const spec::InputFile& file, size_t columns, Fields& f) {
  if (file.columns.empty()) return;
  std::vector<bool> seen(columns);
  const auto unused = std::count_if(file.columns.begin(), file.columns.end(), IsUnused);
  bool right = file.columns.size() == columns + static_cast<size_t>(unused);
  for (const int32_t column : file.columns) {
    if (IsUnused(column)) continue;
    right = right && column >= 0 && static_cast<size_t>(column) < columns && !seen[column];
    if (right) seen[column] = true;
  }
  if (!right) f.Fail("files.columns", "are not each of the schema's once");
}

static void CheckPlan(const spec::InputPlan& plan, Fields& f) {
  const auto files = static_cast<int64_t>(plan.files.size());
  if (files == 0 && !plan.shards.empty()) f.Fail("shards", "are there without files");
  for (const spec::Shard& shard : plan.shards) {
    f.In("shards.file", shard.file, 0, files - 1);
    if (!f.status().ok()) return;
    f.In("shards.end", shard.end, 0, plan.files[static_cast<size_t>(shard.file)].length);
    f.In("shards.begin", shard.begin, 0, shard.end);
  }
  for (const spec::InputFile& file : plan.files) CheckColumns(file, plan.schema.names.size(), f);
}

template <typename W>
void Map(W& w, Is<spec::InputPlan> auto& plan) {
  w(ESPALIER_AT(files), plan.files);
  w(ESPALIER_AT(shards), plan.shards);
  w(ESPALIER_AT(schema), plan.schema);
  w(ESPALIER_AT(provisional), plan.provisional);
  w(ESPALIER_AT(notes), plan.notes, Each{kWords, kNotesMax});
  if constexpr (W::kDecodes) CheckPlan(plan, w.fields());
}

// ---- results of shards -----------------------------------------------------------------------

// Moments may overflow with huge values. Scaling handles that, not rpc.
template <typename W>
void Map(W& w, Is<spec::ColumnStats> auto& s) {
  w(ESPALIER_AT(count), s.count);
  w(ESPALIER_AT(nulls), s.nulls);
  w(ESPALIER_AT(mean), s.mean);
  w(ESPALIER_AT(m2), s.m2);
  w(ESPALIER_AT(min), s.min, kFinite);
  w(ESPALIER_AT(max), s.max, kFinite);
}

// Maps the value counts of one column (pb::CategoryCounts).
template <typename W>
void Map(W& w, Is<LabelCounts> auto& counts) {
  w(ESPALIER_AT(values), counts);
}

template <typename W>
void Map(W& w, Is<spec::RowSample> auto& s) {
  w(ESPALIER_AT(keys), s.keys, Each{kAny, spec::kSampledRowsOfBins});
  w(ESPALIER_AT(bins), s.bins);
  w(ESPALIER_AT(values), s.values, Each{kAny, std::numeric_limits<int64_t>::max()});
  if constexpr (W::kDecodes) {
    if (!std::is_sorted(s.keys.begin(), s.keys.end())) w.fields().Fail("keys", "do not ascend");
    if (std::any_of(s.values.begin(), s.values.end(), [](double v) { return std::isinf(v); })) {
      w.fields().Fail("values", "are infinite");
    }
  }
}

template <typename W>
void Map(W& w, Is<spec::ShardScore> auto& s) {
  w(ESPALIER_AT(rows), s.rows);
  w(ESPALIER_AT(rejected), s.rejected);
  w(ESPALIER_AT(first_rejects), s.first_rejects, Each{kRequired, spec::kRejectsKept});
  w(ESPALIER_AT(generation), s.generation);
  w(ESPALIER_AT(unseen), s.unseen);
  if constexpr (W::kDecodes) {  // an evaluation has totals
    if (w.proto().totals_size() > 0) {
      s.work = spec::EvaluatedShard();
      RefuseParts(w.proto(), "next to totals", w.fields());
    }
  }
  if (auto* predicted = std::get_if<spec::PredictedShard>(&s.work)) {
    w(ESPALIER_AT(parts), predicted->parts);
    w(ESPALIER_AT(reject_parts), predicted->reject_parts);
  }
  if (auto* evaluated = std::get_if<spec::EvaluatedShard>(&s.work)) {
    w(ESPALIER_AT(totals), evaluated->totals, Each{kAny, kTotalsMax});
  }
}

template <typename W>
void Map(W& w, Is<spec::TextCounts> auto& t) {
  w(ESPALIER_AT(counts), t.counts);
  w(ESPALIER_AT(more), t.more);
  w(ESPALIER_AT(rows), t.rows);
  if constexpr (W::kDecodes) {
    const auto counted = static_cast<int64_t>(t.counts.size());
    w.fields().In("counts", counted, 0, 2 * spec::TextCounts::kTextsCounted);
  }
}

template <typename W>
void Map(W& w, Is<spec::ColumnEvidence> auto& e) {
  w(ESPALIER_AT(column), e.column);
  w(ESPALIER_AT(rows), e.rows);
  w(ESPALIER_AT(nulls), e.nulls);
  w(ESPALIER_AT(numbers), e.numbers);
  w(ESPALIER_AT(truths), e.truths);
  w(ESPALIER_AT(days), e.days);
  w(ESPALIER_AT(months), e.months);
  w(ESPALIER_AT(texts), e.texts);
  w(ESPALIER_AT(low), e.low, kFinite);
  w(ESPALIER_AT(high), e.high, kFinite);
}

template <typename W>
void Map(W& w, Is<spec::RowCounts> auto& r) {
  w(ESPALIER_AT(hashes), r.hashes, Each{kAny, spec::RowCounts::kRowsCounted});
  w(ESPALIER_AT(train), r.train);
  w(ESPALIER_AT(validation), r.validation);
  if constexpr (W::kDecodes) {
    const auto rows = static_cast<int64_t>(r.hashes.size());
    w.fields().In("train", static_cast<int64_t>(r.train.size()), rows, rows);
    w.fields().In("validation", static_cast<int64_t>(r.validation.size()), rows, rows);
    if (!std::is_sorted(r.hashes.begin(), r.hashes.end())) {
      w.fields().Fail("hashes", "do not ascend");
    }
  }
}

template <typename W>
void Map(W& w, Is<spec::ShardProfile> auto& s) {
  w(ESPALIER_AT(shard), s.shard, Within{0, kListMax - 1});
  w(ESPALIER_AT(checksum), s.checksum);
  w(ESPALIER_AT(train_rows), s.train_rows);
  w(ESPALIER_AT(validation_rows), s.validation_rows);
  w(ESPALIER_AT(test_rows), s.test_rows);
  w(ESPALIER_AT(dropped_rows), s.dropped_rows);
  w(ESPALIER_AT(skipped_rows), s.skipped_rows);
  w(ESPALIER_AT(skipped), s.skipped, Each{Usual(), kSkippedMax});
  w(ESPALIER_AT(storage), s.storage);
  w(ESPALIER_AT(features), s.features);
  w(ESPALIER_AT(targets), s.targets);
  w(ESPALIER_AT(labels), s.labels);
  w(ESPALIER_AT(evaluation_labels), s.evaluation_labels);
  w(ESPALIER_AT(train_weight), s.train_weight, kFinite);
  w(ESPALIER_AT(nonzeros), s.nonzeros);
  w(ESPALIER_AT(categories), s.categories);
  if (W::kDecodes || !s.sample.keys.empty()) w(ESPALIER_AT(sample), s.sample);
  w(ESPALIER_AT(evidence), s.evidence);
  w(ESPALIER_AT(failure), s.failure);
  if (W::kDecodes || !s.alike.hashes.empty()) w(ESPALIER_AT(alike), s.alike);
  if (W::kDecodes || !s.probe.keys.empty()) w(ESPALIER_AT(probe), s.probe);
  if (W::kDecodes || !s.places.keys.empty()) w(ESPALIER_AT(places), s.places);
}

// ---- the merged profile ----------------------------------------------------------------------

template <typename W>
void Map(W& w, Is<spec::FittedFeature> auto& feature) {
  w(ESPALIER_AT(name), feature.name, Raw());
  w(ESPALIER_AT(shift), feature.shift, kFinite);
  w(ESPALIER_AT(factor), feature.factor, kFinite);
  w(ESPALIER_AT(null_value), feature.null_value, kFinite);
  w(ESPALIER_AT(null_indicator), feature.null_indicator);
  w(ESPALIER_AT(codes), feature.codes, Within{0, spec::kCodesMax});
  w(ESPALIER_AT(embedding), feature.embedding, Within{0, spec::kEmbeddingMax});
  w(ESPALIER_AT(hashed), feature.hashed);
  w(ESPALIER_AT(vocabulary), feature.vocabulary, Each{Raw(), feature.codes});
  w(ESPALIER_AT(smooth_clip), feature.smooth_clip);
  w(ESPALIER_AT(bin_edges), feature.bin_edges, Each{kFinite, spec::kBinsMax + 1});
  if constexpr (W::kDecodes) {
    if (!spec::SoundBins(feature)) w.fields().Fail("bin_edges", "do not fit the feature");
  }
}

template <typename W>
void Map(W& w, Is<spec::FittedTarget> auto& target) {
  w(ESPALIER_AT(name), target.name, Raw());
  w(ESPALIER_AT(shift), target.shift, kFinite);
  w(ESPALIER_AT(factor), target.factor, kFinite);
  w(ESPALIER_AT(range), target.range, Each{kFinite, 2});
  w(ESPALIER_AT(start), target.start, kFinite);
  if constexpr (W::kDecodes) {
    if (!spec::SoundRange(target)) w.fields().Fail("range", "is not a range");
  }
}

template <typename W>
void Map(W& w, Is<spec::Preprocessing> auto& p) {
  w(ESPALIER_AT(features), p.features);
  w(ESPALIER_AT(targets), p.targets);
  w(ESPALIER_AT(classes), p.classes, Raw());
  w(ESPALIER_AT(class_weights), p.class_weights, kFinite);
  w(ESPALIER_AT(label_smoothing), p.label_smoothing, kFinite);
  if constexpr (W::kDecodes) {
    const auto weights = static_cast<int64_t>(p.class_weights.size());
    const auto weighed =
        static_cast<int64_t>(p.classes.empty() ? p.targets.size() : p.classes.size());
    if (weights != 0) w.fields().In("class_weights", weights, weighed, weighed);
  }
}

template <typename W>
void Map(W& w, Is<spec::TableProfile> auto& r) {
  w(ESPALIER_AT(shards), r.shards);
  w(ESPALIER_AT(preprocessing), r.preprocessing);
  w(ESPALIER_AT(storage), r.storage);
  w(ESPALIER_AT(sparse), r.sparse);
  w(ESPALIER_AT(train_rows), r.train_rows);
  w(ESPALIER_AT(validation_rows), r.validation_rows);
  w(ESPALIER_AT(test_rows), r.test_rows);
  w(ESPALIER_AT(skipped_rows), r.skipped_rows);
  w(ESPALIER_AT(data_fingerprint), r.data_fingerprint, kName);
  w(ESPALIER_AT(warnings), r.warnings, Each{kWords, kNotesMax});
  if constexpr (W::kDecodes) {
    for (size_t i = 0; i < r.shards.size(); ++i) {
      const auto number = static_cast<int64_t>(i);
      w.fields().In("shards.shard", r.shards[i].shard, number, number);
    }
  }
}

void ToProto(const spec::InputPlan& plan, pb::InputPlan* out) { EncodeFields(plan, out); }
Status CheckPlan(const spec::InputPlan& plan) {
  Fields f("InputPlan");
  CheckSchema(plan.schema, f);
  CheckPlan(plan, f);
  if (!plan.hosts.empty()) {
    const auto shards = static_cast<int64_t>(plan.shards.size());
    f.In("hosts", static_cast<int64_t>(plan.hosts.size()), shards, shards);
  }
  return f.status();
}
Result<spec::InputPlan> FromProto(const pb::InputPlan& in) {
  return DecodeFields<spec::InputPlan>(in);
}
void ToProto(const spec::ShardProfile& profile, pb::ShardProfile* out) {
  EncodeFields(profile, out);
}
// A score is sent in the message of a profile, next to the shard's number.
void ToProto(const spec::ShardResult& result, pb::ShardProfile* out) {
  if (const auto* profile = std::get_if<spec::ShardProfile>(&result)) {
    return ToProto(*profile, out);
  }
  const auto& score = std::get<spec::ShardScore>(result);
  out->set_shard(score.shard);
  EncodeFields(score, out->mutable_score());
}
Result<spec::ShardResult> FromProto(const pb::ShardProfile& in) {
  if (!in.has_score()) {
    ESPALIER_ASSIGN_OR_RETURN(auto profile, DecodeFields<spec::ShardProfile>(in));
    return spec::ShardResult(std::move(profile));
  }
  Fields fields(in.GetDescriptor()->name());
  fields.In("shard", in.shard(), 0, kListMax - 1);
  ESPALIER_RETURN_IF_ERROR(fields.status());
  ESPALIER_ASSIGN_OR_RETURN(auto score, DecodeFields<spec::ShardScore>(in.score()));
  score.shard = in.shard();
  return spec::ShardResult(std::move(score));
}
void ToProto(const spec::TableProfile& result, pb::TableProfile* out) { EncodeFields(result, out); }
Result<spec::TableProfile> FromProto(const pb::TableProfile& in) {
  return DecodeFields<spec::TableProfile>(in);
}

}  // namespace espalier::rpc
