// Asynchronous training as its holder decides. The test plays the members.
#include "src/training/async_holder.h"

#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "src/model/metrics.h"
#include "src/training/update.h"

namespace espalier::training {
namespace {

// Returns a plan of 2 inputs and 2 classes, so 6 parameters, with 4 steps of 10 rows an epoch.
TrainingPlan SmallPlan() {
  TrainingPlan plan;
  plan.shape = *model::MakeNetworkShape(spec::ModelSpec{}, 2, 2);
  plan.train.mode = spec::TrainMode::kAsync;
  plan.train.optimizer = spec::DefaultOptimizer(spec::OptimizerKind::kSgd);
  plan.train.optimizer.learning_rate = 0.5;
  plan.train.batch = 10;
  plan.train.epochs = 2;
  plan.train_rows = 40;
  plan.validation_rows = 8;
  return plan;
}

struct Play {
  explicit Play(int32_t members, int64_t staleness = 4, TrainingPlan plan = SmallPlan(),
                int32_t self = 0)
      : machine(std::move(plan)),
        chunks(plan::MakeChunks(model::Dims(machine.plan().shape), sizeof(float))),
        holder((machine.Begin(), machine), chunks, members, self, staleness) {
    Take(holder.Begin());
  }

  void Take(const AsyncActions& actions) {
    error = actions.error;
    applied = actions.applied;
    for (const AsyncOrder& order : actions.orders) {
      CHECK_FALSE(orders.contains(order.member));
      orders[order.member] = order;
    }
  }
  // Pushes a gradient sum of `value` in each place over the rows.
  void Push(int32_t member, float value = 1, double rows = 10) {
    REQUIRE(Task(member) == AsyncTask::kGradient);
    orders.erase(member);
    AsyncPush<float> push;
    push.stats.resize(model::TotalsSize(machine.plan().shape, model::TotalsKind::kTraining) +
                      kStepExtras);
    push.stats[model::kTotalRows] = push.stats[model::kTotalWeight] = rows;
    auto gradient = std::make_shared<std::vector<float>>(machine.state().parameters.size(), value);
    push.gradient = [this, gradient](int64_t c) { return gradient->data() + chunks[c].offset; };
    Take(holder.OnPush(member, std::move(push)));
  }
  void Evaluate(int32_t member, double loss = 1) {
    REQUIRE(Task(member) == AsyncTask::kEvaluation);
    orders.erase(member);
    std::vector<double> totals(
        model::TotalsSize(machine.plan().shape, model::TotalsKind::kEvaluation), 0.0);
    totals[model::kTotalRows] = totals[model::kTotalWeight] = 4;
    totals[model::kTotalLoss] = 4 * loss;
    Take(holder.OnEvaluated(member, std::move(totals)));
  }
  std::optional<AsyncTask> Task(int32_t member) const {
    const auto found = orders.find(member);
    return found == orders.end() ? std::nullopt : std::optional(found->second.task);
  }
  int64_t step() const { return machine.state().step; }
  float parameter() const { return machine.state().parameters[0]; }

