// The daemon over real connections: a client and a worker of rpc/. The test plays the worker.
#include "src/coordinator/daemon.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "src/base/queue.h"
#include "src/coordinator/open_journal.h"
#include "src/rpc/api_client.h"
#include "src/rpc/coordinator_client.h"
#include "tests/testing/eventually.h"

namespace espalier::coordinator {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

struct Heard : rpc::CoordinatorLinkListener {
  Queue<cluster::ToWorker> messages;
  Status why;
  void OnConnected() override {}
  void OnMessage(cluster::ToWorker message) override {
    if (!std::holds_alternative<cluster::Pulse>(message)) messages.Push(std::move(message));
  }
  void OnClosed(Status status) override {
    why = std::move(status);  // read after the queue's end
    messages.Close();
  }

  // Returns the next message, which must be a T.
  template <typename T>
  T Next() {
    auto message = messages.PopFor(seconds(10));
    REQUIRE(message.has_value());
    REQUIRE(std::holds_alternative<T>(*message));
    return std::get<T>(*message);
  }
};

// A journal that keeps nothing and delays the end of a job until the gate opens.
class GatedJournal : public Journal {
 public:
  explicit GatedJournal(std::shared_future<void> gate) : gate_(std::move(gate)) {}
  Status Append(const std::vector<cluster::JournalEntry>& entries) override {
    for (const cluster::JournalEntry& entry : entries) {
      if (std::holds_alternative<cluster::JobEnded>(entry)) gate_.wait();
    }
    return {};
  }
  Status Rewrite(const std::vector<cluster::JournalEntry>&) override { return {}; }
  bool wants_rewrite() const override { return false; }
  bool durable() const override { return true; }
  bool GiveBackReserve() override { return false; }
  Status SetReserveAside() override { return {}; }

 private:
  const std::shared_future<void> gate_;
};

// A daemon in a separate thread. SIGTERM ends it, as in production.
struct Running {
  explicit Running(const std::string& directory = "") : Running(*OpenJournal(directory, {}, 1)) {}
  explicit Running(OpenedJournal journal) {
    config::CoordinatorOptions options;
    options.listen = "127.0.0.1:0";
    auto made = CoordinatorDaemon::Make(options, std::move(journal));
    REQUIRE(made.ok());
    daemon = *std::move(made);
    thread = std::thread([this] { end = daemon->Run(); });
    client = *rpc::ApiClient::Make(daemon->address());
  }
  void Stop() {
    if (!thread.joinable()) return;
    std::raise(SIGTERM);
    thread.join();
  }
  ~Running() { Stop(); }

