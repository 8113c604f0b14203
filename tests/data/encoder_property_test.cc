// Random tables under random rules. Preprocessing that is fitted, written to model.json, read and
// applied in scoring must equal what training used and what the spec promises.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "src/bundle/model_json.h"
#include "src/data/features/feature_decoder.h"
#include "src/data/features/feature_encoder.h"
#include "src/data/features/vocabulary.h"
#include "src/data/profile/table_scan.h"
#include "src/spec/names.h"
#include "tests/data/fixture.h"
#include "tests/data/naive_fit.h"
#include "tests/data/random_table.h"
#include "tests/data/scan_rows.h"
#include "tests/testing/scale.h"

namespace espalier::data {
namespace {

// ---- production code ---------------------------------------------------------------------------

// Values of the kept rows, in the order of the file.
template <typename T>
struct Encoded {
  std::vector<T> inputs, targets, weights;
  std::vector<int32_t> codes, labels;

  // Ignores the sign of zeros, which rows stored as bytes do not have.
  bool operator==(const Encoded&) const = default;
};

std::vector<size_t> KeptRows(const RandomTable& table) {
  std::vector<size_t> kept;
  for (size_t r = 0; r < table.rows(); ++r) {
    if (!table.Dropped(r)) kept.push_back(r);
  }
  return kept;
}

// Returns the rows as the leaves get them.
template <typename T>
Encoded<T> Trained(DataFixture& f, const RandomTable& table, const spec::TableProfile& profile) {
  const auto store = LoadRows({*f.files, f.plan, f.job}, profile, f.All(profile), f.shards, {});
  INFO(store.status().ToString());
  REQUIRE(store.ok());
  const RowStore& rows = **store;
  REQUIRE_FALSE(rows.sparse());
  Encoded<T> all;
  int64_t next[2] = {0, 0};
  for (const size_t r : KeptRows(table)) {
    std::vector<T> inputs(rows.features()), targets(rows.targets()), weights(1);
    std::vector<int32_t> codes(rows.coded()), labels(1, -1);
    const int64_t row[] = {next[table.validation[r]]++};
    rows.Gather<T>(table.validation[r] ? spec::FileRole::kValidation : spec::FileRole::kTrain, row,
                   inputs.data(), codes.data(), labels.data(), targets.data(), weights.data());
    const auto add = [](auto* to, const auto& from) {
      to->insert(to->end(), from.begin(), from.end());
    };
    add(&all.inputs, inputs), add(&all.targets, targets), add(&all.weights, weights);
    add(&all.codes, codes), add(&all.labels, labels);
  }
  CHECK(next[0] == profile.train_rows);
  CHECK(next[1] == profile.validation_rows);
  return all;
}

template <typename T>
void AddScored(const bundle::ModelDocument& model, const RowPiece& piece, Encoded<T>* all) {
  const FeatureEncoder encoder(model.preprocessing);
  const ClassIndex classes(model.preprocessing.classes);
  const std::vector<spec::FittedTarget>& targets = model.preprocessing.targets;
  CodeMaps maps;
  Vocabularies(model.preprocessing).Extend(piece.texts.categories, &maps);
  const DecodedRows& rows = piece.rows();
  std::vector<T> inputs(rows.rows * encoder.dense());
  std::vector<int32_t> codes(rows.rows * encoder.coded());
  encoder.EncodeRows<T>(*model.storage, rows, maps, 0, rows.rows, inputs.data(), codes.data());
  all->inputs.insert(all->inputs.end(), inputs.begin(), inputs.end());
  all->codes.insert(all->codes.end(), codes.begin(), codes.end());
  for (size_t i = 0; i < rows.targets.size(); ++i) {
    const spec::FittedTarget& t = targets[i % targets.size()];
    all->targets.push_back(static_cast<T>((rows.targets[i] - t.shift) * t.factor));
  }
  const bool labelled = model.job.model.task == spec::Task::kClassification;
  for (size_t r = 0; r < static_cast<size_t>(rows.rows); ++r) {
    all->weights.push_back(rows.weights.size() > 0 ? static_cast<T>(rows.weights[r]) : T{1});
    all->labels.push_back(labelled ? classes.Of(piece.texts.labels.texts()[rows.labels[r]]) : -1);
  }
}

// Returns the rows as a scorer encodes them. It has only the model.
template <typename T>
Encoded<T> Scored(const DataFixture& f, const bundle::ModelDocument& model, int64_t shard_bytes) {
  const auto scan =
      PlanScan(*f.files, {model.job, model.schema, f.job.data.train, true, {}, {}, shard_bytes});
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  Encoded<T> all;
  for (size_t shard = 0; shard < scan->input.shards.size(); ++shard) {
    const Status read =
        ScanRows(*f.files, *scan, static_cast<int>(shard), [&](const RowPiece& piece) -> Status {
          AddScored(model, piece, &all);
          return {};
        });
    INFO(read.ToString());
    REQUIRE(read.ok());
  }
  return all;
}

bundle::ModelDocument SavedAndLoaded(const DataFixture& f, const spec::TableProfile& profile) {
  bundle::ModelDocument document;
  document.job = f.job;
  document.schema = f.plan.schema;
  document.preprocessing = profile.preprocessing;
  document.storage = profile.storage;
  document.train_rows = profile.train_rows;
  document.data_fingerprint = profile.data_fingerprint;
  const std::string text = bundle::EncodeModelJson(document);
  const auto loaded = bundle::DecodeModelJson(text);
  INFO(loaded.status().ToString());
  REQUIRE(loaded.ok());
  CHECK((loaded->preprocessing == profile.preprocessing));
  CHECK((loaded->schema == f.plan.schema));
  CHECK(loaded->storage == profile.storage);
  CHECK(bundle::EncodeModelJson(*loaded) == text);
  return *loaded;
}

// ---- comparisons ------------------------------------------------------------------------------

template <typename T>
class Comparison {
 public:
  Comparison(const RandomTable& table, const spec::Schema& schema,
             const spec::TableProfile& profile, const Encoded<T>& found)
      : table_(table),
        schema_(schema),
        fitted_(profile.preprocessing),
        found_(found),
        rows_(KeptRows(table)),
        rounding_(profile.storage == spec::StorageType::kUint8
                      ? std::numeric_limits<T>::epsilon()
                      : std::numeric_limits<double>::epsilon()) {
    width_ = static_cast<size_t>(spec::InputsOf(fitted_).dense);
    coded_ = spec::InputsOf(fitted_).coded.size();
  }

