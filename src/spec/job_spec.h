// What a person asks for: one job, as plain structs. config/ makes them from YAML; every other room
// reads them. Defaults stand here and nowhere else.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/status.h"

namespace espalier::spec {

// ---- data ------------------------------------------------------------------------------------

// A column by header name or by 0-based position.
using ColumnRef = std::variant<std::string, int64_t>;

// Positions first..last, both included, 0-based.
struct ColumnRange {
  int64_t first = 0;
  int64_t last = 0;
  bool operator==(const ColumnRange&) const = default;
};
// One entry of a list of columns.
using ColumnPattern = std::variant<std::string, int64_t, ColumnRange>;

enum class DataFormat { kCsv, kParquet, kLibsvm };

// Which field is left out where the records of a CSV file have one more than its header has names.
// kAuto: the last one when it is empty, else the first one, as R names rows. kLast: the empty field
// behind a delimiter at each line's end.
enum class ExtraField { kAuto, kFirst, kLast, kNone };

struct CsvOptions {
  static constexpr char kBlanks = 0;  // the delimiter: runs of blanks and tabs
  static constexpr char kNoQuote = 0, kNoEscape = 0;

  bool header = true;
  char delimiter = ',';
  char quote = '"';
  bool multiline = false;       // records may contain quoted line breaks: a file is then one shard
  std::optional<char> decimal;  // of numbers; absent: '.'
  std::optional<char> thousands;  // between groups of digits; absent: none
  std::optional<char> escape;     // before a quote or another escape; absent: none is known of
  std::optional<char> comment;    // at the begin of lines that are left out; absent: there are none
  ExtraField extra_field = ExtraField::kAuto;
  bool operator==(const CsvOptions&) const = default;
};

// kRobust: the distance from the median in units of that between the quartiles. kRobustSmoothClip:
// z / sqrt(1 + (z/3)^2) of this, which is between -3 and 3.
enum class ScaleKind { kNone, kStandard, kMinMax, kDivide, kRobust, kRobustSmoothClip };
struct Scale {
  ScaleKind kind = ScaleKind::kStandard;
  double divisor = 1;  // kDivide only
  bool operator==(const Scale&) const = default;
};

// kCategory, of categorical columns: null is a value like any other.
enum class NullKind { kFail, kMean, kConstant, kDrop, kCategory, kMedian };
// Whether a number takes the place of nulls.
constexpr bool FillsNulls(NullKind kind) {
  return kind == NullKind::kMean || kind == NullKind::kMedian || kind == NullKind::kConstant;
}
struct NullPolicy {
  NullKind kind = NullKind::kFail;
  double constant = 0;  // kConstant only
  bool operator==(const NullPolicy&) const = default;
};

// What a column holds, and so how inputs are made of it.
enum class FeatureType { kNumeric, kBoolean, kDate, kCategorical };
// What a date gives, each a number: weekday 0 (Monday) to 6, yearday 1 to 366, epoch the seconds
// since 1970, in UTC.
enum class DatePart { kYear, kMonth, kDay, kWeekday, kYearday, kHour, kMinute, kSecond, kEpoch };

// How the inputs are made of a categorical column.
struct CategoryOptions {
  int64_t embedding = 0;  // width; 0: one-hot
  int64_t hash = 0;       // buckets that values are hashed to; 0: they have a vocabulary
  int64_t min_count = 1;  // training rows that a value must be in to be of the vocabulary
  // Columns of at most this number of values are one-hot, with all of their values.
  int64_t one_hot_max = 0;
  bool zero_rare = false;  // null, rare and unseen values have no code: their inputs are 0
  bool operator==(const CategoryOptions&) const = default;
};

// How the inputs are made of a column.
struct FeatureOptions : CategoryOptions {
  FeatureType type = FeatureType::kNumeric;
  std::optional<Scale> scale;       // absent: FeatureSpec::scale; none of categorical columns
  std::optional<NullPolicy> nulls;  // absent: FeatureSpec::nulls, categorical columns: kCategory
  bool null_indicator = false;      // one more input: 1 where the value is null, else 0
  bool log1p = false;               // kNumeric: log(1 + x) in place of x
  std::vector<DatePart> parts = {DatePart::kYear, DatePart::kMonth, DatePart::kDay,
                                 DatePart::kWeekday};  // kDate
  // kDate: how texts are written (data/features/date_format.h). "auto": as ParseDate reads them;
  // empty: FeatureSpec::date_format.
  std::string date_format;
  bool operator==(const FeatureOptions&) const = default;
};

// Columns with rules of their own.
struct FeatureGroup : FeatureOptions {
  std::vector<ColumnPattern> columns;  // at least one
  bool operator==(const FeatureGroup&) const = default;
};

// Inputs that the network makes of a number. kPiecewiseLinear: a line over each bin of the column's
// values (Gorishniy et al., "On embeddings for numerical features in tabular deep learning", 2022).
enum class NumberEmbedding { kNone, kPiecewiseLinear };
inline constexpr int64_t kNumberWidthMax = 64, kBinsMax = 256;
struct NumberOptions {
  NumberEmbedding embedding = NumberEmbedding::kNone;
  int64_t width = 8;  // inputs of one number
  int64_t bins = 48;  // at most, of one column
  bool operator==(const NumberOptions&) const = default;
};

struct FeatureSpec {
  // Empty: "auto", every column that is not label, weight, targets or validation marker.
  std::vector<ColumnPattern> columns;
  Scale scale;
  NullPolicy nulls;
  // Their columns are features although `columns` does not name them.
  std::vector<FeatureGroup> groups;
  // Columns that are not features: names, positions, ranges, and names with * and ?.
  std::vector<ColumnPattern> exclude;
  std::string date_format;  // of dates whose group says nothing; empty: "auto"
  NumberOptions numbers;    // of all features but categories
  // Numbers without a group that have nulls in training rows get one more input: 1 where the value
  // is null, else 0.
  bool null_indicators = false;
  CategoryOptions categories;  // of categorical columns without a group
  bool operator==(const FeatureSpec&) const = default;
};

struct ValidationSpec {
  double fraction = 0;  // in [0, 1); by a keyed hash of the row's identity, or by `group` or `time`
  bool stratify = false;  // the same share of each class (src/data/features/validation_draw.h)
  std::optional<ColumnRef> column;  // or: rows where this column is true/1
  std::vector<std::string> files;   // or: patterns of separate files
  // Or, with both: part `fold`, counted from 0, of `of` parts about alike, by the same hash (or of
  // each class, with stratify); each row is in one of them.
  std::optional<int64_t> fold, of;
  bool exact = false;  // the shares of `fraction` and `fold` are exact, except for rounding
  std::optional<uint64_t> seed;  // of the hash; absent: train.seed
  // `fraction` and `fold` take whole groups of rows with the same value of `group`, or the rows
  // with the latest values of `time` (src/data/features/validation_column.h).
  std::optional<ColumnRef> group, time;
  // Rows with a place in [from, to) are validation rows: seconds since 1970 or the number in the
  // column of `time`, or a hash of the group in [0, 1). The profiling pass finds both.
  std::optional<double> from, to;
  bool operator==(const ValidationSpec&) const = default;
  bool any() const { return draws() || bounded() || column.has_value() || !files.empty(); }
  bool draws() const { return fraction > 0 || fold.has_value(); }
  bool by_hash() const { return draws() && !by_place(); }
  bool by_place() const { return group.has_value() || time.has_value(); }
  bool bounded() const { return from.has_value() || to.has_value(); }
  // Whether the profiling pass has to find `from` and `to`.
  bool seeks_bounds() const { return draws() && by_place() && !bounded(); }
  // The column that decides, if one does.
  const std::optional<ColumnRef>& deciding() const {
    return column ? column : group ? group : time;
  }
  const char* deciding_key() const {
    return column  ? "data.validation.column"
           : group ? "data.validation.group"
                   : "data.validation.time";
  }
  // Whether rows are drawn from parts of a file that no shard divides.
  bool by_part() const { return by_hash() && (stratify || exact); }
  // The share of the training rows that becomes validation rows.
  double share() const { return fold ? 1 / static_cast<double>(*of) : fraction; }
};

struct BadRows {
  bool skip = false;  // false: the first bad row fails the job
  int64_t limit = 0;  // skip: how many bad rows, over all files, are tolerated
  bool operator==(const BadRows&) const = default;
};

enum class ShuffleKind { kFull, kWindow, kNone };
struct Shuffle {
  ShuffleKind kind = ShuffleKind::kFull;
  int64_t window_rows = 0;  // kWindow only
  bool operator==(const Shuffle&) const = default;
};

struct LibsvmOptions {
  bool zero_based = false;  // indices count from 0: index i is column i + 1
  bool operator==(const LibsvmOptions&) const = default;
};

struct DataSpec {
  std::vector<std::string> train;  // patterns or directories, in order
  std::vector<std::string> test;
  std::optional<DataFormat> format;  // unset: FormatOf tells
  CsvOptions csv;
  LibsvmOptions libsvm;
  // One column; several for regression, each a number, and for multilabel, each 0 or 1; none for
  // autoencoder.
  std::vector<ColumnRef> label;
  std::optional<ColumnRef> weight;
  FeatureSpec features;
  ValidationSpec validation;
  BadRows bad_rows;
  // Texts that mean null in every column, in addition to those of data/table/value_rules.h. Given,
  // they replace the common spellings as far as labels are concerned.
  std::optional<std::vector<std::string>> null_values;
  Shuffle shuffle;
  int64_t shard_bytes = 16 << 20;
  // Reads the files of a Delta, Hudi, Iceberg or ACID table as they are, without its log.
  bool raw = false;
  bool operator==(const DataSpec&) const = default;
};

// `data.format`, or what the extension of the first training pattern says (before `.gz` or `.zst`):
// `.libsvm` and `.svm`, `.parquet`; CSV otherwise.
DataFormat FormatOf(const DataSpec& data);
// The format of one of the job's files, which a directory or a wildcard may have brought in:
// data.format, or what its own extension says; of a name without a known one (those above and
// `.csv`) as above.
DataFormat FormatOf(const DataSpec& data, const std::string& path);
// The name of a file without the extension of a codec, such as `.gz`; the name itself without one.
std::string_view WithoutCodec(std::string_view name);
// Whether columns have names: by the first line of each CSV file, or in Parquet always.
bool HasHeader(const DataSpec& data);
bool HasHeader(const DataSpec& data, const std::string& path);
// What Validate asks of `data` by its format, once the files are listed and data.format is set.
Status ValidateFormat(const DataSpec& data);

// ---- model -----------------------------------------------------------------------------------

// kMultilabel: several answers of 0 or 1 a row. kAutoencoder: the answer is the row itself.
enum class Task { kClassification, kRegression, kMultilabel, kAutoencoder };
// Whether the answers are numbers, which rmse, mae and r2 judge; else classes or labels.
bool PredictsNumbers(Task task);
enum class Activation { kIdentity, kRelu, kTanh, kSigmoid, kLeakyRelu, kElu, kGelu, kSilu };
enum class Loss {
  kSoftmaxCrossEntropy,
  kBinaryCrossEntropy,
  kMse,
  kMae,
  kHuber,
  kPoisson,
  kQuantile
};
enum class Init { kHe, kXavier };
// kNtp: each layer computes W x / sqrt(fan-in) + b from weights that start as N(0, 1) (Jacot et
// al., "Neural tangent kernel", 2018). The model stores W / sqrt(fan-in).
enum class Parametrization { kStandard, kNtp };
enum class Precision { kFloat32, kFloat64 };
enum class TargetScale { kStandard, kNone };

struct ModelSpec {
  Task task = Task::kClassification;
  std::vector<int64_t> hidden;                               // widths; empty is a linear model
  std::vector<Activation> activation = {Activation::kRelu};  // one for all, or one a hidden layer
  std::vector<double> dropout = {0};  // in [0, 1), after each hidden activation; likewise
  bool layer_norm = false;            // of each hidden layer's sums, before its activation
  bool residual = false;       // a hidden layer as wide as the one before it adds that one's output
  std::optional<Loss> loss;    // absent: EffectiveLoss tells
  double label_smoothing = 0;  // cross-entropies: in [0, 1)
  double huber_delta = 1;
  double quantile = 0.5;     // kQuantile: which one is predicted, in (0, 1)
  std::optional<Init> init;  // absent: He for the relu family, else Xavier, per layer
  Precision precision = Precision::kFloat32;
  std::optional<TargetScale> target_scale;  // regression; absent: standard, or none for Poisson
  // Softmax: the class predicted is the one whose probability is the largest multiple of its
  // threshold (Spark's `thresholds`); none: the most probable one. At most one is 0.
  std::vector<double> thresholds;
  // What the data must turn out to have, where the job says so: features, and classes or targets.
  std::optional<int64_t> expected_inputs, expected_outputs;
  Parametrization parametrization = Parametrization::kStandard;
  bool scaling_layer = false;        // each input of the first layer times a trained factor
  bool cap_label_smoothing = false;  // label_smoothing is at most the share of the rarest class
  bool clip_predictions = false;     // regression: to the range of the training targets
  // Regression: training begins with the biases of the outputs at the constant answer that suits
  // the loss (data/profile/target_start.h).
  bool start_at_constant = false;
  // Two classes: the label of the positive one. Absent: the second class.
  std::optional<std::string> positive;
  bool operator==(const ModelSpec&) const = default;
};

// ---- training --------------------------------------------------------------------------------

// kGd is full-batch gradient descent: one update an epoch, from all its rows. kLbfgs evaluates loss
// and gradient of all rows at points that it chooses, one an epoch (src/model/lbfgs.h).
enum class OptimizerKind {
  kSgd,
  kMomentum,
  kNesterov,
  kAdam,
  kAdamW,
  kAdagrad,
  kRmsprop,
  kGd,
  kLbfgs
};
enum class LineSearchKind { kStrongWolfe, kNone };
inline constexpr int64_t kLbfgsHistoryMax = 100;
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kAdam;
  double learning_rate = 1e-3;           // of the global batch
  double momentum = 0.9;                 // momentum, nesterov, rmsprop (0: none)
  double beta1 = 0.9, beta2 = 0.999;     // adam, adamw
  double epsilon = 1e-8;                 // adam, adamw, rmsprop, adagrad
  double alpha = 0.99;                   // rmsprop: what the mean of squares keeps, in [0, 1)
  bool centered = false;                 // rmsprop: divide by the deviation, not by the root mean
  double initial_accumulator_value = 0;  // adagrad: what the sums of squares start from
  // lbfgs. The learning rate is the step that is tried first.
  int64_t history = 10;  // pairs of steps and changes of the gradient that are remembered
  LineSearchKind line_search = LineSearchKind::kStrongWolfe;
  int64_t max_line_search = 20;  // evaluations of one search, half of them to find an interval
  double tolerance = 1e-6;       // when it has converged (src/model/lbfgs.h); 0: almost never
  int64_t max_iterations = 100;
  // gd: it has converged when an update but the first moves the parameters by less than this times
  // their norm, or times 1 if that is more (Spark's rule); 0: never.
  double step_tolerance = 0;
  bool operator==(const OptimizerSpec&) const = default;
};
// An optimizer as it is when a job names it and nothing else, and `train.batch` with it.
OptimizerSpec DefaultOptimizer(OptimizerKind kind);
int64_t DefaultBatch(OptimizerKind kind);