  std::unique_ptr<CoordinatorDaemon> daemon;
  std::unique_ptr<rpc::ApiClient> client;
  std::thread thread;
  Status end;
};

spec::SubmitRequest Request(const std::string& name) {
  const fs::path directory = fs::path(std::getenv("TEST_TMPDIR")) / "daemon";
  fs::create_directories(directory);
  std::ofstream(directory / "in.csv") << "y,x\n0,1\n1,2\n0,3\n1,4\n";
  spec::SubmitRequest request;
  request.client_request_id = name;
  request.job_yaml = "name: " + name +
                     "\npreset: none\ndata: {train: " + (directory / "in.csv").string() +
                     ", label: y}\noutput: " + (directory / name).string() + "\n";
  return request;
}

// Writes the record of a model's writer, as the job's root would.
void PutRecord(const std::string& name, const std::string& weights_sha256) {
  const fs::path output = fs::path(std::getenv("TEST_TMPDIR")) / "daemon" / name;
  fs::create_directories(output);
  std::ofstream(output / ".writer.json")
      << "{\"job\": 1, \"generation\": 1, \"submitted_ms\": 1, \"submission\": \"" << name
      << "\", \"weights_sha256\": \"" << weights_sha256 << "\"}";
}

cluster::Hello AnyHello() {
  cluster::Hello hello;
  hello.version = kVersion;
  hello.arithmetic_id = "test";
  hello.session = "session";
  hello.name = "played";
  hello.address = "127.0.0.1:1";
  return hello;
}

spec::ShardProfile AnyProfile() {
  spec::ShardProfile s;
  s.train_rows = 4;
  s.train_weight = 4;
  s.storage = spec::StorageType::kUint8;
  s.features = {{.count = 4, .mean = 2.5, .m2 = 5, .min = 1, .max = 4}};
  s.labels = {{"0", 2}, {"1", 2}};
  return s;
}

TEST_CASE("a job runs from its submission to its watcher's last update") {
  Running running;
  const auto job = running.client->Submit(Request("whole"));
  INFO(job.status().ToString());
  REQUIRE(job.ok());
  CHECK(*running.client->Submit(Request("whole")) == *job);
  std::vector<spec::JobUpdate> updates;
  Status watched;
  std::thread watcher([&] {
    watched =
        running.client->Watch(*job, [&](spec::JobUpdate u) { updates.push_back(std::move(u)); });
  });
  Heard heard;
  const auto link = rpc::CoordinatorLink::Open(running.daemon->address(), &heard);
  link->Send(AnyHello());
  heard.Next<cluster::Welcome>();
  const auto profile = heard.Next<cluster::StartProfiling>();
  CHECK(profile.input->shards.size() == 1);
  link->Send(cluster::ProfilePart{
      profile.job, profile.generation, {std::make_shared<const spec::ShardResult>(AnyProfile())}});
  CHECK(heard.Next<cluster::ProfileTaken>().shards == 1);
  const auto training = heard.Next<cluster::StartTraining>();
  CHECK(training.profile->train_rows == 4);
  link->Send(cluster::MemberReady{profile.job, profile.generation, 1});
  cluster::HistoryEntry history{profile.job, profile.generation, {}};
  history.row.step = 3;
  link->Send(history);
  cluster::JobDone done{profile.job, profile.generation, {}};
  done.result.steps = 3;
  done.result.weights_sha256 = "12ab";
  PutRecord("whole", "12ab");
  link->Send(done);
  heard.Next<cluster::Proceed>();
  heard.Next<cluster::Release>();
  watcher.join();
  CHECK(watched.ok());
  REQUIRE(!updates.empty());
  CHECK(updates.back().snapshot.state == spec::JobState::kSucceeded);
  CHECK(updates.back().snapshot.trained()->steps == 3);
  int64_t rows = 0;
  for (const spec::JobUpdate& u : updates) rows += static_cast<int64_t>(u.history.size());
  CHECK(rows == 1);
  CHECK(running.client->Get(*job)->history.size() == 1);
  CHECK(running.client->List()->size() == 1);
  CHECK(running.client->Workers()->size() == 1);
}

TEST_CASE("bad calls get the coordinator's errors") {
  Running running;
  spec::SubmitRequest bad = Request("bad");
  bad.job_yaml += "epoch: 3\n";
  CHECK(running.client->Submit(bad).status().code() == StatusCode::kInvalidArgument);
  CHECK(running.client->Get({9}).status().code() == StatusCode::kNotFound);
  CHECK(running.client->Cancel({9}).code() == StatusCode::kNotFound);
  CHECK(running.client->Watch({9}, [](spec::JobUpdate) {}).code() == StatusCode::kNotFound);
  const auto job = running.client->Submit(Request("cancelled"));
  REQUIRE(job.ok());
  CHECK(running.client->Cancel(*job).ok());
  CHECK(running.client->Cancel(*job).code() == StatusCode::kFailedPrecondition);
}

TEST_CASE("withdrawing an accepted submission cancels its job") {
  Running running;
  const auto job = running.client->Submit(Request("regretted"));
  REQUIRE(job.ok());
  CHECK(running.client->Withdraw("regretted").ok());
  CHECK(running.client->Get(*job)->snapshot.state == spec::JobState::kCancelled);
  CHECK(running.client->Withdraw("never heard of").ok());
}

TEST_CASE("no watcher sees an end that is not in the journal yet") {
  std::promise<void> gate;
  OpenedJournal journal;
  journal.journal = std::make_unique<GatedJournal>(gate.get_future().share());
  journal.incarnation = {1};
  Running running(std::move(journal));
  const auto job = running.client->Submit(Request("ends_late"));
  REQUIRE(job.ok());
  std::atomic<int> begun{0}, ends{0}, done{0};  // Catch's macros are not thread-safe
  const auto watch = [&] {
    bool first = true;
    const Status end = running.client->Watch(*job, [&](const spec::JobUpdate& u) {
      ends += spec::IsFinal(u.snapshot.state);
      begun += std::exchange(first, false);
    });
    done += end.ok();
  };
  std::vector<std::thread> threads;
  threads.emplace_back(watch);
  CHECK(Eventually([&] { return begun > 0; }));
  threads.emplace_back([&] { done += running.client->Cancel(*job).ok(); });
  CHECK(Eventually([&] { return spec::IsFinal(running.client->Get(*job)->snapshot.state); }));
  threads.emplace_back(watch);
  // Several rounds of progress must not report the end either. No event marks the end of a round.
  for (int i = 0; i < 30; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(ends == 0);
  }
  gate.set_value();
  for (std::thread& t : threads) t.join();
  CHECK(done == 3);
  CHECK(ends == 2);
}

TEST_CASE("a daemon that cannot listen fails before the journal") {
  Running running;
  config::CoordinatorOptions options;
  options.listen = running.daemon->address();
  CHECK(CoordinatorDaemon::Check(options).code() == StatusCode::kAlreadyExists);
  options.listen = "127.0.0.1:0";
  CHECK(CoordinatorDaemon::Check(options).ok());
  options.tls = {.ca = "/no/ca", .certificate = "/no/certificate", .key = "/no/key"};
  CHECK_FALSE(CoordinatorDaemon::Check(options).ok());
}

TEST_CASE("SIGTERM releases workers to return and ends watches") {
  Running running;
  Heard heard;
  const auto link = rpc::CoordinatorLink::Open(running.daemon->address(), &heard);
  link->Send(AnyHello());
  heard.Next<cluster::Welcome>();
  const auto job = running.client->Submit(Request("interrupted"));
  REQUIRE(job.ok());
  heard.Next<cluster::StartProfiling>();
  spec::JobState last = spec::JobState::kQueued;
  Queue<int> first;
  Status watched;
  std::thread watcher([&] {
    watched = running.client->Watch(*job, [&](spec::JobUpdate u) {
      last = u.snapshot.state;
      first.Push(1);
    });
  });
  REQUIRE(first.PopFor(seconds(10)).has_value());
  running.Stop();  // returns long before the limit of a test case
  watcher.join();
  CHECK(watched.ok());
  CHECK(running.end.ok());
  CHECK(last == spec::JobState::kCancelled);
  heard.Next<cluster::Release>();
  CHECK_FALSE(heard.messages.PopFor(seconds(10)).has_value());  // no Dismiss
  CHECK(heard.why.code() == StatusCode::kUnavailable);
  CHECK_THAT(heard.why.ToString(), Catch::Contains("the coordinator was stopped (SIGTERM)"));
}

TEST_CASE("with a state directory jobs survive SIGTERM") {
  const std::string directory = std::string(std::getenv("TEST_TMPDIR")) + "/kept";
  fs::remove_all(directory);
  JobId waiting, cancelled;
  {
    Running running(directory);
    waiting = *running.client->Submit(Request("waiting"));
    cancelled = *running.client->Submit(Request("cancelled"));
    REQUIRE(running.client->Cancel(cancelled).ok());
    running.Stop();
    CHECK(running.end.ok());
  }
  Running running(directory);
  for (int i = 0; i < 2; ++i) {
    CHECK(*running.client->Submit(Request("waiting")) == waiting);
    CHECK(*running.client->Submit(Request("cancelled")) == cancelled);
  }
  CHECK(running.client->Get(waiting)->snapshot.state == spec::JobState::kQueued);
  CHECK(running.client->Get(cancelled)->snapshot.state == spec::JobState::kCancelled);
  CHECK(running.client->Submit(Request("third"))->value > cancelled.value);
  Heard heard;
  const auto link = rpc::CoordinatorLink::Open(running.daemon->address(), &heard);
  link->Send(AnyHello());
  heard.Next<cluster::Welcome>();
  CHECK(heard.Next<cluster::StartProfiling>().job == waiting);
}

}  // namespace
}  // namespace espalier::coordinator
