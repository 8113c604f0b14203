// Coordinator's server, worker's link and the API client against each other, over loopback.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "proto/espalier/v1/api.grpc.pb.h"
#include "proto/espalier/v1/cluster.grpc.pb.h"
#include "src/base/queue.h"
#include "src/base/version.h"
#include "src/rpc/api_client.h"
#include "src/rpc/coordinator_client.h"
#include "src/rpc/coordinator_server.h"
#include "src/rpc/transport.h"
#include "tests/rpc/messages.h"

namespace espalier {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

// Records what workers do; answers clients by what the test put in.
class FakeHandler : public CoordinatorHandler {
 public:
  struct Event {
    SessionId session;
    std::string what;  // "opened", "closed" or "message"
    FromWorker message;
    Status why;
  };
  void OnWorkerOpened(SessionId session, std::string) override {
    events.Push({session, "opened", {}, {}});
  }
  void OnWorkerMessage(SessionId session, FromWorker message, MessageHold hold) override {
    if (keep_holds) holds.Push(std::move(hold));
    events.Push({session, "message", std::move(message), {}});
  }
  void OnWorkerClosed(SessionId session, Status why) override {
    events.Push({session, "closed", {}, std::move(why)});
  }
  void OnSubmit(SubmitRequest request, CallerGone gone, Done<JobId> done) override {
    if (request.job_yaml == "drop") return;
    if (request.job_yaml == "wait") {
      std::lock_guard lock(mutex);
      never.push_back(std::move(done));
      waiting.Push(std::move(gone));
      return;
    }
    if (request.job_yaml == "bad") return done(SampleError());
    done(JobId{7});
    done(JobId{8});  // only the first counts
  }
  void OnWithdraw(std::string client_request_id, Done<JobId> done) override {
    withdrawn.Push(std::move(client_request_id));
    done(JobId{});
  }
  void OnDrain(WorkerId worker, Done<WorkerId> done) override { done(worker); }
  void OnCancel(JobId job, Done<JobId> done) override {
    if (job.value == 404) return done(NotFound("no such job: job-404"));
    if (job.value == 1) {
      std::lock_guard lock(mutex);
      never.push_back(std::move(done));
      return;
    }
    done(job);
  }
  void OnList(Done<std::vector<JobSnapshot>> done) override {
    done(std::vector<JobSnapshot>{SampleSnapshot()});
  }
  void OnGet(JobId, Done<JobUpdate> done) override { done(SampleUpdate()); }
  void OnWorkers(Done<std::vector<WorkerSnapshot>> done) override {
    std::thread([done] { done(std::vector<WorkerSnapshot>{SampleWorker()}); }).detach();
  }
  void OnWatch(JobId, std::shared_ptr<WatchSink> sink) override { sinks.Push(std::move(sink)); }

  Event Next() {
    auto event = events.PopFor(kPatience);
    REQUIRE(event.has_value());
    return *std::move(event);
  }
  std::shared_ptr<WatchSink> NextSink() {
    auto sink = sinks.PopFor(kPatience);
    REQUIRE(sink.has_value());
    return *std::move(sink);
  }

  Queue<Event> events;
  Queue<std::shared_ptr<WatchSink>> sinks;
  std::atomic<bool> keep_holds = false;
  Queue<MessageHold> holds;
  Queue<CallerGone> waiting;  // of submissions
  Queue<std::string> withdrawn;
  std::mutex mutex;  // guards never
  std::vector<Done<JobId>> never;
};

struct Coordinator {
  explicit Coordinator(const CoordinatorServerLimits& limits = {}) {
    auto made = CoordinatorServer::Make("localhost:0", &handler, limits);
    REQUIRE(made.ok());
    server = std::move(made).value();
  }
  std::unique_ptr<ApiClient> Client(const ApiClientOptions& options = {}) {
    auto client = ApiClient::Make(server->address(), options);
    REQUIRE(client.ok());
    return std::move(client).value();
  }
  FakeHandler handler;
  std::unique_ptr<CoordinatorServer> server;
};

class FakeWorker : public CoordinatorLinkListener {
 public:
  void OnConnected() override { connected.Push(true); }
  void OnMessage(ToWorker message) override { messages.Push(std::move(message)); }
  void OnClosed(Status why) override { closed.Push(std::move(why)); }