// A length of training in optimizer steps or in epochs.
struct Span {
  double amount = 0;
  bool epochs = false;  // false: steps
  bool operator==(const Span&) const = default;
};

// Lowers the rate when a metric no longer gains: a decision from totals, so all members take it.
struct PlateauRule {
  std::string metric = "val_loss";  // as in early stopping, or of the training rows: loss, ...
  int64_t patience = 10;            // evaluations without improvement
  double min_delta = 1e-4;
  int64_t cooldown = 0;          // evaluations after a reduction that do not count
  double min_learning_rate = 0;  // never lower
  bool operator==(const PlateauRule&) const = default;
};

enum class ScheduleKind { kConstant, kStep, kCosine, kExponential, kPolynomial, kPlateau };
struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::kConstant;
  struct Span warmup;       // linear from 0 (exclusive); any kind
  double warmup_share = 0;  // or this share of all steps, where their number is known
  struct Span every;        // kStep: length of a stair; kExponential: over which `factor` is spread
  double factor = 0.1;      // kStep, kExponential: multiplied each `every`; kPlateau: each time
  double final_fraction = 0;  // kCosine, kPolynomial: rate at the end / rate at the start
  double power = 1;           // kPolynomial
  PlateauRule plateau;        // kPlateau
  bool operator==(const ScheduleSpec&) const = default;
};

