// Comparison with PyTorch. torch_golden.json holds values that PyTorch 2.15.0 computed in double.
#include "tests/model/golden.h"

#include <catch2/catch.hpp>
#include <string>

#include "src/model/schedule.h"

namespace espalier::model {
namespace {

using namespace golden;

TEST_CASE("losses and gradients equal PyTorch's") {
  const Json& cases = Golden()["gradients"];
  REQUIRE(cases.size() == 28);
  for (const Json& c : cases) {
    const std::string hidden = c["hidden"], head = c["head"];
    INFO(hidden << " " << head);
    const bool binary = head.starts_with("binary");
    const Json& start = Golden()["fixture"][binary ? "weights_binary_5_4_1" : "weights"];
    const Rows rows = head == "softmax_ce_row_weights" ? Rows::kWeighted : Rows::kPlain;
    const Mean mean = MeanGradient(ShapeOf(hidden, head), start, 0, 8, rows);
    CHECK(mean.loss == Approx(c["loss"].get<double>()).epsilon(1e-12));
    CheckNear(mean.gradient, c["grad"], 1e-12);
  }
}

TEST_CASE("leaf sums add up to PyTorch's gradient of the whole batch") {
  for (const Json& c : Golden()["shards"]) {
    const NetworkShape shape = ShapeOf(c["hidden"], c["head"]);
    const Numbers start = Golden()["fixture"]["weights"];
    Numbers sum(start.size());
    double loss = 0;
    for (const Json& part : c["parts"]) {
      const int64_t begin = part["rows"][0], end = part["rows"][1];
      const Mean mean = MeanGradient(shape, start, begin, end);
      CheckNear(mean.gradient, part["grad"], 1e-12);
      const auto rows = static_cast<double>(end - begin);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += mean.gradient[i] * rows / 8;
      loss += mean.loss * rows / 8;
    }
    CheckNear(sum, c["whole_grad"], 1e-12);
    CHECK(loss == Approx(c["whole_loss"].get<double>()).epsilon(1e-12));
  }
}

TEST_CASE("optimizers follow PyTorch's, with its decay of biases") {
  const Json& cases = Golden()["optimizers"];
  REQUIRE(cases.size() == 22);
  for (const Json& c : cases) {
    INFO(c["name"] << " " << c["hidden"] << " " << c["head"]);
    Trainer trainer(ShapeOf(c["hidden"], c["head"]), TrainOf(c));
    const Numbers losses = c["losses"];
    const Json& after = c["weights_after"];
    for (size_t step = 0; step < after.size(); ++step) {
      CHECK(trainer.Step(0, 8, c["parameters"]["lr"]) == Approx(losses[step]).epsilon(1e-12));
      CheckNear(trainer.parameters, after[step], 1e-12);
    }
  }
}

TEST_CASE("clipping by the gradient's norm follows PyTorch's") {
  const Json& cases = Golden()["clipping"];
  REQUIRE(cases.size() == 2);
  for (const Json& c : cases) {
    spec::TrainSpec train;
    train.optimizer.kind = spec::OptimizerKind::kSgd;
    train.clip_norm = c["name"] == "norm2_0.1" ? 0.1 : 10;
    Trainer trainer(ShapeOf(c["hidden"], c["head"]), train);
    const Numbers losses = c["losses"], norms = c["norm_before"];
    for (size_t step = 0; step < norms.size(); ++step) {
      CHECK(trainer.Step(0, 8, 0.5) == Approx(losses[step]).epsilon(1e-12));
      CHECK(trainer.norm_squared == Approx(norms[step] * norms[step]).epsilon(1e-12));
      CheckNear(trainer.parameters, c["weights_after"][step], 1e-12);
    }
  }
}

TEST_CASE("epochs of mini-batches end at PyTorch's weights") {
  const Json& c = Golden()["minibatches"];
  Trainer trainer(ShapeOf(c["hidden"], c["head"]), spec::TrainSpec{});
  size_t step = 0;
  for (int epoch = 0; epoch < c["epochs"]; ++epoch) {
    for (const Json& batch : c["batches"]) {
      CHECK(trainer.Step(batch[0], batch[1], 0.05) ==
            Approx(c["losses"][step++].get<double>()).epsilon(1e-12));
    }
  }
  CheckNear(trainer.parameters, c["weights_after"], 1e-12);
}

spec::TrainSpec Scheduled(spec::ScheduleKind kind) {
  spec::TrainSpec train;
  train.optimizer.learning_rate = 0.1;
  train.schedule.kind = kind;
  return train;
}

void CheckSchedule(const spec::TrainSpec& train, const char* name, int64_t begin, int64_t end) {
  INFO(name);
  const Numbers expected = Golden()["schedules"][name]["lr_at_step"];
  for (int64_t step = begin; step < end; ++step) {
    CHECK(LearningRate(train, step, 10, 20) == Approx(expected[step]).epsilon(1e-14).margin(1e-15));
  }
}

TEST_CASE("schedules follow PyTorch's") {
  CheckSchedule(Scheduled(spec::ScheduleKind::kConstant), "constant", 0, 20);
  spec::TrainSpec stairs = Scheduled(spec::ScheduleKind::kStep);
  stairs.schedule.every = {6, false};
  stairs.schedule.factor = 0.5;
  CheckSchedule(stairs, "step", 0, 20);
  spec::TrainSpec cosine = Scheduled(spec::ScheduleKind::kCosine);
  CheckSchedule(cosine, "cosine", 0, 20);
  cosine.schedule.final_fraction = 0.01;
  CheckSchedule(cosine, "cosine_min", 0, 20);
  cosine.schedule.warmup = {0.5, true};  // half an epoch of 10 steps
  CheckSchedule(cosine, "inverse_sqrt_warmup_5", 0, 5);
  CheckSchedule(cosine, "warmup_then_cosine", 5, 20);
}

TEST_CASE("training under PyTorch's schedule ends at its weights") {
  const Json& c = Golden()["schedule_training"];
  spec::TrainSpec train;
  train.optimizer.kind = spec::OptimizerKind::kMomentum;
  Trainer trainer(ShapeOf(c["hidden"], c["head"]), train);
  const Numbers rates = c["lr_at_step"], losses = c["losses"];
  for (size_t step = 0; step < rates.size(); ++step) {
    CHECK(trainer.Step(0, 8, rates[step]) == Approx(losses[step]).epsilon(1e-12));
  }
  CheckNear(trainer.parameters, c["weights_after"], 1e-12);
}

TEST_CASE("a schedule keeps its last rate after its end") {
  spec::TrainSpec cosine = Scheduled(spec::ScheduleKind::kCosine);
  cosine.schedule.final_fraction = 0.25;
  CHECK(LearningRate(cosine, 20, 10, 20) == Approx(0.025));
  CHECK(LearningRate(cosine, 500, 10, 20) == Approx(0.025));
  CHECK(LearningRate(cosine, 500, 10, 0) == 0.1);
}

}  // namespace
}  // namespace espalier::model
