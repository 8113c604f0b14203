// JobSpec: one job as requested by a user, as plain structs. config/ makes them from YAML, and
// every other room reads them. This file is the only place for defaults.
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

// Positions first..last, 0-based, both included.
struct ColumnRange {
  int64_t first = 0;
  int64_t last = 0;
  bool operator==(const ColumnRange&) const = default;
};
// One entry in a list of columns.
using ColumnPattern = std::variant<std::string, int64_t, ColumnRange>;

enum class DataFormat { kCsv, kParquet, kLibsvm, kJson };

// The field to ignore if the records of a CSV file have one more field than its header has names.
// kAuto: the last field if it is empty, otherwise the first one (R's row names). kLast: the empty
// field after a delimiter at the end of each line.
enum class ExtraField { kAuto, kFirst, kLast, kNone };

struct CsvOptions {
  static constexpr char kBlanks = 0;  // delimiter: runs of blanks and tabs
  static constexpr char kNoQuote = 0, kNoEscape = 0;

  bool header = true;
  char delimiter = ',';
  char quote = '"';
  // Records may contain quoted line breaks; each file is then one shard.
  bool multiline = false;
  std::optional<char> decimal;    // decimal mark; absent: '.'
  std::optional<char> thousands;  // digit group separator; absent: none
  std::optional<char> escape;     // character before a quote or another escape; absent: none
  std::optional<char> comment;    // character at the start of ignored lines; absent: none
  ExtraField extra_field = ExtraField::kAuto;
  bool operator==(const CsvOptions&) const = default;
};

// kRobust: the distance from the median, divided by the distance between the quartiles.
// kRobustSmoothClip: z / sqrt(1 + (z/3)^2) of that value z, which is between -3 and 3.
enum class ScaleKind { kNone, kStandard, kMinMax, kDivide, kRobust, kRobustSmoothClip };
struct Scale {
  ScaleKind kind = ScaleKind::kStandard;
  double divisor = 1;  // kDivide only
  bool operator==(const Scale&) const = default;
};

// kCategory, for categorical columns only: null is a regular value.
enum class NullKind { kFail, kMean, kConstant, kDrop, kCategory, kMedian };
// Returns whether nulls are replaced by a number.
constexpr bool FillsNulls(NullKind kind) {
  return kind == NullKind::kMean || kind == NullKind::kMedian || kind == NullKind::kConstant;
}
struct NullPolicy {
  NullKind kind = NullKind::kFail;
  double constant = 0;  // kConstant only
  bool operator==(const NullPolicy&) const = default;
};

// The type of a column, which determines how it becomes inputs.
enum class FeatureType { kNumeric, kBoolean, kDate, kCategorical };
// The parts of a date, each a number: weekday 0 (Monday) to 6, yearday 1 to 366, epoch in seconds
// since 1970, in UTC.
enum class DatePart { kYear, kMonth, kDay, kWeekday, kYearday, kHour, kMinute, kSecond, kEpoch };

// How a categorical column becomes inputs.
struct CategoryOptions {
  int64_t embedding = 0;  // width; 0: one-hot
  int64_t hash = 0;       // number of hash buckets; 0: values have a vocabulary
  int64_t min_count = 1;  // training rows that a value needs to enter the vocabulary
  // Columns with at most this number of values are one-hot, with all of their values.
  int64_t one_hot_max = 0;
  bool zero_rare = false;  // null, rare and unseen values have no code: their inputs are 0
  bool operator==(const CategoryOptions&) const = default;
};

// How a column becomes inputs.
struct FeatureOptions : CategoryOptions {
  FeatureType type = FeatureType::kNumeric;
  // absent: FeatureSpec::scale, or no scaling for categorical columns.
  std::optional<Scale> scale;
  // absent: FeatureSpec::nulls, or kCategory for categorical columns.
  std::optional<NullPolicy> nulls;
  bool null_indicator = false;  // one more input: 1 if the value is null, otherwise 0
  bool log1p = false;           // kNumeric: log(1 + x) replaces x
  std::vector<DatePart> parts = {DatePart::kYear, DatePart::kMonth, DatePart::kDay,
                                 DatePart::kWeekday};  // kDate
  // kDate: format of the texts (data/features/date_format.h). "auto": the formats of ParseDate.
  // Empty: FeatureSpec::date_format.
  std::string date_format;
  bool operator==(const FeatureOptions&) const = default;
};

