// Tests of health watches and reflection streams, which probes and generic tools open. The server
// limits them per caller, ends them in time, and does not let them block other callers.
#include <grpcpp/generic/generic_stub.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "proto/grpc/health/v1/health.grpc.pb.h"
#include "proto/grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "src/rpc/call_status.h"
#include "src/rpc/peer.h"
#include "src/rpc/transport.h"
#include "tests/rpc/secured.h"

namespace espalier::rpc {
namespace {

using Catch::Contains;
namespace health = ::grpc::health::v1;
namespace reflection = ::grpc::reflection::v1alpha;

constexpr int64_t kLimitMs = 20'000;

std::shared_ptr<grpc::Channel> Connect(const std::string& address,
                                       const ClientSecurity& security = {},
                                       const std::string& worker = "") {
  rpc::TransportSettings settings;
  settings.message_bytes_max = 1 << 20;
  settings.keepalive_interval_ms = settings.keepalive_timeout_ms = 10'000;
  return rpc::MakeChannel(address, settings, security, worker).channel;
}

grpc::StatusCode Check(const std::shared_ptr<grpc::Channel>& channel,
                       const std::string& service = "") {
  grpc::ClientContext context;
  context.set_deadline(rpc::Deadline(kLimitMs));
  health::HealthCheckRequest request;
  request.set_service(service);
  health::HealthCheckResponse response;
  const grpc::Status status = health::Health::NewStub(channel)->Check(&context, request, &response);
  CHECK((!status.ok() || response.status() == health::HealthCheckResponse::SERVING));
  return status.error_code();
}

// A stream that sends one request and then stays open.
class Staying {
 public:
  virtual ~Staying() = default;
  // Waits for an answer. Returns false if the stream has ended.
  virtual bool Answered() = 0;
  // Waits for the end of the stream and returns its status. Checks that no answer is left.
  virtual grpc::Status End() = 0;
  void Cancel() { context_.TryCancel(); }

 protected:
  Staying() { context_.set_deadline(rpc::Deadline(3 * kLimitMs)); }
  grpc::ClientContext context_;
};

class Watching final : public Staying {
 public:
  explicit Watching(const std::shared_ptr<grpc::Channel>& channel, const std::string& service = "")
      : stub_(health::Health::NewStub(channel)) {
    health::HealthCheckRequest request;
    request.set_service(service);
    reader_ = stub_->Watch(&context_, request);
  }
  bool Answered() override { return reader_->Read(&response_); }
  grpc::Status End() override {
    CHECK_FALSE(Answered());
    return reader_->Finish();
  }
  health::HealthCheckResponse::ServingStatus said() const { return response_.status(); }

 private:
  std::unique_ptr<health::Health::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<health::HealthCheckResponse>> reader_;
  health::HealthCheckResponse response_;
};

class Reflecting final : public Staying {
 public:
  explicit Reflecting(const std::shared_ptr<grpc::Channel>& channel,
                      const std::string& symbol = "grpc.health.v1.Health")
      : stub_(reflection::ServerReflection::NewStub(channel)) {
    stream_ = stub_->ServerReflectionInfo(&context_);
    reflection::ServerReflectionRequest request;
    request.set_file_containing_symbol(symbol);
    stream_->Write(request);
  }
  bool Answered() override {
    reflection::ServerReflectionResponse response;
    return stream_->Read(&response) && response.has_file_descriptor_response();
  }
  grpc::Status End() override {
    CHECK_FALSE(Answered());
    return stream_->Finish();
  }

