// Tests of the promise "same bits". Real trainers, reducers and threads run over links in memory,
// which shuffle messages. The same leaves have 1, 2, 3, 5 and 16 owners.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <thread>

#include "src/base/checksum.h"
#include "src/base/random.h"
#include "src/collective/memory_link.h"
#include "src/model/arithmetic.h"
#include "src/worker/trainer.h"
#include "tests/worker/lone_generation.h"
#include "tests/worker/made_up_rows.h"

namespace espalier::worker {
namespace {

struct Case {
  int64_t rows = 1000, validation_rows = 100, batch = 96;
  int32_t leaves = 16;
  double dropout = 0.2;
  double clip_norm = 0;
  std::optional<spec::EarlyStopping> early_stopping = {};
  double epochs = 2;
  void (*change)(spec::ModelSpec& model, spec::TrainSpec& train) = nullptr;
  std::vector<double> class_weights = {};
  bool heavy = false;
  std::vector<spec::CodedInput> coded = {};
  bool sparse = false;
  spec::EmbeddedNumbers numbers = {};
};

template <typename T>
training::TrainingPlan MakePlan(const Case& c) {
  spec::ModelSpec model;
  model.hidden = {24, 17};
  model.dropout = {c.dropout};
  training::TrainingPlan plan;
  plan.train.batch = c.batch;
  plan.train.epochs = c.epochs;
  plan.train.clip_norm = c.clip_norm;
  plan.train.early_stopping = c.early_stopping;
  plan.train.weight_decay = 1e-4;
  plan.class_weights = c.class_weights;
  if (c.change != nullptr) c.change(model, plan.train);
  if (c.heavy) {
    model.hidden.clear();
    model.task = spec::Task::kRegression;
    model.loss = spec::Loss::kMae;
    plan.train.skip_nonfinite = true;
  }
  spec::InputShape inputs(12);
  inputs.coded = c.coded;
  inputs.numbers = c.numbers;
  plan.shape = *model::MakeNetworkShape(spec::JobSpec{.model = model, .train = plan.train}, inputs,
                                        model.task == spec::Task::kRegression ? 1 : 3);
  plan.shape.sparse = c.sparse;
  if (model.task == spec::Task::kMultilabel)
    std::swap(plan.shape.positive_weights, plan.class_weights);
  plan.train_rows = c.rows;
  plan.validation_rows = c.validation_rows;
  plan.test_rows = 50;
  return plan;
}

// Trains one member. Returns the hash of its parameters and its metrics as text, or the error.
template <typename T>
std::string TrainMember(const Case& c, const plan::Ownership& ownership, int32_t self, int threads,
                        const std::shared_ptr<collective::MemoryNetwork>& network) {
  const std::vector<plan::TreePlace> places = plan::PlanTree(ownership, c.leaves);
  const training::TrainingPlan plan = MakePlan<T>(c);
  const bool labels = plan.shape.task == spec::Task::kMultilabel;
  const MadeUpRows<T> rows(12 + 2 * c.numbers.count, 3, c.heavy, c.coded, c.sparse, labels ? 3 : 1);
  ComputePool pool(threads, model::PrepareComputeThread);
  Reducer reducer({{1}, {1}, {1}}, places[self],
                  std::vector<std::string>(places.size(), "a member"),
                  RoundBytesMax(plan, sizeof(T), static_cast<int32_t>(places.size())));
  if (places.size() > 1) {
    reducer.Start(network->Open(static_cast<uint32_t>(self), {1}, &reducer));
  }
  TrainerOptions options;
  options.leaves = c.leaves;
  if (c.heavy) options.shuffle.kind = spec::ShuffleKind::kNone;
  options.own = ownership.intervals[self];
  options.members = static_cast<int32_t>(places.size());
  options.self = self;
  options.reduce_timeout_ms = 60'000;
  TrainerHooks hooks;
  hooks.now_us = [] {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  training::StepMachine<T> machine(plan);
  machine.Begin();
  StepTimes times;
  Trainer<T> trainer(machine, options, rows, pool, reducer, times, hooks);
  member::MemberCore core({.leaves = c.leaves, .agreement_steps = 3});
  const member::EndRun end = RunLone(core, LoneOrder(ownership, self), machine, trainer);
  if (!end.status.ok()) return end.status.ToString();
  const training::FinishAction& f = trainer.finish();
  const AlignedVector<T>& weights = machine.state().parameters;
  return Sha256Hex({reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(T)}) +
         " " + std::to_string(f.steps) + " of " + std::to_string(machine.state().updates) + " " +
         f.stopped_because + " " + std::to_string(f.test->accuracy) + " " +
         std::to_string(f.test->loss) + " " + std::to_string(f.train.loss);
}

template <typename T>
std::string Train(const Case& c, int32_t owners, int threads, uint64_t seed) {
  const plan::Ownership ownership = plan::PlanOwnership(c.leaves, owners);
  const auto network = collective::MemoryNetwork::Make(static_cast<uint32_t>(owners), seed);
  std::vector<std::string> results(owners);
  std::vector<std::thread> members;
  for (int32_t m = 0; m < owners; ++m) {
    members.emplace_back(
        [&, m] { results[m] = TrainMember<T>(c, ownership, m, threads, network); });
  }
  for (std::thread& t : members) t.join();
  for (const std::string& r : results) CHECK(r == results[0]);
  return results[0];
}

template <typename T>
void CheckSameBits(const Case& c) {
  model::InitArithmetic();
  const std::string expected = Train<T>(c, 1, 1, 1);
  INFO(expected);
  CHECK(expected.find(' ') == 64);  // a hash, not an error
  for (int32_t owners : {1, 2, 3, 5, 16}) {
    if (owners > c.leaves) continue;
    for (int threads : {1, 2}) {
      INFO("owners " << owners << " threads " << threads);
      CHECK(Train<T>(c, owners, threads, 10 + owners) == expected);
    }
  }
}

TEST_CASE("the same bits in float with dropout and ragged batches") { CheckSameBits<float>({}); }
TEST_CASE("the same bits in double with clipping") {
  CheckSameBits<double>({.dropout = 0, .clip_norm = 0.3});
}
TEST_CASE("the same bits with very large and very small batches") {
  CheckSameBits<float>({.rows = 4000, .batch = 3000});
  CheckSameBits<float>({.rows = 60, .batch = 7});
}
TEST_CASE("the same bits with fewer rows than leaves") {
  CheckSameBits<float>({.rows = 5, .validation_rows = 3, .batch = 2, .epochs = 5});
}
TEST_CASE("the same bits for leaves that are not a power of two") {
  CheckSameBits<float>({.leaves = 11});
}
TEST_CASE("the same bits with early stopping") {
  CheckSameBits<float>(
      {.early_stopping = spec::EarlyStopping{.metric = "val_loss", .patience = 1}, .epochs = 40});
}

TEST_CASE("the same bits with layer norm, residuals and label smoothing") {
  CheckSameBits<float>({.change = [](spec::ModelSpec& model, spec::TrainSpec& train) {
    model.hidden = {24, 24, 17, 17};
    model.dropout = {0.1, 0, 0.3, 0.2};
    model.layer_norm = model.residual = true;
    model.activation = {spec::Activation::kRelu, spec::Activation::kGelu, spec::Activation::kRelu,
                        spec::Activation::kTanh};
    model.label_smoothing = 0.1;
    train.frozen = {0, 2};
    train.l1 = 1e-4;
    train.clip_value = 0.1;
  }});
}
TEST_CASE("the same bits with accumulation, averages and class weights") {
  CheckSameBits<double>({.clip_norm = 0.3,
                         .early_stopping = spec::EarlyStopping{.patience = 1},
                         .epochs = 6,
                         .change =
                             [](spec::ModelSpec&, spec::TrainSpec& train) {
                               train.optimizer =
                                   spec::DefaultOptimizer(spec::OptimizerKind::kRmsprop);
                               train.optimizer.momentum = 0.9;
                               train.optimizer.centered = true;
                               train.accumulate_steps = 3;
                               train.averaging = {spec::AveragingKind::kEma, 0.9, {5, false}};
                             },
                         .class_weights = {0.5, 1, 3}});
}
TEST_CASE("the same bits with weighted multilabel targets") {
  const auto labels = [](spec::ModelSpec& model, spec::TrainSpec& train) {
    model.task = spec::Task::kMultilabel;
    train.accumulate_steps = 2;
  };
  const Case weighted{.change = labels, .class_weights = {0.5, 1, 3}};
  CheckSameBits<float>(weighted);
  CHECK(Train<float>(weighted, 2, 1, 1) != Train<float>({.change = labels}, 2, 1, 1));
}
TEST_CASE("the same bits with gradient descent and plateau schedules") {
  CheckSameBits<float>({.change = [](spec::ModelSpec&, spec::TrainSpec& train) {
    train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kGd);
    train.averaging.kind = spec::AveragingKind::kMean;
  }});
  const Case converges{.epochs = 30, .change = [](spec::ModelSpec&, spec::TrainSpec& train) {
                         train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kGd);
                         train.optimizer.learning_rate = 0.1;
                         train.optimizer.step_tolerance = 0.005;
                       }};
  CHECK_THAT(Train<float>(converges, 2, 1, 1), Catch::Contains(" convergence "));
  CheckSameBits<float>(converges);
  CheckSameBits<float>({.epochs = 6, .change = [](spec::ModelSpec& model, spec::TrainSpec& train) {
                          model.task = spec::Task::kRegression;
                          model.loss = spec::Loss::kPoisson;
                          train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kAdagrad);
                          train.schedule.kind = spec::ScheduleKind::kPlateau;
                          train.schedule.plateau = {"val_loss", 1, 0.05, 1, 1e-4};
                        }});
}

