// Facts about a job's input, step by step: the files and shards (before the profiling pass), the
// profile of each shard, and the preprocessing fitted to the training rows. These are plain
// structs. The coordinator passes them between machines, data/ creates and reads them, and bundle/
// writes the preprocessing.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/job_spec.h"
#include "src/spec/shard_score.h"

namespace espalier::spec {

// The set that a file belongs to. A training file may also contribute rows to the validation set.
enum class FileRole : uint8_t { kTrain, kValidation, kTest };

struct InputFile {
  std::string path;
  int64_t length = 0;       // bytes
  int64_t modified_ms = 0;  // since 1970; frozen at listing, compared at each opening
  FileRole role = FileRole::kTrain;
  // The value comes from the names of directories, or the column contains row names.
  static constexpr int32_t kLeftOut = -1;
  static constexpr int32_t kEmpty = -2;  // empty in all rows
  // Text whose columns are not the schema's columns in the same order: for each column of the file,
  // its position in the schema or one of the constants above. Empty: same columns, same order.
  std::vector<int32_t> columns = {};
  bool operator==(const InputFile&) const = default;
};

// A byte range of a file. A CSV shard contains the records that start in [begin, end).
struct Shard {
  int32_t file = 0;   // index into InputPlan::files
  int64_t begin = 0;  // bytes
  int64_t end = 0;
  bool operator==(const Shard&) const = default;
};

// How a column becomes a feature's number.
struct FeatureRule {
  FeatureType type = FeatureType::kNumeric;
  int32_t group = -1;               // index into FeatureSpec::groups; -1: none, see OptionsOf
  DatePart part = DatePart::kYear;  // kDate
  bool operator==(const FeatureRule&) const = default;
};

// Why `columns: auto` leaves out a column.
enum class LeftOutReason : uint8_t {
  kEmpty,          // no value in any training row
  kConstant,       // one value in all training rows
  kDifferent,      // text that differs in nearly every row
  kRowNumber,      // an unnamed column of row numbers, in any order
  kIndex,          // the index of the data frame that wrote the file
  kNested,         // a map, a struct, or a list of anything except numbers
  kDirectoryText,  // text in the names of directories
};
struct LeftOutColumn {
  int32_t column = 0;  // position
  LeftOutReason reason = LeftOutReason::kEmpty;
  bool operator==(const LeftOutColumn&) const = default;
};

// The columns in use, determined by the spec and the first header.
struct Schema {
  // Names of all columns of the files. Without a header, positions in decimal.
  std::vector<std::string> names;
  // Positions, in the order of the model's inputs. A date appears once for each of its parts.
  std::vector<int32_t> features;
  std::vector<int32_t> label;  // positions
  int32_t weight = -1;         // position, or -1
  int32_t validation = -1;     // position, or -1
  // Number of columns, the last ones, that come from the names of directories ('y=0') and not from
  // the files.
  int32_t partitions = 0;
  std::vector<FeatureRule> rules = {};  // one per feature; empty: all are numeric and in no group
  std::vector<LeftOutColumn> left_out = {};  // by position
  bool operator==(const Schema&) const = default;

