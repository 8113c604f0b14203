// Workers that the kernel ended for lack of memory.
#include <catch2/catch.hpp>
#include <string>

#include "src/cluster/coordinator_core.h"
#include "src/cluster/worker_core.h"

namespace espalier::cluster {
namespace {

constexpr const char* kWhat = "was ended by the kernel because memory ran out";

// A coordinator with one job in its profiling pass on the workers of machine-1 and machine-2.
struct Cluster {
  Cluster() {
    CoordinatorCoreOptions options;
    options.incarnation = {1};
    core.emplace(options);
    Attach(1, "machine-1:10");
    Attach(2, "machine-2:10");
    Submission submission;
    submission.client_request_id = "a";
    submission.output = "/out";
    submission.workers_min = 2;
    submission.leaves = 4;
    spec::InputPlan input;
    input.files = {{.path = "/in.csv", .length = 40}};
    input.shards = {{0, 0, 10}, {0, 10, 20}, {0, 20, 30}, {0, 30, 40}};
    submission.input = std::make_shared<const spec::InputPlan>(input);
    core->Step(Submit{{1}, submission}, now_ms);
    REQUIRE(Job().state == spec::JobState::kProfiling);
  }
  CoordinatorActions Attach(uint64_t session, const std::string& name, bool out_of_memory = false) {
    Hello hello;
    hello.version = kVersion;
    hello.arithmetic_id = "a";
    hello.session = "session " + std::to_string(session);
    hello.name = name;
    hello.address = "host:" + std::to_string(session);
    hello.out_of_memory = out_of_memory;
    core->Step(SessionOpened{{session}, "peer"}, now_ms);
    return core->Step(WorkerMessage{{session}, hello}, now_ms);
  }
  void Close(uint64_t session) { core->Step(SessionClosed{{session}, Status::Ok()}, now_ms); }
  spec::JobSnapshot Job() const { return *core->Job({1}); }

  int64_t now_ms = 1000;
  std::optional<CoordinatorCore> core;
};

bool Logs(const CoordinatorActions& actions, const std::string& text) {
  for (const LogLine& line : actions.log) {
    if (line.text.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("a worker back after lack of memory is named at once") {
  Cluster cluster;
  cluster.Close(1);
  REQUIRE(cluster.Job().losses == 0);  // it may return
  const CoordinatorActions actions = cluster.Attach(3, "machine-1:20", true);
  CHECK(Logs(actions, kWhat));
  CHECK(cluster.Job().losses == 1);
  CHECK_THAT(cluster.Job().last_loss,
             Catch::StartsWith("machine-1:10 ") && Catch::Contains(kWhat) &&
                 Catch::Contains("memory_bytes_max") && Catch::Contains("MemoryMax"));
}

TEST_CASE("a loss that was noticed before gets its reason later") {
  Cluster cluster;
  cluster.Close(1);
  for (int i = 0; i < 100 && cluster.Job().losses == 0; ++i) {
    cluster.now_ms += 100;
    cluster.core->Step(WorkerMessage{{2}, Heartbeat{}}, cluster.now_ms);
    cluster.core->Step(Tick{}, cluster.now_ms);
  }
  REQUIRE(cluster.Job().losses == 1);
  REQUIRE(cluster.Job().last_loss.find(kWhat) == std::string::npos);
  const CoordinatorActions actions = cluster.Attach(3, "machine-1:20", true);
  CHECK(Logs(actions, "it was a member of job-1"));
  CHECK(cluster.Job().losses == 1);
  CHECK_THAT(cluster.Job().last_loss, Catch::Contains(kWhat));
}

TEST_CASE("a job that fails for its losses names lack of memory") {
  Cluster cluster;
  uint64_t session = 1;
  while (cluster.Job().state != spec::JobState::kFailed) {
    REQUIRE(session < 20);
    const int64_t losses = cluster.Job().losses;
    cluster.Close(session);
    for (int i = 0; i < 100 && cluster.Job().losses == losses; ++i) {
      cluster.now_ms += 100;
      cluster.core->Step(WorkerMessage{{2}, Heartbeat{}}, cluster.now_ms);
      cluster.core->Step(Tick{}, cluster.now_ms);
    }
    session = session == 1 ? 3 : session + 1;
    cluster.Attach(session, "machine-1:" + std::to_string(session), true);
  }
  CHECK_THAT(cluster.Job().last_loss, !Catch::Contains(kWhat));
  CHECK_THAT(cluster.Job().error.message(), Catch::Contains(" was lost: ") &&
                                                Catch::Contains("; before that, machine-1:") &&
                                                Catch::Contains(kWhat));
}

TEST_CASE("lack of memory on another machine changes no job") {
  Cluster cluster;
  const CoordinatorActions actions = cluster.Attach(3, "machine-3:10", true);
  CHECK(Logs(actions, kWhat));
  CHECK(cluster.Job().losses == 0);
  CHECK(cluster.Job().last_loss.empty());
}

TEST_CASE("a worker reports lack of memory until its first Welcome") {
  WorkerCoreOptions options;
  options.hello.out_of_memory = true;
  WorkerCore worker(options);
  int64_t now_ms = 1000;
  std::vector<bool> reported;
  for (int tries = 0; tries < 100 && reported.size() < 3; ++tries, now_ms += 60'000) {
    for (const WorkerAction& action : worker.Step(WorkerTick{}, now_ms)) {
      const auto* connect = std::get_if<Connect>(&action);
      if (connect == nullptr) continue;
      for (const WorkerAction& sent : worker.Step(LinkUp{connect->attempt}, now_ms)) {
        const auto* send = std::get_if<SendToCoordinator>(&sent);
        const Hello* hello = send == nullptr ? nullptr : std::get_if<Hello>(&send->message);
        if (hello != nullptr) reported.push_back(hello->out_of_memory);
      }
      if (reported.size() == 2) {
        worker.Step(CoordinatorMessage{connect->attempt, Welcome{{1}, {1}, 1000, 5000}}, now_ms);
      }
      worker.Step(LinkDown{connect->attempt, Unavailable("gone")}, now_ms);
    }
  }
  CHECK(reported == std::vector<bool>{true, true, false});
}

}  // namespace
}  // namespace espalier::cluster