TEST_CASE("the same bits with several fits, over folds and over seeds") {
  const Case folds{.validation_rows = 0,
                   .early_stopping = spec::EarlyStopping{.patience = 100},
                   .change = [](spec::ModelSpec&, spec::TrainSpec& train) {
                     train.ensemble = {.fits = 3, .folds = 4, .shrink = true};
                     train.calibrate = true;
                   }};
  CheckSameBits<float>(folds);
  CheckSameBits<double>({.leaves = 4,
                         .early_stopping = spec::EarlyStopping{.patience = 1},
                         .epochs = 6,
                         .change = [](spec::ModelSpec&, spec::TrainSpec& train) {
                           train.ensemble = {.fits = 2, .over = spec::FitsOver::kSeeds};
                           train.calibrate = true;
                         }});
  CheckSameBits<float>({.rows = 7,
                        .validation_rows = 0,
                        .batch = 2,
                        .change = [](spec::ModelSpec& model, spec::TrainSpec& train) {
                          model.task = spec::Task::kRegression;
                          train.ensemble = {.fits = 2, .shrink = true};
                        }});
}

TEST_CASE("the same bits with sparse rows") {
  CheckSameBits<float>({.sparse = true});
  CheckSameBits<float>({.rows = 4000, .batch = 3000, .sparse = true});
  CheckSameBits<double>({.rows = 5, .validation_rows = 3, .batch = 2, .epochs = 5, .sparse = true});
}