  void Run() {
    REQUIRE(found_.inputs.size() == rows_.size() * width_);
    REQUIRE(found_.codes.size() == rows_.size() * coded_);
    for (size_t i = 0; i < schema_.features.size(); ++i) CompareFeature(i);
    CompareAnswers();
    CHECK(input_ == width_);
    CHECK(code_ == coded_);
  }

 private:
  const RandomColumn& ColumnOf(size_t feature) const {
    const std::string& name = schema_.names[static_cast<size_t>(schema_.features[feature])];
    return *std::ranges::find(table_.columns, name, &RandomColumn::name);
  }

  void Fail(size_t row, const std::string& what, double found, long double expected) const {
    FAIL_CHECK("row " << row << " (" << table_.Line(row) << "), " << what << ": found " << found
                      << ", expected " << static_cast<double>(expected));
  }

  // Returns the values of the training rows.
  template <typename Value, typename Of>
  std::vector<Value> OfTraining(const Of& of) const {
    std::vector<Value> values;
    for (const size_t r : rows_) {
      if (!table_.validation[r]) values.push_back(of(r));
    }
    return values;
  }

  void CompareFeature(size_t i) {
    const RandomColumn& column = ColumnOf(i);
    const spec::FittedFeature& fitted = fitted_.features[i];
    if (column.options.type == spec::FeatureType::kCategorical) return CompareCodes(column, fitted);
    const spec::DatePart part = schema_.rule(i).part;
    const bool date = column.options.type == spec::FeatureType::kDate;
    CHECK(fitted.name == (date ? column.name + "." + spec::NameOf(part) : column.name));
    const auto number = [&](size_t r) {
      return MeantNumber(column.options, part, column.cells[r]);
    };
    const NaiveScale scale = FitNaively(column.options, OfTraining<double>(number));
    for (size_t k = 0; k < rows_.size(); ++k) {
      const long double meant = number(rows_[k]);
      const bool null = std::isnan(meant);
      const long double x = null ? scale.null_value : meant;
      const long double expected = (x - scale.shift) * scale.factor;
      const T found = found_.inputs[k * width_ + input_];
      const long double ulps =
          4 * rounding_ * (std::fabs(x) + std::fabs(scale.shift)) * std::fabs(scale.factor);
      const long double allowed = 1e-6L * std::max(1.0L, std::fabs(expected)) + ulps;
      if (!(std::fabs(found - expected) <= allowed)) {
        Fail(rows_[k], fitted.name, found, expected);
      }
      if (!column.options.null_indicator) continue;
      const T indicator = found_.inputs[k * width_ + input_ + 1];
      if (indicator != (null ? 1 : 0)) Fail(rows_[k], fitted.name + " null", indicator, null);
    }
    input_ += column.options.null_indicator ? 2 : 1;
  }

