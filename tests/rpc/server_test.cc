// Tests of the coordinator's server with a worker's link, over loopback.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>

#include "proto/espalier/v1/cluster.grpc.pb.h"
#include "src/base/queue.h"
#include "src/base/version.h"
#include "src/rpc/api_client.h"
#include "src/rpc/call_status.h"
#include "src/rpc/coordinator_client.h"
#include "src/rpc/coordinator_server.h"
#include "src/rpc/transport.h"
#include "tests/rpc/fake_coordinator.h"
#include "tests/rpc/messages.h"
#include "tests/storage/temporary_directory.h"

namespace espalier::rpc {
namespace {

class FakeWorker : public CoordinatorLinkListener {
 public:
  void OnConnected() override { connected.Push(true); }
  void OnMessage(cluster::ToWorker message) override { messages.Push(std::move(message)); }
  void OnClosed(Status why) override { closed.Push(std::move(why)); }

  Status Closed() {
    auto why = closed.PopFor(kPatience);
    REQUIRE(why.has_value());
    return *std::move(why);
  }
  Queue<bool> connected;
  Queue<cluster::ToWorker> messages;
  Queue<Status> closed;
};

TEST_CASE("a worker and its coordinator exchange every message in order") {
  Coordinator c;
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c.server->address(), &w);
  for (const cluster::FromWorker& m : SamplesFromWorker()) link->Send(m);
  const FakeHandler::Event opened = c.handler.Next();
  CHECK(opened.what == "opened");
  REQUIRE(w.connected.PopFor(kPatience).has_value());
  for (const cluster::FromWorker& m : SamplesFromWorker()) {
    const FakeHandler::Event event = c.handler.Next();
    CHECK(event.session == opened.session);
    CHECK(event.what == "message");
    CHECK(event.message.index() == m.index());
  }
  for (const cluster::ToWorker& m : SamplesToWorker()) c.server->Send(opened.session, m);
  for (const cluster::ToWorker& m : SamplesToWorker()) {
    auto got = w.messages.PopFor(kPatience);
    REQUIRE(got.has_value());
    CHECK(got->index() == m.index());
  }
}

TEST_CASE("a closed session first sends its queue, then the reason") {
  Coordinator c;
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c.server->address(), &w);
  const cluster::SessionId session = c.handler.Next().session;
  c.server->Send(session, cluster::Refused{FailedPrecondition("other version")});
  c.server->Close(session, SampleError());
  CHECK(w.messages.PopFor(kPatience).has_value());
  const Status why = w.Closed();
  CHECK(why.ToString() == SampleError().ToString());
  CHECK(why.position() == SampleError().position());
  CHECK(c.handler.Next().what == "closed");
  c.server->Send(session, cluster::Dismiss{"too late"});  // nothing happens
}

TEST_CASE("the last message of a worker that closes is received") {
  Coordinator c;
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c.server->address(), &w);
  link->Send(cluster::Goodbye{"SIGTERM"});
  link->CloseAfterSending();
  CHECK(c.handler.Next().what == "opened");
  CHECK(c.handler.Next().what == "message");
  const FakeHandler::Event closed = c.handler.Next();
  CHECK(closed.what == "closed");
  CHECK(closed.why.ok());
  CHECK(w.Closed().ok());
}

TEST_CASE("a lost worker is noticed and a new one has a new session") {
  Coordinator c;
  FakeWorker w;
  auto link = CoordinatorLink::Open(c.server->address(), &w);
  const cluster::SessionId first = c.handler.Next().session;
  link.reset();
  const FakeHandler::Event closed = c.handler.Next();
  CHECK(closed.session == first);
  CHECK(closed.why.code() == StatusCode::kUnavailable);
  link = CoordinatorLink::Open(c.server->address(), &w);
  CHECK(c.handler.Next().session != first);
}

TEST_CASE("a coordinator's shutdown closes the links of its workers") {
  auto c = std::make_unique<Coordinator>();
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c->server->address(), &w);
  CHECK(c->handler.Next().what == "opened");
  c->server->Shutdown(1'000);
  CHECK(w.Closed().code() == StatusCode::kUnavailable);
  CHECK(c->handler.Next().what == "closed");
  link->Send(cluster::Goodbye{"too late"});
}

TEST_CASE("an unreachable coordinator is reported with its address") {
  FakeWorker w;
  const auto link = CoordinatorLink::Open("127.0.0.1:1", &w);
  const Status why = w.Closed();
  CHECK(why.code() == StatusCode::kUnavailable);
  CHECK_THAT(why.ToString(), Catch::Contains("coordinator at 127.0.0.1:1 cannot be reached"));
}

// A port that accepts connections and never answers.
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

