#include "tests/sim/worker.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

constexpr int64_t kWorkerTickUs = 200'000;
constexpr size_t kRemembered = 24;

cluster::WorkerCoreOptions OptionsOf(int id, int host, uint64_t seed) {
  cluster::WorkerCoreOptions o;
  o.hello.version = kVersion;
  o.hello.session = "process " + std::to_string(id);
  o.hello.name = "host-" + std::to_string(host) + ":" + std::to_string(id);
  o.hello.address = "w" + std::to_string(id);
  o.hello.arithmetic_id = "a";
  o.seed = seed + static_cast<uint64_t>(id);
  return o;
}

template <typename T>
void Remember(std::deque<T>& kept, const T& message) {
  kept.push_back(message);
  if (kept.size() > kRemembered) kept.pop_front();
}

template <typename M>
constexpr bool kIsReport =
    std::is_same_v<M, cluster::MemberReady> || std::is_same_v<M, cluster::LinkBroken> ||
    std::is_same_v<M, cluster::JobDone> || std::is_same_v<M, cluster::JobFailed> ||
    std::is_same_v<M, cluster::ProfilePart>;

}  // namespace

SimWorker::SimWorker(World& world, int id, int host)
    : world_(world),
      id_(id),
      host_(host),
      born_us_(world.queue.now_us()),
      core_(OptionsOf(id, host, world.options.seed)) {
  world_.queue.After(world_.dice.Below(kWorkerTickUs), [this] { Tick(); });
}

bool SimWorker::disturbed() const { return world_.queue.now_us() - disturbed_us_ < 30'000'000; }

bool SimWorker::young() const { return world_.queue.now_us() - born_us_ < 10'000'000; }

bool SimWorker::in_recovery() const {
  return runner_ != nullptr && at().generation.value > 1 && runner_->job() == at().job;
}

void SimWorker::DoAlways(std::function<void()> f) {
  if (alive_ && paused_) {
    backlog_.push_back(std::move(f));
  } else {
    f();
  }
}

void SimWorker::Do(std::function<void()> f) {
  if (alive_) DoAlways(std::move(f));
}

void SimWorker::After(int64_t us, std::function<void()> f) {
  world_.queue.After(us, [this, f = std::move(f)] { Do(f); });
}

int64_t SimWorker::ComputeUs(int32_t leaves, int32_t of) {
  return std::max<int64_t>(1, 2 * slow_ * world_.ComputeUs() * leaves / of);
}

std::vector<std::pair<int64_t, uint32_t>> SimWorker::BucketTimes(size_t buckets, int64_t us) {
  const bool reversed = world_.dice.Once(4);
  std::vector<std::pair<int64_t, uint32_t>> times;
  for (size_t i = 0; i < buckets; ++i) {
    const size_t bucket = reversed ? buckets - 1 - i : i;
    times.emplace_back(us * static_cast<int64_t>(i + 1), static_cast<uint32_t>(bucket));
  }
  return times;
}

bool SimWorker::Boundary(bool switches) {
  if (!alive_) return true;
  const bool strikes = world_.Strikes(Fault::kCrashAtBoundary) ||
                       (switches && world_.Strikes(Fault::kRootLostAtSwitch));
  if (!strikes) return false;
  Crash(true);
  return true;
}

void SimWorker::Tick() {
  if (!alive_) return;
  world_.Idle();
  if (!paused_) {
    Handle(cluster::WorkerTick{runner_ ? runner_->step() : 0, runner_ && runner_->over()});
  }
  world_.queue.After(kWorkerTickUs, [this] { Tick(); });
}

void SimWorker::Handle(const cluster::WorkerEvent& event) {
  if (!alive_) return;
  const int64_t now_ms = world_.queue.now_us() / 1000 + ahead_ms_ + 1;
  cluster::WorkerEvent heard = event;
  if (auto* message = std::get_if<cluster::CoordinatorMessage>(&heard)) {
    HeedIncarnation(message->message);
    Remember(orders_, message->message);
    if (const auto* training = std::get_if<cluster::StartTraining>(&message->message)) {
      const cluster::JobPoint point{training->job, training->generation};
      if (std::exchange(trained_, point) == point) world_.fired(Fault::kRepeatedOrder);
    }
    if (world_.bugs(Bug::kObeyTwice)) ObeyAgain(message->message);
  }
  for (cluster::WorkerAction& action : core_.Step(heard, now_ms)) {
    if (Boundary()) return;
    std::visit([this](const auto& a) { Perform(a); }, action);
  }
}

void SimWorker::HeedIncarnation(cluster::ToWorker& order) {
  std::visit(
      [this](auto& m) {
        if constexpr (requires { m.incarnation; }) {
          incarnation_ = std::max(incarnation_, m.incarnation);
          if (world_.bugs(Bug::kIgnoreIncarnation)) m.incarnation = incarnation_;
        }
      },
      order);
}

void SimWorker::ObeyAgain(const cluster::ToWorker& order) {
  const auto* training = std::get_if<cluster::StartTraining>(&order);
  if (training == nullptr || runner_ == nullptr || runner_->member() == nullptr) return;
  if (cluster::JobPoint{training->job, training->generation} != at()) return;
  for (size_t i = 0; i < training->members.size(); ++i) {
    if (&world_.AtAddress(training->members[i].address) == this) {
      runner_->Train({*training, static_cast<int32_t>(i)});
    }
  }
}