// Multiples of the learning rate.
struct RateFactors {
  double biases = 1;  // of layers, with the gains and shifts of layer norms
  double scaling_layer = 1;
  bool operator==(const RateFactors&) const = default;
};
// How the learning rate follows the batch. kSqrt: times sqrt(batch / 256) of batches above 256.
enum class RateByBatch { kNone, kSqrt };
// Weight decay over the run. kFlatCos: constant over the first half, then half a cosine to 0.
enum class DecaySchedule { kConstant, kFlatCos };

struct EarlyStopping {
  std::string metric = "val_loss";  // val_loss, val_accuracy, ...
  int64_t patience = 10;            // evaluations without improvement
  double min_delta = 0;
  bool restore_best = true;
  bool operator==(const EarlyStopping&) const = default;
};

// Averaged weights: evaluated and saved in place of the trained ones.
enum class AveragingKind { kNone, kEma, kMean };
struct Averaging {
  AveragingKind kind = AveragingKind::kNone;
  double decay = 0.999;  // kEma: what the average keeps at an update, in (0, 1)
  Span start;            // the first update that counts is the first after so much training
  bool operator==(const Averaging&) const = default;
};

// Several trainings of one network, the fits: the model averages their predictions. kFolds: each
// fit holds out another part of the training rows. kSeeds: all have the same rows, and differ by
// their first weights and the order of rows.
enum class FitsOver { kFolds, kSeeds };
inline constexpr int64_t kFitsMax = 64, kFoldsMax = 1000;
struct EnsembleSpec {
  int64_t fits = 1;
  FitsOver over = FitsOver::kFolds;
  std::optional<int64_t> folds;  // parts of the training rows, with kFolds; absent: `fits`
  // Moves all predictions towards the constant answer, by the share with the least loss of the rows
  // that are held out; with kFolds.
  bool shrink = false;
  bool operator==(const EnsembleSpec&) const = default;
};