// Columns with separate options.
struct FeatureGroup : FeatureOptions {
  std::vector<ColumnPattern> columns;  // at least one
  bool operator==(const FeatureGroup&) const = default;
};

// How the network embeds a number. kPiecewiseLinear: one line over each bin of the column's values
// (Gorishniy et al., "On embeddings for numerical features in tabular deep learning", 2022).
enum class NumberEmbedding { kNone, kPiecewiseLinear };
inline constexpr int64_t kNumberWidthMax = 64, kBinsMax = 256;
struct NumberOptions {
  NumberEmbedding embedding = NumberEmbedding::kNone;
  int64_t width = 8;  // inputs of one number
  int64_t bins = 48;  // maximum, per column
  bool operator==(const NumberOptions&) const = default;
};

struct FeatureSpec {
  // Empty: "auto", every column except label, weight, targets and validation marker.
  std::vector<ColumnPattern> columns;
  Scale scale;
  NullPolicy nulls;
  // Columns of groups are features even if `columns` does not name them.
  std::vector<FeatureGroup> groups;
  // Columns that are not features: names, positions, ranges, and names with * and ?.
  std::vector<ColumnPattern> exclude;
  std::string date_format;  // for dates whose group has none; empty: "auto"
  NumberOptions numbers;    // for all features except categories
  // Adds one more input for each number without a group that has nulls in training rows: 1 if the
  // value is null, otherwise 0.
  bool null_indicators = false;
  CategoryOptions categories;  // for categorical columns without a group
  bool operator==(const FeatureSpec&) const = default;
};

inline constexpr size_t kStrataMax = 100;  // bounds of ValidationSpec::strata

struct ValidationSpec {
  // In [0, 1); selected by a keyed hash of the row's identity, or by `group` or `time`.
  double fraction = 0;
  // The same share of each class, or of each stratum of the label
  // (src/data/features/validation_draw.h).
  bool stratify = false;
  std::optional<ColumnRef> column;  // or: rows in which this column is true/1
  std::vector<std::string> files;   // or: patterns of separate files
  // Or, both together: part `fold`, counted from 0, of `of` parts of about equal size. Each row is
  // in exactly one part, chosen by the same hash (per class with stratify).
  std::optional<int64_t> fold, of;
  bool exact = false;  // the shares of `fraction` and `fold` are exact, except for rounding
  std::optional<uint64_t> seed;  // seed of the hash; absent: train.seed
  // `fraction` and `fold` select whole groups of rows with the same value of `group`, or the rows
  // with the latest values of `time` (src/data/features/validation_column.h).
  std::optional<ColumnRef> group, time;
  // Validation rows are the rows with a place in [from, to). A place is seconds since 1970 or the
  // number in the `time` column, or a hash of the group in [0, 1). The profiling pass finds both
  // bounds.
  std::optional<double> from, to;
  // Regression with `stratify`: bounds between the strata of the label, increasing. Empty: the
  // coordinator chooses them at submission.
  std::vector<double> strata;
  bool operator==(const ValidationSpec&) const = default;
  bool any() const { return draws() || bounded() || column.has_value() || !files.empty(); }
  bool draws() const { return fraction > 0 || fold.has_value(); }
  bool by_hash() const { return draws() && !by_place(); }
  bool by_place() const { return group.has_value() || time.has_value(); }
  bool bounded() const { return from.has_value() || to.has_value(); }
  // Returns whether the profiling pass must find `from` and `to`.
  bool seeks_bounds() const { return draws() && by_place() && !bounded(); }
  // Returns the column that decides, or nothing.
  const std::optional<ColumnRef>& deciding() const {
    return column ? column : group ? group : time;
  }
  const char* deciding_key() const {
    return column  ? "data.validation.column"
           : group ? "data.validation.group"
                   : "data.validation.time";
  }
  // Returns whether rows are drawn from parts of a file that are never split between shards.
  bool by_part() const { return by_hash() && (stratify || exact); }
  // Returns the share of the training rows that become validation rows.
  double share() const { return fold ? 1 / static_cast<double>(*of) : fraction; }
};

