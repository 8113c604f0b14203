// What is known of a job's input, step by step: the files and shards (before the profiling pass),
// what the profile found in each shard, and the preprocessing fitted to the training rows. Plain
// structs: the coordinator passes them between machines, data/ makes and reads them, bundle/ writes
// the last one.
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

// Which set a file belongs to. A training file may also give rows to the validation set.
enum class FileRole : uint8_t { kTrain, kValidation, kTest };

struct InputFile {
  std::string path;
  int64_t length = 0;       // bytes
  int64_t modified_ms = 0;  // since 1970; frozen at listing, compared at each opening
  FileRole role = FileRole::kTrain;
  static constexpr int32_t kLeftOut = -1;  // the directories give its value, or it names the rows
  static constexpr int32_t kEmpty = -2;    // it is empty in all rows
  // Text whose columns are not those of the schema in their order: for each column of the file its
  // position in the schema, or one of the above. Empty: the order is the same.
  std::vector<int32_t> columns = {};
  bool operator==(const InputFile&) const = default;
};

// A byte range of a file. A CSV shard owns the records that start in [begin, end).
struct Shard {
  int32_t file = 0;   // index into InputPlan::files: the file's ordinal
  int64_t begin = 0;  // bytes
  int64_t end = 0;
  bool operator==(const Shard&) const = default;
};

// How a feature's number is made of its column.
struct FeatureRule {
  FeatureType type = FeatureType::kNumeric;
  int32_t group = -1;               // of FeatureSpec::groups; -1: none, see OptionsOf
  DatePart part = DatePart::kYear;  // kDate
  bool operator==(const FeatureRule&) const = default;
};

// Why `columns: auto` does not make a feature of a column.
enum class LeftOutReason : uint8_t {
  kEmpty,      // no value in any training row
  kConstant,   // one value in all training rows
  kDifferent,  // text that is different in nearly every row
  kRowNumber,  // an unnamed column that numbers the rows
  kIndex,      // the index of the data frame that wrote the file
  kNested,     // a map, a struct or a list of other things than numbers
};
struct LeftOutColumn {
  int32_t column = 0;  // position
  LeftOutReason reason = LeftOutReason::kEmpty;
  bool operator==(const LeftOutColumn&) const = default;
};

// The columns in use, as fixed by the spec and the first header.
struct Schema {
  std::vector<std::string>
      names;  // of all columns of the files; positions in decimal without header
  // Positions, in the order of the model's inputs. A date is there once for each of its parts.
  std::vector<int32_t> features;
  std::vector<int32_t> label;  // positions
  int32_t weight = -1;         // position, or -1
  int32_t validation = -1;     // position, or -1
  // How many of the columns, the last ones, stand in the names of directories ('y=0') and not in
  // the files.
  int32_t partitions = 0;
  std::vector<FeatureRule> rules = {};  // one a feature; empty: all are numeric and in no group
  std::vector<LeftOutColumn> left_out = {};  // by position
  bool operator==(const Schema&) const = default;

  FeatureRule rule(size_t feature) const { return rules.empty() ? FeatureRule() : rules[feature]; }
};

// What `columns: auto` found beside numbers, for people: "categorical: job, city; date: signup;
// numeric: 12 others; left out: id (different in nearly every row)". Empty: nothing. Names stand as
// they are, which may be anything.
std::string InferredText(const Schema& schema);

// The group of a feature, with scale and nulls filled in; what the spec says of all when it is in
// none. REQUIRES: rule.group is one of features.groups, or -1.
FeatureOptions OptionsOf(const FeatureSpec& features, const FeatureRule& rule);
// Whether a schema's rules, which came with it from elsewhere, are of these features: kBadInput.
Status CheckRules(const FeatureSpec& features, const Schema& schema);
// Whether a feature's numbers are those that its column holds.
bool IsPlain(const FeatureSpec& features, const FeatureRule& rule);
// Whether a feature is scaled by quartiles.
bool IsRobust(const FeatureSpec& features, const FeatureRule& rule);
// Whether a feature is a number that gets an embedding.
bool IsBinned(const FeatureSpec& features, const FeatureRule& rule);
// Whether a feature's quartiles or bins follow from a sample that the profiling pass gathers.
bool IsSampled(const FeatureSpec& features, const FeatureRule& rule);
// How many rows that sample has at most: those of half a MiB, but at least kSampledRowsGood, whose
// quartiles are off by the values of 1.5 % of all rows (the standard error), as far as 32 MiB have
// room for them: for up to 4,096 such features.
inline constexpr int64_t kSampledRowsMin = 128, kSampledRowsGood = 1024, kSampledRowsMost = 4096;
int64_t SampledRowsMax(int64_t robust_features);
// The same of a job with bins: 65,536 rows of up to 32 features, of more features 16 MiB.
inline constexpr int64_t kSampledRowsOfBins = 65'536;
int64_t SampledRowsMax(int64_t features, bool bins);
// Whether a feature is coded by a vocabulary, which the profiling pass gathers.
bool HasVocabulary(const FeatureSpec& features, const FeatureRule& rule);