// Criterion for the threshold between two classes, measured on the held-out rows.
enum class ThresholdKind { kNone, kAccuracy, kF1, kRecall, kPrecision, kCost };
struct ThresholdSpec {
  ThresholdKind kind = ThresholdKind::kNone;
  double min_precision = 0.9;  // kRecall: that the threshold must reach, in (0, 1)
  double min_recall = 0.9;     // kPrecision: likewise
  // kCost: costs of a row of the negative class that is predicted positive, and of a row of the
  // positive class that is predicted negative.
  double false_positive = 1, false_negative = 1;
  bool operator==(const ThresholdSpec&) const = default;
};

// Targets of a job with prediction intervals.
inline constexpr int64_t kIntervalTargetsMax = 64;

// Whether a weight above 0 is none in float32, where what is no normal number counts as 0.
inline bool VanishesInFloat(double weight) {
  return weight > 0 && weight < static_cast<double>(std::numeric_limits<float>::min());
}

// What the rows of a class weigh in training, beside their own weights; multilabel: what a 1 of a
// label weighs in its loss. 1 where nothing is said.
struct ClassWeight {
  std::string label;
  double weight = 1;
  bool operator==(const ClassWeight&) const = default;
};
struct ClassWeights {
  // Training rows / (classes * training rows of the class); multilabel: training rows with 0 /
  // those with 1 (src/data/features/class_weights.h).
  bool balanced = false;
  std::vector<ClassWeight> given;  // or these
  bool operator==(const ClassWeights&) const = default;
};

