// Job states of members and checkpoints, with a correct checksum.
#include <cstring>

#include "src/base/check.h"
#include "src/base/checksum.h"
#include "src/model/metrics.h"
#include "src/training/state_codec.h"
#include "tests/fuzz_targets/input.h"
#include "tests/fuzz_targets/targets.h"

namespace espalier::fuzz {
namespace {

constexpr uint8_t kPlans = 4;

// Returns one of the plans. Their states contain different parts.
training::TrainingPlan Plan(uint8_t number) {
  training::TrainingPlan plan;
  plan.shape = *model::MakeNetworkShape(spec::ModelSpec{}, 2, 2);
  plan.train.batch = 10;
  plan.train_rows = 40, plan.validation_rows = 8, plan.test_rows = 5;
  plan.train.epochs = 5;
  if (number == 1) {
    plan.train.early_stopping = spec::EarlyStopping{};
    plan.train.early_stopping->metric = "val_loss";
    plan.train.early_stopping->restore_best = true;
  } else if (number == 2) {
    plan.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kRmsprop);
    plan.train.optimizer.momentum = 0.9;
    plan.train.accumulate_steps = 3;
    plan.train.averaging = {spec::AveragingKind::kEma, 0.9, {3, false}};
    plan.train.schedule.kind = spec::ScheduleKind::kPlateau;
  } else if (number == 3) {
    plan.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kLbfgs);
  }
  return plan;
}

template <typename T>
void Run(const training::TrainingPlan& plan, const std::string& bytes) {
  auto state = training::DecodeState<T>(bytes, plan);
  if (!state.ok()) {
    ESPALIER_CHECK(!state.status().message().empty(), "an error without words");
    return;
  }
  const std::string again = training::EncodeState(*state);
  const auto back = training::DecodeState<T>(again, plan);
  ESPALIER_CHECK(back.ok(), back.status().ToString());
  ESPALIER_CHECK(training::EncodeState(*back) == again, "another state");
  training::StepMachine<T> machine(plan, *std::move(state));
  (void)machine.Resume();
}

}  // namespace

// Input: a byte that chooses the plan and the precision, then the state.
void RunState(std::string_view bytes) {
  Input input(bytes);
  const uint8_t choice = input.Byte();
  std::string state(input.Rest());
  const uint32_t crc = Crc32c(state.data(), state.size());
  state.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  const training::TrainingPlan plan = Plan(choice / 2 % kPlans);
  choice % 2 == 0 ? Run<float>(plan, state) : Run<double>(plan, state);
}

std::vector<std::string> StateSeeds() {
  std::vector<std::string> seeds;
  for (uint8_t number = 0; number < kPlans; ++number) {
    training::StepMachine<float> single(Plan(number));
    training::StepMachine<double> twofold(Plan(number));
    (void)single.Begin();
    (void)twofold.Begin();
    std::string a = training::EncodeState(single.state()),
                b = training::EncodeState(twofold.state());
    for (std::string* bytes : {&a, &b}) bytes->resize(bytes->size() - sizeof(uint32_t));
    seeds.push_back(static_cast<char>(number * 2) + a);
    seeds.push_back(static_cast<char>(number * 2 + 1) + b);
  }
  return seeds;
}

}  // namespace espalier::fuzz