// Made by the coordinator before the profiling pass; frozen.
struct InputPlan {
  std::vector<InputFile> files;  // training patterns first, then validation, then test
  std::vector<Shard> shards;     // by file, then position
  Schema schema;
  // By shard: the hosts that have most of it on their own disks, a hint for the coordinator alone
  // (it does not travel to workers). Empty: not known.
  std::vector<std::vector<std::string>> hosts = {};
  // Whether a sample of the rows has judged `features: auto`. The profiling pass then judges all.
  bool provisional = false;
  std::vector<std::string> notes = {};  // what the profiling pass has judged otherwise, for people
};

// Different texts of a column with the number of rows that have each: all of them, or the
// kTextsCounted with the smallest hashes (shard_sums.h).
struct TextCounts {
  static constexpr size_t kTextsCounted = 1024;
  std::map<std::string, int64_t> counts;
  bool more = false;  // there are others
  int64_t rows = 0;   // with any text, those of others included
  bool operator==(const TextCounts&) const = default;
};

// What the values of a column or of a label look like as texts.
struct ColumnEvidence {
  int32_t column = 0;  // position
  int64_t rows = 0, nulls = 0;
  int64_t numbers = 0;
  int64_t truths = 0, days = 0, months = 0;  // numbers: 0 or 1, 20240229, 202402
  double low = 0, high = 0;                  // least and largest number, where there are any
  TextCounts texts;                          // other values; of a label all values
  bool operator==(const ColumnEvidence&) const = default;
};

// How many rows are alike, of some that are chosen by a hash of their content.
struct RowCounts {
  static constexpr size_t kRowsCounted = 2048;  // different ones, with the smallest hashes
  std::vector<uint64_t> hashes;                 // ascending
  std::vector<int64_t> train, validation;       // rows that have each
  bool operator==(const RowCounts&) const = default;
};

// Running moments of one column over the training rows of one shard, in double.
struct ColumnStats {
  int64_t count = 0;  // values that are not null
  int64_t nulls = 0;
  double mean = 0;
  double m2 = 0;   // sum of squared deviations from the mean (Welford; merged by Chan et al.)
  double min = 0;  // only when count > 0
  double max = 0;
  bool operator==(const ColumnStats&) const = default;
};

// Some training rows, chosen by the hash of their identity: of the features with quartiles or bins.
struct RowSample {
  std::vector<uint64_t> keys;  // ascending
  std::vector<double> values;  // row-major [keys, such features], NaN: null
  bool bins = false;           // some feature has bins, which decides how many rows there are
};

// The narrowest type that holds every value of the features exactly.
enum class StorageType : uint8_t { kUint8, kFloat32, kFloat64 };

struct SkippedRow {
  Status why;  // with position
};

// What the profiling pass found in one shard.
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
  std::vector<ColumnStats> features;                 // over training rows, one a feature
  std::vector<ColumnStats> targets;                  // regression, multilabel: one a target
  std::map<std::string, int64_t> labels;             // classification: text -> training rows
  std::map<std::string, int64_t> evaluation_labels;  // the same over validation and test rows
  // By feature with a vocabulary, in their order: text -> training rows.
  std::vector<std::map<std::string, int64_t>> categories;
  double train_weight = 0;
  int64_t nonzeros = 0;  // of wide rows, over all sets: numbers that are not 0, all codes
  RowSample sample;      // of the shard's training rows
  // Of a provisional plan, by position, where some row is bad: what columns hold in all rows of the
  // shard. Vocabularies and labels say it already. With `failure` the shard has nothing more: it
  // could not be read by the plan.
  std::vector<ColumnEvidence> evidence = {};
  Status failure = {};
  RowCounts alike = {};  // for warnings alone, as is the next member
  RowSample probe = {};  // data/profile/warnings.h
  // Of the shard's training rows, one value each, while the bounds of validation rows are sought
  // (data/features/validation_column.h).
  RowSample places = {};
};

// What a worker found in one shard: its profile, or its score where the job scores.
using ShardResult = std::variant<ShardProfile, ShardScore>;
inline int32_t ShardOf(const ShardResult& result) {
  return std::visit([](const auto& r) { return r.shard; }, result);
}