// Weights of an earlier model to begin from. Layers are counted from 0, as in the names of tensors
// ("layers.0.weight"); the output layer is the last one.
struct InitialSpec {
  std::string from;             // a model's directory, or a file of safetensors
  std::vector<int64_t> layers;  // only these; empty: all
  // Numbers in Spark's layout: of each layer the matrix [out, in] by columns, then the bias. They
  // are `values`, or else what `from` holds, a text of numbers between blanks or commas.
  bool spark = false;
  std::vector<double> values;
  // false: the job keeps what was fitted for that model, for the layers that it takes
  // (data/features/keep_fitted.h).
  bool refit_preprocessing = false;
  bool operator==(const InitialSpec&) const = default;
  // Whether the job keeps the preprocessing of a model or a run.
  bool keeps_preprocessing() const {
    return !refit_preprocessing && !spark && !from.ends_with(".safetensors");
  }
};

// kSync: a step is one update from one global batch, to which all workers add. kAsync: one worker
// holds the parameters, each takes them, computes the gradient of a batch of its own rows and
// pushes it, and each push is applied at once: a step. Then the model depends on who was quick.
enum class TrainMode { kSync, kAsync };
inline constexpr int64_t kStalenessMax = 1'000'000;

struct TrainSpec {
  TrainMode mode = TrainMode::kSync;
  // kAsync: a push is refused when more steps than these were taken since its parameters were
  // handed out, and computed again. Absent: StalenessLimit tells.
  std::optional<int64_t> staleness;
  OptimizerSpec optimizer;
  ScheduleSpec schedule;
  int64_t batch = 256;            // global; 0: BatchFor the number of training rows
  std::optional<int64_t> leaves;  // absent: auto
  // Absent and no steps, no max_time: 10. 0: EpochsFor the number of training rows.
  std::optional<double> epochs;
  std::optional<int64_t> steps;
  std::optional<int64_t> max_time_ms;
  std::optional<EarlyStopping> early_stopping;
  double weight_decay = 0;
  double l1 = 0;              // times the sign of each weight, in the gradient
  bool decay_biases = false;  // weight_decay and l1 are for biases and norms too
  DecaySchedule weight_decay_schedule = DecaySchedule::kConstant;
  RateFactors rate_factors;
  RateByBatch rate_by_batch = RateByBatch::kNone;
  double clip_norm = 0;          // 0: none
  double clip_value = 0;         // 0: none
  int64_t accumulate_steps = 1;  // whose gradients make one update
  Averaging averaging;
  EnsembleSpec ensemble;
  // Divides the outputs of a classifier by a temperature, the one with the least loss of the rows
  // that are held out.
  bool calibrate = false;
  // Chooses ModelSpec::thresholds of two classes by the rows that are held out.
  ThresholdSpec threshold;
  // Regression: share of rows that prediction intervals contain, in (0, 1); 0: no intervals. Their
  // half-width is a quantile of the absolute residuals of the rows that are held out (split
  // conformal prediction: Lei et al., "Distribution-Free Predictive Inference for Regression",
  // 2018).
  double intervals = 0;
  ClassWeights class_weight;
  std::optional<InitialSpec> initial;
  std::vector<int64_t> frozen;  // layers that keep their first weights, counted as in InitialSpec
  bool skip_nonfinite = false;  // on_nonfinite: skip
  uint64_t seed = 1;
  bool operator==(const TrainSpec&) const = default;
};

