// Tests of asynchronous training with real trainers and threads, over links in memory.
#include "src/worker/async_trainer.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>

#include "src/collective/memory_link.h"
#include "src/model/arithmetic.h"
#include "src/plan/ownership.h"
#include "src/worker/clock.h"
#include "tests/worker/lone_generation.h"
#include "tests/worker/made_up_rows.h"

namespace espalier::worker {
namespace {

constexpr int32_t kLeaves = 16;

struct Case {
  int64_t rows = 2000, batch = 64;
  double epochs = 10;
  std::optional<int64_t> staleness = {};
  Generation switch_to = {};                         // requested at the first report
  std::function<void(int32_t member)> on_leaf = {};  // called before each push
  std::function<void(spec::TrainSpec& train)> change = {};
  int64_t timeout_ms = 60'000;
};

training::TrainingPlan MakePlan(const Case& c, spec::TrainMode mode) {
  spec::ModelSpec model;
  model.hidden = {24};
  training::TrainingPlan plan;
  plan.train.mode = mode;
  plan.train.staleness = c.staleness;
  plan.train.batch = c.batch;
  plan.train.epochs = c.epochs;
  if (c.change) c.change(plan.train);
  plan.shape = *model::MakeNetworkShape(spec::JobSpec{.model = model, .train = plan.train},
                                        spec::InputShape(12), 3);
  plan.train_rows = c.rows;
  plan.validation_rows = 100;
  plan.test_rows = 200;
  return plan;
}

// The result of one member of a generation.
struct Ended {
  Result<AsyncEnd> end = Internal("not run");
  training::TrainingState<float> state;
  size_t history_told = 0;
  bool history_in_order = true;  // the rows are numbered from 0
};

class Cluster {
 public:
  Cluster(Case c, int32_t members)
      : c_(std::move(c)),
        ownership_(plan::PlanOwnership(kLeaves, members)),
        places_(plan::PlanTree(ownership_, kLeaves)),
        network_(collective::MemoryNetwork::Make(static_cast<uint32_t>(members), 17)),
        ended_(members) {
    while (!places_[holder_].is_root()) ++holder_;
  }

  std::vector<Ended> Run() {
    std::vector<std::thread> threads;
    for (int32_t m = 0; m < static_cast<int32_t>(ended_.size()); ++m) {
      threads.emplace_back([this, m] { RunMember(m); });
    }
    for (std::thread& t : threads) t.join();
    for (const Ended& e : ended_) CHECK(e.history_in_order);
    return std::move(ended_);
  }

  int32_t holder() const { return holder_; }
  collective::MemoryNetwork& network() { return *network_; }