// Per feature. A number becomes (x - shift) * factor, nulls replaced by `null_value` (in units of
// x) first. With `codes` it is a category: a whole number below that, which picks a row of a table
// of parameters, or nothing at all.
struct FittedFeature {
  std::string name;
  double shift = 0;
  double factor = 1;
  double null_value = 0;
  bool null_indicator = false;  // one more input: 1 for null, else 0
  int64_t codes = 0;            // how many there are; 0: a number
  int64_t embedding = 0;        // width of the embedding; 0: one-hot, or a number as it is
  bool hashed = false;          // a category's code is HashedCode(ClassText(text), codes); else it
                                // is where the text stands in `vocabulary`
  // Text of code k; null is the empty text. One code more than texts: that of all other values,
  // when training rows had any. Without it they have no code, and nor have unseen ones.
  std::vector<std::string> vocabulary = {};
  bool smooth_clip = false;  // of a number: z / sqrt(1 + (z/3)^2) of its scaled z
  // Of a number with an embedding: where its bins begin and end, ascending; one value: no bin.
  std::vector<double> bin_edges = {};
  bool operator==(const FittedFeature&) const = default;
};

// Of numbers and labels: y = (target - shift) * factor is what the network is trained on; of an
// autoencoder the feature itself, which is given back in its own units.
struct FittedTarget {
  std::string name;
  double shift = 0;
  double factor = 1;
  std::vector<double> range = {};  // least and largest prediction; empty: any
  double start = 0;  // the bias of its output at the start of training, in the units of that
  bool operator==(const FittedTarget&) const = default;
};

// All that prediction needs besides the weights.
struct Preprocessing {
  std::vector<FittedFeature> features;
  std::vector<FittedTarget> targets;  // all but classification
  std::vector<std::string> classes;   // classification: text of class k, integers sorted
                                      // numerically, other text bytewise
  // What training rows of class k weigh beside their own weights; multilabel: what a 1 of target k
  // weighs in the loss of training. Empty: 1 each. Prediction does not need it.
  std::vector<double> class_weights = {};
  std::optional<double> label_smoothing = {};  // of the job, where it is capped
  bool operator==(const Preprocessing&) const = default;
};

// The preprocessing of an earlier model whose weights start a job, and the parts of it that the job
// keeps (data/features/keep_fitted.h).
struct EarlierFit {
  // How that model's job read a feature.
  struct Reading {
    bool fills_nulls = false;  // null_value replaces nulls
    bool log1p = false;
  };
  Preprocessing preprocessing;
  std::vector<Reading> readings = {};  // by feature; empty: not known
  bool features = false;               // with the first layer
  bool answers = false;                // with the last one
};

// What metrics by class speak of: the classes, or the labels of multilabel.
std::vector<std::string> ClassNames(Task task, const Preprocessing& preprocessing);
// The classes or targets that the network answers with.
int64_t AnswersOf(Task task, const Preprocessing& preprocessing);

// What fitted features have at most.
inline constexpr int64_t kCodesMax = 1 << 24;
inline constexpr int64_t kEmbeddingMax = 4096;

// Whether `embedding` and `bin_edges` of a number are in range and ascending; true of categories.
bool SoundBins(const FittedFeature& feature);
// Whether `range` is empty or holds a least and a largest value.
bool SoundRange(const FittedTarget& target);

// A feature whose codes pick rows of a table of parameters.
struct CodedInput {
  int64_t codes = 0;
  int64_t embedding = 0;  // width; 0: one-hot
  bool operator==(const CodedInput&) const = default;
};

// Numbers with piecewise-linear embeddings.
struct EmbeddedNumbers {
  int64_t count = 0;
  int64_t bins = 0;   // of the number with most of them, at least 1
  int64_t width = 0;  // inputs of one number
  bool operator==(const EmbeddedNumbers&) const = default;
};

// What the network is given of a row: numbers, then of each number with an embedding its scaled
// value and its place among the bins (bin + share of it), and a code of each coded feature.
struct InputShape {
  InputShape() = default;
  // Numbers alone.
  InputShape(int64_t numbers) : dense(numbers) {}  // NOLINT: a shape like any other
  int64_t dense = 0;
  EmbeddedNumbers numbers;
  std::vector<CodedInput> coded;
};
InputShape InputsOf(const Preprocessing& preprocessing);

// The profile, the same on every member.
struct TableProfile {
  std::vector<ShardProfile> shards;  // one a shard, in shard order (statistics may be emptied)
  Preprocessing preprocessing;
  StorageType storage = StorageType::kFloat32;
  bool sparse = false;  // rows are stored and multiplied without their zeros (sparse_rows.h)
  int64_t train_rows = 0;
  int64_t validation_rows = 0;
  int64_t test_rows = 0;
  int64_t skipped_rows = 0;
  std::string data_fingerprint;            // SHA-256 over shard bounds, checksums and row counts
  std::vector<std::string> warnings = {};  // what is likely wrong with the table, for people
};

}  // namespace espalier::spec