struct BadRows {
  bool skip = false;  // false: the first bad row fails the job
  int64_t limit = 0;  // skip: maximum number of bad rows over all files
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
  std::optional<DataFormat> format;  // absent: determined by FormatOf
  CsvOptions csv;
  LibsvmOptions libsvm;
  // One column. Regression: one or more, each a number. Multilabel: one or more, each 0 or 1.
  // Autoencoder: none.
  std::vector<ColumnRef> label;
  std::optional<ColumnRef> weight;
  FeatureSpec features;
  ValidationSpec validation;
  BadRows bad_rows;
  // Texts that mean null in every column, in addition to those in data/table/value_rules.h. For
  // labels, they replace the common spellings.
  std::optional<std::vector<std::string>> null_values;
  Shuffle shuffle;
  int64_t shard_bytes = 16 << 20;
  // Reads the files of a Delta, Hudi, Iceberg or ACID table directly, without its log.
  bool raw = false;
  bool operator==(const DataSpec&) const = default;
};

// Returns the format that the end of a file's name states. Absent: the name states none.
std::optional<DataFormat> FormatByName(std::string_view name);
// Returns `data.format`, or the format of the first training pattern's extension (before `.gz` or
// `.zst`): `.libsvm` and `.svm`, `.json`, `.jsonl` and `.ndjson`, or `.parquet`. All others are
// CSV.
DataFormat FormatOf(const DataSpec& data);
// Returns the format of one of the job's files, which may come from a directory or a wildcard. It
// is data.format or the format of the file's own extension. If the extension is not one of those
// above or `.csv`, it is the format above.
DataFormat FormatOf(const DataSpec& data, const std::string& path);
// Returns the name of a file without the extension of a codec (for example `.gz`), if it has one.
std::string_view WithoutCodec(std::string_view name);
// Returns whether columns have names: from the first line of each CSV file, or in Parquet and JSON
// always.
bool HasHeader(const DataSpec& data);
bool HasHeader(const DataSpec& data, const std::string& path);
// Returns whether the first line of the file has the names of the columns. Only CSV has that line.
bool HasHeaderLine(const DataSpec& data, const std::string& path);
// Validates `data` for its format. Call it after the files are listed and data.format is set.
Status ValidateFormat(const DataSpec& data);

// ---- model -----------------------------------------------------------------------------------

// kMultilabel: several outputs of 0 or 1 per row. kAutoencoder: the output is the row itself.
enum class Task { kClassification, kRegression, kMultilabel, kAutoencoder };
// Returns whether outputs are numbers, measured by rmse, mae and r2, and not classes or labels.
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
// al., "Neural tangent kernel", 2018). The model file contains W / sqrt(fan-in).
enum class Parametrization { kStandard, kNtp };
enum class Precision { kFloat32, kFloat64 };
enum class TargetScale { kStandard, kNone };

// Costs of wrong predictions for rows of one class. Predictions without an entry cost 1.
struct PredictedCost {
  std::string predicted;  // label of another class
  double cost = 1;
  bool operator==(const PredictedCost&) const = default;
};
struct ClassCosts {
  std::string label;  // true class
  std::vector<PredictedCost> costs;
  bool operator==(const ClassCosts&) const = default;
};
struct DecisionCosts {
  std::vector<ClassCosts> given;
  bool operator==(const DecisionCosts&) const = default;
};
// Maximum number of classes with costs.
inline constexpr int64_t kCostClassesMax = 1000;