void TakeLbfgs(spec::ModelSpec&, spec::TrainSpec& train) {
  train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kLbfgs);
}

TEST_CASE("the same bits with sparse rows and other options") {
  const auto accumulate = [](spec::ModelSpec&, spec::TrainSpec& train) {
    train.accumulate_steps = 3;
  };
  const auto freeze = [](spec::ModelSpec&, spec::TrainSpec& train) { train.frozen = {0}; };
  const std::vector<double> weights = {0.5, 1, 3};
  CheckSameBits<double>({.change = accumulate, .class_weights = weights, .sparse = true});
  CheckSameBits<float>({.change = freeze, .sparse = true});
  CheckSameBits<float>({.coded = {{7, 0}, {5, 3}}, .sparse = true});
  CheckSameBits<double>({.rows = 4000, .batch = 3000, .coded = {{5, 3}}, .sparse = true});
  CheckSameBits<double>({.dropout = 0, .epochs = 12, .change = TakeLbfgs, .sparse = true});
}

TEST_CASE("the same bits with L-BFGS in float and in double") {
  const auto lbfgs = [](spec::ModelSpec&, spec::TrainSpec& train) {
    train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kLbfgs);
    train.optimizer.history = 4;
    train.optimizer.max_iterations = 12;
    train.l1 = 1e-5;
  };
  CheckSameBits<double>({.dropout = 0, .epochs = 30, .change = lbfgs});
  CheckSameBits<float>({.batch = 1000,
                        .dropout = 0,
                        .early_stopping = spec::EarlyStopping{.patience = 3},
                        .epochs = 30,
                        .change = lbfgs,
                        .class_weights = {0.5, 1, 3}});
}