  FeatureRule rule(size_t feature) const { return rules.empty() ? FeatureRule() : rules[feature]; }
};

// Returns the options of a feature's group, with scale and nulls filled in. For a feature in no
// group, returns the options of the spec for all features. REQUIRES: rule.group is one of
// features.groups, or -1.
FeatureOptions OptionsOf(const FeatureSpec& features, const FeatureRule& rule);
// Returns kBadInput if the rules of a schema from an outside source do not match these features.
Status CheckRules(const FeatureSpec& features, const Schema& schema);
// Returns whether a feature's numbers are the column's numbers, unchanged.
bool IsPlain(const FeatureSpec& features, const FeatureRule& rule);
// Returns whether a feature is scaled by quartiles.
bool IsRobust(const FeatureSpec& features, const FeatureRule& rule);
// Returns whether a feature is a number with an embedding.
bool IsBinned(const FeatureSpec& features, const FeatureRule& rule);
// Returns whether a feature's quartiles or bins are computed from a sample that the profiling pass
// collects.
bool IsSampled(const FeatureSpec& features, const FeatureRule& rule);
// Returns whether the sample has the targets too, for a model that starts at their median or
// quantile. They follow the sampled features in each row.
bool SamplesTargets(const ModelSpec& model);
// Returns the maximum number of rows in that sample. The rows take half a MiB, but there are at
// least kSampledRowsGood of them if they fit in 32 MiB (up to 4,096 features). Quartiles of that
// many rows are off by the values of 1.5 % of all rows (the standard error).
inline constexpr int64_t kSampledRowsMin = 128, kSampledRowsGood = 1024, kSampledRowsMost = 4096;
int64_t SampledRowsMax(int64_t columns);
// Returns the maximum for a job with bins: 65,536 rows for up to 32 columns, and 16 MiB for more
// columns.
inline constexpr int64_t kSampledRowsOfBins = 65'536;
int64_t SampledRowsMax(int64_t columns, bool bins);
// Returns whether a feature is coded by a vocabulary, which the profiling pass collects.
bool HasVocabulary(const FeatureSpec& features, const FeatureRule& rule);

// The plan of the input. The coordinator makes it before the profiling pass. It does not change
// after that.
struct InputPlan {
  std::vector<InputFile> files;  // training patterns first, then validation, then test
  std::vector<Shard> shards;     // by file, then position
  Schema schema;
  // By shard: hosts whose own disks hold most of the shard. A hint for the coordinator only, not
  // sent to workers. Empty: unknown.
  std::vector<std::vector<std::string>> hosts = {};
  // True if `features: auto` was decided by a sample of the rows. The profiling pass then decides
  // by all rows.
  bool provisional = false;
  // Decisions about the files, and those that the profiling pass has changed, for logs and reports.
  std::vector<std::string> notes = {};
};

// Distinct texts of a column with the number of rows for each: all texts, or the kTextsCounted with
// the smallest hashes (shard_sums.h).
struct TextCounts {
  static constexpr size_t kTextsCounted = 1024;
  std::map<std::string, int64_t> counts;
  bool more = false;  // true: some texts are left out
  int64_t rows = 0;   // rows with any text, including texts left out
  bool operator==(const TextCounts&) const = default;
};

// Evidence about the type of a column or a label: its values as texts.
struct ColumnEvidence {
  int32_t column = 0;  // position
  int64_t rows = 0, nulls = 0;
  int64_t numbers = 0;
  int64_t truths = 0, days = 0, months = 0;  // numbers that are 0 or 1, 20240229, 202402
  double low = 0, high = 0;                  // smallest and largest number, if there are any
  TextCounts texts;                          // other values; for a label, all values
  bool operator==(const ColumnEvidence&) const = default;
};

// Counts of identical rows, among rows selected by a hash of their content.
struct RowCounts {
  static constexpr size_t kRowsCounted = 2048;  // distinct rows, those with the smallest hashes
  std::vector<uint64_t> hashes;                 // ascending
  std::vector<int64_t> train, validation;       // rows for each hash
  bool operator==(const RowCounts&) const = default;
};

// Running moments of one column over the training rows of one shard, in double precision.
struct ColumnStats {
  int64_t count = 0;  // non-null values
  int64_t nulls = 0;
  double mean = 0;
  double m2 = 0;   // sum of squared deviations from the mean (Welford; merged by Chan et al.)
  double min = 0;  // only if count > 0
  double max = 0;
  bool operator==(const ColumnStats&) const = default;
};

// A sample of training rows, selected by the hash of their identity. It contains the features with
// quartiles or bins.
struct RowSample {
  std::vector<uint64_t> keys;  // ascending
  std::vector<double> values;  // row-major [keys, features with quartiles or bins], NaN: null
  bool bins = false;           // true: some feature has bins, which determines the number of rows
};

// The narrowest type that represents every value of the features exactly.
enum class StorageType : uint8_t { kUint8, kFloat32, kFloat64 };

struct SkippedRow {
  Status why;  // with position
};

// The result of profiling one shard.
struct ShardProfile {
  int32_t shard = 0;       // index into InputPlan::shards
  uint32_t checksum = 0;   // CRC-32C of the shard's bytes
  int64_t train_rows = 0;  // rows of each set, in position order within the set
  int64_t validation_rows = 0;
  int64_t test_rows = 0;
  int64_t dropped_rows = 0;                          // by `nulls: drop`
  int64_t skipped_rows = 0;                          // by `bad_rows: skip`
  std::vector<Status> skipped;                       // the first few of them, with positions
  StorageType storage = StorageType::kUint8;         // over all sets
  std::vector<ColumnStats> features;                 // over training rows, one per feature
  std::vector<ColumnStats> targets;                  // regression, multilabel: one per target
  std::map<std::string, int64_t> labels;             // classification: text -> training rows
  std::map<std::string, int64_t> evaluation_labels;  // the same over validation and test rows
  // One map per feature with a vocabulary, in the order of the features: text -> training rows.
  std::vector<std::map<std::string, int64_t>> categories;
  double train_weight = 0;
  int64_t nonzeros = 0;  // wide rows, over all sets: nonzero numbers and all codes
  RowSample sample;      // from the shard's training rows
  // Evidence by position, over all rows of the shard, in two cases only: the plan is provisional,
  // or some row is bad. Vocabularies and labels contain their own evidence. If `failure` is set,
  // the shard could not be read according to the plan, and no other member is filled.
  std::vector<ColumnEvidence> evidence = {};
  Status failure = {};
  RowCounts alike = {};  // only for warnings, like `probe`
  RowSample probe = {};  // data/profile/warnings.h
  // One value per training row of the shard. Filled while the profiling pass looks for the bounds
  // of validation rows (data/features/validation_column.h).
  RowSample places = {};
};

// A worker's result for one shard: its profile, or its score in a scoring job.
using ShardResult = std::variant<ShardProfile, ShardScore>;
inline int32_t ShardOf(const ShardResult& result) {
  return std::visit([](const auto& r) { return r.shard; }, result);
}
// Returns the kind of the job that the result belongs to.
inline JobKind KindOf(const ShardResult& result) {
  const auto* score = std::get_if<ShardScore>(&result);
  if (score == nullptr) return JobKind::kTrain;
  return std::visit([](const auto& shard) { return shard.kKind; }, score->work);
}

// Fitted preprocessing of one feature. For a number, nulls are first replaced by `null_value` (in
// units of x). The number then becomes (x - shift) * factor. A category has `codes` > 0. It is an
// integer below `codes`, which selects a row of a parameter table, or it has no code.
struct FittedFeature {
  std::string name;
  double shift = 0;
  double factor = 1;
  double null_value = 0;
  bool null_indicator = false;  // one more input: 1 for null, otherwise 0
  int64_t codes = 0;            // number of codes; 0: a number
  int64_t embedding = 0;        // width of the embedding; 0: one-hot, or an unchanged number
  // category: true: the code is HashedCode(ClassText(text), codes); false: it is the index of the
  // text in `vocabulary`
  bool hashed = false;
  // Text of code k. Null is the empty text. If training rows had other values, one additional code
  // represents all of them. Without that code, other and unseen values have no code.
  std::vector<std::string> vocabulary = {};
  bool smooth_clip = false;  // number: z / sqrt(1 + (z/3)^2) of its scaled value z
  // Number with an embedding: the edges of its bins, ascending. One value: no bin.
  std::vector<double> bin_edges = {};
  bool operator==(const FittedFeature&) const = default;
};

// Numeric targets and labels. The network is trained on y = (target - shift) * factor. The target
// of an autoencoder is the feature itself, and predictions are in its own units.
struct FittedTarget {
  std::string name;
  double shift = 0;
  double factor = 1;
  std::vector<double> range = {};  // smallest and largest prediction; empty: unlimited
  // Bias of the output at the start of training, in units of the output.
  double start = 0;
  bool operator==(const FittedTarget&) const = default;
};

// Everything that prediction needs in addition to the weights.
struct Preprocessing {
  std::vector<FittedFeature> features;
  std::vector<FittedTarget> targets;  // all tasks except classification
  // Classification: text of class k; integers sorted numerically, other texts bytewise.
  std::vector<std::string> classes;
  // Weight of training rows of class k, multiplied by their own weights. Multilabel: weight of a 1
  // of target k in the training loss. Empty: 1 each. Prediction does not use it.
  std::vector<double> class_weights = {};
  std::optional<double> label_smoothing = {};  // of the job, if it is capped
  bool operator==(const Preprocessing&) const = default;
};

// The preprocessing of an earlier model whose weights initialize a job, and the parts of it that
// the job keeps (data/features/keep_fitted.h).
struct EarlierFit {
  // How the job of that model read a feature.
  struct Reading {
    bool fills_nulls = false;  // null_value replaces nulls
    bool log1p = false;
  };
  Preprocessing preprocessing;
  std::vector<Reading> readings = {};  // one per feature; empty: unknown
  bool features = false;               // true: kept, together with the first layer
  // true: targets and classes are kept, together with the last layer.
  bool answers = false;
};

// The parts of the model at train.initial that decide about a job.
struct EarlierModel {
  Schema schema;
  std::vector<FeatureOptions> options = {};  // one per feature of the schema
  bool columns = true;                       // the job keeps its columns
  std::optional<Task> task = {};             // the job takes its last layer
  bool scaling_layer = false;                // the job takes this layer
};

// Cost of predicting one class for a row of another one, by their positions.
struct CostOfClass {
  int32_t truth = 0, predicted = 0;
  double cost = 1;
  bool operator==(const CostOfClass&) const = default;
};

// Returns the names used in metrics by class: the classes, or the labels of multilabel.
std::vector<std::string> ClassNames(Task task, const Preprocessing& preprocessing);
// Returns the number of classes or targets that the network predicts.
int64_t AnswersOf(Task task, const Preprocessing& preprocessing);

// Limits of fitted features.
inline constexpr int64_t kCodesMax = 1 << 24;
inline constexpr int64_t kEmbeddingMax = 4096;

// Returns whether `embedding` and `bin_edges` of a number are in range and ascending. Returns true
// for categories.
bool SoundBins(const FittedFeature& feature);
// Returns whether `range` is empty or contains a smallest and a largest value.
bool SoundRange(const FittedTarget& target);

// A feature whose codes select rows of a parameter table.
struct CodedInput {
  int64_t codes = 0;
  int64_t embedding = 0;  // width; 0: one-hot
  bool operator==(const CodedInput&) const = default;
};

// Numbers with piecewise-linear embeddings.
struct EmbeddedNumbers {
  int64_t count = 0;
  int64_t bins = 0;   // largest number of bins of one of the numbers, at least 1
  int64_t width = 0;  // inputs of one number
  bool operator==(const EmbeddedNumbers&) const = default;
};

// The network's input for one row, in this order:
// - numbers
// - for each number with an embedding, its scaled value and its position among the bins (bin +
//   fraction of the bin)
// - a code for each coded feature
struct InputShape {
  InputShape() = default;
  // Makes a shape of numbers only.
  InputShape(int64_t numbers) : dense(numbers) {}  // NOLINT: a shape like any other
  // Returns the number of inputs of the first layer, all one-hot inputs included.
  int64_t width() const;
  int64_t dense = 0;
  EmbeddedNumbers numbers;
  std::vector<CodedInput> coded;
};
InputShape InputsOf(const Preprocessing& preprocessing);

// The profile of the whole table. It is identical on every member.
struct TableProfile {
  std::vector<ShardProfile> shards;  // one per shard, in shard order (statistics may be emptied)
  Preprocessing preprocessing;
  StorageType storage = StorageType::kFloat32;
  bool sparse = false;  // rows are stored and multiplied without their zeros (sparse_rows.h)
  int64_t train_rows = 0;
  int64_t validation_rows = 0;
  int64_t test_rows = 0;
  int64_t skipped_rows = 0;
  std::string data_fingerprint;            // SHA-256 of shard bounds, checksums and row counts
  std::vector<std::string> warnings = {};  // likely problems in the table, for logs and reports
};

}  // namespace espalier::spec