struct WorkerRange {
  int64_t min = 1;
  int64_t max = 0;  // 0: as many as there are
  // What they read of the input is kept on their disks for the next jobs that say so. Not among
  // the `Fields`: of the model it tells nothing.
  bool cache_input = false;
  bool operator==(const WorkerRange&) const = default;
};

// When the job's state is written to disk beside the output. Two conditions: whichever comes first.
// Neither they nor what is resumed from are part of the fingerprint: the model is the same.
struct CheckpointSpec {
  std::optional<int64_t> every_steps;
  std::optional<int64_t> every_ms = 10 * 60 * 1000;
  int64_t keep = 3;        // the newest so many
  bool asked_for = false;  // the job says `checkpoint`: they stay when it has succeeded
  bool operator==(const CheckpointSpec&) const = default;
};

// Goes on with an earlier run of the same job instead of beginning anew.
struct ResumeSpec {
  std::string from;                // that run's output, or its directory of checkpoints
  bool accept_data = false;        // although the data differs
  bool accept_arithmetic = false;  // although other arithmetic computed the first part
  bool operator==(const ResumeSpec&) const = default;
};

struct OutputSpec {
  std::string path;
  bool overwrite = false;
  bool operator==(const OutputSpec&) const = default;
};

// Fills the keys that a job does not give (data/input/complete_job.h). kNone: as they were in
// version 0.1.0.
enum class Preset { kNone, kFast, kGood, kBest };