TEST_CASE("the same bits with one-hot inputs and embeddings") {
  const std::vector<spec::CodedInput> coded = {{40, 0}, {7, 3}, {300, 5}, {2, 0}};
  CheckSameBits<float>({.clip_norm = 0.5, .class_weights = {0.5, 1, 3}, .coded = coded});
  CheckSameBits<double>({.dropout = 0, .epochs = 12, .change = TakeLbfgs, .coded = coded});
}

TEST_CASE("the same bits with embedded numbers, a scaling layer and ntp") {
  const auto change = [](spec::ModelSpec& model, spec::TrainSpec& train) {
    model.parametrization = spec::Parametrization::kNtp;
    model.scaling_layer = true;
    train.optimizer.kind = spec::OptimizerKind::kAdamW;
    train.rate_factors = {.biases = 0.1, .scaling_layer = 6};
    train.weight_decay_schedule = spec::DecaySchedule::kFlatCos;
  };
  const std::vector<spec::CodedInput> coded = {{40, 0}, {7, 3}, {2, 0}};
  CheckSameBits<float>({.change = change, .coded = coded, .numbers = {5, 7, 3}});
  CheckSameBits<double>({.rows = 4000, .batch = 3000, .change = change, .numbers = {3, 4, 8}});
  CheckSameBits<float>({.dropout = 0, .epochs = 6, .change = TakeLbfgs, .numbers = {3, 4, 8}});
}

TEST_CASE("a step with an infinite total is skipped") {
  const int64_t group = GENERATE(1, 2);
  Case c{.rows = 400, .batch = 40, .leaves = 4, .epochs = 1, .heavy = true};
  if (group == 2)
    c.change = [](spec::ModelSpec&, spec::TrainSpec& train) { train.accumulate_steps = 2; };
  model::InitArithmetic();
  for (int32_t owners : {1, 3}) {
    const std::string found = Train<float>(c, owners, 1, 3);
    CHECK_THAT(found, Catch::Contains(group == 1 ? " 10 of 9 epochs" : " 10 of 5 epochs"));
    CHECK(found.find("nan") == std::string::npos);
    CHECK(found == Train<float>(c, 1, 2, 3));
  }
}