  Status Closed() {
    auto why = closed.PopFor(kPatience);
    REQUIRE(why.has_value());
    return *std::move(why);
  }
  Queue<bool> connected;
  Queue<ToWorker> messages;
  Queue<Status> closed;
};

TEST_CASE("a worker and its coordinator exchange every message in order") {
  Coordinator c;
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c.server->address(), &w);
  for (const FromWorker& m : SamplesFromWorker()) link->Send(m);
  const FakeHandler::Event opened = c.handler.Next();
  CHECK(opened.what == "opened");
  REQUIRE(w.connected.PopFor(kPatience).has_value());
  for (const FromWorker& m : SamplesFromWorker()) {
    const FakeHandler::Event event = c.handler.Next();
    CHECK(event.session == opened.session);
    CHECK(event.what == "message");
    CHECK(event.message.index() == m.index());
  }
  for (const ToWorker& m : SamplesToWorker()) c.server->Send(opened.session, m);
  for (const ToWorker& m : SamplesToWorker()) {
    auto got = w.messages.PopFor(kPatience);
    REQUIRE(got.has_value());
    CHECK(got->index() == m.index());
  }
}

TEST_CASE("a session that is closed sends what was queued first and tells the worker why") {
  Coordinator c;
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c.server->address(), &w);
  const SessionId session = c.handler.Next().session;
  c.server->Send(session, Refused{FailedPrecondition("other version")});
  c.server->Close(session, SampleError());
  CHECK(w.messages.PopFor(kPatience).has_value());
  const Status why = w.Closed();
  CHECK(why.ToString() == SampleError().ToString());
  CHECK(why.position() == SampleError().position());
  CHECK(c.handler.Next().what == "closed");
  c.server->Send(session, Dismiss{"too late"});  // nothing happens
}

TEST_CASE("a worker that closes in order is heard to the end") {
  Coordinator c;
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c.server->address(), &w);
  link->Send(Goodbye{"SIGTERM"});
  link->CloseAfterSending();
  CHECK(c.handler.Next().what == "opened");
  CHECK(c.handler.Next().what == "message");
  const FakeHandler::Event closed = c.handler.Next();
  CHECK(closed.what == "closed");
  CHECK(closed.why.ok());
  CHECK(w.Closed().ok());
}

TEST_CASE("a worker that vanishes is noticed at once, and a new one has a new session") {
  Coordinator c;
  FakeWorker w;
  auto link = CoordinatorLink::Open(c.server->address(), &w);
  const SessionId first = c.handler.Next().session;
  link.reset();
  const FakeHandler::Event closed = c.handler.Next();
  CHECK(closed.session == first);
  CHECK(closed.why.code() == StatusCode::kUnavailable);
  link = CoordinatorLink::Open(c.server->address(), &w);
  CHECK(c.handler.Next().session != first);
}

TEST_CASE("a coordinator that ends tells its workers") {
  auto c = std::make_unique<Coordinator>();
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c->server->address(), &w);
  CHECK(c->handler.Next().what == "opened");
  c->server->Shutdown(1'000);
  CHECK(w.Closed().code() == StatusCode::kUnavailable);
  CHECK(c->handler.Next().what == "closed");
  link->Send(Goodbye{"too late"});
}

TEST_CASE("a coordinator that is not there is told at once, with its address") {
  FakeWorker w;
  const auto link = CoordinatorLink::Open("127.0.0.1:1", &w);
  const Status why = w.Closed();
  CHECK(why.code() == StatusCode::kUnavailable);
  CHECK_THAT(why.ToString(), Catch::Contains("coordinator at 127.0.0.1:1 cannot be reached"));
}

// A port that takes connections and says nothing.
struct SilentListener {
  SilentListener() {
    fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
    REQUIRE(listen(fd, 8) == 0);
    socklen_t size = sizeof a;
    getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size);
    address = "127.0.0.1:" + std::to_string(ntohs(a.sin_port));
  }
  ~SilentListener() { close(fd); }
  int fd = -1;
  std::string address;
};