bool SimWorker::InjectOrder(cluster::ToWorker order) {
  if (!stream_ || !stream_->worker_open || !core_.attached()) return false;
  const int64_t now_ms = world_.queue.now_us() / 1000 + ahead_ms_ + 1;
  HeedIncarnation(order);
  for (const cluster::WorkerAction& action :
       core_.Step(cluster::CoordinatorMessage{stream_->attempt, order}, now_ms)) {
    if (!std::holds_alternative<cluster::WorkerLog>(action)) {
      world_.checks.Fail("a stale order was obeyed by worker " + std::to_string(id_) + ": order " +
                         std::to_string(order.index()) + ", action " +
                         std::to_string(action.index()));
    }
  }
  return true;
}

// ---- actions ---------------------------------------------------------------------------------

void SimWorker::Perform(const cluster::Connect& action) {
  if (stream_) world_.streams.CloseByWorker(stream_);
  stream_ = world_.streams.Open(*this, action.attempt);
}

void SimWorker::Perform(const cluster::Disconnect&) {
  if (stream_) world_.streams.CloseByWorker(stream_);
}

void SimWorker::Perform(const cluster::SendToCoordinator& action) {
  if (!stream_) return;
  const bool again = std::visit(
      [this, &action](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        if constexpr (kIsReport<M>) {
          if constexpr (!std::is_same_v<M, cluster::ProfilePart>) Remember(told_, action.message);
          size_t kind = action.message.index();
          if constexpr (std::is_same_v<M, cluster::ProfilePart>) {
            kind += 100 * static_cast<size_t>(spec::ShardOf(*m.shards.front()) + 1);
          }
          return !told_kinds_.insert({kind, m.job.value, m.generation.value}).second;
        }
        return false;
      },
      action.message);
  if (again) world_.fired(Fault::kRepeatedReport);
  if (again && world_.bugs(Bug::kForgetReports)) return;
  world_.streams.Up(stream_, action.message);
}

void SimWorker::Perform(const cluster::RunProfiling& action) {
  world_.checks.Works(*this, runner_ ? runner_->job() : JobId{}, action.order.job);
  if (runner_ != nullptr && runner_->job() == action.order.job)
    return runner_->Profile(action.order);
  runners_.push_back(std::make_unique<SimRunner>(world_, *this, action.order));
  runner_ = runners_.back().get();
}

void SimWorker::Perform(const cluster::RunTraining& action) {
  world_.checks.Ordered(*this, action.order);
  if (runner_) runner_->Train({action.order, action.self});
}

void SimWorker::Perform(const cluster::RunPreparation& action) {
  world_.checks.Ordered(*this, action.order);
  if (runner_) runner_->Prepare({action.order, action.self});
}

void SimWorker::Perform(const cluster::RunSwitch& action) {
  if (runner_) runner_->SwitchTo(action.next);
}

void SimWorker::Perform(const cluster::RunKeep& action) {
  if (runner_) runner_->Keep(action.at, action.reverts);
}

void SimWorker::Perform(const cluster::RunProceed& action) {
  if (runner_) runner_->Proceed(action.order);
}

void SimWorker::Perform(const cluster::AbortJob&) {
  if (runner_ == nullptr || world_.bugs(Bug::kKeepOldJob)) return;
  runner_->Abort();
  runner_ = nullptr;
}

void SimWorker::Perform(const cluster::Exit& action) {
  world_.Say([&] { return "worker " + std::to_string(id_) + " exits: " + action.why.ToString(); });
  Crash(true);
}

void SimWorker::Perform(const cluster::WorkerLog& action) {
  world_.Say([&] { return "worker " + std::to_string(id_) + ": " + action.text; });
}

// ---- the process -----------------------------------------------------------------------------

void SimWorker::Crash(bool noticed) {
  if (!alive_) return;
  world_.Say([&] { return "worker " + std::to_string(id_) + " dies"; });
  if (in_recovery() && runner_->member() && Recovers(runner_->member()->core())) {
    world_.fired(Fault::kLossDuringRecovery);
  }
  if (joining()) {
    world_.fired(Fault::kJoinerLost);
  } else if (runner_ != nullptr && runner_->member() && runner_->member()->core().staging()) {
    world_.fired(Fault::kPreparerLost);
  } else if (leaving_ && at().job) {
    world_.fired(Fault::kLeaverLost);
  }
  alive_ = false;
  backlog_.clear();
  for (const auto& runner : runners_) runner->Destroy();
  runner_ = nullptr;
  world_.peers.Died(*this, noticed);
  if (stream_ && stream_->worker_open) {
    world_.streams.Reset(stream_, -1, noticed ? world_.dice.Below(20'000) : -1);
    stream_->worker_open = false;
  }
  world_.ReplaceLater(host_);
}

void SimWorker::Terminate() {
  leaving_ = true;
  Handle(espalier::cluster::Terminate{"SIGTERM"});
}

void SimWorker::Pause() {
  if (!alive_ || paused_) return;
  world_.Say([&] { return "worker " + std::to_string(id_) + " stands still"; });
  paused_ = true;
  disturbed_us_ = world_.queue.now_us();
  world_.peers.WatchPaused(*this);
}

Status SimWorker::Room() {
  if (!disk_.full) return {};
  world_.fired(Fault::kFullDisk);
  return ResourceExhausted("the disk of the worker is full");
}

void SimWorker::Resume() {
  if (!paused_) return;
  world_.Say([&] { return "worker " + std::to_string(id_) + " goes on"; });
  paused_ = false;
  disturbed_us_ = world_.queue.now_us();
  while (alive_ && !paused_ && !backlog_.empty()) {
    const auto next = std::move(backlog_.front());
    backlog_.pop_front();
    next();
  }
}

}  // namespace espalier::sim