TEST_CASE("a partner that sends too many bytes ends the generation") {
  const plan::Ownership ownership = plan::PlanOwnership(4, 2);
  Reducer reducer({{1}, {1}, {1}}, plan::PlanTree(ownership, 4)[0], {"a", "b"}, 1000);
  reducer.BeginRound(1, {{250, 0}});
  collective::ReduceMessage ahead;
  ahead.incarnation = {1};
  ahead.job = {1};
  ahead.generation = {1};
  ahead.round = 2;
  ahead.kind = collective::MessageKind::kAcross;
  ahead.from = 1;
  ahead.payload = collective::MakePayload(AlignedVector<float>(250));
  for (int i = 0; i < 24; ++i) reducer.OnMessage(ahead);  // 1064 bytes each of 2 * 13 * 1000
  CHECK(reducer.WaitTotals(1).status().code() == StatusCode::kDeadlineExceeded);
  reducer.OnMessage(ahead);
  const Status end = reducer.WaitTotals(1).status();
  CHECK(end.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(end.ToString(),
             Catch::Contains("b sent 26600 bytes in 1 rounds, more than the 26000"));
  ahead.from = 7;
  reducer.OnMessage(ahead);  // an unknown member is ignored
}

TEST_CASE("an evaluation reports progress that never decreases") {
  model::InitArithmetic();
  Case c{.rows = 300, .validation_rows = 20'000, .epochs = 1};
  c.leaves = 2;
  const MadeUpRows<float> rows(12, 3);
  ComputePool pool(1, model::PrepareComputeThread);  // with two threads, one could do all the work
  const plan::Ownership ownership = plan::PlanOwnership(c.leaves, 1);
  Reducer reducer({{1}, {1}, {1}}, plan::PlanTree(ownership, c.leaves)[0], {"a"},
                  RoundBytesMax(MakePlan<float>(c), sizeof(float), 3));
  TrainerOptions options;
  options.leaves = c.leaves;
  options.own = ownership.intervals[0];
  options.report_interval_us = 0;
  std::vector<double> shares;
  TrainerHooks hooks;
  int64_t now_us = 0;
  hooks.now_us = [&now_us] { return ++now_us; };
  hooks.on_report = [&shares](const StepReport& r) {
    if (r.evaluating) shares.push_back(r.evaluated_share);
  };
  training::StepMachine<float> machine(MakePlan<float>(c));
  machine.Begin();
  StepTimes times;
  Trainer<float> trainer(machine, options, rows, pool, reducer, times, hooks);
  member::MemberCore core({.leaves = c.leaves});
  REQUIRE(RunLone(core, LoneOrder(ownership, 0), machine, trainer).status.ok());
  // The first evaluation is of the validation set. Its reports end at the next 0.
  const auto end = std::find(shares.begin() + 1, shares.end(), 0.0);
  CHECK(shares.front() == 0);
  CHECK(end - shares.begin() > 10);
  CHECK(std::is_sorted(shares.begin(), end));
  CHECK(*(end - 1) <= 1);
  CHECK(*(end - 1) > 0.4);
}

TEST_CASE("a cut link ends every member's run and is named") {
  const Case c{.epochs = 10'000};
  const plan::Ownership ownership = plan::PlanOwnership(c.leaves, 3);
  const auto network = collective::MemoryNetwork::Make(3, 5);
  std::vector<std::string> results(3);
  std::vector<std::thread> members;
  model::InitArithmetic();
  for (int32_t m : {0, 1}) {
    // Member 2 never starts, and the links to it are cut.
    members.emplace_back([&, m] { results[m] = TrainMember<float>(c, ownership, m, 1, network); });
  }
  for (uint32_t m : {0u, 1u}) network->Cut(2, m);
  for (std::thread& t : members) t.join();
  for (int32_t m : {0, 1}) {
    CHECK(results[m].find("the link to a member broke <- the link was cut") == 0);
  }
}

// Runs one member until step `last`, then aborts it and tears it down while others still send.
// Returns whether the run ended with an error.
bool TearDownAt(const Case& c, const plan::Ownership& ownership, int32_t self, int64_t last,
                const std::shared_ptr<collective::MemoryNetwork>& network) {
  const std::vector<plan::TreePlace> places = plan::PlanTree(ownership, c.leaves);
  const MadeUpRows<float> rows(12, 3);
  ComputePool pool(2, model::PrepareComputeThread);
  Reducer reducer({{1}, {1}, {1}}, places[self], std::vector<std::string>(places.size(), "x"),
                  RoundBytesMax(MakePlan<float>(c), sizeof(float), 3));
  reducer.Start(network->Open(static_cast<uint32_t>(self), {1}, &reducer));
  TrainerOptions options;
  options.leaves = c.leaves;
  options.own = ownership.intervals[self];
  options.members = static_cast<int32_t>(places.size());
  options.self = self;
  options.report_interval_us = 0;
  Trainer<float>* running = nullptr;
  TrainerHooks hooks;
  hooks.now_us = [] { return int64_t{0}; };
  hooks.on_report = [&](const StepReport& r) {
    if (r.step >= last) running->Abort(Cancelled("enough"));
  };
  training::StepMachine<float> machine(MakePlan<float>(c));
  machine.Begin();
  StepTimes times;
  Trainer<float> trainer(machine, options, rows, pool, reducer, times, hooks);
  running = &trainer;
  member::MemberCore core({.leaves = c.leaves});
  return !RunLone(core, LoneOrder(ownership, self), machine, trainer).status.ok();
}

TEST_CASE("tearing down a member in mid-step does not harm the others") {
  model::InitArithmetic();
  const Case c{.epochs = 10'000};
  const plan::Ownership ownership = plan::PlanOwnership(c.leaves, 3);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto network = collective::MemoryNetwork::Make(3, seed);
    std::vector<std::thread> members;
    bool ended[3] = {};  // Catch is not thread-safe
    for (int32_t m = 0; m < 3; ++m) {
      members.emplace_back([&, m] {
        ended[m] = TearDownAt(c, ownership, m, 3, network);
        for (uint32_t other = 0; other < 3; ++other) {
          if (other != static_cast<uint32_t>(m)) network->Cut(static_cast<uint32_t>(m), other);
        }
      });
    }
    for (std::thread& t : members) t.join();
    for (bool e : ended) CHECK(e);
  }
}

// Runs member `self` and returns the divergence that it finds. At step 7, a bit flips in the
// parameters of `faulty`. Members compare their states every five steps. With `asked`, they compare
// them at the start, and when the root requests it at step 7.
std::optional<cluster::StatesDiffer> RunWithFault(
    const Case& c, int32_t members, int32_t self, int32_t faulty, bool asked,
    const std::shared_ptr<collective::MemoryNetwork>& network) {
  const plan::Ownership ownership = plan::PlanOwnership(c.leaves, members);
  const std::vector<plan::TreePlace> places = plan::PlanTree(ownership, c.leaves);
  const MadeUpRows<float> rows(12, 3);
  ComputePool pool(1, model::PrepareComputeThread);
  Reducer reducer({{1}, {1}, {1}}, places[self], std::vector<std::string>(places.size(), "x"),
                  RoundBytesMax(MakePlan<float>(c), sizeof(float), members));
  reducer.Start(network->Open(static_cast<uint32_t>(self), {1}, &reducer));
  TrainerOptions options;
  options.leaves = c.leaves;
  options.own = ownership.intervals[self];
  options.members = members;
  options.self = self;
  options.report_interval_us = 0;
  options.reduce_timeout_ms = 60'000;
  training::StepMachine<float> machine(MakePlan<float>(c));
  machine.Begin();
  int64_t agreed_step = -1;
  TrainerHooks hooks;
  hooks.now_us = [now = int64_t{0}]() mutable { return ++now; };
  hooks.checkpoint_due = [&] { return asked && machine.state().step == 7; };
  hooks.on_report = [&](const StepReport& r) {
    if (self != faulty || r.step != 7) return;
    uint32_t bits;
    std::memcpy(&bits, &machine.state().parameters[3], sizeof bits);
    bits ^= 1;
    std::memcpy(&machine.state().parameters[3], &bits, sizeof bits);
  };
  StepTimes times;
  Trainer<float> trainer(machine, options, rows, pool, reducer, times, hooks);
  member::MemberCore core({.leaves = c.leaves, .agreement_steps = asked ? 1000 : 5});
  std::optional<cluster::StatesDiffer> found;
  LoneHooks lone;
  lone.on_agreed = [&] { agreed_step = machine.state().step; };
  lone.on_report = [&](const cluster::FromWorker& report) {
    if (const auto* differ = std::get_if<cluster::StatesDiffer>(&report)) found = *differ;
  };
  const auto end = RunLone(core, LoneOrder(ownership, self), machine, trainer, lone);
  if (end.status.ok() || !end.broken || agreed_step != (asked ? 0 : 5)) return std::nullopt;
  if (machine.state().step != (asked ? 8 : 10)) return std::nullopt;
  return found;
}

TEST_CASE("a flipped bit is found at the next comparison of states") {
  model::InitArithmetic();
  const Case c{.epochs = 100};
  const int32_t members = GENERATE(2, 3, 5);
  const int32_t faulty = GENERATE(0, 1);
  const bool asked = GENERATE(false, true);
  const auto network = collective::MemoryNetwork::Make(static_cast<uint32_t>(members), 3);
  std::vector<std::optional<cluster::StatesDiffer>> found(members);
  std::vector<std::thread> threads;
  for (int32_t m = 0; m < members; ++m) {
    threads.emplace_back(
        [&, m] { found[m] = RunWithFault(c, members, m, faulty, asked, network); });
  }
  for (std::thread& t : threads) t.join();
  for (const auto& f : found) {
    REQUIRE(f);
    CHECK(f->step == (asked ? 8 : 10));
    // Two members have no majority.
    CHECK(f->members == (members == 2 ? std::vector<int32_t>{} : std::vector<int32_t>{faulty}));
  }
}

}  // namespace
}  // namespace espalier::worker