struct JobSpec {
  std::string name = "job";
  // What the keys of the job were filled by. Of the model it decides EpochsFor alone.
  Preset preset = Preset::kNone;
  DataSpec data;
  ModelSpec model;
  TrainSpec train;
  WorkerRange workers;
  OutputSpec output;
  std::optional<CheckpointSpec> checkpoint = CheckpointSpec();  // train.checkpoint; none: off
  std::optional<ResumeSpec> resume;
  bool operator==(const JobSpec&) const = default;

  // Names the first field that is out of its range or at odds with another; reads only. The message
  // starts with the field's path as in YAML ("train.batch: ...").
  Status Validate() const;
};

// The batch and the epochs of a table with so many training rows, where the job leaves them to it
// (docs/presets.md). `fast` takes half of the epochs.
int64_t BatchFor(int64_t train_rows);
double EpochsFor(Preset preset, int64_t train_rows);
// The job with these filled in, and the learning rate that follows.
JobSpec Sized(JobSpec job, int64_t train_rows);

// Parts of the training rows, of which each fit holds out one; 0: no fit holds out training rows.
int64_t FoldsOf(const TrainSpec& train);
// Training rows of a fit, of all there are; with folds, about.
int64_t FitRows(const TrainSpec& train, int64_t train_rows);
// Whether the model is made of several fits, or of fits that hold out training rows.
bool HasFits(const TrainSpec& train);
// Whether weights become a model only after the last fit: several fits are averaged, or the model
// has a temperature, a threshold or intervals that follow from the rows that are held out.
bool Assembles(const TrainSpec& train);
// The seed of a fit, counted from 0: the job's for the first one.
uint64_t FitSeed(uint64_t seed, int64_t fit);

// `leaves: auto`: clamp(power of two <= batch/64, 1, 1024), or the number given.
int64_t LeafCount(const TrainSpec& train);

// `staleness`, or without one twice the workers, 4 at least: workers that are alike never reach it.
int64_t StalenessLimit(const TrainSpec& train, int64_t workers);

// The effective end: epochs to run, with the default of 10 when nothing ends the job (lbfgs ends by
// itself).
std::optional<double> EpochLimit(const TrainSpec& train);

// The loss in force: softmax cross-entropy for classes, binary for labels, MSE for numbers; whether
// a loss is one for the task; and the scale of regression targets.
bool LossFits(Loss loss, Task task);
Loss EffectiveLoss(const ModelSpec& model);
TargetScale EffectiveTargetScale(const ModelSpec& model);

// A canonical text of all that decides the model's bits: not name, output, workers, checkpoints and
// not the address part of URIs. One line a field, "train.batch=256"; equal only for equal jobs.
std::string CanonicalText(const JobSpec& job);
// Its SHA-256. Never used as a seed.
std::string Fingerprint(const JobSpec& job);

// The names of enumerators as YAML spells them ("relu", "softmax_cross_entropy", "adam", ...).
const char* Name(Task);
const char* Name(Activation);
const char* Name(Loss);
const char* Name(OptimizerKind);
const char* Name(ScheduleKind);
const char* Name(ScaleKind);
const char* Name(NullKind);
const char* Name(ShuffleKind);
const char* Name(Precision);
const char* Name(Init);
const char* Name(TargetScale);

// The names of a task's metrics, loss first ("loss", "accuracy", ...): columns of history.csv, and
// with "val_" before them the choices of early_stopping.metric.
std::vector<std::string> MetricNames(Task task);

}  // namespace espalier::spec
