#include "tests/sim/world.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tests/sim/worker.h"

namespace espalier::sim {
namespace {

constexpr int64_t kFaultyUsMax = 900'000'000;  // simulated time under faults
constexpr int64_t kHealedUsMax = 240'000'000;  // simulated time until all jobs have ended
constexpr int64_t kPollUs = 500'000;
constexpr int64_t kQuietUs = 15'000'000;  // simulated time until no worker has a job

}  // namespace

std::string Replay(const WorldOptions& options) {
  std::string command = "bazel run //tests/sim:sim -- --seed " + std::to_string(options.seed) +
                        " --events " + std::to_string(options.events);
  for (size_t bug = 0; bug < kBugs; ++bug) {
    if (options.bugs.test(bug)) command += " --bug " + std::to_string(bug);
  }
  if (options.faults) {
    std::string names;
    for (size_t fault = 0; fault < kFaults; ++fault) {
      if (!options.faults->test(fault)) continue;
      names += (names.empty() ? "" : ",") + std::string(kFaultNames[fault]);
    }
    command += " --faults " + names;
  }
  if (!options.pause_before.empty()) command += " --pause-before " + options.pause_before;
  return command + " --trace";
}

World::World(const WorldOptions& o) : options(o), dice(o.seed) {
  ChooseFaults();
  StartCoordinator();
  const int64_t workers = dice.Between(2, 6);
  for (int64_t i = 0; i < workers; ++i) StartWorker(++hosts_);
}

// Drops events and messages in transit first, because they refer to each other and to their pipes.
World::~World() {
  queue.Clear();
  net.Forget();
}

ToyJob& World::ToyOf(const std::string& job_yaml) {
  return ToyJob::Of(std::atoi(job_yaml.c_str() + 4));
}

std::string World::OutputOf(const std::string& job_yaml) {
  return job_yaml.substr(job_yaml.rfind(' ') + 1);
}

SimWorker& World::AtAddress(const std::string& address) {
  return *workers_[static_cast<size_t>(std::atoi(address.c_str() + 1)) - 1];
}

void World::StartWorker(int host) {
  const int id = static_cast<int>(workers_.size()) + 1;
  workers_.push_back(std::make_unique<SimWorker>(*this, id, host));
  Say([&] { return "worker " + std::to_string(id) + " starts on host " + std::to_string(host); });
}

void World::StartCoordinator() {
  coordinators_.push_back(std::make_unique<SimCoordinator>(*this));
  Say([&] {
    return "coordinator of incarnation " + std::to_string(coordinator()->incarnation().value) +
           " starts";
  });
}

void World::ReplaceLater(int host) {
  if (!replaces_) return;
  const int64_t us = dice.Once(5) ? 20'000'000 : dice.Below(4'000'000);
  queue.After(us, [this, host] { StartWorker(host); });
}

void World::RestartCoordinatorLater() {
  queue.After(dice.Below(dice.Once(4) ? 15'000'000 : 1'000'000), [this] {
    if (!coordinator()->alive()) StartCoordinator();
  });
}

SimCoordinator* World::FindCoordinator() {
  if (coordinators_.size() > 1 && dice.Once(3)) {
    SimCoordinator* old = coordinators_[coordinators_.size() - 2].get();
    if (old->alive()) return old;  // plays a stale address
  }
  return coordinator();
}

// ---- a run -----------------------------------------------------------------------------------

bool World::Step() {
  if (queue.empty() || checks.failed()) return false;
  const int64_t ticks = ticks_;
  queue.RunOne();
  tick_ = ticks_ != ticks;
  if (!tick_) ++events_;
  return !checks.failed();
}

void World::PollLater() {
  queue.After(kPollUs, [this] {
    Idle();
    client.Poll();
    PollLater();
  });
}

Outcome World::Run() {
  PollLater();
  RunUntilHealed();
  if (!checks.failed()) RunUntilDone();
  if (!checks.failed()) CheckEnd();
  return {checks.failure(), fired, events_, ticks_, client.submitted(), client.ended_by_a_limit()};
}

Outcome World::RunQuietly(int64_t workers, int kind, int64_t members) {
  faulty_ = false;
  pace_ = 1;
  PollLater();
  while (static_cast<int64_t>(workers_.size()) < workers) StartWorker(++hosts_);
  while (static_cast<int64_t>(journal.workers.size()) < workers && Step()) {
  }
  client.Submit(kind, members, members);
  const int64_t until_us = queue.now_us() + kHealedUsMax;
  while (client.open() > 0 && queue.now_us() < until_us && Step()) {
  }
  const std::string wrong = checks.failed() ? checks.failure() : client.Verdict();
  return {wrong, fired, events_, ticks_, client.submitted(), client.ended_by_a_limit()};
}

void World::BeQuiet(int64_t workers, int64_t pace, int64_t rebalance_ms) {
  faulty_ = false;
  even_ = true;
  replaces_ = false;
  pace_ = pace;
  rebalance_ms_ = rebalance_ms;
  workers_.clear();
  queue.Clear();
  hosts_ = 0;
  StartCoordinator();
  coordinators_.erase(coordinators_.begin());
  for (int64_t i = 0; i < workers; ++i) StartWorker(++hosts_);
  PollLater();
}

bool World::RunFor(int64_t us) {
  const int64_t until_us = queue.now_us() + us;
  queue.At(until_us, [] {});
  while (queue.now_us() < until_us && Step()) {
  }
  return !checks.failed();
}

void World::RunUntilHealed() {
  while (events_ < options.events && queue.now_us() < kFaultyUsMax) {
    if (corrupting_ && client.open() < 1) client.Submit(dice.Once(3) ? 2 : 3, 1, 0);
    if (client.open() < 1 || (client.open() < 2 && !corrupting_ && dice.Once(400))) {
      const int64_t most = dice.Between(1, 6);
      client.Submit(static_cast<int>(dice.Below(ToyJob::kKinds)),
                    dice.Between(1, std::min<int64_t>(most, 3)), dice.Once(3) ? 0 : most + 2,
                    dice.Once(3));
    }
    if (!Step()) return;
    MaybeStrike();
  }
}

void World::Heal() {
  Say([] { return std::string("all heals"); });
  faulty_ = false;
  pace_ = std::min<int64_t>(pace_, 4);
  journal.full = false;
  net.FreeAll();
  for (size_t i = 0; i + 1 < coordinators_.size(); ++i) coordinators_[i]->Crash();
  coordinator()->Resume();
  if (!coordinator()->alive()) StartCoordinator();
  for (size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->SlowDown(1);
    workers_[i]->disk() = {};
    workers_[i]->Resume();
  }
  for (int i = 0; i < 3; ++i) StartWorker(++hosts_);
}

void World::RunUntilDone() {
  Heal();
  const int64_t until_us = queue.now_us() + kHealedUsMax;
  while (client.open() > 0 && queue.now_us() < until_us) {
    if (!Step()) return;
  }
}

void World::CheckEnd() {
  if (const std::string wrong = client.Verdict(); !wrong.empty()) return checks.Fail(wrong);
  const int64_t until_us = queue.now_us() + kQuietUs;
  while (queue.now_us() < until_us) {
    if (!Step()) return;
  }
  for (const auto& worker : workers_) {
    if (worker->alive() && !worker->young() && (!worker->attached() || worker->at().job)) {
      checks.Fail("worker " + std::to_string(worker->id()) +
                  " is not attached, or works on, after all jobs have ended");
    }
  }
}

}  // namespace espalier::sim
