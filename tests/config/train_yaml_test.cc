// The sections `model` and `train` of a job's YAML.
#include <catch2/catch.hpp>
#include <string>

#include "src/config/job_yaml.h"
#include "src/spec/job_spec.h"
#include "tests/config/parsed_job.h"
#include "tests/testing/says.h"

namespace espalier::config {
namespace {

spec::TrainSpec Train(const std::string& text) { return Parsed(kHead + text).train; }

TEST_CASE("all keys of losses, optimizers, schedules and more are read") {
  CHECK(Parsed(kHead + "model: {loss: {softmax_cross_entropy: {label_smoothing: 0.1}}}")
            .model.label_smoothing == 0.1);
  CHECK(Parsed(kHead + "model: {task: regression, loss: {quantile: {quantile: 0.9}}}")
            .model.quantile == 0.9);
  const spec::ModelSpec poisson = Parsed(kHead + "model: {task: regression, loss: poisson}").model;
  CHECK(spec::EffectiveTargetScale(poisson) == spec::TargetScale::kNone);
  CHECK(Parsed(kHead + "model: {hidden: [4], dropout: 0.1}").model.dropout ==
        std::vector<double>{0.1});
  CHECK(Train("train: {optimizer: gd}").optimizer ==
        spec::DefaultOptimizer(spec::OptimizerKind::kGd));
  CHECK(Train("train: {optimizer: {gd: {step_tolerance: 1e-4}}}").optimizer.step_tolerance == 1e-4);
  CHECK(Train("train: {optimizer: lbfgs}").optimizer ==
        spec::DefaultOptimizer(spec::OptimizerKind::kLbfgs));
  CHECK(Train("train: {optimizer: lbfgs}").batch == 8192);
  CHECK(Train("train: {batch: 64, optimizer: lbfgs}").batch == 64);
  const spec::OptimizerSpec lbfgs =
      Train(
          "train: {optimizer: {lbfgs: {learning_rate: 0.5, history: 5, line_search: none, "
          "max_line_search: 30, tolerance: 1e-9, max_iterations: 7}}}")
          .optimizer;
  CHECK(lbfgs.learning_rate == 0.5);
  CHECK(lbfgs.history == 5);
  CHECK(lbfgs.line_search == spec::LineSearchKind::kNone);
  CHECK(lbfgs.max_line_search == 30);
  CHECK(lbfgs.tolerance == 1e-9);
  CHECK(lbfgs.max_iterations == 7);
  CHECK(Train("train: {optimizer: adagrad}").optimizer.epsilon == 1e-10);
  CHECK(Train("train: {optimizer: {adagrad: {initial_accumulator_value: 0.1}}}")
            .optimizer.initial_accumulator_value == 0.1);
  const spec::OptimizerSpec rmsprop =
      Train("train: {optimizer: {rmsprop: {alpha: 0.9, centered: true}}}").optimizer;
  CHECK(rmsprop.momentum == 0);
  CHECK(rmsprop.alpha == 0.9);
  CHECK(rmsprop.centered);
  CHECK(Train("train: {optimizer: {rmsprop: {momentum: 0.5}}}").optimizer.momentum == 0.5);
  CHECK(Train("train: {schedule: {exponential: {every: 1 epoch, factor: 0.9}}}").schedule.every ==
        spec::Span{1, true});
  CHECK(Train("train: {schedule: {polynomial: {power: 2}}}").schedule.power == 2);
  const spec::ScheduleSpec plateau =
      Train(
          "train: {schedule: {plateau: {metric: loss, factor: 0.5, patience: 3, min_delta: 0, "
          "cooldown: 2, min_learning_rate: 1e-5, warmup: 1 epoch}}}")
          .schedule;
  CHECK(plateau.plateau == spec::PlateauRule{"loss", 3, 0, 2, 1e-5});
  CHECK(plateau.factor == 0.5);
  CHECK(Train("train: {averaging: mean}").averaging == spec::Averaging{spec::AveragingKind::kMean});
  CHECK(Train("train: {averaging: {ema: {decay: 0.9}}}").averaging.decay == 0.9);
  CHECK(Train("train: {averaging: {mean: {start: 3 steps}}}").averaging.start ==
        spec::Span{3, false});
  CHECK(Train("train: {clip_value: 0.5}").clip_value == 0.5);
  CHECK(Train("train: {class_weight: none}").class_weight == spec::ClassWeights{});
  CHECK(Train("train: {class_weight: balanced}").class_weight.balanced);
  CHECK(Train("train: {class_weight: {0: 1, \"yes\": 2.5}}").class_weight.given ==
        std::vector<spec::ClassWeight>{{"0", 1}, {"yes", 2.5}});
  CHECK(Train("train: {initial: /models/a}").initial == spec::InitialSpec{"/models/a", {}});
  CHECK(Train("model: {hidden: [4, 4]}\ntrain: {initial: {from: a.safetensors, layers: [0, 1]}}")
            .initial == spec::InitialSpec{"a.safetensors", {0, 1}});
  CHECK(Train("model: {hidden: [4]}\ntrain: {frozen: [0]}").frozen == std::vector<int64_t>{0});
}

TEST_CASE("an error in model or train is one message with its place") {
  const std::pair<std::string, std::string> rows[] = {
      {kHead + "train: {class_weight: even}\n",
       "job.yaml:3:23: train.class_weight: unknown value 'even'; expected one of none, balanced"},
      {kHead + "train: {class_weight: [1, 2]}\n",
       "job.yaml:3:23: train.class_weight: found a list ... none, balanced ... {no: 1, yes: 5}"},
      {kHead + "train: {class_weight: {a: 1, a: 2}}\n",
       "job.yaml:3:30: key 'a' appears twice ... line 3"},
      {kHead + "train: {class_weight: {a: much}}\n",
       "job.yaml:3:27: train.class_weight.a: found 'much', expected a number"},
      {kHead + "train: {class_weight: {a: -1}}\n",
       "job.yaml:3:27: train.class_weight.a: found -1 ... at least 0"},
      {kHead + "train: {averaging: {none: {}}}\n",
       "job.yaml:3:27: train.averaging.none: found a map ... without a value"},
      {kHead + "train: {initial: {layers: [0]}}\n",
       "job.yaml:3:9: train.initial.from: found '', expected a path of 1 to 4096 bytes"},
      {kHead + "train: {initial: {from: m, layers: [0, 1]}}\n",
       "job.yaml:3:40: train.initial.layers[1]: found 1 ... 0 to 0"},
      {kHead + "train: {frozen: [0]}\n", "job.yaml:3:9: train.frozen: found all layers"},
      {kHead + "model: {hidden: [4, 4], dropout: [0.1, 1]}\n",
       "job.yaml:3:40: model.dropout[1]: found 1 ... at least 0 ... below 1"},
  };
  for (const auto& [text, message] : rows)
    CHECK_THAT(ParseJob(text, "job.yaml").status().message(), Says(message));
}

TEST_CASE("the mode of training and the staleness limit are read") {
  CHECK(Train("").mode == spec::TrainMode::kSync);
  CHECK(Train("train: {mode: sync}").mode == spec::TrainMode::kSync);
  const spec::TrainSpec async = Train("train: {mode: async, staleness: 0}");
  CHECK(async.mode == spec::TrainMode::kAsync);
  CHECK(async.staleness == 0);
  CHECK_FALSE(Train("train: {mode: async}").staleness);
}

}  // namespace
}  // namespace espalier::config
