#include "src/training/memory_plan.h"

#include <catch2/catch.hpp>

namespace espalier::training {
namespace {

constexpr int64_t kMib = int64_t{1} << 20;

// Returns a plan with 1000 x 1000 weights and 1000 biases, twice.
TrainingPlan Plan() {
  TrainingPlan plan;
  plan.shape.layers = {{.in = 1000, .out = 1000}, {.in = 1000, .out = 1000}};
  plan.train_rows = 640;
  plan.train.batch = 64;
  plan.train.leaves = 64;
  plan.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kAdam);
  return plan;
}

TEST_CASE("PlanMemory counts copies, step rows and evaluation totals") {
  TrainingPlan plan = Plan();
  const MemoryPlan alone = PlanMemory(plan, {}, 4);
  CHECK(alone.parameters == 2'002'000);
  // Two states with parameters and Adam's two slots, an encoded one, a gradient and its sum.
  CHECK(alone.model_bytes == 2'002'000.0 * 4 * (3 * 3 + 2));
  // A row has 1000 inputs, and three numbers for each of 2000 units.
  CHECK(alone.rows_bytes == 7000.0 * 4);
  CHECK(alone.totals_bytes == 0);
  plan.validation_rows = 10;
  CHECK(PlanMemory(plan, {}, 4).totals_bytes > 0);
  const MemoryPlan beside = PlanMemory(plan, {.leaves = 5, .states = 3}, 8);
  CHECK(beside.model_bytes == 2'002'000.0 * 8 * (4 * 3 + 2));
  const MemoryPlan root = PlanMemory(plan, {.states = 3, .encoded = 3}, 8);
  CHECK(root.model_bytes == 2'002'000.0 * 8 * (6 * 3 + 2));
  CHECK(beside.rows_bytes == 7000.0 * 8 * 5);
  CHECK(PlanMemory(plan, {.pushers = 3}, 4).model_bytes == 2'002'000.0 * 4 * (3 * 3 + 2 + 6));
}

TEST_CASE("CheckMemory refuses a model above the budget") {
  const MemoryPlan plan = PlanMemory(Plan(), {.states = 4}, 4);
  const int64_t needed = BudgetedBytes(plan.total_bytes());
  CHECK(needed == static_cast<int64_t>(plan.total_bytes()) - kModelAllowance);
  REQUIRE(needed > 0);
  CHECK(CheckMemory(plan, {}, needed).ok());
  const Status refused = CheckMemory(plan, {}, needed - 1);
  CHECK(refused.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(refused.message(), Catch::Contains("memory_bytes_max"));
  TrainingPlan small = Plan();
  small.shape.layers = {{.in = 10, .out = 2}};
  CHECK(CheckMemory(PlanMemory(small, {}, 4), {}, 1).ok());
}

TEST_CASE("LeastModelBytes counts weights between hidden layers") {
  spec::JobSpec job;
  job.model.hidden = {20'000, 20'000};
  job.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kSgd);
  const int64_t least = LeastModelBytes(job);
  // Two states, two encoded ones, a gradient and its sum.
  CHECK(least > 400'000'000ll * 4 * 5);
  job.model.precision = spec::Precision::kFloat64;
  CHECK(LeastModelBytes(job) == 2 * least + kModelAllowance);
  job.model.hidden = {131'072};
  CHECK(LeastModelBytes(job) == 0);
  job.model.hidden = {64, 64};
  CHECK(LeastModelBytes(job) == 0);
  job.model.hidden.assign(200, int64_t{1} << 40);  // checked elsewhere; must not overflow here
  CHECK(LeastModelBytes(job) > kMib);
}

}  // namespace
}  // namespace espalier::training