  void CompareCodes(const RandomColumn& column, const spec::FittedFeature& fitted) {
    const int64_t hash = column.options.hash;
    const auto text = [&](size_t r) { return column.cells[r].text; };
    const NaiveCodes codes = CodesNaively(column.options.min_count, OfTraining<std::string>(text));
    CHECK(fitted.name == column.name);
    CHECK(fitted.embedding == column.options.embedding);
    CHECK(fitted.vocabulary == (hash > 0 ? std::vector<std::string>() : codes.vocabulary));
    for (size_t k = 0; k < rows_.size(); ++k) {
      const auto at = std::ranges::find(codes.vocabulary, text(rows_[k]));
      const bool known = at != codes.vocabulary.end();
      const int64_t expected = hash > 0 ? HashedCode(text(rows_[k]), hash)
                               : known  ? at - codes.vocabulary.begin()
                                        : codes.others;
      const int32_t found = found_.codes[k * coded_ + code_];
      if (found != expected) Fail(rows_[k], column.name, found, static_cast<double>(expected));
    }
    ++code_;
  }

  void CompareAnswers() const {
    if (!table_.labels.empty()) {
      const NaiveCodes classes =
          CodesNaively(1, OfTraining<std::string>([&](size_t r) { return table_.labels[r]; }));
      CHECK(fitted_.classes == classes.vocabulary);
      for (size_t k = 0; k < rows_.size(); ++k) {
        const std::string& label = table_.labels[rows_[k]];
        const auto expected = std::ranges::find(classes.vocabulary, label);
        if (found_.labels[k] == expected - classes.vocabulary.begin()) continue;
        Fail(rows_[k], "label", found_.labels[k], 0);
      }
    }
    for (size_t t = 0; !table_.targets.empty() && t < table_.targets[0].size(); ++t) {
      spec::FeatureOptions options{.nulls = spec::NullPolicy{}};
      const bool scaled =
          spec::EffectiveTargetScale(table_.job.model) == spec::TargetScale::kStandard;
      options.scale = spec::Scale{scaled ? spec::ScaleKind::kStandard : spec::ScaleKind::kNone};
      const auto target = [&](size_t r) { return table_.targets[r][t]; };
      const std::vector<double> column = OfTraining<double>(target);
      NaiveScale scale = FitNaively(options, column);
      if (scale.factor == 0) scale.factor = 1;
      for (size_t k = 0; k < rows_.size(); ++k) {
        const long double expected = (target(rows_[k]) - scale.shift) * scale.factor;
        const T found = found_.targets[k * table_.targets[0].size() + t];
        const bool near =
            std::fabs(found - expected) <= 1e-6L * std::max(1.0L, std::fabs(expected));
        if (!near) Fail(rows_[k], "target " + std::to_string(t), found, expected);
      }
    }
    for (size_t k = 0; k < rows_.size(); ++k) {
      const double expected = table_.weights.empty() ? 1 : table_.weights[rows_[k]];
      if (found_.weights[k] != expected) Fail(rows_[k], "weight", found_.weights[k], expected);
    }
  }

