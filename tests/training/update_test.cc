#include "src/training/update.h"

#include <catch2/catch.hpp>

#include "tests/model/golden.h"

namespace espalier::training {
namespace {

using namespace golden;

// The machine passes the fixture's eight rows in consecutive batches.
TEST_CASE("accumulated gradients make PyTorch's update of all rows") {
  const Json& c = MoreGolden()["accumulation"];
  TrainingPlan plan;
  plan.shape = ShapeOf("relu", "softmax_ce");
  plan.train_rows = 8;
  plan.train.batch = 4;
  plan.train.accumulate_steps = 2;
  plan.train.optimizer.learning_rate = 0.05;
  plan.train.epochs = 3;
  StepMachine<double> machine(plan);
  const Numbers start = Golden()["fixture"]["weights"];
  machine.state().parameters.assign(start.begin(), start.end());
  size_t updates = 0;
  Action action = machine.Begin();
  while (!std::holds_alternative<FinishAction>(action)) {
    const auto& g = std::get<GradientAction>(action);
    const Json& batch = c["batches"][g.step_of_epoch];
    const int64_t begin = batch[0], end = batch[1];
    const auto& now = machine.state().parameters;
    const Mean mean = MeanGradient(plan.shape, Numbers(now.begin(), now.end()), begin, end);
    const auto weight = static_cast<double>(end - begin);
    std::vector<double> stats(
        model::TotalsSize(plan.shape, model::TotalsKind::kTraining) + kStepExtras, 0.0);
    stats[model::kTotalRows] = stats[model::kTotalWeight] = weight;
    stats[model::kTotalLoss] = mean.loss * weight;
    const auto update = std::get<UpdateAction>(machine.OnGradient(stats));
    CHECK(UsesTotal(update, machine.state()));
    for (const plan::Chunk& chunk : model::ChunksOf<double>(plan.shape, 64)) {
      Numbers total(mean.gradient.begin() + chunk.offset,
                    mean.gradient.begin() + chunk.offset + chunk.size);
      for (double& t : total) t *= weight;
      AccumulateChunk(update, chunk, total.data(), machine.state());
      if (update.apply) ApplyChunk(plan, update, chunk, total.data(), 1.0, machine.state());
    }
    if (update.apply) {
      CheckNear(Numbers(now.begin(), now.end()), c["weights_after"][updates++], 1e-12);
      for (double sum : machine.state().accumulated) CHECK(sum == 0);
    }
    action = machine.OnUpdated();
  }
  CHECK(updates == 3);
}

TEST_CASE("the average is of the parameters after the update") {
  TrainingPlan plan;
  plan.shape = ShapeOf("relu", "softmax_ce");
  plan.train_rows = 8;
  plan.train.averaging = {spec::AveragingKind::kMean, 0.9, {}};
  plan.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kSgd);
  StepMachine<double> machine(plan);
  TrainingState<double>& state = machine.state();
  const auto start = state.parameters;
  const Numbers ones(start.size(), 1.0);
  UpdateAction update{.inverse_weight = 1, .learning_rate = 0.5};
  for (int64_t k = 1; k <= 3; ++k) {
    update.update = update.averaged = k;
    for (const plan::Chunk& chunk : model::ChunksOf<double>(plan.shape, 64)) {
      ApplyChunk(plan, update, chunk, ones.data(), 1.0, state);
    }
  }
  for (size_t i = 0; i < start.size(); ++i) {
    CHECK(state.parameters[i] == Approx(start[i] - 1.5));
    CHECK(state.averaged[i] == Approx(start[i] - 1));
  }
}

}  // namespace
}  // namespace espalier::training
