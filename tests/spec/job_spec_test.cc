#include "src/spec/job_spec.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <typeinfo>

#include "src/spec/fields.h"
#include "src/spec/metrics.h"
#include "src/spec/names.h"
#include "tests/spec/good_job.h"

namespace espalier::spec {
namespace {

using Change = std::function<void(JobSpec&)>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("a job of defaults with data, label and output is valid") {
  CHECK(GoodJob().Validate().ToString() == "OK");
}

TEST_CASE("CSV and date keys out of range are named") {
  CheckRefused({
      {[](JobSpec& j) { j.data.csv.decimal = ';'; },
       "data.csv.decimal: found ';', expected '.' or ','"},
      {[](JobSpec& j) { j.data.csv.thousands = '.'; },
       "data.csv.thousands: found '.' ... than ... data.csv.decimal"},
      {[](JobSpec& j) { j.data.csv.thousands = 'x'; },
       "data.csv.thousands: found 'x' ... a point, a blank"},
      {[](JobSpec& j) { j.data.csv.escape = ','; },
       "data.csv.escape: found ',' ... part of a number ... delimiter"},
      {[](JobSpec& j) { j.data.csv.comment = '"'; },
       "data.csv.comment: found '\"' ... part of a number ... quote and escape"},
      {[](JobSpec& j) {
         j.data.csv.delimiter = CsvOptions::kBlanks;
         j.data.csv.quote = ' ';
       },
       "data.csv.quote: found ' ', expected another character than the delimiter"},
      {[](JobSpec& j) {
         j.data.csv.delimiter = CsvOptions::kBlanks;
         j.data.csv.quote = CsvOptions::kNoQuote;
         j.data.csv.escape = '\\';
       },
       "data.csv.escape: found '\\', expected none where delimiter is whitespace"},
      {[](JobSpec& j) {
         j.data.csv.header = false;
         j.data.csv.extra_field = ExtraField::kFirst;
         j.data.label = {int64_t{0}};
       },
       "data.csv.extra_field: found first, expected last or none"},
      {[](JobSpec& j) {
         j.data.features.exclude = {ColumnRange{5, 2}};
       },
       "data.features.exclude: found 5..2, expected first..last"},
      {[](JobSpec& j) { j.data.features.date_format = "%d.%m.%Q"; },
       "data.features.date_format: found '%d.%m.%Q', expected a format such as"},
      {[](JobSpec& j) { j.data.features.date_format = "%H:%M"; },
       "data.features.date_format: found '%H:%M' ... with a year"},
      {[](JobSpec& j) { j.data.features.date_format = "%d.%m."; },
       "data.features.date_format: found '%d.%m.', expected a format such as"},
      {[](JobSpec& j) {
         j.data.features.groups.emplace_back().columns = {std::string("a")};
         j.data.features.groups[0].date_format = "%Y";
       },
       "data.features.groups[0].date_format: found '%Y' ... unless type is date"},
  });
}

TEST_CASE("costs of mistakes are between different classes") {
  CheckRefused({
      {[](JobSpec& j) {
         j.model.costs.given = {{"a", {{"a", 2}}}};
       },
       "model.costs.a: found the cost of a right prediction ... other classes"},
      {[](JobSpec& j) {
         j.model.costs.given = {{"a", {{"b", -1}}}};
       },
       "model.costs.a.b: found -1, expected a number from 0 to 1000000000"},
      {[](JobSpec& j) {
         j.model.costs.given = {{"a", {{"b", 2}}}};
         j.model.thresholds = {1, 1};
       },
       "model.costs: found costs ... model.thresholds"},
      {[](JobSpec& j) {
         j.model.costs.given = {{"a", {{"b", 2}}}};
         j.model.loss = Loss::kBinaryCrossEntropy;
       },
       "model.costs: found a value ... softmax_cross_entropy"},
  });
}

TEST_CASE("each field out of range is named with found and expected") {
  CheckRefused({
      {[](JobSpec& j) {
         j.data.features.nulls = {NullKind::kConstant, -1};
         j.data.features.groups.emplace_back().columns = {std::string("a")};
         j.data.features.groups[0].log1p = true;
       },
       "data.features.groups[0].nulls: found {constant: -1} ... above -1 ... `log1p: true`"},
      {[](JobSpec& j) { j.data.train.clear(); }, "data.train: found nothing ... `train: PATTERN`"},
      {[](JobSpec& j) { j.data.train = {""}; },
       "data.train: found '', expected a path of 1 to 4096 bytes"},
      {[](JobSpec& j) { j.data.label.clear(); },
       "data.label: found nothing ... `label: NAME_OR_POSITION`"},
      {[](JobSpec& j) { j.output.path.clear(); }, "output: found nothing ... `output: PATH`"},
      {[](JobSpec& j) { j.data.label.emplace_back(int64_t{1}); },
       "data.label: found 2 columns, expected one ... model.task: regression"},
      {[](JobSpec& j) { j.data.csv.header = false; },
       "data.label: found the name 'y' ... no header ... data.csv.header: true"},
      {[](JobSpec& j) { j.data.weight = std::string("y"); },
       "data.weight: found 'y', expected another column than the label"},
      {[](JobSpec& j) {
         j.data.features.columns = {std::string("a"), std::string("y")};
       },
       "data.features.columns: found 'y', expected features without the label"},
      {[](JobSpec& j) {
         j.data.features.columns = {ColumnRange{5, 2}};
       },
       "data.features.columns: found '5..2', expected first..last ... below 1048576"},
      {[](JobSpec& j) {
         j.data.features.scale = {ScaleKind::kDivide, 0};
       },
       "data.features.scale.divide: found 0, expected a number other than 0"},
      {[](JobSpec& j) { j.data.validation.fraction = 1; },
       "data.validation.fraction: found 1 ... at least 0 ... below 1"},
      {[](JobSpec& j) {
         j.data.validation.fraction = 0.1;
         j.data.validation.files = {"v"};
       },
       "data.validation: found 2 ways ... fraction, column, files and fold"},
      {[](JobSpec& j) { j.data.validation.stratify = true; },
       "data.validation.stratify: found true ... `fraction` or `fold`"},
      {[](JobSpec& j) {
         j.data.validation.fraction = 0.1;
         j.data.validation.stratify = true;
         j.model.task = Task::kMultilabel;
       },
       "data.validation.stratify: found true ... one label ... a class or a number"},
      {[](JobSpec& j) {
         j.data.validation.fraction = 0.1;
         j.data.validation.stratify = true;
         j.data.validation.strata = {1, 2};
       },
       "data.validation.strata: found numbers ... `model.task: regression`"},
      {[](JobSpec& j) {
         j.data.validation.fraction = 0.1;
         j.data.validation.stratify = true;
         j.data.validation.strata = {2, 2};
         j.model.task = Task::kRegression;
       },
       "data.validation.strata: found other numbers ... increase"},
      {[](JobSpec& j) { j.data.bad_rows.skip = true; },
       "data.bad_rows.limit: found 0 ... 1 to 1000000000000"},
      {[](JobSpec& j) {
         j.data.shuffle = {ShuffleKind::kWindow, 7};
       },
       "data.shuffle.window: found 7 ... 8 to 1000000000000"},
      {[](JobSpec& j) { j.data.shard_bytes = 1; },
       "data.shard_bytes: found 1 ... 1024 to 1073741824"},
      {[](JobSpec& j) { j.data.csv.delimiter = '\r'; },
       "data.csv.delimiter: found '\\x0d' ... part of a number"},
      {[](JobSpec& j) { j.data.csv.delimiter = '5'; },
       "data.csv.delimiter: found '5' ... part of a number"},
      {[](JobSpec& j) { j.data.csv.quote = ','; },
       "data.csv.quote: found ',', expected another character than the delimiter"},
      {[](JobSpec& j) {
         j.model.hidden = {16, 0};
       },
       "model.hidden[1]: found 0 ... 1 to 65536"},
      {[](JobSpec& j) { j.model.hidden.assign(65, 1); },
       "model.hidden: found 65 values, expected at most 64"},
      {[](JobSpec& j) {
         j.model.activation = {Activation::kRelu, Activation::kTanh};
       },
       "model.activation: found 2 activations ... one for all ... the 0"},
      {[](JobSpec& j) { j.model.dropout = {1}; },
       "model.dropout: found 1 ... at least 0 ... below 1"},
      {[](JobSpec& j) { j.model.loss = Loss::kMse; },
       "model.loss: found mse ... softmax_cross_entropy or binary_cross_entropy ... task "
       "classification"},
      {[](JobSpec& j) {
         j.model.task = Task::kRegression;
         j.model.loss = Loss::kSoftmaxCrossEntropy;
       },
       "model.loss: found softmax_cross_entropy ... mse, mae, huber ... quantile ... task "
       "regression"},
      {[](JobSpec& j) { j.train.batch = -1; }, "train.batch: found -1 ... 0 to 1073741824"},
      {[](JobSpec& j) { j.train.leaves = 1025; }, "train.leaves: found 1025 ... 1 to 1024"},
      {[](JobSpec& j) { j.train.epochs = -1; },
       "train.epochs: found -1, expected a number from 0 to 1000000000"},
      {[](JobSpec& j) { j.train.epochs = kNan; },
       "train.epochs: found nan, expected a number from 0 to 1000000000"},
      {[](JobSpec& j) { j.train.optimizer.learning_rate = kNan; },
       "train.optimizer.adam.learning_rate: found nan, expected a number above 0"},
      {[](JobSpec& j) {
         j.train.schedule.kind = ScheduleKind::kCosine;
         j.train.max_time_ms = 1000;
       },
       "train.schedule.cosine: found an end by time alone ... train.epochs or train.steps"},
      {[](JobSpec& j) { j.train.schedule.kind = ScheduleKind::kStep; },
       "train.schedule.step.every: found 0 ... `3 epochs`"},
      {[](JobSpec& j) {
         j.data.validation.fraction = 0.1;
         j.train.early_stopping = EarlyStopping{.metric = "val_acuracy"};
       },
       "train.early_stopping.metric: found 'val_acuracy', expected one of val_loss, val_accuracy, "
       "val_precision, val_recall, val_f1, val_auc"},
      {[](JobSpec& j) { j.train.early_stopping = EarlyStopping{}; },
       "train.early_stopping: found no validation rows ... `validation: {fraction: 0.2}`"},
      {[](JobSpec& j) { j.train.clip_norm = -1; }, "train.clip_norm: found -1 ... at least 0"},
      {[](JobSpec& j) {
         j.workers = {4, 2};
       },
       "workers.max: found 2, expected at least workers.min, which is 4"},
      {[](JobSpec& j) { j.name = "a\nb"; }, "name: found 'a\\x0ab', expected 1 to 128 bytes"},
  });
}

TEST_CASE("leaves: auto is a power of two up to batch / 64 and 1024") {
  const auto leaves = [](int64_t batch) {
    TrainSpec train;
    train.batch = batch;
    return LeafCount(train);
  };
  CHECK(leaves(1) == 1);
  CHECK(leaves(127) == 1);
  CHECK(leaves(128) == 2);
  CHECK(leaves(256) == 4);
  CHECK(leaves(1000) == 8);
  CHECK(leaves(1 << 30) == 1024);
  TrainSpec train;
  train.leaves = 7;
  CHECK(LeafCount(train) == 7);
  train.mode = TrainMode::kAsync;
  CHECK(LeafCount(train) == 7);
  train.leaves.reset();
  for (const int64_t batch : {1, 4, 8}) {
    train.batch = batch;
    CHECK(LeafCount(train) == batch);
  }
  train.batch = 64;
  CHECK(LeafCount(train) == 16);
  train.batch = 4096;
  CHECK(LeafCount(train) == 64);
}

TEST_CASE("ten epochs are the end only without another end") {
  TrainSpec train;
  CHECK(EpochLimit(train) == 10.0);
  train.steps = 5;
  CHECK_FALSE(EpochLimit(train).has_value());
  train.epochs = 0.5;
  CHECK(EpochLimit(train) == 0.5);
}

TEST_CASE("the loss follows the task unless it is given") {
  ModelSpec model;
  CHECK(EffectiveLoss(model) == Loss::kSoftmaxCrossEntropy);
  model.task = Task::kRegression;
  CHECK(EffectiveLoss(model) == Loss::kMse);
  model.loss = Loss::kHuber;
  CHECK(EffectiveLoss(model) == Loss::kHuber);
  CHECK(EffectiveTargetScale(model) == TargetScale::kStandard);
  model.loss = Loss::kPoisson;
  CHECK(EffectiveTargetScale(model) == TargetScale::kNone);
  model.loss = Loss::kQuantile;
  model.target_scale = TargetScale::kNone;
  CHECK(EffectiveTargetScale(model) == TargetScale::kNone);
}

TEST_CASE("the fingerprint ignores names, outputs, workers and hosts") {
  const auto changed = [](const Change& change) {
    JobSpec job = GoodJob();
    job.data.train = {"hdfs://a:9000/d/*.csv"};
    change(job);
    return Fingerprint(job);
  };
  const std::string base = changed([](JobSpec&) {});
  CHECK(base.size() == 64);
  CHECK(changed([](JobSpec& j) { j.name = "other"; }) == base);
  CHECK(changed([](JobSpec& j) { j.output = {"elsewhere", true}; }) == base);
  CHECK(changed([](JobSpec& j) { j.workers = {3, 9}; }) == base);
  CHECK(changed([](JobSpec& j) { j.checkpoint.reset(); }) == base);
  CHECK(changed([](JobSpec& j) { j.resume = ResumeSpec{"/models/old", true, true}; }) == base);
  CHECK(changed([](JobSpec& j) { j.data.train = {"hdfs://b/d/*.csv"}; }) == base);
  const auto begun = [&](const std::string& from) {
    return changed([&](JobSpec& j) { j.train.initial = {from, {}}; });
  };
  CHECK(begun("hdfs://a/m") == begun("hdfs://b/m"));
  CHECK(begun("hdfs://a/m") != begun("hdfs://a/n"));
  CHECK(changed([](JobSpec& j) { j.data.train = {"hdfs://b/e/*.csv"}; }) != base);
}

TEST_CASE("a later field is in the canonical text only if it is set") {
  JobSpec job = GoodJob();
  CHECK(CanonicalText(job).find("train.mode") == std::string::npos);
  CHECK(CanonicalText(job).find("train.staleness") == std::string::npos);
  CHECK(CanonicalText(job).find("step_tolerance") == std::string::npos);
  job.train.mode = TrainMode::kAsync;
  job.train.staleness = 0;
  CHECK(CanonicalText(job).find("train.mode=async\ntrain.staleness=0\n") != std::string::npos);
}

TEST_CASE("exact shares of earlier versions have other fingerprints") {
  JobSpec job = GoodJob();
  ValidationSpec& validation = job.data.validation;
  validation = {.fraction = 0.1, .exact = true};
  const auto balanced = [&] {
    return CanonicalText(job).find("data.validation.shares=") != std::string::npos;
  };
  CHECK_FALSE(balanced());
  validation.stratify = true;
  CHECK(balanced());
  validation.exact = false;
  CHECK_FALSE(balanced());
  validation = {.fold = 2, .of = 5, .exact = true};
  CHECK(balanced());
  validation.exact = false;
  CHECK_FALSE(balanced());
}

TEST_CASE("the fingerprint changes with every other field") {
  const Change changes[] = {
      [](JobSpec& j) { j.data.train.push_back("x"); },
      [](JobSpec& j) {
        j.data.train = {"/data/", "*.csv"};
      },
      [](JobSpec& j) { j.data.test = {"x"}; },
      [](JobSpec& j) { j.data.format = DataFormat::kCsv; },
      [](JobSpec& j) { j.data.csv.header = false; },
      [](JobSpec& j) { j.data.csv.delimiter = ';'; },
      [](JobSpec& j) { j.data.csv.quote = '\''; },
      [](JobSpec& j) { j.data.csv.multiline = true; },
      [](JobSpec& j) { j.data.csv.decimal = ','; },
      [](JobSpec& j) { j.data.csv.thousands = ','; },
      [](JobSpec& j) { j.data.libsvm.zero_based = true; },
      [](JobSpec& j) { j.data.null_values.emplace(); },
      [](JobSpec& j) { j.data.null_values = {{"x"}}; },
      [](JobSpec& j) { j.data.features.exclude = {int64_t{1}}; },
      [](JobSpec& j) { j.data.features.date_format = "%Y"; },
      [](JobSpec& j) { j.data.raw = true; },
      [](JobSpec& j) { j.data.label = {int64_t{0}}; },
      [](JobSpec& j) { j.data.label = {std::string("0")}; },
      [](JobSpec& j) { j.data.weight = int64_t{3}; },
      [](JobSpec& j) { j.data.features.columns = {int64_t{1}}; },
      [](JobSpec& j) {
        j.data.features.columns = {ColumnRange{1, 2}};
      },
      [](JobSpec& j) {
        j.data.features.columns = {ColumnRange{1, 3}};
      },
      [](JobSpec& j) { j.data.features.scale.kind = ScaleKind::kNone; },
      [](JobSpec& j) { j.data.features.scale.divisor = 2; },
      [](JobSpec& j) { j.data.features.nulls.kind = NullKind::kDrop; },
      [](JobSpec& j) { j.data.features.nulls.constant = 2; },
      [](JobSpec& j) { j.data.validation.fraction = 0.5; },
      [](JobSpec& j) { j.data.validation.stratify = true; },
      [](JobSpec& j) { j.data.validation.column = int64_t{2}; },
      [](JobSpec& j) { j.data.validation.files = {"v"}; },
      [](JobSpec& j) { j.data.bad_rows.skip = true; },
      [](JobSpec& j) { j.data.bad_rows.limit = 1; },
      [](JobSpec& j) { j.data.shuffle.kind = ShuffleKind::kNone; },
      [](JobSpec& j) { j.data.shuffle.window_rows = 8; },
      [](JobSpec& j) { j.data.shard_bytes = 1 << 20; },
      [](JobSpec& j) { j.model.task = Task::kRegression; },
      [](JobSpec& j) {
        j.model.hidden = {1, 2};
      },
      [](JobSpec& j) { j.model.hidden = {12}; },
      [](JobSpec& j) { j.model.activation = {Activation::kTanh}; },
      [](JobSpec& j) { j.model.dropout = {0.5}; },
      [](JobSpec& j) {
        j.model.dropout = {0.5, 0.5};
      },
      [](JobSpec& j) { j.model.layer_norm = true; },
      [](JobSpec& j) { j.model.residual = true; },
      [](JobSpec& j) { j.model.label_smoothing = 0.5; },
      [](JobSpec& j) { j.model.quantile = 0.25; },
      [](JobSpec& j) { j.model.loss = Loss::kMae; },
      [](JobSpec& j) { j.model.huber_delta = 2; },
      [](JobSpec& j) { j.model.init = Init::kHe; },
      [](JobSpec& j) { j.model.precision = Precision::kFloat64; },
      [](JobSpec& j) { j.model.target_scale = TargetScale::kNone; },
      [](JobSpec& j) { j.train.optimizer.kind = OptimizerKind::kAdamW; },
      [](JobSpec& j) { j.train.optimizer.learning_rate = 0.5; },
      [](JobSpec& j) { j.train.optimizer.momentum = 0.5; },
      [](JobSpec& j) { j.train.optimizer.beta1 = 0.5; },
      [](JobSpec& j) { j.train.optimizer.beta2 = 0.5; },
      [](JobSpec& j) { j.train.optimizer.epsilon = 0.5; },
      [](JobSpec& j) { j.train.optimizer.alpha = 0.5; },
      [](JobSpec& j) { j.train.optimizer.centered = true; },
      [](JobSpec& j) { j.train.optimizer.initial_accumulator_value = 0.5; },
      [](JobSpec& j) { j.train.schedule.kind = ScheduleKind::kCosine; },
      [](JobSpec& j) { j.train.schedule.power = 2; },
      [](JobSpec& j) { j.train.schedule.plateau.metric = "loss"; },
      [](JobSpec& j) { j.train.schedule.plateau.patience = 1; },
      [](JobSpec& j) { j.train.schedule.plateau.min_delta = 1; },
      [](JobSpec& j) { j.train.schedule.plateau.cooldown = 1; },
      [](JobSpec& j) { j.train.schedule.plateau.min_learning_rate = 1; },
      [](JobSpec& j) { j.train.l1 = 1; },
      [](JobSpec& j) { j.train.clip_value = 1; },
      [](JobSpec& j) { j.train.accumulate_steps = 2; },
      [](JobSpec& j) { j.train.averaging.kind = AveragingKind::kEma; },
      [](JobSpec& j) { j.train.averaging.decay = 0.5; },
      [](JobSpec& j) { j.train.averaging.start.amount = 1; },
      [](JobSpec& j) { j.train.class_weight.balanced = true; },
      [](JobSpec& j) { j.train.frozen = {0}; },
      [](JobSpec& j) {
        j.train.initial = {"/models/old", {}};
      },
      [](JobSpec& j) {
        j.train.initial = {"/models/old", {0}};
      },
      [](JobSpec& j) {
        j.train.class_weight.given = {{"a", 1}};
      },
      [](JobSpec& j) {
        j.train.class_weight.given = {{"a", 2}};
      },
      [](JobSpec& j) { j.train.schedule.warmup.amount = 1; },
      [](JobSpec& j) { j.train.schedule.warmup.epochs = true; },
      [](JobSpec& j) { j.train.schedule.every.amount = 1; },
      [](JobSpec& j) { j.train.schedule.factor = 0.5; },
      [](JobSpec& j) { j.train.schedule.final_fraction = 0.5; },
      [](JobSpec& j) { j.train.mode = TrainMode::kAsync; },
      [](JobSpec& j) { j.train.staleness = 3; },
      [](JobSpec& j) { j.train.batch = 1; },
      [](JobSpec& j) { j.train.leaves = 4; },
      [](JobSpec& j) { j.train.epochs = 10; },
      [](JobSpec& j) { j.train.steps = 10; },
      [](JobSpec& j) { j.train.max_time_ms = 10; },
      [](JobSpec& j) { j.train.early_stopping = EarlyStopping{}; },
      [](JobSpec& j) { j.train.early_stopping = EarlyStopping{.metric = "val_f1"}; },
      [](JobSpec& j) { j.train.early_stopping = EarlyStopping{.patience = 1}; },
      [](JobSpec& j) { j.train.early_stopping = EarlyStopping{.min_delta = 1}; },
      [](JobSpec& j) { j.train.early_stopping = EarlyStopping{.restore_best = false}; },
      [](JobSpec& j) { j.train.weight_decay = 1; },
      [](JobSpec& j) { j.train.decay_biases = true; },
      [](JobSpec& j) { j.train.weight_decay_schedule = DecaySchedule::kFlatCos; },
      [](JobSpec& j) { j.train.rate_factors.biases = 0.1; },
      [](JobSpec& j) { j.train.rate_factors.scaling_layer = 0.1; },
      [](JobSpec& j) { j.model.parametrization = Parametrization::kNtp; },
      [](JobSpec& j) { j.model.scaling_layer = true; },
      [](JobSpec& j) { j.model.cap_label_smoothing = true; },
      [](JobSpec& j) { j.model.clip_predictions = true; },
      [](JobSpec& j) { j.data.features.numbers.embedding = NumberEmbedding::kPiecewiseLinear; },
      [](JobSpec& j) { j.data.features.numbers.width = 4; },
      [](JobSpec& j) { j.data.features.numbers.bins = 4; },
      [](JobSpec& j) { j.train.clip_norm = 1; },
      [](JobSpec& j) { j.train.skip_nonfinite = true; },
      [](JobSpec& j) { j.train.seed = 2; },
  };
  std::set<std::string> seen = {Fingerprint(GoodJob())};
  size_t count = 1;
  for (const Change& change : changes) {
    JobSpec job = GoodJob();
    change(job);
    seen.insert(Fingerprint(job));
    CHECK(seen.size() == ++count);
  }
}

// Converts to any type. Constructors of std::optional that take it are a better match.
struct Anything {
  template <typename T>
  operator T() const&;
};

// Returns the number of members of an aggregate: the largest number of values that initialize it. A
// base counts as one member.
template <typename S, typename... Values>
consteval size_t MembersOf() {
  if constexpr (requires { S{Values()..., Anything()}; }) {
    return MembersOf<S, Values..., Anything>();
  } else {
    return sizeof...(Values);
  }
}

// Returns the number of members that Fields visits.
template <typename S>
size_t Visited() {
  const S s;
  std::set<const void*> members;
  Fields([&](const Key&, const auto& member) { members.insert(&member); }, s);
  return members.size();
}

// Checks for each of the types that Fields visits all members.
template <typename... S>
void CheckVisited() {
  const auto check = [](const char* what, size_t visited, size_t members) {
    INFO(what);
    CHECK(visited == members);
  };
  (check(typeid(S).name(), Visited<S>(), MembersOf<S>()), ...);
}

TEST_CASE("Fields visits every member") {
  CheckVisited<ColumnRange, CsvOptions, LibsvmOptions, Scale, NullPolicy, CategoryOptions,
               NumberOptions, FeatureSpec, ValidationSpec, BadRows, Shuffle, DataSpec>();
  CheckVisited<ModelSpec, OptimizerSpec, Span, PlateauRule, ScheduleSpec, RateFactors,
               EarlyStopping, Averaging, EnsembleSpec, ThresholdSpec, ClassWeight, ClassWeights,
               InitialSpec, TrainSpec, WorkerRange, OutputSpec, CheckpointSpec, ResumeSpec>();
  CheckVisited<FeatureRule, LeftOutColumn, Schema, FittedFeature, FittedTarget, Preprocessing>();
  // The members of both bases replace the bases.
  CHECK(Visited<FeatureGroup>() == MembersOf<FeatureGroup>() - 1 + MembersOf<FeatureOptions>() - 1 +
                                       MembersOf<CategoryOptions>());
  CHECK(Visited<JobSpec>() == MembersOf<JobSpec>() - 1);  // without the preset
}

TEST_CASE("every enumerator has one word that reads back") {
  const auto round = [](auto first) {
    using E = decltype(first);
    for (const auto& entry : Names<E>::kAll) {
      CHECK(FromName<E>(entry.name) == entry.value);
      CHECK(std::string(NameOf(entry.value)) == entry.name);
    }
    CHECK_FALSE(FromName<E>("nonsense").has_value());
    return std::size(Names<E>::kAll);
  };
  CHECK(round(Activation::kRelu) == 8);
  CHECK(round(Loss::kMse) == 7);
  CHECK(round(OptimizerKind::kAdam) == 9);
  CHECK(round(LineSearchKind::kNone) == 2);
  CHECK(round(ScheduleKind::kStep) == 6);
  CHECK(round(AveragingKind::kEma) == 3);
  CHECK(round(NullKind::kFail) == 6);
  CHECK(round(ScaleKind::kNone) == 6);
  CHECK(round(NumberEmbedding::kNone) == 2);
  CHECK(round(Parametrization::kNtp) == 2);
  CHECK(round(DecaySchedule::kFlatCos) == 2);
  CHECK(round(FeatureType::kDate) == 4);
  CHECK(round(DatePart::kYear) == 9);
}

TEST_CASE("each metric of a task has a value and a direction") {
  Metrics m;
  m.loss = 1;
  m.accuracy = 2;
  CHECK(MetricValue(m, "loss") == 1.0);
  CHECK(MetricValue(m, "accuracy") == 2.0);
  CHECK_FALSE(MetricValue(m, "auc").has_value());
  CHECK_FALSE(MetricValue(m, "precision").has_value());
  m.classes = {{}, {}};
  CHECK(MetricValue(m, "precision") == 0.0);
  CHECK_FALSE(MetricValue(m, "rmse").has_value());
  CHECK_FALSE(MetricValue(m, "f1_micro").has_value());
  m.f1_micro = 3, m.f1_macro = 4;
  CHECK(MetricValue(m, "f1_micro") == 3.0);
  CHECK(MetricValue(m, "f1_macro") == 4.0);
  m.classification = false;
  CHECK(MetricValue(m, "rmse") == 0.0);
  CHECK_FALSE(MetricValue(m, "accuracy").has_value());
  CHECK(HigherIsBetter("accuracy"));
  CHECK(HigherIsBetter("r2"));
  CHECK_FALSE(HigherIsBetter("loss"));
  CHECK_FALSE(HigherIsBetter("mae"));
}

}  // namespace
}  // namespace espalier::spec