 private:
  void RunMember(int32_t self) {
    const auto members = static_cast<int32_t>(ended_.size());
    const MadeUpRows<float> rows(12, 3);
    ComputePool pool(1, model::PrepareComputeThread);
    training::StepMachine<float> machine(MakePlan(c_, spec::TrainMode::kAsync));
    machine.Begin();
    AsyncExchange exchange({{1}, {1}, {1}}, self, holder_,
                           std::vector<std::string>(members, "a member"), 1000,
                           RoundBytesMax(machine.plan(), sizeof(float), members));
    if (members > 1) {
      exchange.Start(network_->Open(static_cast<uint32_t>(self), {1}, &exchange));
    }
    AsyncOptions options;
    options.leaves = kLeaves;
    options.own = ownership_.intervals[self];
    options.members = members;
    options.self = self;
    options.reduce_timeout_ms = c_.timeout_ms;
    options.report_interval_us = 1000;
    AsyncHooks hooks;
    hooks.now_us = NowUs;
    hooks.on_history = [&](int64_t number, const spec::HistoryRow&) {
      // Catch2 is not thread-safe, so Run checks this.
      ended_[self].history_in_order &= number == static_cast<int64_t>(ended_[self].history_told++);
    };
    AsyncTrainer<float>* loop = nullptr;
    hooks.on_report = [&](const StepReport&) {
      if (c_.switch_to) loop->SwitchTo(c_.switch_to);
    };
    if (c_.on_leaf) {
      hooks.on_leaf = [&](const training::GradientAction&, int32_t, auto) { c_.on_leaf(self); };
    }
    hooks.offer_state = [&] {
      std::lock_guard lock(mutex_);
      offered_ = machine.state();
    };
    hooks.fetch_state = [&](uint64_t round) -> Status {
      std::lock_guard lock(mutex_);
      if (!offered_ || offered_->round != round) return Internal("it was not offered");
      machine = training::StepMachine<float>(machine.plan(), *offered_);
      return Status::Ok();
    };
    StepTimes times;
    AsyncTrainer<float> trainer(machine, options, rows, pool, exchange, times, hooks);
    loop = &trainer;
    ended_[self].end = trainer.Run();
    ended_[self].state = machine.state();
    // Keeps the links open until all members are done, as a worker does.
    ++done_;
    while (done_ < members) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  const Case c_;
  const plan::Ownership ownership_;
  const std::vector<plan::TreePlace> places_;
  int32_t holder_ = 0;
  const std::shared_ptr<collective::MemoryNetwork> network_;
  std::vector<Ended> ended_;
  std::atomic<int32_t> done_{0};
  std::mutex mutex_;  // guards offered_
  std::optional<training::TrainingState<float>> offered_;
};

training::FinishAction Synchronously(const Case& c) {
  const MadeUpRows<float> rows(12, 3);
  ComputePool pool(1, model::PrepareComputeThread);
  training::StepMachine<float> machine(MakePlan(c, spec::TrainMode::kSync));
  machine.Begin();
  const plan::Ownership ownership = plan::PlanOwnership(kLeaves, 1);
  Reducer reducer({{1}, {1}, {1}}, plan::PlanTree(ownership, kLeaves)[0], {"a member"},
                  RoundBytesMax(machine.plan(), sizeof(float), 1));
  TrainerOptions options;
  options.leaves = kLeaves;
  options.own = ownership.intervals[0];
  TrainerHooks hooks;
  hooks.now_us = NowUs;
  StepTimes times;
  Trainer<float> trainer(machine, options, rows, pool, reducer, times, hooks);
  member::MemberCore core({.leaves = kLeaves});
  CHECK(RunLone(core, LoneOrder(ownership, 0), machine, trainer).finished);
  return trainer.finish();
}

TEST_CASE("asynchronous training is as accurate as synchronous training") {
  model::InitArithmetic();
  const Case c;
  const training::FinishAction sync = Synchronously(c);
  REQUIRE(sync.test->accuracy > 0.85);
  for (const int32_t members : {1, 2, 3, 5}) {
    INFO(members << " members");
    Cluster cluster(c, members);
    const std::vector<Ended> ended = cluster.Run();
    for (const Ended& e : ended) {
      INFO(e.end.status().ToString());
      REQUIRE(e.end.ok());
      REQUIRE(e.end->finish);
      CHECK(e.end->finish->steps == sync.steps);
      CHECK(e.end->finish->test->rows == 200);
      CHECK(e.end->finish->test->accuracy > sync.test->accuracy - 0.03);
      CHECK(e.state.parameters == ended[0].state.parameters);
      CHECK(e.state.slots == ended[0].state.slots);
    }
    CHECK(ended[cluster.holder()].history_told == 10);
    const spec::AsyncCounts& counts = ended[0].state.async;
    CHECK(counts.largest_lag <= std::max<int64_t>(4, 2 * members));
    if (members == 1) CHECK(counts == spec::AsyncCounts{});
  }
}

TEST_CASE("gradients beyond the staleness bound are refused and counted") {
  model::InitArithmetic();
  Case c{.epochs = 4, .staleness = 0};
  const std::vector<Ended> ended = Cluster(c, 3).Run();
  REQUIRE(ended[0].end.ok());
  CHECK(ended[0].state.async.largest_lag == 0);
  CHECK(ended[0].state.async.refused > 0);
  CHECK(ended[0].state.step == 4 * 32);
}

TEST_CASE("steps do not wait for a slow member") {
  model::InitArithmetic();
  std::atomic<int64_t> quick{0};
  std::atomic<bool> began{false}, overtaken{false};
  Case c{.epochs = 3, .staleness = 1000};
  c.on_leaf = [&](int32_t member) {
    if (member != 2) {
      ++quick;
    } else if (!began.exchange(true)) {
      // The first gradient of this member waits for ten of the other members. If a step waited for
      // all members, the ten would not come.
      const int64_t until_us = NowUs() + 30'000'000;
      while (quick < 10 && NowUs() < until_us) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      overtaken = quick >= 10;
    }
  };
  const std::vector<Ended> ended = Cluster(c, 3).Run();
  REQUIRE(ended[0].end.ok());
  CHECK(ended[0].state.step == 3 * 32);
  CHECK(overtaken);
}

TEST_CASE("averages, clipping, schedules and early stopping apply") {
  model::InitArithmetic();
  Case c{.epochs = 40};
  c.change = [](spec::TrainSpec& train) {
    train.clip_norm = 1;
    train.averaging = {spec::AveragingKind::kEma, 0.9, {5, false}};
    train.schedule.kind = spec::ScheduleKind::kCosine;
    train.early_stopping =
        spec::EarlyStopping{.metric = "val_loss", .patience = 2, .min_delta = 0.05};
  };
  const std::vector<Ended> ended = Cluster(c, 2).Run();
  INFO(ended[0].end.status().ToString());
  REQUIRE(ended[0].end.ok());
  CHECK(ended[0].end->finish->stopped_because == "early stopping");
  CHECK(ended[1].end->finish->steps == ended[0].end->finish->steps);
  CHECK(ended[0].end->finish->test->accuracy > 0.8);
}

TEST_CASE("a planned change ends with the same state at all members") {
  model::InitArithmetic();
  Case c{.epochs = 100'000, .switch_to = {2}};
  const std::vector<Ended> ended = Cluster(c, 3).Run();
  for (const Ended& e : ended) {
    REQUIRE(e.end.ok());
    CHECK_FALSE(e.end->finish);
    CHECK(e.end->next == Generation{2});
    CHECK(e.state.round == ended[0].state.round);
    CHECK(e.state.parameters == ended[0].state.parameters);
  }
}

TEST_CASE("members without rows only evaluate") {
  model::InitArithmetic();
  const std::vector<Ended> ended = Cluster({.rows = 3, .batch = 2, .epochs = 6}, 5).Run();
  for (const Ended& e : ended) {
    INFO(e.end.status().ToString());
    REQUIRE(e.end.ok());
    CHECK(e.end->finish->steps == 12);
  }
}

TEST_CASE("a broken link ends the generation at all members") {
  model::InitArithmetic();
  std::atomic<int64_t> leaves{0};
  Case c{.epochs = 1e6, .timeout_ms = 3000};
  Cluster* running = nullptr;
  c.on_leaf = [&](int32_t) {
    if (++leaves == 200) {
      const auto holder = static_cast<uint32_t>(running->holder());
      running->network().Cut(holder, holder == 0 ? 1 : 0);
    }
  };
  Cluster cluster(c, 3);
  running = &cluster;
  const std::vector<Ended> ended = cluster.Run();
  for (const Ended& e : ended) CHECK_FALSE(e.end.ok());
  CHECK(ended[cluster.holder()].end.status().ToString().find("broke") != std::string::npos);
  CHECK(ended[cluster.holder()].state.step > 0);
}

// ---- the exchange ------------------------------------------------------------------------------

collective::ReduceMessage Part(uint32_t from, uint64_t number, uint32_t place, size_t doubles,
                               double first) {
  AlignedVector<double> values(doubles, 0.0);
  if (doubles > 0) values[0] = first;
  collective::ReduceMessage m;
  m.incarnation = {1}, m.job = {1}, m.generation = {1};
  m.round = number;
  m.kind = collective::MessageKind::kLeafUp;
  m.from = from;
  m.bucket = place;
  m.payload = collective::MakePayload(std::move(values));
  return m;
}

// The effect of messages on the holder, which is member 0 of 2.
struct Heard {
  int letters = 0;
  std::string error;
};
Heard Hear(const std::vector<collective::ReduceMessage>& messages) {
  Heard heard;
  AsyncExchange exchange({{1}, {1}, {1}}, 0, 0, {"zero", "one"}, 3, 1000);
  exchange.Listen({[&](const Letter& letter) {
                     ++heard.letters;
                     CHECK(letter.member == 1);
                   },
                   [&](const Status& why) { heard.error = why.ToString(); },
                   {}});
  for (const collective::ReduceMessage& m : messages) exchange.OnMessage(m);
  exchange.Ignore();
  return heard;
}

TEST_CASE("only whole letters in order are accepted") {
  CHECK(Hear({Part(1, 5, 0, 8, 0)}).letters == 1);
  CHECK(Hear({Part(1, 5, 0, 8, 2), Part(1, 5, 1, 3, 0)}).letters == 0);
  CHECK(Hear({Part(1, 5, 0, 8, 2), Part(1, 5, 1, 3, 0), Part(1, 5, 2, 3, 0)}).letters == 1);
  const auto refused = [](const std::vector<collective::ReduceMessage>& messages,
                          const std::string& word) {
    const Heard heard = Hear(messages);
    INFO(heard.error);
    CHECK(heard.error.find(word) != std::string::npos);
    CHECK(heard.letters == 0);
  };
  refused({Part(2, 5, 0, 8, 0)}, "not expected here");
  refused({Part(0, 5, 0, 8, 0)}, "not expected here");
  collective::ReduceMessage down = Part(1, 5, 0, 8, 0);
  down.kind = collective::MessageKind::kDown;
  refused({down}, "not expected here");
  refused({Part(1, 5, 1, 8, 0)}, "none that can follow");
  refused({Part(1, 5, 0, 8, 2), Part(1, 5, 2, 3, 0)}, "none that can follow");
  refused({Part(1, 5, 0, 8, 2), Part(1, 6, 1, 3, 0)}, "none that can follow");
  refused({Part(1, 5, 0, 8, 2), Part(1, 5, 1, 300, 0)}, "none that can follow");
  refused({Part(1, 5, 0, 7, 0)}, "header of 56 bytes");
  for (const double parts : {-1.0, 0.5, 4.0, std::numeric_limits<double>::quiet_NaN()}) {
    refused({Part(1, 5, 0, 8, parts)}, "impossibly many parts");
  }
  collective::ReduceMessage late = Part(1, 5, 0, 8, 0);
  late.generation = {0};
  CHECK(Hear({late}).error.empty());
}

TEST_CASE("an answer without an order ends the generation") {
  model::InitArithmetic();
  const auto network = collective::MemoryNetwork::Make(2, 3);
  training::StepMachine<float> machine(MakePlan({}, spec::TrainMode::kAsync));
  machine.Begin();
  const MadeUpRows<float> rows(12, 3);
  ComputePool pool(1, model::PrepareComputeThread);
  AsyncExchange exchange({{1}, {1}, {1}}, 0, 0, {"zero", "one"}, 1000, 1 << 20);
  exchange.Start(network->Open(0, {1}, &exchange));
  AsyncOptions options;
  options.leaves = kLeaves;
  options.own = {0, 8};
  options.members = 2;
  options.reduce_timeout_ms = 5000;
  AsyncHooks hooks;
  hooks.now_us = NowUs;
  StepTimes times;
  AsyncTrainer<float> trainer(machine, options, rows, pool, exchange, times, hooks);
  std::thread liar([&] { exchange.OnMessage(Part(1, 99, 0, 8, 0)); });
  const auto end = trainer.Run();
  liar.join();
  CHECK(end.status().ToString().find("the answer of one is none") != std::string::npos);
}

}  // namespace
}  // namespace espalier::worker