TEST_CASE("a silent coordinator ends the attempt at its deadline") {
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

TEST_CASE("a malformed worker message closes the session with a reason") {
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

TEST_CASE("a Unix socket is private to its user") {
  storage::TemporaryDirectory directory("/tmp");
  const std::string path = directory / "c.socket", address = "unix:" + path;
  const auto listen = [&address](FakeHandler* handler) {
    return CoordinatorServer::Make(address, handler);
  };
  FakeHandler handler;
  auto server = listen(&handler);
  REQUIRE(server.status().ToString() == "OK");
  CHECK((*server)->address() == address);
  struct stat info;
  REQUIRE(stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  const auto list = [&address] { return (*ApiClient::Make(address, {}))->List(); };
  CHECK(list().status().ToString() == "OK");
  CHECK_THAT(listen(&handler).status().ToString(), Catch::Contains("the path is taken"));
  CHECK(list().status().ToString() == "OK");
  server->reset();
  CHECK(stat(path.c_str(), &info) != 0);

  // A server does not remove a socket that has replaced its own.
  server = listen(&handler);
  REQUIRE(unlink(path.c_str()) == 0);
  auto second = listen(&handler);
  REQUIRE(second.status().ToString() == "OK");
  server->reset();
  CHECK(list().status().ToString() == "OK");
  second->reset();

  // A server replaces the socket of a killed program, but not a file.
  {
    sockaddr_un left{};
    left.sun_family = AF_UNIX;
    path.copy(left.sun_path, sizeof left.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(bind(fd, reinterpret_cast<const sockaddr*>(&left), sizeof left) == 0);
    close(fd);
  }
  server = listen(&handler);
  REQUIRE(server.status().ToString() == "OK");
  CHECK(list().status().ToString() == "OK");
  server->reset();
  directory.Put("c.socket", "a file");
  CHECK_THAT(listen(&handler).status().ToString(), Catch::Contains("the path is taken"));
  CHECK(stat(path.c_str(), &info) == 0);
}

TEST_CASE("a worker reports an address that others can dial") {
  storage::TemporaryDirectory directory("/tmp");
  FakeHandler handler;
  const auto local = CoordinatorServer::Make("unix:" + (directory / "c.socket"), &handler);
  REQUIRE(local.status().ToString() == "OK");
  Coordinator c;
  const auto why_not = [](const CoordinatorServer& server, const std::string& address) {
    FakeWorker w;
    const auto link = CoordinatorLink::Open(server.address(), &w);
    link->Send(cluster::Hello{
        .version = kVersion, .arithmetic_id = "a", .address = address, .threads = 1});
    return w.Closed();
  };
  for (const char* address : {"", "node", "node:0", "unix:/var/run/other.socket", "dns:///a:1"}) {
    const Status why = why_not(*c.server, address);
    CHECK(why.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(why.ToString(),
               Catch::Contains("the address of the worker") && Catch::Contains("expected"));
  }
  CHECK(why_not(**local, "node:0").code() == StatusCode::kInvalidArgument);
  FakeWorker w;
  const auto link = CoordinatorLink::Open((*local)->address(), &w);
  link->Send(cluster::Hello{
      .version = kVersion, .arithmetic_id = "a", .address = "unix:/w", .threads = 1});
  for (auto event = handler.Next(); event.what != "message"; event = handler.Next()) continue;
}

TEST_CASE("a worker that does not read is closed at its queue limit") {
  CoordinatorServerLimits limits;
  limits.session_queue_bytes_max = 1 << 20;
  Coordinator c(limits);
  auto stub = v1::Coordinator::NewStub(
      rpc::MakeChannel(c.server->address(), {1 << 26, 10'000, 5'000}).channel);
  grpc::ClientContext context;
  auto stream = stub->Attach(&context);  // never read
  const cluster::SessionId session = c.handler.Next().session;
  for (int i = 0; i < 200; ++i) c.server->Send(session, cluster::Dismiss{std::string(60'000, 'x')});
  const FakeHandler::Event closed = c.handler.Next();
  CHECK(closed.why.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(closed.why.ToString(), Catch::Contains("the worker does not read"));
}

TEST_CASE("reads from a worker wait for its pending messages") {
  CoordinatorServerLimits limits;
  limits.session_unhandled_messages_max = 5;
  Coordinator c(limits);
  c.handler.keep_holds = true;
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c.server->address(), &w);
  CHECK(c.handler.Next().what == "opened");
  for (int i = 1; i <= 40; ++i) link->Send(cluster::Heartbeat{{}, {}, i, {}});
  int64_t seen = 0;
  const auto next = [&] {
    const FakeHandler::Event event = c.handler.Next();
    CHECK(std::get<cluster::Heartbeat>(event.message).step == ++seen);
  };
  for (int i = 0; i < 5; ++i) next();
  CHECK_FALSE(c.handler.events.PopFor(std::chrono::milliseconds(100)).has_value());
  while (seen < 40) {
    REQUIRE(c.handler.holds.PopFor(kPatience).has_value());  // handling one lets one more in
    next();
  }
  link->Send(cluster::Goodbye{"SIGTERM"});
  c.handler.keep_holds = false;
  while (c.handler.holds.PopFor(std::chrono::milliseconds(0))) {
  }
  CHECK(std::holds_alternative<cluster::Goodbye>(c.handler.Next().message));
}

TEST_CASE("many unhandled bytes stop reads, but an end is noticed") {
  CoordinatorServerLimits limits;
  limits.session_unhandled_bytes_max = 1000;
  Coordinator c(limits);
  c.handler.keep_holds = true;
  FakeWorker w;
  auto link = CoordinatorLink::Open(c.server->address(), &w);
  CHECK(c.handler.Next().what == "opened");
  for (int i = 0; i < 9; ++i) link->Send(cluster::Goodbye{std::string(600, 'x')});
  CHECK(c.handler.Next().what == "message");
  CHECK(c.handler.Next().what == "message");
  CHECK_FALSE(c.handler.events.PopFor(std::chrono::milliseconds(100)).has_value());
  link.reset();
  CHECK(c.handler.Next().what == "closed");
}

TEST_CASE("a message above the limit is refused with the limit") {
  CoordinatorServerLimits limits;
  limits.message_bytes_max = 10'000;
  Coordinator c(limits);
  FakeWorker w;
  const auto link = CoordinatorLink::Open(c.server->address(), &w);
  c.server->Send(c.handler.Next().session, cluster::Dismiss{std::string(20'000, 'x')});
  const Status why = w.Closed();
  CHECK(why.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(why.ToString(), Catch::Contains("expected at most 10000 bytes"));
}

TEST_CASE("a coordinator's port in use is named in the error") {
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
}  // namespace espalier::rpc