struct ModelSpec {
  Task task = Task::kClassification;
  std::vector<int64_t> hidden;  // layer widths; empty: a linear model
  // One for all hidden layers, or one per hidden layer.
  std::vector<Activation> activation = {Activation::kRelu};
  // In [0, 1), after each hidden activation; likewise one or several.
  std::vector<double> dropout = {0};
  bool layer_norm = false;  // of each hidden layer's sums, before its activation
  // A hidden layer adds the output of the layer before it, if both have the same width.
  bool residual = false;
  std::optional<Loss> loss;    // absent: determined by EffectiveLoss
  double label_smoothing = 0;  // cross-entropies: in [0, 1)
  double huber_delta = 1;
  double quantile = 0.5;     // kQuantile: quantile to predict, in (0, 1)
  std::optional<Init> init;  // absent: He for the relu family, otherwise Xavier, per layer
  Precision precision = Precision::kFloat32;
  std::optional<TargetScale> target_scale;  // regression; absent: standard, or none for Poisson
  // Softmax: predicts the class whose probability is the largest multiple of its threshold (Spark's
  // `thresholds`). Empty: the most probable class. At most one threshold is 0.
  std::vector<double> thresholds;
  // Number of features, and of classes or targets, that the data must have; absent: unchecked.
  std::optional<int64_t> expected_inputs, expected_outputs;
  Parametrization parametrization = Parametrization::kStandard;
  bool scaling_layer = false;  // multiplies each input of the first layer by a trained factor
  // Caps label_smoothing at the share of the rarest class.
  bool cap_label_smoothing = false;
  bool clip_predictions = false;  // regression: clips to the range of the training targets
  // Regression: initializes the biases of the outputs to the best constant prediction for the loss
  // (data/profile/target_start.h).
  bool start_at_constant = false;
  // Two classes: the label of the positive one. Absent: the second class.
  std::optional<std::string> positive;
  // Softmax: predicts the class with the lowest expected cost. No costs: the most probable class.
  DecisionCosts costs;
  bool operator==(const ModelSpec&) const = default;
};

// ---- training --------------------------------------------------------------------------------

// kGd is full-batch gradient descent: one update per epoch, from all its rows. kLbfgs evaluates the
// loss and gradient of all rows once per epoch, at points that it chooses (src/model/lbfgs.h).
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
  double learning_rate = 1e-3;        // for the global batch
  double momentum = 0.9;              // momentum, nesterov, rmsprop (0: none)
  double beta1 = 0.9, beta2 = 0.999;  // adam, adamw
  double epsilon = 1e-8;              // adam, adamw, rmsprop, adagrad
  double alpha = 0.99;                // rmsprop: decay of the mean of squares, in [0, 1)
  // rmsprop: divide by the standard deviation, not by the root mean square.
  bool centered = false;
  double initial_accumulator_value = 0;  // adagrad: initial value of the sums of squares
  // lbfgs. The learning rate is the first step to try.
  int64_t history = 10;  // stored pairs of step and gradient change
  LineSearchKind line_search = LineSearchKind::kStrongWolfe;
  int64_t max_line_search = 20;  // evaluations per line search, half of them to find an interval
  double tolerance = 1e-6;       // convergence limit (src/model/lbfgs.h); 0: almost never converges
  int64_t max_iterations = 100;
  // gd: training converges when an update, except the first, moves the parameters by less than this
  // times max(1, their norm) (Spark's rule). 0: never.
  double step_tolerance = 0;
  bool operator==(const OptimizerSpec&) const = default;
};
// Returns the defaults of an optimizer, and its default of `train.batch`.
OptimizerSpec DefaultOptimizer(OptimizerKind kind);
int64_t DefaultBatch(OptimizerKind kind);

// A length of training in optimizer steps or in epochs.
struct Span {
  double amount = 0;
  bool epochs = false;  // false: steps
  bool operator==(const Span&) const = default;
};

// Lowers the learning rate when a metric stops improving. The decision uses totals, so all members
// make the same one.
struct PlateauRule {
  // As in early stopping, or a metric of the training rows: loss, ...
  std::string metric = "val_loss";
  int64_t patience = 10;  // evaluations without improvement
  double min_delta = 1e-4;
  int64_t cooldown = 0;          // evaluations to ignore after a reduction
  double min_learning_rate = 0;  // lower limit
  bool operator==(const PlateauRule&) const = default;
};

