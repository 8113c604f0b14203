// JobSpec::Validate for `model` and `train`.
#include <catch2/catch.hpp>
#include <functional>
#include <limits>

#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "tests/spec/good_job.h"
#include "tests/testing/says.h"

namespace espalier::spec {
namespace {

TEST_CASE("impossible layers and losses name the expected values") {
  CheckRefused({
      {[](JobSpec& j) {
         j.model.hidden = {4, 4, 4};
         j.model.dropout = {0, 0.5};
       },
       "model.dropout: found 2 numbers ... one for all ... the 3"},
      {[](JobSpec& j) {
         j.model.hidden = {4, 5, 4};
         j.model.residual = true;
       },
       "model.residual: found true ... same width ... model.hidden"},
      {[](JobSpec& j) { j.model.layer_norm = true; },
       "model.layer_norm: found true ... model.hidden"},
      {[](JobSpec& j) { j.model.label_smoothing = 1; },
       "model.loss.softmax_cross_entropy.label_smoothing: found 1 ... at least 0 ... below 1"},
      {[](JobSpec& j) {
         j.model.task = Task::kRegression;
         j.model.loss = Loss::kQuantile;
         j.model.quantile = 1;
       },
       "model.loss.quantile.quantile: found 1 ... above 0 ... below 1"},
      {[](JobSpec& j) {
         j.model.task = Task::kRegression;
         j.model.loss = Loss::kPoisson;
         j.model.target_scale = TargetScale::kStandard;
       },
       "model.target_scale: found standard, expected none ... loss poisson"},
  });
}

TEST_CASE("options unfit for asynchronous training are named") {
  const auto async = [](OptimizerKind kind) {
    return [kind](JobSpec& j) {
      j.train.mode = TrainMode::kAsync;
      j.train.optimizer = DefaultOptimizer(kind);
    };
  };
  CheckRefused({
      {async(OptimizerKind::kGd), "train.mode: found async, expected sync ... optimizer gd"},
      {async(OptimizerKind::kLbfgs), "train.mode: found async, expected sync ... optimizer lbfgs"},
      {[](JobSpec& j) {
         j.train.mode = TrainMode::kAsync;
         j.train.accumulate_steps = 2;
       },
       "train.accumulate_steps: found 2, expected 1 ... mode async ... train.batch"},
      {[](JobSpec& j) { j.train.staleness = 3; },
       "train.staleness: found 3, expected nothing unless train.mode is async"},
      {[](JobSpec& j) {
         j.train.mode = TrainMode::kAsync;
         j.train.staleness = -1;
       },
       "train.staleness: found -1 ... 0 to 1000000"},
  });
}

TEST_CASE("the default staleness limit follows the worker count") {
  TrainSpec train;
  CHECK(StalenessLimit(train, 1) == 4);
  CHECK(StalenessLimit(train, 16) == 32);
  train.staleness = 0;
  CHECK(StalenessLimit(train, 16) == 0);
}

TEST_CASE("impossible optimizers and schedules are named") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CheckRefused({
      {[](JobSpec& j) { j.train.optimizer.alpha = 1; },
       "train.optimizer.adam.alpha: found 1 ... at least 0 ... below 1"},
      {[](JobSpec& j) {
         j.train.schedule.kind = ScheduleKind::kPolynomial;
         j.train.schedule.power = 0;
       },
       "train.schedule.polynomial.power: found 0, expected a number above 0"},
      {[](JobSpec& j) { j.train.schedule.kind = ScheduleKind::kExponential; },
       "train.schedule.exponential.every: found 0 ... `factor` ... `1 epoch`"},
      {[](JobSpec& j) { j.train.schedule.kind = ScheduleKind::kPlateau; },
       "train.schedule.plateau: found no validation rows ... `validation: {fraction: 0.2}`"},
      {[](JobSpec& j) {
         j.train.schedule.kind = ScheduleKind::kPlateau;
         j.train.schedule.plateau.metric = "f1";
       },
       "train.schedule.plateau.metric: found 'f1', expected one of val_loss, val_accuracy, "
       "val_precision, val_recall, val_f1, val_auc"},
      {[](JobSpec& j) {
         j.train.schedule.kind = ScheduleKind::kPlateau;
         j.train.schedule.plateau = {"loss", 10, 1e-4, 0, 0.5};
       },
       "train.schedule.plateau.min_learning_rate: found 0.5, expected at most the optimizer's "
       "learning_rate"},
      {[=](JobSpec& j) { j.train.l1 = kNan; }, "train.l1: found nan ... at least 0"},
      {[](JobSpec& j) {
         j.train.optimizer.kind = OptimizerKind::kGd;
         j.train.accumulate_steps = 2;
       },
       "train.accumulate_steps: found 2, expected 1 ... optimizer gd"},
      {[](JobSpec& j) {
         j.train.optimizer = DefaultOptimizer(OptimizerKind::kLbfgs);
         j.train.optimizer.history = 101;
       },
       "train.optimizer.lbfgs.history: found 101 ... 1 to 100"},
      {[](JobSpec& j) {
         j.train.optimizer = DefaultOptimizer(OptimizerKind::kLbfgs);
         j.train.optimizer.max_line_search = 1;
       },
       "train.optimizer.lbfgs.max_line_search: found 1 ... 2 to 1000"},
      {[=](JobSpec& j) {
         j.train.optimizer = DefaultOptimizer(OptimizerKind::kLbfgs);
         j.train.optimizer.tolerance = kNan;
       },
       "train.optimizer.lbfgs.tolerance: found nan ... at least 0"},
      {[](JobSpec& j) {
         j.train.optimizer = DefaultOptimizer(OptimizerKind::kGd);
         j.train.optimizer.step_tolerance = -1;
       },
       "train.optimizer.gd.step_tolerance: found -1 ... at least 0"},
      {[](JobSpec& j) {
         j.train.averaging = {AveragingKind::kEma, 1, {}};
       },
       "train.averaging.ema.decay: found 1 ... above 0 ... below 1"},
      {[](JobSpec& j) {
         j.train.class_weight.given = {{"a", 0}, {"b", 0}};
       },
       "train.class_weight: found no weight above 0"},
      {[](JobSpec& j) {
         j.model.task = Task::kRegression;
         j.train.class_weight.balanced = true;
       },
       "train.class_weight: found a value ... unless model.task is classification or multilabel"},
  });
}

TEST_CASE("lbfgs refuses options that change its losses or steps") {
  const std::string chooses = " ... with train.optimizer lbfgs";
  const std::pair<std::function<void(JobSpec&)>, std::string> rows[] = {
      {[](JobSpec& j) { j.model.dropout = {0.2}; },
       "model.dropout: found 0.2, expected 0 ... optimizer lbfgs"},
      {[](JobSpec& j) {
         j.train.schedule.warmup = {1, true};
       },
       "train.schedule: found constant" + chooses},
      {[](JobSpec& j) { j.train.clip_norm = 1; }, "train.clip_norm: found 1" + chooses},
      {[](JobSpec& j) { j.train.clip_value = 1; }, "train.clip_value: found 1" + chooses},
      {[](JobSpec& j) { j.train.averaging.kind = AveragingKind::kMean; },
       "train.averaging: found mean, expected none ... optimizer lbfgs"},
      {[](JobSpec& j) { j.train.skip_nonfinite = true; },
       "train.on_nonfinite: found skip, expected fail ... optimizer lbfgs"},
      {[](JobSpec& j) { j.train.accumulate_steps = 2; },
       "train.accumulate_steps: found 2, expected 1 ... optimizer lbfgs"},
  };
  for (const auto& [change, message] : rows) {
    JobSpec job = GoodJob();
    job.train.optimizer = DefaultOptimizer(OptimizerKind::kLbfgs);
    REQUIRE(job.Validate().ok());
    change(job);
    CHECK_THAT(job.Validate().message(), Says(message));
  }
}

TEST_CASE("keys of one task, mode or column type are refused") {
  const std::string whole = " with train.optimizer gd";
  const auto gd = [](JobSpec& j) { j.train.optimizer = DefaultOptimizer(OptimizerKind::kGd); };
  const auto add_group = [](JobSpec& j) -> FeatureGroup& {
    FeatureGroup& group = j.data.features.groups.emplace_back();
    group.columns = {std::string("a")};
    return group;
  };
  CheckRefused({
      {[](JobSpec& j) { j.model.clip_predictions = true; },
       "model.clip_predictions: found true, expected false unless model.task is regression"},
      {[](JobSpec& j) { j.model.start_at_constant = true; },
       "model.start_at_constant: found true ... unless model.task is regression"},
      {[](JobSpec& j) {
         j.model.task = Task::kRegression;
         j.model.cap_label_smoothing = true;
       },
       "model.cap_label_smoothing: found true ... unless model.task is classification"},
      {[](JobSpec& j) {
         j.model.task = Task::kRegression;
         j.model.positive = "yes";
       },
       "model.positive: found 'yes', expected nothing unless model.task is classification"},
      {[](JobSpec& j) { j.train.intervals = 0.9; },
       "train.intervals: found 0.9, expected 0 unless model.task is regression"},
      {[=](JobSpec& j) {
         gd(j);
         j.train.calibrate = true;
       },
       "train.calibrate: found true, expected false" + whole},
      {[](JobSpec& j) {
         j.train.mode = TrainMode::kAsync;
         j.train.threshold.kind = ThresholdKind::kF1;
       },
       "train.threshold: found f1, expected none with train.mode async"},
      {[](JobSpec& j) {
         j.model.loss = Loss::kBinaryCrossEntropy;
         j.train.threshold.kind = ThresholdKind::kF1;
       },
       "train.threshold: found f1, expected none unless model.loss is softmax_cross_entropy"},
      {[=](JobSpec& j) { add_group(j).hash = 8; },
       "data.features.groups[0].hash: found 8, expected 0 unless type is categorical"},
      {[=](JobSpec& j) {
         FeatureGroup& group = add_group(j);
         group.type = FeatureType::kCategorical;
         group.scale.emplace();
       },
       "data.features.groups[0].scale: found standard, expected nothing with type categorical"},
      {[](JobSpec& j) { j.data.features.categories.embedding = kEmbeddingMax + 1; },
       "data.features.categories.encode: found 4097 ... 0 to 4096"},
  });
}

TEST_CASE("the default for each layer is the default") {
  JobSpec job = GoodJob();
  job.model.hidden = {4, 4};
  job.model.dropout = {0, 0};
  job.train.optimizer = DefaultOptimizer(OptimizerKind::kLbfgs);
  CHECK(job.Validate().ToString() == "OK");
  job.model.dropout = {0, 0.5};
  CHECK_THAT(job.Validate().message(), Says("model.dropout: found ... train.optimizer lbfgs"));
}

TEST_CASE("a named optimizer starts from PyTorch's defaults") {
  CHECK(DefaultOptimizer(OptimizerKind::kAdam) == OptimizerSpec{});
  CHECK(DefaultOptimizer(OptimizerKind::kSgd).learning_rate == 1e-2);
  CHECK(DefaultOptimizer(OptimizerKind::kNesterov).momentum == 0.9);
  CHECK(DefaultOptimizer(OptimizerKind::kRmsprop).momentum == 0);
  CHECK(DefaultOptimizer(OptimizerKind::kAdagrad).epsilon == 1e-10);
}

}  // namespace
}  // namespace espalier::spec
