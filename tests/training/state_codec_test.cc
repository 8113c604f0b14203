#include "src/training/state_codec.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "src/base/checksum.h"
#include "src/base/random.h"
#include "src/model/metrics.h"
#include "tests/testing/scale.h"

namespace espalier {
namespace {

TrainingPlan SmallPlan() {
  TrainingPlan plan;
  plan.shape = *MakeNetworkShape(ModelSpec{}, 2, 2);
  plan.train.batch = 10;
  plan.train_rows = 40;
  plan.validation_rows = 8;
  plan.test_rows = 5;
  plan.train.epochs = 5;
  plan.train.early_stopping = EarlyStopping{};
  plan.train.early_stopping->metric = "val_loss";
  plan.train.early_stopping->patience = 2;
  plan.train.early_stopping->restore_best = true;
  return plan;
}

// A plan whose state has all its parts in use.
TrainingPlan FullPlan() {
  TrainingPlan plan = SmallPlan();
  plan.train.optimizer = DefaultOptimizer(OptimizerKind::kRmsprop);
  plan.train.optimizer.momentum = 0.9;
  plan.train.optimizer.centered = true;
  plan.train.accumulate_steps = 3;
  plan.train.averaging = {AveragingKind::kEma, 0.9, {3, false}};
  plan.train.schedule.kind = ScheduleKind::kPlateau;
  plan.train.schedule.plateau.patience = 1;
  plan.train.schedule.plateau.cooldown = 1;
  return plan;
}

// Answers one action with made-up totals that follow from the state alone.
template <typename T>
Action Answer(StepMachine<T>& machine, const Action& action) {
  const TrainingPlan& plan = machine.plan();
  if (std::holds_alternative<GradientAction>(action)) {
    std::vector<double> stats(TotalsSize(plan.shape, TotalsKind::kTraining) + kStepExtras, 0.0);
    stats[kTotalRows] = stats[kTotalWeight] = 10;
    stats[kTotalLoss] = 1.0 + static_cast<double>(machine.state().step);
    return machine.OnGradient(stats);
  }
  if (const auto* update = std::get_if<UpdateAction>(&action)) {
    TrainingState<T>& state = machine.state();
    const auto rate = static_cast<T>(update->learning_rate * update->inverse_weight);
    for (T& p : state.parameters) p += T{1} / static_cast<T>(state.step + 3) + rate;
    for (auto& slot : state.slots) slot[0] += T{2};
    for (T& sum : state.accumulated) sum = update->apply ? T{0} : sum + T{1};
    for (T& a : state.averaged) a += static_cast<T>(update->averaged);
    return machine.OnUpdated();
  }
  std::vector<double> totals(TotalsSize(plan.shape, TotalsKind::kEvaluation), 0.0);
  totals[kTotalRows] = totals[kTotalWeight] = 8;
  totals[kTotalLoss] = machine.state().step < 5 ? 3.0 : 9.0;
  return machine.OnEvaluation(totals);
}

// Whether a round is in flight: a moment at which a state may be handed over.
bool BetweenRounds(const Action& action) { return !std::holds_alternative<UpdateAction>(action); }

TEST_CASE("a job handed over before any round, through bytes, ends in the same state") {
  const TrainingPlan plan = GENERATE(false, true) ? FullPlan() : SmallPlan();
  StepMachine<float> whole(plan);
  Action action = whole.Begin();
  std::vector<std::string> states;  // one for each moment between rounds
  for (;;) {
    if (BetweenRounds(action)) states.push_back(EncodeState(whole.state()));
    if (std::holds_alternative<FinishAction>(action)) break;
    action = Answer(whole, action);
  }
  const std::string expected = EncodeState(whole.state());
  REQUIRE(states.size() > 15);
  for (const std::string& bytes : states) {
    auto state = DecodeState<float>(bytes, plan);
    REQUIRE(state.status().ToString() == "OK");
    CHECK(EncodeState(*state) == bytes);
    StepMachine<float> heir(plan, std::move(state).value());
    Action next = heir.Resume();
    while (!std::holds_alternative<FinishAction>(next)) next = Answer(heir, next);
    REQUIRE(EncodeState(heir.state()) == expected);
    CHECK(std::get<FinishAction>(next).stopped_because == "early stopping");
    CHECK(std::get<FinishAction>(next).test->loss == std::get<FinishAction>(action).test->loss);
  }
}

TEST_CASE("a flipped bit or a missing byte of a state is noticed") {
  StepMachine<double> machine(SmallPlan());
  (void)machine.Begin();
  const std::string bytes = EncodeState(machine.state());
  REQUIRE(DecodeState<double>(bytes, SmallPlan()).ok());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    REQUIRE_FALSE(DecodeState<double>(flipped, SmallPlan()).ok());
    REQUIRE_FALSE(DecodeState<double>(bytes.substr(0, i), SmallPlan()).ok());
  }
  CHECK_FALSE(DecodeState<double>(bytes + "x", SmallPlan()).ok());
}

std::string WithCrc(std::string bytes) {
  const uint32_t crc = Crc32c(bytes.data(), bytes.size() - sizeof crc);
  std::memcpy(bytes.data() + bytes.size() - sizeof crc, &crc, sizeof crc);
  return bytes;
}

TEST_CASE("hostile bytes with a true checksum are an error or a state of the plan") {
  StepMachine<float> machine(SmallPlan());
  (void)machine.Begin();
  const std::string bytes = EncodeState(machine.state());
  for (uint64_t seed = 0; seed < 3000 * TestScale(); ++seed) {
    std::string changed = bytes;
    for (uint64_t k = 0; k <= seed % 3; ++k) {
      changed[Mix64(seed * 4 + k) % changed.size()] = static_cast<char>(Mix64(seed * 8 + k));
    }
    const auto state = DecodeState<float>(WithCrc(changed), SmallPlan());
    if (state.ok()) REQUIRE(state->parameters.size() == machine.state().parameters.size());
  }
}

TEST_CASE("a state of another job is refused by what differs") {
  StepMachine<float> machine(SmallPlan());
  (void)machine.Begin();
  const std::string bytes = EncodeState(machine.state());
  const auto error = [&](const TrainingPlan& plan) {
    return DecodeState<float>(bytes, plan).status().message();
  };
  const std::string begin = "this is no job state that can be gone on with: ";
  CHECK(DecodeState<double>(bytes, SmallPlan()).status().message() ==
        begin + "it has numbers of 4 bytes, the job's have 8");
  TrainingPlan wider = SmallPlan();
  wider.shape = *MakeNetworkShape(ModelSpec{}, 3, 2);
  CHECK(error(wider) == begin + "it has 6 parameters, the job has 8");
  TrainingPlan sgd = SmallPlan();
  sgd.train.optimizer.kind = OptimizerKind::kSgd;
  CHECK(error(sgd) == begin + "its optimizer's state is not that of the job's optimizer");
  TrainingPlan more = SmallPlan();
  if (GENERATE(false, true)) {
    more.train.accumulate_steps = 2;
  } else {
    more.train.averaging.kind = AveragingKind::kMean;
  }
  CHECK(error(more) ==
        begin + "its accumulated gradient or its averaged weights are not those of the job");
}

}  // namespace
}  // namespace espalier