enum class ScheduleKind { kConstant, kStep, kCosine, kExponential, kPolynomial, kPlateau };
struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::kConstant;
  struct Span warmup;       // linear from 0 (exclusive); for any kind
  double warmup_share = 0;  // or this share of all steps, if their number is known
  // kStep: steps between reductions; kExponential: steps over which `factor` takes effect.
  struct Span every;
  double factor = 0.1;  // kStep, kExponential: multiplier per `every`; kPlateau: per reduction
  double final_fraction = 0;  // kCosine, kPolynomial: final rate / initial rate
  double power = 1;           // kPolynomial
  PlateauRule plateau;        // kPlateau
  bool operator==(const ScheduleSpec&) const = default;
};

// Multipliers of the learning rate.
struct RateFactors {
  double biases = 1;  // biases of layers, and the gains and shifts of layer norms
  double scaling_layer = 1;
  bool operator==(const RateFactors&) const = default;
};
// How the learning rate depends on the batch. kSqrt: for batches above 256, multiplied by
// sqrt(batch / 256).
enum class RateByBatch { kNone, kSqrt };
// Weight decay over the run. kFlatCos: constant over the first half, then half a cosine down to 0.
enum class DecaySchedule { kConstant, kFlatCos };

struct EarlyStopping {
  std::string metric = "val_loss";  // val_loss, val_accuracy, ...
  int64_t patience = 10;            // evaluations without improvement
  double min_delta = 0;
  bool restore_best = true;
  bool operator==(const EarlyStopping&) const = default;
};

// Averaged weights, which are evaluated and saved in place of the trained ones.
enum class AveragingKind { kNone, kEma, kMean };
struct Averaging {
  AveragingKind kind = AveragingKind::kNone;
  double decay = 0.999;  // kEma: share of the average that an update keeps, in (0, 1)
  Span start;            // training before the first update that counts
  bool operator==(const Averaging&) const = default;
};

// Ensembles: several trainings (fits) of one network. The model averages their predictions. kFolds:
// each fit holds out a different part of the training rows. kSeeds: all fits use the same rows,
// with different initial weights and row orders.
enum class FitsOver { kFolds, kSeeds };
inline constexpr int64_t kFitsMax = 64, kFoldsMax = 1000;
struct EnsembleSpec {
  int64_t fits = 1;
  FitsOver over = FitsOver::kFolds;
  std::optional<int64_t> folds;  // kFolds: parts of the training rows; absent: `fits`
  // kFolds: moves all predictions toward the constant prediction, by the share with the lowest loss
  // on the held-out rows.
  bool shrink = false;
  bool operator==(const EnsembleSpec&) const = default;
};

// Criterion for the threshold between two classes, measured on the held-out rows.
enum class ThresholdKind { kNone, kAccuracy, kF1, kRecall, kPrecision, kCost };
struct ThresholdSpec {
  ThresholdKind kind = ThresholdKind::kNone;
  double min_precision = 0.9;  // kRecall: precision that the threshold must reach, in (0, 1)
  double min_recall = 0.9;     // kPrecision: recall that the threshold must reach, in (0, 1)
  // kCost: costs of a false positive and of a false negative row.
  double false_positive = 1, false_negative = 1;
  bool operator==(const ThresholdSpec&) const = default;
};

// Maximum number of targets with prediction intervals.
inline constexpr int64_t kIntervalTargetsMax = 64;

// Returns whether a weight above 0 becomes 0 in float32, where subnormal numbers count as 0.
inline bool VanishesInFloat(double weight) {
  return weight > 0 && weight < static_cast<double>(std::numeric_limits<float>::min());
}

// Weight of the rows of a class in training, multiplied by their own weights. Multilabel: weight of
// a 1 of a label in its loss. Classes without an entry have weight 1.
struct ClassWeight {
  std::string label;
  double weight = 1;
  bool operator==(const ClassWeight&) const = default;
};
struct ClassWeights {
  // Training rows / (classes * training rows of the class). Multilabel: training rows with 0 /
  // training rows with 1 (src/data/features/class_weights.h).
  bool balanced = false;
  std::vector<ClassWeight> given;  // or explicit weights
  bool operator==(const ClassWeights&) const = default;
};