TEST_CASE("a coordinator that does not answer ends the attempt at its deadline") {
  SilentListener silent;
  FakeWorker w;
  CoordinatorLinkOptions options;
  options.connect_timeout_ms = 300;
  const auto link = CoordinatorLink::Open(silent.address, &w, options);
  const StatusCode code = w.Closed().code();
  CHECK((code == StatusCode::kDeadlineExceeded || code == StatusCode::kUnavailable));
  ApiClientOptions api;
  api.connect_timeout_ms = 300;
  api.call_timeout_ms = 600;
  auto client = ApiClient::Make(silent.address, api);
  REQUIRE(client.ok());
  CHECK(!(*client)->List().ok());
}

TEST_CASE("a worker that sends something malformed is closed with what was found") {
  Coordinator c;
  auto stub = v1::Coordinator::NewStub(
      rpc::MakeChannel(c.server->address(), {1 << 20, 10'000, 5'000}).channel);
  grpc::ClientContext context;
  auto stream = stub->Attach(&context);
  v1::FromWorker bad;
  bad.mutable_heartbeat()->set_step(-1);
  REQUIRE(stream->Write(bad));
  v1::ToWorker in;
  while (stream->Read(&in)) {
  }
  const Status status = rpc::FromGrpc(stream->Finish(), context);
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK(status.ToString() == "malformed Heartbeat: step is -1, expected 0 or more");
  CHECK(c.handler.Next().what == "opened");
  CHECK(c.handler.Next().why.code() == StatusCode::kInvalidArgument);
}