 private:
  std::unique_ptr<reflection::ServerReflection::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<reflection::ServerReflectionRequest,
                                           reflection::ServerReflectionResponse>>
      stream_;
};

using Streams = std::vector<std::unique_ptr<Staying>>;

// Opens a stream of each kind and waits for their answers.
Streams StayAt(const std::shared_ptr<grpc::Channel>& channel) {
  Streams out;
  out.push_back(std::make_unique<Watching>(channel));
  out.push_back(std::make_unique<Reflecting>(channel));
  for (const auto& stream : out) REQUIRE(stream->Answered());
  return out;
}

void CheckEnd(const Streams& streams, grpc::StatusCode code, const char* words) {
  for (const auto& stream : streams) {
    const grpc::Status end = stream->End();
    CHECK(end.error_code() == code);
    CHECK_THAT(end.error_message(), Contains(words));
  }
}

// Checks the limit of one caller. At the limit, the server refuses more streams but answers health
// checks. After a stream ends, there is room for another one.
void TakeAll(const std::string& address, size_t calls_max) {
  const auto channel = Connect(address);
  Streams open;
  while (open.size() < calls_max) {
    Streams both = StayAt(channel);
    for (auto& stream : both) open.push_back(std::move(stream));
  }
  CheckEnd(
      [&] {
        Streams more;
        more.push_back(std::make_unique<Watching>(channel));
        more.push_back(std::make_unique<Reflecting>(channel));
        return more;
      }(),
      grpc::StatusCode::RESOURCE_EXHAUSTED, "calls open, the limit");
  CHECK(Check(channel) == grpc::StatusCode::OK);
  open[0]->Cancel();
  CHECK(open[0]->End().error_code() == grpc::StatusCode::CANCELLED);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(kLimitMs);
  while (!Watching(channel).Answered()) REQUIRE(std::chrono::steady_clock::now() < until);
}

TEST_CASE("health watches and reflection count as calls") {
  Handler handler;
  CoordinatorServerLimits limits;
  limits.calls_a_caller_max = 20;
  const auto server = CoordinatorServer::Make("127.0.0.1:0", &handler, limits);
  REQUIRE(server.ok());
  TakeAll((*server)->address(), 20);
  PeerOptions options;
  options.probes_caller_max = 20;
  const auto network = PeerNetwork::Make("127.0.0.1:0", options);
  REQUIRE(network.ok());
  TakeAll((*network)->address(), 20);
}

TEST_CASE("idle streams do not block other callers") {
  Handler handler;
  const auto server = CoordinatorServer::Make("127.0.0.1:0", &handler);
  REQUIRE(server.ok());
  const auto channel = Connect((*server)->address());
  Streams open;
  for (int i = 0; i < 80; ++i) {
    open.push_back(std::make_unique<Reflecting>(channel));
    REQUIRE(open.back()->Answered());
  }
  CHECK(Reflecting(Connect((*server)->address())).Answered());
  CHECK(Check(channel) == grpc::StatusCode::OK);
}

TEST_CASE("probe streams end with their server and name the reason") {
  Handler handler;
  const auto server = CoordinatorServer::Make("127.0.0.1:0", &handler);
  REQUIRE(server.ok());
  const Streams at_coordinator = StayAt(Connect((*server)->address()));
  auto network = PeerNetwork::Make("127.0.0.1:0");
  REQUIRE(network.ok());
  const Streams at_worker = StayAt(Connect((*network)->address()));
  (*server)->Shutdown(kLimitMs);
  CheckEnd(at_coordinator, grpc::StatusCode::UNAVAILABLE, "the coordinator is shutting down");
  network->reset();
  for (const auto& stream : at_worker) {
    CHECK(stream->End().error_code() == grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_CASE("revoking a credential ends only its own probes") {
  Secured head;
  const std::string address = head.server->address();
  const security::TlsFiles bob = head.mine.Issue({security::Role::kReader, "bob"});
  const Streams of_bob = StayAt(Connect(address, {MustOpen(bob), ""}));
  const auto ann =
      Connect(address, {MustOpen(head.mine.Issue({security::Role::kReader, "ann"})), ""});
  const Streams of_ann = StayAt(ann);
  ClientSecurity carl = {MustOpen({head.mine.ca(), "", ""}), kToken};
  grpc::ClientContext context;
  context.set_deadline(rpc::Deadline(kLimitMs));
  rpc::Introduce(&context, carl);
  const auto stub = health::Health::NewStub(Connect(address, carl));
  const auto of_carl = stub->Watch(&context, {});
  health::HealthCheckResponse response;
  REQUIRE(of_carl->Read(&response));

  head.mine.Revoke(bob);
  CheckEnd(of_bob, grpc::StatusCode::PERMISSION_DENIED, "revoked");
  head.mine.Replace("tokens", "operator ann 0000111122223333\n", security::Secrecy::kSecret);
  CHECK_FALSE(of_carl->Read(&response));
  CHECK_THAT(of_carl->Finish().error_message(), Contains("taken back"));
  for (const auto& stream : of_ann) stream->Cancel();
  CheckEnd(of_ann, grpc::StatusCode::CANCELLED, "");
  CHECK(Check(ann) == grpc::StatusCode::OK);
}

TEST_CASE("a worker ends the probes of a revoked credential") {
  Certificates mine;
  PeerOptions options;
  options.security.keychain = options.dialling.keychain =
      MustOpen(mine.Issue({security::Role::kWorker, "node-9"}));
  options.security.workers_without_role = true;
  options.recheck_interval_ms = 50;
  const auto network = PeerNetwork::Make("127.0.0.1:0", options);
  REQUIRE(network.ok());
  const security::TlsFiles bob = mine.Issue({security::Role::kReader, "bob"});
  const Streams of_bob = StayAt(Connect((*network)->address(), {MustOpen(bob), ""}, "node-9"));
  mine.Revoke(bob);
  CheckEnd(of_bob, grpc::StatusCode::PERMISSION_DENIED, "this was ended");
}

TEST_CASE("health covers the server and each of its services") {
  Handler handler;
  const auto server = CoordinatorServer::Make("127.0.0.1:0", &handler);
  REQUIRE(server.ok());
  const auto channel = Connect((*server)->address());
  CHECK(Check(channel, "espalier.v1.Espalier") == grpc::StatusCode::OK);
  CHECK(Check(channel, "grpc.health.v1.Health") == grpc::StatusCode::OK);
  CHECK(Check(channel, "espalier.v1.Other") == grpc::StatusCode::NOT_FOUND);
  Watching other(channel, "espalier.v1.Other");
  REQUIRE(other.Answered());
  CHECK(other.said() == health::HealthCheckResponse::SERVICE_UNKNOWN);
}

// A call that sends its request late or never.
class LateRequest final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  LateRequest(const std::shared_ptr<grpc::Channel>& channel, const std::string& method)
      : stub_(channel) {
    context_.set_deadline(rpc::Deadline(kLimitMs));
    stub_.PrepareBidiStreamingCall(&context_, method, {}, this);
    AddHold();
    StartCall();
  }
  void Send() {
    StartWriteLast(&request_, {});
    StartRead(&response_);  // the status follows the response
  }
  grpc::Status End() {
    RemoveHold();
    return end_.get_future().get();
  }
  void OnDone(const grpc::Status& status) override { end_.set_value(status); }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::Slice empty_;
  grpc::ByteBuffer request_{&empty_, 1}, response_;
  std::promise<grpc::Status> end_;
};

TEST_CASE("a worker waits for the request of a health check") {
  const auto network = PeerNetwork::Make("127.0.0.1:0", {});
  REQUIRE(network.ok());
  const auto channel = Connect((*network)->address());
  REQUIRE(Check(channel) == grpc::StatusCode::OK);
  LateRequest late(channel, "/grpc.health.v1.Health/Check");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // plays a slow client
  late.Send();
  CHECK(late.End().error_code() == grpc::StatusCode::OK);
}

TEST_CASE("a call whose request does not arrive ends with an error") {
  Handler handler;
  CoordinatorServerLimits limits;
  limits.read_timeout_ms = 200;
  const auto server = CoordinatorServer::Make("127.0.0.1:0", &handler, limits);
  REQUIRE(server.ok());
  const auto channel = Connect((*server)->address());
  for (const char* method : {"/espalier.v1.Espalier/ListJobs", "/espalier.v1.Espalier/Watch",
                             "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"}) {
    INFO(method);
    const grpc::Status end = LateRequest(channel, method).End();
    CHECK(end.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
    CHECK_THAT(end.error_message(), Contains("no request arrived in time"));
  }
}

TEST_CASE("reflection answers unknown names and ends on bad requests") {
  Handler handler;
  const auto server = CoordinatorServer::Make("127.0.0.1:0", &handler);
  REQUIRE(server.ok());
  const auto stub = reflection::ServerReflection::NewStub(Connect((*server)->address()));
  grpc::ClientContext context;
  context.set_deadline(rpc::Deadline(kLimitMs));
  const auto stream = stub->ServerReflectionInfo(&context);
  const auto ask = [&](auto set) {
    reflection::ServerReflectionRequest request;
    set(&request);
    REQUIRE(stream->Write(request));
    reflection::ServerReflectionResponse response;
    REQUIRE(stream->Read(&response));
    CHECK(response.original_request().SerializeAsString() == request.SerializeAsString());
    return response;
  };
  constexpr int kNotFound = grpc::StatusCode::NOT_FOUND;
  CHECK(ask([](auto* r) { r->set_file_containing_symbol("a.b"); }).error_response().error_code() ==
        kNotFound);
  CHECK(ask([](auto* r) { r->set_file_by_filename("a.proto"); }).error_response().error_code() ==
        kNotFound);
  CHECK(ask([](auto* r) {
          r->mutable_file_containing_extension()->set_containing_type("espalier.v1.JobUpdate");
        })
            .error_response()
            .error_code() == kNotFound);
  CHECK(ask([](auto* r) { r->set_all_extension_numbers_of_type("espalier.v1.JobUpdate"); })
            .all_extension_numbers_response()
            .base_type_name() == "espalier.v1.JobUpdate");
  CHECK(ask([](auto*) {}).error_response().error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  // The answer contains the file and its imports.
  const auto file = ask([](auto* r) { r->set_file_by_filename("proto/espalier/v1/api.proto"); });
  CHECK(file.file_descriptor_response().file_descriptor_proto_size() == 2);
  reflection::ServerReflectionRequest long_one;
  long_one.set_file_containing_symbol(std::string(5'000, 'a'));
  REQUIRE(stream->Write(long_one));
  reflection::ServerReflectionResponse none;
  CHECK_FALSE(stream->Read(&none));
  const grpc::Status end = stream->Finish();
  CHECK(end.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(end.error_message(), Contains("expected at most 4096"));
}

TEST_CASE("a method that no service has is unknown") {
  Handler handler;
  const auto server = CoordinatorServer::Make("127.0.0.1:0", &handler);
  REQUIRE(server.ok());
  grpc::GenericStub stub(Connect((*server)->address()));
  grpc::ClientContext context;
  context.set_deadline(rpc::Deadline(kLimitMs));
  const grpc::Slice empty;
  const grpc::ByteBuffer request(&empty, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&context, "/espalier.v1.Espalier/None", {}, &request, &response,
                 [&ended](grpc::Status status) { ended.set_value(std::move(status)); });
  CHECK(ended.get_future().get().error_code() == grpc::StatusCode::UNIMPLEMENTED);
}

// The first bytes of an HTTP/2 client: the preface and empty settings.
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

// Opens a connection without calls and reads until the server closes it. Returns the time in ms.
int64_t StayWithoutCalls(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(fd >= 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0);
  const timeval limit = {kLimitMs / 1'000, 0};
  REQUIRE(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
  const auto began = std::chrono::steady_clock::now();
  REQUIRE(send(fd, kPreface, sizeof(kPreface) - 1, 0) == sizeof(kPreface) - 1);
  char buffer[4096];
  ssize_t got = 0;
  while ((got = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
  }
  CHECK(got == 0);  // otherwise the read timed out
  close(fd);
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               began)
      .count();
}

TEST_CASE("a connection without calls is closed, one with a call stays") {
  Handler handler;
  CoordinatorServerLimits limits;
  limits.idle_timeout_ms = 500;
  limits.keepalive_interval_ms = 10 * kLimitMs;  // rules out keepalive as the cause
  const auto server = CoordinatorServer::Make("127.0.0.1:0", &handler, limits);
  REQUIRE(server.ok());
  const auto channel = Connect((*server)->address());
  Watching open(channel);
  REQUIRE(open.Answered());
  for (int i = 0; i < 3; ++i) CHECK(StayWithoutCalls((*server)->port()) >= 450);
  CHECK(channel->GetState(false) == GRPC_CHANNEL_READY);
  open.Cancel();
  CHECK(open.End().error_code() == grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace espalier::rpc