// Initial weights from an earlier model. Layers are counted from 0, as in the names of tensors
// ("layers.0.weight"). The output layer is the last one.
struct InitialSpec {
  std::string from;             // a model's directory, or a safetensors file
  std::vector<int64_t> layers;  // only these; empty: all
  // Numbers in Spark's layout: for each layer, the matrix [out, in] in column-major order, then the
  // bias. They are in `values`, or in the file `from` as text separated by blanks or commas.
  bool spark = false;
  std::vector<double> values;
  // false: for the layers that the job takes, it keeps the preprocessing fitted for that model
  // (data/features/keep_fitted.h).
  bool refit_preprocessing = false;
  bool operator==(const InitialSpec&) const = default;
  // Returns whether the job keeps the preprocessing of a model or a run.
  bool keeps_preprocessing() const {
    return !refit_preprocessing && !spark && !from.ends_with(".safetensors");
  }
};

// kSync: a step is one update from one global batch, to which all workers contribute. kAsync: one
// worker holds the parameters. Each worker pulls them, computes the gradient of a batch of its own
// rows and pushes it. The holder applies each push immediately, which is a step. The model then
// depends on the speed of the workers.
enum class TrainMode { kSync, kAsync };
inline constexpr int64_t kStalenessMax = 1'000'000;

struct TrainSpec {
  TrainMode mode = TrainMode::kSync;
  // kAsync: maximum number of steps between handing out parameters and the push of their gradient.
  // A later push is refused and its gradient computed again. Absent: determined by StalenessLimit.
  std::optional<int64_t> staleness;
  OptimizerSpec optimizer;
  ScheduleSpec schedule;
  int64_t batch = 256;            // global; 0: BatchFor(training rows)
  std::optional<int64_t> leaves;  // absent: auto
  // Absent: 10, unless steps or max_time is set. 0: EpochsFor(training rows).
  std::optional<double> epochs;
  std::optional<int64_t> steps;
  std::optional<int64_t> max_time_ms;
  std::optional<EarlyStopping> early_stopping;
  double weight_decay = 0;
  double l1 = 0;              // factor of the sign of each weight in the gradient
  bool decay_biases = false;  // applies weight_decay and l1 to biases and norms too
  DecaySchedule weight_decay_schedule = DecaySchedule::kConstant;
  RateFactors rate_factors;
  RateByBatch rate_by_batch = RateByBatch::kNone;
  double clip_norm = 0;          // 0: no clipping
  double clip_value = 0;         // 0: no clipping
  int64_t accumulate_steps = 1;  // steps accumulated per update
  Averaging averaging;
  EnsembleSpec ensemble;
  // Divides the outputs of a classifier by a temperature, chosen for the lowest loss on the
  // held-out rows.
  bool calibrate = false;
  // Chooses ModelSpec::thresholds of two classes on the held-out rows.
  ThresholdSpec threshold;
  // Regression: share of rows that prediction intervals contain, in (0, 1); 0: no intervals. Their
  // half-width is a quantile of the absolute residuals of the held-out rows (split conformal
  // prediction: Lei et al., "Distribution-Free Predictive Inference for Regression", 2018).
  double intervals = 0;
  ClassWeights class_weight;
  std::optional<InitialSpec> initial;
  // Layers that keep their initial weights, numbered as in InitialSpec.
  std::vector<int64_t> frozen;
  bool skip_nonfinite = false;  // on_nonfinite: skip
  uint64_t seed = 1;
  bool operator==(const TrainSpec&) const = default;
};

struct WorkerRange {
  int64_t min = 1;
  int64_t max = 0;  // 0: all available
  // Keeps the input data that workers read on their disks, for later jobs with this option. It is
  // not in `Fields`, because it does not affect the model.
  bool cache_input = false;
  bool operator==(const WorkerRange&) const = default;
};

// When to write checkpoints to disk, next to the output. With two conditions, the first one to be
// met triggers. Neither they nor ResumeSpec are part of the fingerprint, because the model is the
// same.
struct CheckpointSpec {
  std::optional<int64_t> every_steps;
  std::optional<int64_t> every_ms = 10 * 60 * 1000;
  int64_t keep = 3;  // number of newest checkpoints to keep
  // The job specifies `checkpoint`: checkpoints remain after success.
  bool asked_for = false;
  bool operator==(const CheckpointSpec&) const = default;
};