  const RandomTable& table_;
  const spec::Schema& schema_;
  const spec::Preprocessing& fitted_;
  const Encoded<T>& found_;
  const std::vector<size_t> rows_;
  const long double rounding_;  // epsilon of the scaling: bytes are scaled in T, others in double
  size_t width_ = 0, coded_ = 0;
  size_t input_ = 0, code_ = 0;  // of the feature being compared
};

bool Near(double a, double b, double factor) {
  const double unit = std::fabs(b) + (factor != 0 ? 1 / std::fabs(factor) : 0);
  return a == b || std::fabs(a - b) <= 1e-9 * unit;
}

// Compares the results of two shard cuts. Only the last bits of sums may differ.
void CompareCuts(const spec::JobSpec& job, const spec::Schema& schema,
                 const spec::Preprocessing& whole, spec::Preprocessing cut) {
  REQUIRE(cut.features.size() == whole.features.size());
  for (size_t i = 0; i < whole.features.size(); ++i) {
    const spec::FeatureOptions options = spec::OptionsOf(job.data.features, schema.rule(i));
    const spec::ScaleKind kind = options.scale->kind;
    const spec::FittedFeature& a = whole.features[i];
    spec::FittedFeature& b = cut.features[i];
    if (kind == spec::ScaleKind::kStandard || kind == spec::ScaleKind::kRobust) {
      CHECK(Near(b.shift, a.shift, a.factor));
      CHECK(Near(b.factor, a.factor, 0));
      b.shift = a.shift, b.factor = a.factor;
    }
    if (options.nulls->kind == spec::NullKind::kMean) {
      CHECK(Near(b.null_value, a.null_value, a.factor));
      b.null_value = a.null_value;
    }
  }
  REQUIRE(cut.targets.size() == whole.targets.size());
  for (size_t i = 0; i < whole.targets.size(); ++i) {
    CHECK(Near(cut.targets[i].shift, whole.targets[i].shift, whole.targets[i].factor));
    CHECK(Near(cut.targets[i].factor, whole.targets[i].factor, 0));
    cut.targets[i] = whole.targets[i];
  }
  CHECK((cut == whole));
}

template <typename T>
void CheckTable(const RandomTable& table) {
  DataFixture f;
  f.job = table.job;
  f.job.output.path = "out";
  const std::string text = table.Text();
  f.Train(text);
  const Status valid = f.job.Validate();
  INFO(valid.ToString());
  REQUIRE(valid.ok());
  const auto profile = f.Profile();
  INFO(profile.status().ToString());
  REQUIRE(profile.ok());
  const bundle::ModelDocument model = SavedAndLoaded(f, *profile);
  const spec::Schema schema = f.plan.schema;
  const Encoded<T> trained = Trained<T>(f, table, *profile);
  Comparison<T>(table, schema, *profile, trained).Run();

  const auto size = static_cast<int64_t>(text.size());
  for (const int64_t parts : {1, 2, 5}) {
    INFO(parts << " parts");
    CHECK((Scored<T>(f, model, size / parts + 1) == trained));
    f.job.data.shard_bytes = size / parts + 1;
    const auto cut = f.Profile();
    REQUIRE(cut.ok());
    CHECK(cut->storage == profile->storage);
    CompareCuts(f.job, schema, profile->preprocessing, cut->preprocessing);
    std::vector<spec::ShardProfile> turned;  // members may report in any order
    for (const ProfiledShard& shard : f.shards) turned.insert(turned.begin(), shard.profile);
    const auto merged = MergeShardProfiles(f.plan, f.job, std::move(turned));
    REQUIRE(merged.ok());
    CHECK((merged->preprocessing == cut->preprocessing));
  }
}

TEST_CASE("fitted, saved, loaded and applied encoders agree", "[one thread]") {
  for (uint64_t seed = 0; seed < 150 * TestScale(); ++seed) {
    const RandomTable table = DrawTable(seed);
    INFO("seed " << seed << "\n" << spec::CanonicalText(table.job) << table.Text());
    if (table.job.model.precision == spec::Precision::kFloat32) {
      CheckTable<float>(table);
    } else {
      CheckTable<double>(table);
    }
  }
}

}  // namespace
}  // namespace espalier::data
