#include "src/training/state_codec.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <tuple>

#include "src/base/checksum.h"
#include "src/base/random.h"
#include "src/model/metrics.h"
#include "src/training/update.h"
#include "tests/testing/says.h"
#include "tests/testing/scale.h"

namespace espalier::training {
namespace {

TrainingPlan SmallPlan() {
  TrainingPlan plan;
  plan.shape = *model::MakeNetworkShape(spec::ModelSpec{}, 2, 2);
  plan.train.batch = 10;
  plan.train_rows = 40;
  plan.validation_rows = 8;
  plan.test_rows = 5;
  plan.train.epochs = 5;
  plan.train.early_stopping = spec::EarlyStopping{};
  plan.train.early_stopping->metric = "val_loss";
  plan.train.early_stopping->patience = 2;
  plan.train.early_stopping->restore_best = true;
  return plan;
}

// Returns a plan whose state uses all its parts.
TrainingPlan FullPlan() {
  TrainingPlan plan = SmallPlan();
  plan.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kRmsprop);
  plan.train.optimizer.momentum = 0.9;
  plan.train.optimizer.centered = true;
  plan.train.accumulate_steps = 3;
  plan.train.averaging = {spec::AveragingKind::kEma, 0.9, {3, false}};
  plan.train.schedule.kind = spec::ScheduleKind::kPlateau;
  plan.train.schedule.plateau.patience = 1;
  plan.train.schedule.plateau.cooldown = 1;
  return plan;
}

// Answers one action with synthetic totals that depend only on the state.
template <typename T>
Action Answer(StepMachine<T>& machine, const Action& action) {
  const TrainingPlan& plan = machine.plan();
  if (std::holds_alternative<GradientAction>(action)) {
    std::vector<double> stats(
        model::TotalsSize(plan.shape, model::TotalsKind::kTraining) + kStepExtras, 0.0);
    stats[model::kTotalRows] = stats[model::kTotalWeight] = 10;
    stats[model::kTotalLoss] = 1.0 + static_cast<double>(machine.state().step);
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
  std::vector<double> totals(model::TotalsSize(plan.shape, model::TotalsKind::kEvaluation), 0.0);
  totals[model::kTotalRows] = totals[model::kTotalWeight] = 8;
  totals[model::kTotalLoss] = machine.state().step < 5 ? 3.0 : 9.0;
  return machine.OnEvaluation(totals);
}

// Like Answer, for a job with L-BFGS whose first two parameters minimize Rosenbrock's function.
Action AnswerInValley(StepMachine<float>& machine, const Action& action) {
  const auto* update = std::get_if<UpdateAction>(&action);
  const bool gradient = std::holds_alternative<GradientAction>(action);
  if (!gradient && update == nullptr) return Answer(machine, action);
  const TrainingPlan& plan = machine.plan();
  TrainingState<float>& state = machine.state();
  const double x = state.parameters[0], y = state.parameters[1], a = 1 - x, b = y - x * x;
  if (gradient) {
    std::vector<double> stats(
        model::TotalsSize(plan.shape, model::TotalsKind::kTraining) + kStepExtras, 0.0);
    stats[model::kTotalRows] = stats[model::kTotalWeight] = 10;
    stats[model::kTotalLoss] = 10 * (a * a + 100 * b * b);
    return machine.OnGradient(stats);
  }
  const auto each = [](int64_t count, const std::function<void(int64_t)>& body) {
    for (int64_t i = 0; i < count; ++i) body(i);
  };
  state.accumulated[0] += static_cast<float>(10 * (-2 * a - 400 * x * b));
  state.accumulated[1] += static_cast<float>(10 * 200 * b);
  const auto chunks = plan::MakeChunks(model::Dims(plan.shape), sizeof(float));
  if (update->apply) Advance<float>(plan, *update, chunks, each, state);
  return machine.OnUpdated();
}

// Size of TrainingNotes without a value and of the EnsembleState after them.
constexpr size_t kNotesBytes = 1 + 3 * sizeof(int64_t) + 11 * sizeof(int64_t) + 1;

TrainingPlan ValleyPlan() {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 60;
  plan.train.early_stopping.reset();
  plan.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kLbfgs);
  plan.train.optimizer.history = 3;
  return plan;
}

// Returns whether the machine is between two rounds, so that a state may be handed over.
bool BetweenRounds(const Action& action) { return !std::holds_alternative<UpdateAction>(action); }

TEST_CASE("a job handed over between any rounds ends in the same state") {
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

TEST_CASE("L-BFGS handed over within a search ends in the same state") {
  const TrainingPlan plan = ValleyPlan();
  StepMachine<float> whole(plan);
  whole.state().parameters[0] = whole.state().slots[model::kLbfgsIterate][0] = -1.2f;
  Action action = whole.Begin();
  std::vector<std::string> states;
  int narrowing = 0;
  for (;;) {
    if (BetweenRounds(action)) states.push_back(EncodeState(whole.state()));
    if (std::holds_alternative<FinishAction>(action)) break;
    narrowing += whole.state().lbfgs.search.narrows;
    action = AnswerInValley(whole, action);
  }
  const std::string expected = EncodeState(whole.state());
  REQUIRE(states.size() > 100);
  CHECK(narrowing > 20);
  for (const std::string& bytes : states) {
    auto state = DecodeState<float>(bytes, plan);
    REQUIRE(state.status().ToString() == "OK");
    CHECK(EncodeState(*state) == bytes);
    StepMachine<float> heir(plan, std::move(state).value());
    Action next = heir.Resume();
    while (!std::holds_alternative<FinishAction>(next)) next = AnswerInValley(heir, next);
    REQUIRE(EncodeState(heir.state()) == expected);
  }
}

TEST_CASE("false L-BFGS pairs are refused, others do no harm") {
  const TrainingPlan plan = ValleyPlan();
  StepMachine<float> machine(plan);
  Action action = machine.Begin();
  while (machine.state().lbfgs.iterations < 5) action = AnswerInValley(machine, action);
  const TrainingState<float> good = machine.state();
  REQUIRE(DecodeState<float>(EncodeState(good), plan).ok());
  const std::function<void(model::LbfgsState&)> changes[] = {
      [](model::LbfgsState& s) { s.pairs = 4; },
      [](model::LbfgsState& s) { s.pairs = -1; },
      [](model::LbfgsState& s) { s.newest = 3; },
      [](model::LbfgsState& s) { s.newest = -1; },
      [](model::LbfgsState& s) { s.iterations = -1; },
      [](model::LbfgsState& s) { s.search.evaluations = -1; },
      [](model::LbfgsState& s) { s.begun = false, s.nonfinite = true; },
      [](model::LbfgsState& s) { s.objectives.resize(model::kLbfgsMemory + 1); },
      [](model::LbfgsState& s) { s.verdict = static_cast<model::LbfgsVerdict>(4); },
  };
  for (const auto& change : changes) {
    TrainingState<float> bad = good;
    change(bad.lbfgs);
    CHECK_THAT(DecodeState<float>(EncodeState(bad), plan).status().message(),
               Catch::Contains("its line search or its pairs"));
  }
  const std::string bytes = EncodeState(good);
  for (uint64_t seed = 0; seed < 300 * TestScale(); ++seed) {
    std::string changed = bytes;
    const size_t crc = sizeof(uint32_t);
    for (uint64_t k = 0; k <= seed % 3; ++k) {
      changed[Mix64(seed * 4 + k) % changed.size()] = static_cast<char>(Mix64(seed * 8 + k));
    }
    const uint32_t sum = Crc32c(changed.data(), changed.size() - crc);
    std::memcpy(changed.data() + changed.size() - crc, &sum, crc);
    auto state = DecodeState<float>(changed, plan);
    if (!state.ok()) continue;
    StepMachine<float> heir(plan, std::move(state).value());
    Action next = heir.Resume();
    for (int k = 0; k < 200; ++k) {
      if (std::holds_alternative<FinishAction>(next)) break;
      if (std::holds_alternative<FailAction>(next)) break;
      next = AnswerInValley(heir, next);
    }
  }
}

TEST_CASE("an encoded state has no spare memory") {
  StepMachine<float> machine(FullPlan());
  machine.Begin();
  const std::string bytes = EncodeState(machine.state());
  CHECK(bytes.size() > 500);
  CHECK(bytes.capacity() == bytes.size());
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

TEST_CASE("older layouts of a state are read, unknown ones are not") {
  StepMachine<float> machine(SmallPlan());
  (void)machine.Begin();
  machine.state().async = {0x0101010101010101, 0x0101010101010101};
  const std::string with = EncodeState(machine.state());
  machine.state().async = {};
  const std::string without = EncodeState(machine.state());
  const auto at = static_cast<size_t>(
      std::mismatch(with.begin(), with.end(), without.begin()).first - with.begin());
  const auto decoded = [](std::string bytes, char layout) {
    bytes[4] = layout;
    return DecodeState<float>(WithCrc(std::move(bytes)), SmallPlan());
  };
  std::string six = with, five = without;  // AsyncCounts and DescentState are adjacent
  six.erase(at + sizeof(spec::AsyncCounts), sizeof(int64_t) + kNotesBytes);
  five.erase(at, sizeof(spec::AsyncCounts) + sizeof(int64_t) + kNotesBytes);
  for (const auto& [bytes, layout, now] :
       {std::tuple{five, 5, without}, std::tuple{six, 6, with}, std::tuple{with, 8, with}}) {
    const auto old = decoded(bytes, static_cast<char>(layout));
    INFO(old.status().ToString());
    REQUIRE(old.ok());
    CHECK(EncodeState(*old) == now);
    if (layout == 8) continue;
    CHECK(decoded(bytes, static_cast<char>(layout + 1))
              .status()
              .message()
              .find("do not fill its bytes") != std::string::npos);
  }
  for (const char layout : {4, 9}) {
    CHECK(decoded(with, layout)
              .status()
              .message()
              .find("its layout is " + std::to_string(layout) + ", this program's is 8") !=
          std::string::npos);
  }
}

TEST_CASE("a state without metrics of targets is read") {
  StepMachine<float> machine(SmallPlan());
  (void)machine.Begin();
  spec::HistoryRow row;
  row.train.classification = false;
  machine.state().history = {row};
  const std::string none = EncodeState(machine.state());
  machine.state().history[0].train.targets = {{"y", 1, 2, 3, true}};
  const std::string some = EncodeState(machine.state());
  const auto decoded = DecodeState<float>(some, SmallPlan());
  REQUIRE(decoded.ok());
  CHECK(EncodeState(*decoded) == some);
  const auto at = static_cast<size_t>(std::mismatch(none.begin(), none.end(), some.begin()).first -
                                      none.begin());
  std::string old = none;
  TrainingState<float> skipped = *decoded;
  skipped.notes.skipped_steps = 1;
  const std::string noted = EncodeState(skipped);
  const auto notes = static_cast<size_t>(
      std::mismatch(some.begin(), some.end(), noted.begin()).first - some.begin());
  const size_t longer = some.size() - none.size();
  old.erase(notes - longer - sizeof(int64_t) - 1, kNotesBytes);  // follows the erased part below
  // The fit and its epoch, which follow the flag of an absent validation set.
  old.erase(at + sizeof(int64_t) + 3, sizeof(int64_t) + sizeof(double));
  old.erase(at, sizeof(int64_t) + 2);  // the count of targets, and two absent numbers
  old[4] = 7;
  const auto read = DecodeState<float>(WithCrc(std::move(old)), SmallPlan());
  INFO(read.status().ToString());
  REQUIRE(read.ok());
  CHECK(EncodeState(*read) == none);
}

TEST_CASE("hostile bytes with a valid checksum do no harm") {
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

TEST_CASE("a state of another job is refused with the difference") {
  StepMachine<float> machine(SmallPlan());
  (void)machine.Begin();
  const std::string bytes = EncodeState(machine.state());
  const auto error = [&](const TrainingPlan& plan) {
    return DecodeState<float>(bytes, plan).status().message();
  };
  const std::string begin = "this is not a job state ... ";
  CHECK_THAT(DecodeState<double>(bytes, SmallPlan()).status().message(),
             Says(begin + "numbers of 4 bytes ... 8"));
  TrainingPlan wider = SmallPlan();
  wider.shape = *model::MakeNetworkShape(spec::ModelSpec{}, 3, 2);
  CHECK_THAT(error(wider), Says(begin + "it has 6 parameters, the job has 8"));
  TrainingPlan sgd = SmallPlan();
  sgd.train.optimizer.kind = spec::OptimizerKind::kSgd;
  CHECK_THAT(error(sgd), Says(begin + "its optimizer's state ... job's optimizer"));
  TrainingPlan more = SmallPlan();
  if (GENERATE(false, true)) {
    more.train.accumulate_steps = 2;
  } else {
    more.train.averaging.kind = spec::AveragingKind::kMean;
  }
  CHECK_THAT(error(more), Says(begin + "its accumulated gradient ... averaged weights"));
}

}  // namespace
}  // namespace espalier::training