TEST_CASE("a worker that does not read is closed when its queue overflows") {
  CoordinatorServerLimits limits;
  limits.session_queue_bytes_max = 1 << 20;
  Coordinator c(limits);
  auto stub = v1::Coordinator::NewStub(
      rpc::MakeChannel(c.server->address(), {1 << 26, 10'000, 5'000}).channel);
  grpc::ClientContext context;
  auto stream = stub->Attach(&context);  // never reads
  const SessionId session = c.handler.Next().session;
  for (int i = 0; i < 200; ++i) c.server->Send(session, Dismiss{std::string(60'000, 'x')});
  const FakeHandler::Event closed = c.handler.Next();
  CHECK(closed.why.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(closed.why.ToString(), Catch::Contains("the worker does not read"));
}

TEST_CASE("a worker is read no further than its messages are dealt with") {
  CoordinatorServerLimits limits;
  limits.session_unhandled_messages_max = 5;
  Coordinator c(limits);
  c.handler.keep_holds = true;
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c.server->address(), &w);
  CHECK(c.handler.Next().what == "opened");
  for (int i = 1; i <= 40; ++i) link->Send(Heartbeat{{}, {}, i});
  int64_t seen = 0;
  const auto next = [&] {
    const FakeHandler::Event event = c.handler.Next();
    CHECK(std::get<Heartbeat>(event.message).step == ++seen);
  };
  for (int i = 0; i < 5; ++i) next();
  CHECK_FALSE(c.handler.events.PopFor(std::chrono::milliseconds(100)).has_value());
  while (seen < 40) {
    REQUIRE(c.handler.holds.PopFor(kPatience).has_value());  // one is dealt with: one more comes
    next();
  }
  link->Send(Goodbye{"SIGTERM"});
  c.handler.keep_holds = false;
  while (c.handler.holds.PopFor(std::chrono::milliseconds(0))) {
  }
  CHECK(std::holds_alternative<Goodbye>(c.handler.Next().message));
}

TEST_CASE("many bytes that are not dealt with stop the reading too, and an end is still noticed") {
  CoordinatorServerLimits limits;
  limits.session_unhandled_bytes_max = 1000;
  Coordinator c(limits);
  c.handler.keep_holds = true;
  FakeWorker w;
  auto link = CoordinatorLink::Open(c.server->address(), &w);
  CHECK(c.handler.Next().what == "opened");
  for (int i = 0; i < 9; ++i) link->Send(Goodbye{std::string(600, 'x')});
  CHECK(c.handler.Next().what == "message");
  CHECK(c.handler.Next().what == "message");
  CHECK_FALSE(c.handler.events.PopFor(std::chrono::milliseconds(100)).has_value());
  link.reset();
  CHECK(c.handler.Next().what == "closed");
}

TEST_CASE("a message above the limit is not sent and named with both sizes") {
  CoordinatorServerLimits limits;
  limits.message_bytes_max = 10'000;
  Coordinator c(limits);
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c.server->address(), &w);
  c.server->Send(c.handler.Next().session, Dismiss{std::string(20'000, 'x')});
  const Status why = w.Closed();
  CHECK(why.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(why.ToString(), Catch::Contains("expected at most 10000 bytes"));
}

TEST_CASE("every call of the public service brings back what the coordinator says") {
  Coordinator c;
  const auto client = c.Client();
  const auto job = client->Submit({"", "request", "good"});
  REQUIRE(job.ok());
  CHECK(job.value() == JobId{7});
  const auto jobs = client->List();
  REQUIRE(jobs.ok());
  CHECK(jobs->at(0).error.ToString() == SampleError().ToString());
  const auto update = client->Get({7});
  REQUIRE(update.ok());
  CHECK(update->history.size() == 2);
  const auto workers = client->Workers();
  REQUIRE(workers.ok());
  CHECK(workers->at(0).name == "a");
  CHECK(client->Cancel({7}).ok());
  CHECK(client->Cancel({404}).code() == StatusCode::kNotFound);
  CHECK(client->Cancel({0}).code() == StatusCode::kInvalidArgument);
}

TEST_CASE("a client gets the coordinator's error whole: code, causes and position") {
  Coordinator c;
  const auto job = c.Client()->Submit({"", "request", "bad"});
  REQUIRE(!job.ok());
  CHECK(job.status().code() == StatusCode::kBadInput);
  CHECK(job.status().ToString() == SampleError().ToString());
  CHECK(job.status().position() == SampleError().position());
}

TEST_CASE("an answer that is dropped, and one that never comes, end as errors") {
  Coordinator c;
  ApiClientOptions options;
  options.call_timeout_ms = 300;
  const auto client = c.Client(options);
  CHECK(client->Submit({"", "request", "drop"}).status().code() == StatusCode::kUnavailable);
  const Status late = client->Cancel({1});
  CHECK(late.code() == StatusCode::kDeadlineExceeded);
  CHECK_THAT(late.message(), Catch::Contains("did not answer within 300 ms"));
}

TEST_CASE("a submission that is stopped ends at once, its handler sees it, and it is withdrawn") {
  Coordinator c;
  const auto client = c.Client();
  CallerGone gone;
  bool known = true;
  const auto job = client->Submit({"", "request", "wait"}, &known, [&] {
    if (!gone) gone = *c.handler.waiting.PopFor(kPatience);
    return !gone();
  });
  CHECK(job.status().code() == StatusCode::kCancelled);
  CHECK_FALSE(known);
  while (!gone()) std::this_thread::yield();
  CHECK(client->Withdraw("request").ok());
  CHECK(*c.handler.withdrawn.PopFor(kPatience) == "request");
  CHECK(client->Withdraw("").code() == StatusCode::kInvalidArgument);
}

TEST_CASE("a submission that is not answered in time ends as unknown and is seen to have ended") {
  Coordinator c;
  ApiClientOptions options;
  options.submit_timeout_ms = 300;
  bool known = true;
  const auto job = c.Client(options)->Submit({"", "request", "wait"}, &known);
  CHECK(job.status().code() == StatusCode::kDeadlineExceeded);
  CHECK_THAT(job.status().message(), Catch::Contains("did not answer within 300 ms"));
  CHECK_FALSE(known);
  const CallerGone gone = *c.handler.waiting.PopFor(kPatience);
  while (!gone()) std::this_thread::yield();
}

TEST_CASE("a client of another version is refused with both named") {
  Coordinator c;
  const auto job = c.Client()->Submit({"9.9.9", "request", "good"});
  CHECK(job.status().code() == StatusCode::kFailedPrecondition);
  CHECK_THAT(job.status().message(), Catch::Contains("9.9.9") && Catch::Contains(kVersion));
  auto stub = v1::Espalier::NewStub(
      rpc::MakeChannel(c.server->address(), {1 << 20, 10'000, 5'000}).channel);
  for (const std::string version : {"9.9.9", ""}) {
    grpc::ClientContext context;
    if (!version.empty()) context.AddMetadata("espalier-version", version);
    v1::ListJobsResponse out;
    const grpc::Status status = stub->ListJobs(&context, {}, &out);
    CHECK(status.ok() == version.empty());
  }
}

TEST_CASE("a coordinator that cannot be reached says so to a client and asks the right question") {
  auto client = ApiClient::Make("127.0.0.1:1");
  REQUIRE(client.ok());
  const Status status = (*client)->List().status();
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK_THAT(status.message(),
             Catch::StartsWith("coordinator at 127.0.0.1:1 cannot be reached: ") &&
                 Catch::Contains("is espalier-coordinator running?"));
  CHECK(ApiClient::Make("nonsense").status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("a watcher gets every history row once, however slow it is, and then the end") {
  Coordinator c;
  const auto client = c.Client();
  std::vector<int64_t> steps;
  int64_t last = 0;
  Status end = Internal("not yet");
  std::thread watcher([&] {
    end = client->Watch({7}, [&](JobUpdate update) {
      for (const HistoryRow& row : update.history) steps.push_back(row.step);
      last = update.snapshot.leaves;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // a slow watcher
    });
  });
  const auto sink = c.handler.NextSink();
  for (int i = 1; i <= 300; ++i) {
    JobUpdate update{SampleSnapshot(), {SampleRow(i)}};
    update.snapshot.leaves = i;
    sink->Send(std::move(update));
  }
  sink->Close(Status::Ok());
  watcher.join();
  CHECK(end.ok());
  CHECK(last == 300);
  REQUIRE(steps.size() == 300);
  for (int i = 0; i < 300; ++i) CHECK(steps[i] == i + 1);
}

TEST_CASE("a watcher that does not read is dropped when too many rows wait for it") {
  CoordinatorServerLimits limits;
  limits.watch_rows_max = 50;
  Coordinator c(limits);
  auto stub = v1::Espalier::NewStub(
      rpc::MakeChannel(c.server->address(), {1 << 26, 10'000, 5'000}).channel);
  grpc::ClientContext context;
  v1::WatchRequest request;
  request.set_job(7);
  const auto reader = stub->Watch(&context, request);  // never reads
  const auto sink = c.handler.NextSink();
  JobUpdate large{SampleSnapshot(), {}};
  large.snapshot.workers.assign(30, std::string(1000, 'w'));
  for (int i = 0; i < 100'000 && !sink->cancelled(); ++i) {
    JobUpdate update = large;
    update.history = {SampleRow(i)};
    sink->Send(std::move(update));
  }
  CHECK(sink->cancelled());
}

TEST_CASE("a watch ends when it is stopped, and its sink learns of it") {
  Coordinator c;
  const auto client = c.Client();
  std::atomic<bool> stop = false;
  Status end;
  std::thread watcher([&] {
    end = client->Watch(
        {7}, [&](JobUpdate) { stop = true; }, &stop);
  });
  const auto sink = c.handler.NextSink();
  sink->Send(SampleUpdate());
  watcher.join();
  CHECK(end.code() == StatusCode::kCancelled);
  for (int i = 0; i < 1000 && !sink->cancelled(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(sink->cancelled());
  sink->Send(SampleUpdate());  // nothing happens
}

TEST_CASE("a watch of an unknown job, a dropped sink and a shutdown end with their reasons") {
  Coordinator c;
  const auto client = c.Client();
  const auto watch = [&] { return client->Watch({7}, [](JobUpdate) {}); };
  Status end;
  std::thread unknown([&] { end = watch(); });
  c.handler.NextSink()->Close(NotFound("no such job: job-7"));
  unknown.join();
  CHECK(end.code() == StatusCode::kNotFound);
  std::thread dropped([&] { end = watch(); });
  c.handler.NextSink().reset();
  dropped.join();
  CHECK(end.code() == StatusCode::kUnavailable);
  std::thread over([&] { end = watch(); });
  const auto sink = c.handler.NextSink();
  c.server->Shutdown(1'000);
  over.join();
  CHECK(end.code() == StatusCode::kUnavailable);
  sink->Send(SampleUpdate());
  sink->Close(Status::Ok());
}

TEST_CASE("a coordinator's port in use is refused by name") {
  Coordinator c;
  FakeHandler other;
  const auto second = CoordinatorServer::Make(c.server->address(), &other);
  REQUIRE(!second.ok());
  CHECK(second.status().code() == StatusCode::kAlreadyExists);
  CHECK_THAT(second.status().message(), Catch::Contains(c.server->address()));
  CHECK(!CoordinatorServer::Make("no-such-host.invalid:0", &other).ok());
  CHECK(!CoordinatorServer::Make("7070", &other).ok());
}

}  // namespace
}  // namespace espalier
