// Tests of the holder of asynchronous training when members push faster than it applies.
#include "src/worker/async_server.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>

#include "src/base/queue.h"
#include "src/model/arithmetic.h"
#include "src/worker/async_trainer.h"
#include "src/worker/clock.h"
#include "tests/worker/made_up_rows.h"

namespace espalier::worker {
namespace {

constexpr int32_t kLeaves = 16;

// Returns a plan with large steps of few rows. It has no evaluations, because all members would
// wait for them.
training::TrainingPlan MakePlan() {
  spec::ModelSpec model;
  model.hidden = {256, 256};
  training::TrainingPlan plan;
  plan.train.mode = spec::TrainMode::kAsync;
  plan.train.batch = 64;
  plan.train.epochs = 1e9;
  plan.train.optimizer.learning_rate = 1e-6;
  plan.shape = *model::MakeNetworkShape(spec::JobSpec{.model = model, .train = plan.train},
                                        spec::InputShape(12), 3);
  plan.train_rows = 2000;
  return plan;
}

constexpr int64_t kGiveUpUs = 20'000'000;

// Links of the holder to members that answer at once. Each member has a thread, pushes the same
// gradient every time, and waits only for orders.
class InstantMembers final : public collective::Links {
 public:
  InstantMembers(collective::LinkListener& holder, int32_t members,
                 std::vector<collective::Payload> gradient)
      : holder_(holder), gradient_(std::move(gradient)), streams_(members) {
    for (int32_t m = 1; m < members; ++m) {
      streams_[m].thread = std::thread([this, m] { Stream(m); });
    }
  }
  ~InstantMembers() override {
    for (StreamOf& s : streams_) s.orders.Close();
    for (StreamOf& s : streams_) {
      if (s.thread.joinable()) s.thread.join();
    }
  }
  void Send(collective::ReduceMessage m) override {
    if (m.bucket == 0) streams_[m.to].orders.Push(std::move(m));
  }
  int64_t pushes(int32_t member) const { return streams_[member].pushes; }
  // Returns the longest time for which the holder blocked a member's thread.
  int64_t longest_us() const { return longest_us_; }

 private:
  struct StreamOf {
    Queue<collective::ReduceMessage> orders;
    std::atomic<int64_t> pushes{0};
    std::thread thread;
  };

  void Stream(int32_t member) {
    const int64_t until_us = NowUs() + kGiveUpUs;  // ends a holder that never stops applying
    while (auto order = streams_[member].orders.Pop()) {
      if (NowUs() >= until_us) return;
      const auto* header = reinterpret_cast<const double*>(order->payload.data);
      const double task = header[kLetterTask];
      const bool pushes = task == static_cast<double>(training::AsyncTask::kGradient);
      collective::ReduceMessage answer = *order;
      answer.kind = collective::MessageKind::kLeafUp;
      answer.from = static_cast<uint32_t>(member);
      answer.to = 0;
      AlignedVector<double> own(kLetterHeaderSize, 0.0);
      own[kLetterTask] = task;
      own[kLetterParts] = pushes ? static_cast<double>(gradient_.size()) : 0;
      answer.payload = collective::MakePayload(std::move(own));
      const int64_t begin_us = NowUs();
      holder_.OnMessage(answer);
      for (size_t b = 0; pushes && b < gradient_.size(); ++b) {
        ++answer.bucket;
        answer.payload = gradient_[b];
        holder_.OnMessage(answer);
      }
      longest_us_ = std::max(longest_us_.load(), NowUs() - begin_us);
      if (pushes) ++streams_[member].pushes;
    }
  }

  collective::LinkListener& holder_;
  const std::vector<collective::Payload> gradient_;
  std::vector<StreamOf> streams_;
  std::atomic<int64_t> longest_us_{0};
};

TEST_CASE("fast members do not starve the holder") {
  model::InitArithmetic();
  constexpr int32_t kMembers = 4;
  const training::TrainingPlan plan = MakePlan();
  training::StepMachine<float> machine(plan);
  machine.Begin();
  const MadeUpRows<float> rows(12, 3);
  ComputePool pool(1, model::PrepareComputeThread);

  LeafWork<float> work(plan, {{}, kLeaves, {0, 4}, 8, true, 0}, rows, pool);
  work.RunLeaves(machine.state().parameters.data(), {}, {});
  std::vector<collective::Payload> gradient(work.round_shape().size());
  work.Gradients(
      [&](uint32_t bucket, collective::Payload sum) { gradient[bucket] = std::move(sum); });

  AsyncExchange exchange({{1}, {1}, {1}}, 0, 0, std::vector<std::string>(kMembers, "a member"),
                         1000, RoundBytesMax(plan, sizeof(float), kMembers));
  auto links = std::make_unique<InstantMembers>(exchange, kMembers, std::move(gradient));
  const InstantMembers& members = *links;
  exchange.Start(std::move(links));
  AsyncOptions options;
  options.leaves = kLeaves;
  options.own = {0, 4};
  options.members = kMembers;
  options.report_interval_us = 10'000;
  options.begun_us = NowUs();
  options.max_time_ms = 1000;
  AsyncHooks hooks;
  hooks.now_us = NowUs;
  int64_t reports = 0, told = 0, own_leaves = 0;
  AsyncTrainer<float>* running = nullptr;
  hooks.on_report = [&](const StepReport&) { ++reports; };
  hooks.on_history = [&](int64_t, const spec::HistoryRow&) { ++told; };
  hooks.on_leaf = [&](const training::GradientAction&, int32_t, auto) { ++own_leaves; };
  StepTimes times;
  AsyncTrainer<float> trainer(machine, options, rows, pool, exchange, times, hooks);
  running = &trainer;
  // Aborts a holder that does not end, so that the test fails.
  std::atomic<bool> over{false};
  std::thread guard([&] {
    const int64_t until_us = NowUs() + kGiveUpUs;
    // A poll is enough, because the guard matters only if the trainer hangs.
    while (!over && NowUs() < until_us) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!over) running->Abort(DeadlineExceeded("it did not end"));
  });
  const auto end = trainer.Run();
  over = true;
  guard.join();
  INFO(end.status().ToString());
  REQUIRE(end.ok());
  REQUIRE(end->finish);
  CHECK(end->finish->stopped_because == "time");
  CHECK(NowUs() - options.begun_us < kGiveUpUs);
  CHECK(reports >= 2);
  CHECK(told == static_cast<int64_t>(machine.state().history.size()));
  int64_t fewest = std::numeric_limits<int64_t>::max(), most = 0, all = 0;
  for (int32_t m = 1; m < kMembers; ++m) {
    fewest = std::min(fewest, members.pushes(m));
    most = std::max(most, members.pushes(m));
    all += members.pushes(m);
  }
  INFO(fewest << " to " << most << " pushes, " << machine.state().step << " steps");
  CHECK(fewest * 10 >= most);
  CHECK(own_leaves > 0);
  CHECK(members.longest_us() < 10'000'000);
  // The holder applied all gradients, except stale ones and those in flight at the end.
  CHECK(machine.state().step + machine.state().async.refused >= all - kMembers);
}

}  // namespace
}  // namespace espalier::worker