// Continues an earlier run of the same job.
struct ResumeSpec {
  std::string from;                // the output of that run, or its directory of checkpoints
  bool accept_data = false;        // even if the data differs
  bool accept_arithmetic = false;  // even if other arithmetic computed the first part
  bool operator==(const ResumeSpec&) const = default;
};

struct OutputSpec {
  std::string path;
  bool overwrite = false;
  bool operator==(const OutputSpec&) const = default;
};

// Fills the keys that a job does not set (data/input/complete_job.h). kNone: the behavior of
// version 0.1.0.
enum class Preset { kNone, kFast, kGood, kBest };
// Preset of a submitted job without the key `preset`.
inline constexpr Preset kDefaultPreset = Preset::kGood;

struct JobSpec {
  std::string name = "job";
  // The preset that filled the job's keys. Of everything that affects the model, it determines only
  // EpochsFor.
  Preset preset = Preset::kNone;
  DataSpec data;
  ModelSpec model;
  TrainSpec train;
  WorkerRange workers;
  OutputSpec output;
  std::optional<CheckpointSpec> checkpoint = CheckpointSpec();  // train.checkpoint; absent: off
  std::optional<ResumeSpec> resume;
  bool operator==(const JobSpec&) const = default;

  // Returns an error for the first field that is out of range or conflicts with another field. The
  // message starts with the field's path as in YAML ("train.batch: ...").
  Status Validate() const;
};

// Return the batch and the epochs for a table with `train_rows` training rows, if the job leaves
// them open (docs/presets.md). Preset `fast` uses half of the epochs.
int64_t BatchFor(int64_t train_rows);
double EpochsFor(Preset preset, int64_t train_rows);
// Returns the job with these filled in, and with the learning rate that follows from them.
JobSpec Sized(JobSpec job, int64_t train_rows);

// Returns the number of parts of the training rows, of which each fit holds out one. 0: no fit
// holds out training rows.
int64_t FoldsOf(const TrainSpec& train);
// Returns the training rows of one fit, given all training rows. Approximate with folds.
int64_t FitRows(const TrainSpec& train, int64_t train_rows);
// Returns whether the model consists of several fits, or of fits that hold out training rows.
bool HasFits(const TrainSpec& train);
// Returns whether the model is complete only after the last fit. This is the case if several fits
// are averaged, or if a temperature, a threshold or intervals follow from the held-out rows.
bool Assembles(const TrainSpec& train);
// Returns the seed of a fit, counted from 0. The first fit uses the job's seed.
uint64_t FitSeed(uint64_t seed, int64_t fit);

// Returns the given number of leaves, or for `leaves: auto` clamp(power of two <= batch/64, 1,
// 1024).
int64_t LeafCount(const TrainSpec& train);

// Returns `staleness`, or by default twice the number of workers, at least 4. Workers of equal
// speed never reach it.
int64_t StalenessLimit(const TrainSpec& train, int64_t workers);

// Returns the epochs to run. The default is 10 if nothing else ends the job. Returns nothing
// without a limit (lbfgs ends by itself).
std::optional<double> EpochLimit(const TrainSpec& train);

// Effective settings: whether a loss fits the task; the loss (by default softmax cross-entropy for
// classes, binary for labels, MSE for numbers); the scale of regression targets.
bool LossFits(Loss loss, Task task);
Loss EffectiveLoss(const ModelSpec& model);
TargetScale EffectiveTargetScale(const ModelSpec& model);

// Returns a canonical text of everything that determines the model's bits. It leaves out name,
// output, workers, checkpoints and the address part of URIs. It has one line per field, for example
// "train.batch=256", and is equal only for equal jobs.
std::string CanonicalText(const JobSpec& job);
// Returns the SHA-256 of the canonical text. It is never used as a seed.
std::string Fingerprint(const JobSpec& job);

// Returns the names of a task's metrics, loss first ("loss", "accuracy", ...). They are columns of
// history.csv and, with the prefix "val_", the choices of early_stopping.metric.
std::vector<std::string> MetricNames(Task task);

}  // namespace espalier::spec