  StepMachine<float> machine;
  std::vector<plan::Chunk> chunks;
  AsyncHolder<float> holder;
  std::map<int32_t, AsyncOrder> orders;  // unanswered orders
  Status error;
  int64_t applied = 0;
};

TEST_CASE("with one member, asynchronous training equals synchronous") {
  Play play(1);
  StepMachine<float> sync(SmallPlan());
  Action action = sync.Begin();
  for (int step = 0; step < 8; ++step) {
    play.Push(0, static_cast<float>(step));
    CHECK(play.applied == 1);
    std::vector<double> stats(model::TotalsSize(sync.plan().shape, model::TotalsKind::kTraining) +
                              kStepExtras);
    stats[model::kTotalRows] = stats[model::kTotalWeight] = 10;
    const auto update = std::get<UpdateAction>(sync.OnGradient(stats));
    const std::vector<float> gradient(sync.state().parameters.size(), static_cast<float>(step));
    for (const plan::Chunk& c : play.chunks) {
      ApplyChunk<float>(sync.plan(), update, c, gradient.data() + c.offset, 1, sync.state());
    }
    action = sync.OnUpdated();
    CHECK(play.machine.state().parameters == sync.state().parameters);
    if ((step + 1) % 4 != 0) continue;
    play.Evaluate(0);
    std::vector<double> totals(model::TotalsSize(sync.plan().shape, model::TotalsKind::kEvaluation),
                               0.0);
    totals[model::kTotalRows] = totals[model::kTotalWeight] = totals[model::kTotalLoss] = 4;
    action = sync.OnEvaluation(totals);
  }
  CHECK(play.Task(0) == AsyncTask::kLevel);
  CHECK(play.machine.state().round == sync.state().round);
  CHECK(play.machine.state().history.size() == 2);
  CHECK(play.machine.state().async == spec::AsyncCounts{});
  CHECK_FALSE(play.holder.over());
  play.orders.clear();
  play.Take(play.holder.OnOffered());
  CHECK(play.holder.over());
}

TEST_CASE("each push is a step and gets the newest parameters") {
  Play play(3);
  CHECK(play.orders.size() == 3);
  const float before = play.parameter();
  play.Push(1, 10);
  CHECK(play.step() == 1);
  CHECK(play.parameter() == before - 0.5F);  // rate * sum / weight
  CHECK(play.Task(1) == AsyncTask::kGradient);
  play.Push(0);
  play.Push(2);
  CHECK(play.step() == 3);
  CHECK(play.machine.state().async == spec::AsyncCounts{2, 0});
}

TEST_CASE("a push that is too stale is refused, its rows repeated") {
  Play play(2, 1);
  play.Push(0);
  play.Push(0);
  const float before = play.parameter();
  play.Push(1, 100);
  CHECK(play.applied == 0);
  CHECK(play.step() == 2);
  CHECK(play.parameter() == before);
  CHECK(play.machine.state().async == spec::AsyncCounts{0, 1});
  CHECK(play.orders.at(1).again);
  play.Push(0);
  play.Push(1, 10);  // staleness equal to the bound
  CHECK(play.step() == 4);
  CHECK(play.machine.state().async == spec::AsyncCounts{1, 1});
  play.Evaluate(1);
  play.Push(0);
  play.Evaluate(0);
  CHECK_FALSE(play.orders.at(1).again);
}

TEST_CASE("with a bound of 0 the first push wins, so training goes on") {
  Play play(3, 0);
  for (int round = 0; round < 2; ++round) {
    play.Push(0), play.Push(1), play.Push(2);
  }
  CHECK(play.step() == 2);
  CHECK(play.machine.state().async == spec::AsyncCounts{0, 4});
}

TEST_CASE("a push during an evaluation waits and is then applied") {
  Play play(3, 5);
  for (int i = 0; i < 4; ++i) play.Push(0);
  CHECK(play.Task(0) == AsyncTask::kEvaluation);
  CHECK(play.orders.at(0).set == spec::FileRole::kValidation);
  play.Push(2, 10);
  CHECK(play.step() == 4);
  CHECK(play.Task(2) == AsyncTask::kEvaluation);
  play.Evaluate(2, 3);
  play.Evaluate(0, 1);
  CHECK_FALSE(play.Task(0));
  CHECK(play.holder.Missing() == std::vector<int32_t>{1});
  play.Push(1);
  const float before = play.parameter();
  play.Evaluate(1, 2);
  REQUIRE(play.machine.state().history.size() == 1);
  CHECK(play.machine.state().history[0].validation->loss == 2);
  CHECK(play.machine.state().history[0].validation->rows == 12);
  CHECK(play.step() == 6);  // two waiting pushes, in the order of arrival
  CHECK(play.parameter() < before);
  CHECK(play.machine.state().async == spec::AsyncCounts{5, 0});
  for (int32_t m = 0; m < 3; ++m) CHECK(play.Task(m) == AsyncTask::kGradient);
}

TEST_CASE("at the end the holder offers its state, late pushes drop") {
  TrainingPlan plan = SmallPlan();
  plan.validation_rows = 0;
  plan.train.steps = 2;
  Play play(3, 4, plan, 1);
  play.Push(0);
  play.Push(0);
  CHECK(play.orders.size() == 2);  // members 1 and 2 have orders; none may level before the holder
  play.Push(1, 10);
  CHECK(play.step() == 2);
  CHECK(play.Task(1) == AsyncTask::kLevel);
  play.orders.erase(1);
  play.Take(play.holder.OnOffered());
  CHECK(play.Task(0) == AsyncTask::kLevel);
  CHECK_FALSE(play.holder.over());
  play.Take(play.holder.OnLevelled(0));
  CHECK(play.holder.Levelled(0));
  play.Push(2, 10);
  CHECK(play.Task(2) == AsyncTask::kLevel);
  play.Take(play.holder.OnLevelled(2));
  CHECK(play.holder.over());
  CHECK(std::get<FinishAction>(play.machine.Resume()).stopped_because == "steps");
}

TEST_CASE("a generation ends between two steps, after an evaluation") {
  Play play(2);
  for (int i = 0; i < 4; ++i) play.Push(0);
  play.Take(play.holder.SwitchTo({7}));
  play.Evaluate(0);
  play.Push(1);
  play.Evaluate(1);
  CHECK(play.holder.next() == Generation{7});
  CHECK(play.step() == 4);
  CHECK(play.Task(0) == AsyncTask::kLevel);
  CHECK_FALSE(play.Task(1));
  play.orders.clear();
  play.Take(play.holder.OnOffered());
  CHECK(play.Task(1) == AsyncTask::kLevel);
  CHECK(std::holds_alternative<GradientAction>(play.machine.Resume()));
}

TEST_CASE("a member without rows only evaluates") {
  Play play(2);
  play.Push(1, 0, 0);
  CHECK(play.step() == 0);
  CHECK_FALSE(play.Task(1));
  CHECK(play.holder.Missing() == std::vector<int32_t>{0});
  for (int i = 0; i < 4; ++i) play.Push(0);
  CHECK(play.holder.all_began());
  CHECK(play.Task(1) == AsyncTask::kEvaluation);
  play.Evaluate(1);
  play.Evaluate(0);
  CHECK(play.Task(0) == AsyncTask::kGradient);
  CHECK_FALSE(play.Task(1));
}

TEST_CASE("a nonfinite gradient ends the job or is skipped") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Play fails(2);
  fails.Push(0, kInfinity);
  CHECK(fails.error.code() == StatusCode::kBadInput);
  CHECK(fails.error.message().find("step 1") != std::string::npos);
  TrainingPlan plan = SmallPlan();
  plan.train.skip_nonfinite = true;
  Play skips(2, 4, plan);
  const float before = skips.parameter();
  skips.Push(0, kInfinity);
  CHECK(skips.error.ok());
  CHECK(skips.step() == 1);
  CHECK(skips.parameter() == before);
}

TEST_CASE("when time is up the next step is the last one") {
  Play play(2);
  play.holder.EndSoon(StepEnds::kByTime);
  play.Push(1);
  play.Evaluate(1);
  play.Push(0);
  play.Evaluate(0);
  CHECK(std::get<FinishAction>(play.machine.Resume()).stopped_because == "time");
}

TEST_CASE("another holder continues from the state in an evaluation") {
  Play before(2);
  for (int i = 0; i < 4; ++i) before.Push(0);
  StepMachine<float> machine(SmallPlan(), before.machine.state());
  AsyncHolder<float> holder(machine, before.chunks, 3, 2, 4);
  const AsyncActions actions = holder.Begin();
  REQUIRE(actions.orders.size() == 3);
  for (const AsyncOrder& order : actions.orders) CHECK(order.task == AsyncTask::kEvaluation);
}

}  // namespace
}  // namespace espalier::training
