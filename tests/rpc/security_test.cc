// Who gets in: every method of every service with all kinds of credentials, and what each side is
// told when the two do not fit together.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/generic/generic_stub.h>

#include <catch2/catch.hpp>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "proto/espalier/v1/api.grpc.pb.h"
#include "proto/espalier/v1/cluster.grpc.pb.h"
#include "proto/espalier/v1/peer.grpc.pb.h"
#include "src/base/queue.h"
#include "src/rpc/api_client.h"
#include "src/rpc/coordinator_client.h"
#include "src/rpc/coordinator_server.h"
#include "src/rpc/peer.h"
#include "src/rpc/transport.h"
#include "tests/rpc/certificates.h"

namespace espalier {
namespace {

using Catch::Contains;
using rpc::Access;

constexpr auto kPatience = std::chrono::seconds(20);
constexpr const char* kReflection =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr const char* kToken = "0123456789abcdef0123";

// Answers everything at once.
class Handler : public CoordinatorHandler {
 public:
  void OnWorkerOpened(SessionId, std::string) override { ++opened; }
  void OnWorkerMessage(SessionId session, FromWorker, MessageHold) override {
    messages.Push(session);
  }
  void OnWorkerClosed(SessionId, Status why) override { closed.Push(std::move(why)); }
  void OnSubmit(SubmitRequest, CallerGone, Done<JobId> done) override { done(JobId{7}); }
  void OnWithdraw(std::string, Done<JobId> done) override { done(JobId{}); }
  void OnRenewer(Done<std::string> done) override { done(std::string("espalier@R")); }
  void OnCancel(JobId, Done<JobId> done) override { done(JobId{7}); }
  void OnDrain(WorkerId, Done<WorkerId> done) override { done(WorkerId{7}); }
  void OnList(Done<std::vector<JobSnapshot>> done) override { done(std::vector<JobSnapshot>()); }
  void OnGet(JobId, Done<JobUpdate> done) override { done(NotFound("none")); }
  void OnWorkers(Done<std::vector<WorkerSnapshot>> done) override {
    done(std::vector<WorkerSnapshot>());
  }
  void OnWatch(JobId, std::shared_ptr<WatchSink> sink) override {
    if (!keeps_watchers) return sink->Close(Status::Ok());
    watchers.Push(std::move(sink));
  }

  bool keeps_watchers = false;
  Queue<std::shared_ptr<WatchSink>> watchers;

  std::atomic<int> opened{0};
  Queue<SessionId> messages;
  Queue<Status> closed;
};

// A calling side that says what it is told to.
struct Credentials {
  std::string what;
  TlsFiles files;
  std::string token;
  std::set<Access> may;  // empty: nobody knows it
};

ClientSecurity SecurityOf(const Credentials& credentials) {
  return {MustOpen(credentials.files), credentials.token};
}

rpc::Connection Connect(const std::string& address, const Credentials& credentials,
                        const std::string& worker) {
  rpc::TransportSettings settings;
  settings.message_bytes_max = 1 << 20;
  settings.keepalive_interval_ms = settings.keepalive_timeout_ms = 10'000;
  return rpc::MakeChannel(address, settings, SecurityOf(credentials), worker);
}

// The status that a call with an empty message ends with, and what it answered.
grpc::Status Call(const rpc::Connection& connection, const std::string& token,
                  const std::string& path, std::string* answer = nullptr,
                  const std::string& request = "", int64_t limit_ms = 20'000) {
  grpc::GenericStub stub(connection.channel);
  grpc::ClientContext context;
  context.set_deadline(rpc::Deadline(limit_ms));
  rpc::Introduce(&context, {nullptr, token});
  const grpc::Slice slice(request);
  const grpc::ByteBuffer in(&slice, 1);
  grpc::ByteBuffer out;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&context, path, {}, &in, &out,
                 [&ended](grpc::Status status) { ended.set_value(std::move(status)); });
  grpc::Status status = ended.get_future().get();
  if (status.ok() && answer != nullptr) {
    std::vector<grpc::Slice> slices;
    (void)out.Dump(&slices);
    for (const grpc::Slice& s : slices) {
      answer->append(reinterpret_cast<const char*>(s.begin()), s.size());
    }
  }
  return status;
}

// By reflection, which answers {list_services: "*"} with names in field 6.
std::set<std::string> ServicesOf(const rpc::Connection& connection) {
  std::string answer;
  const grpc::Status status = Call(connection, "", kReflection, &answer, "\x3a\x01*");
  REQUIRE(status.error_message() == "");
  google::protobuf::UnknownFieldSet response;
  REQUIRE(response.ParseFromString(answer));
  std::set<std::string> names;
  for (int i = 0; i < response.field_count(); ++i) {
    if (response.field(i).number() != 6) continue;
    google::protobuf::UnknownFieldSet list, service;
    REQUIRE(list.ParseFromString(response.field(i).length_delimited()));
    for (int k = 0; k < list.field_count(); ++k) {
      REQUIRE(service.ParseFromString(list.field(k).length_delimited()));
      names.insert(service.field(0).length_delimited());
    }
  }
  return names;
}

// Paths of all methods; of services that are not ours those that gRPC has.
std::vector<std::string> MethodsOf(const std::set<std::string>& services) {
  std::vector<std::string> out;
  for (const std::string& name : services) {
    if (name == "grpc.health.v1.Health") {
      out.insert(out.end(), {"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"});
    } else if (name == "grpc.reflection.v1alpha.ServerReflection") {
      out.push_back(kReflection);
    } else {
      const auto* service =
          google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
      INFO("service " << name << " is not known to this test");
      REQUIRE(service != nullptr);
      for (int i = 0; i < service->method_count(); ++i) {
        out.push_back("/" + name + "/" + service->method(i)->name());
      }
    }
  }
  return out;
}

std::vector<Credentials> AllKinds(Certificates& mine, Certificates& foreign) {
  const auto files = [&](Role role, const char* name) { return mine.Issue({role, name, {}}); };
  const std::set<Access> reads = {Access::kAnyRole, Access::kReader};
  const std::set<Access> orders = {Access::kAnyRole, Access::kReader, Access::kOperator};
  TlsFiles stranger = foreign.Issue({Role::kOperator, "ann"});
  stranger.ca = mine.ca();
  return {{"nothing", {mine.ca(), "", ""}, "", {}},
          {"an unknown token", {mine.ca(), "", ""}, "0123456789abcdef0124", {}},
          {"a certificate of another authority", stranger, "", {}},
          {"an expired certificate", mine.Issue({Role::kOperator, "ann"}, 3), "", {}},
          {"a certificate of the future", mine.Issue({Role::kOperator, "ann"}, -3), "", {}},
          {"a reader's certificate", files(Role::kReader, "bob"), "", reads},
          {"an operator's certificate", files(Role::kOperator, "ann"), "", orders},
          {"a worker's certificate",
           files(Role::kWorker, "node-1"),
           "",
           {Access::kAnyRole, Access::kWorker}},
          {"an operator's token", {mine.ca(), "", ""}, kToken, orders}};
}

// Who may call what, said once more: a method that lets in more than it did is seen.
const std::map<std::string, Access> kExpected = {
    {"/espalier.v1.Espalier/Submit", Access::kOperator},
    {"/espalier.v1.Espalier/Renewer", Access::kOperator},
    {"/espalier.v1.Espalier/Withdraw", Access::kOperator},
    {"/espalier.v1.Espalier/Cancel", Access::kOperator},
    {"/espalier.v1.Espalier/Drain", Access::kOperator},
    {"/espalier.v1.Espalier/Watch", Access::kReader},
    {"/espalier.v1.Espalier/ListJobs", Access::kReader},
    {"/espalier.v1.Espalier/GetJob", Access::kReader},
    {"/espalier.v1.Espalier/ListWorkers", Access::kReader},
    {"/espalier.v1.Coordinator/Attach", Access::kWorker},
    {"/espalier.v1.Peer/Link", Access::kWorker},
    {"/espalier.v1.StateTransfer/Fetch", Access::kWorker},
    {"/grpc.health.v1.Health/Check", Access::kAnyRole},
    {"/grpc.health.v1.Health/Watch", Access::kAnyRole},
    {kReflection, Access::kReader},
};

void TryAll(const std::string& address, const std::vector<std::string>& methods,
            const std::vector<Credentials>& kinds, const std::string& worker) {
  for (const Credentials& kind : kinds) {
    const rpc::Connection connection = Connect(address, kind, worker);
    for (const std::string& method : methods) {
      INFO(method << " with " << kind.what);
      REQUIRE(kExpected.contains(method));  // a new method needs a role
      const Access access = kExpected.at(method);
      // The one stream that goes on for whoever may have it.
      const bool endless = method == "/grpc.health.v1.Health/Watch" && !kind.may.empty();
      const int64_t limit_ms = endless ? 300 : 20'000;
      const grpc::StatusCode code =
          Call(connection, kind.token, method, nullptr, "", limit_ms).error_code();
      if (kind.may.empty()) {
        CHECK(code == grpc::StatusCode::UNAUTHENTICATED);
      } else if (!kind.may.contains(access)) {
        CHECK(code == grpc::StatusCode::PERMISSION_DENIED);
      } else {
        CHECK(code != grpc::StatusCode::PERMISSION_DENIED);
        CHECK(code != grpc::StatusCode::UNAUTHENTICATED);
        CHECK(code != grpc::StatusCode::UNAVAILABLE);
      }
    }
    const auto none = Call(connection, kind.token, "/espalier.v1.Espalier/None").error_code();
    CHECK(none == (kind.may.empty() ? grpc::StatusCode::UNAUTHENTICATED
                                    : grpc::StatusCode::PERMISSION_DENIED));
    // What a client that knows both reflections goes on from.
    const auto newer =
        Call(connection, kind.token, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
            .error_code();
    CHECK(newer ==
          (kind.may.empty() ? grpc::StatusCode::UNAUTHENTICATED : grpc::StatusCode::UNIMPLEMENTED));
  }
}

struct Secured {
  explicit Secured(const CertificateRequest& request = {Role::kCoordinator,
                                                        "head",
                                                        {"localhost", "127.0.0.1"}},
                   int64_t age_days = 0) {
    ServerSecurity security;
    own = mine.Issue(request, age_days);
    security.keychain = MustOpen(own);
    auto tokens = TokenFile::Open(
        mine.Put("tokens", std::string("operator carl ") + kToken + "\n", Secrecy::kSecret));
    REQUIRE(tokens.ok());
    security.tokens = *tokens;
    CoordinatorServerLimits limits;
    limits.recheck_interval_ms = 50;
    auto made = CoordinatorServer::Make("127.0.0.1:0", &handler, limits, security);
    REQUIRE(made.status().ToString() == "OK");
    server = *std::move(made);
  }
  std::unique_ptr<ApiClient> Client(const TlsFiles& files, const std::string& token = "") {
    ApiClientOptions options;
    options.security = {MustOpen(files), token};
    return *ApiClient::Make(server->address(), options);
  }
  Status List(const TlsFiles& files) { return Client(files)->List().status(); }

  Certificates mine, foreign;
  TlsFiles own;
  Handler handler;
  std::unique_ptr<CoordinatorServer> server;
};

TEST_CASE("every method of a coordinator wants its role, whatever is shown") {
  Secured head;
  const auto kinds = AllKinds(head.mine, head.foreign);
  const Credentials reader{"", head.mine.Issue({Role::kReader, "walker"}), "", {}};
  const auto services = ServicesOf(Connect(head.server->address(), reader, ""));
  CHECK(services.contains("espalier.v1.Espalier"));
  CHECK(services.contains("espalier.v1.Coordinator"));
  CHECK(services.size() == 4);
  TryAll(head.server->address(), MethodsOf(services), kinds, "");
}

TEST_CASE("every method of a worker wants its role, whatever is shown") {
  Certificates mine, foreign;
  const TlsFiles own = mine.Issue({Role::kWorker, "node-9"});
  PeerOptions options;
  options.security.keychain = options.dialling.keychain = MustOpen(own);
  options.security.workers_without_role = true;
  const auto network = PeerNetwork::Make("127.0.0.1:0", options);
  REQUIRE(network.ok());
  auto kinds = AllKinds(mine, foreign);
  std::erase_if(kinds, [](const Credentials& k) { return k.token == kToken; });
  const Credentials reader{"", mine.Issue({Role::kReader, "walker"}), "", {}};
  const auto services = ServicesOf(Connect((*network)->address(), reader, "node-9"));
  CHECK(services.contains("espalier.v1.Peer"));
  CHECK(services.contains("espalier.v1.StateTransfer"));
  TryAll((*network)->address(), MethodsOf(services), kinds, "node-9");
}

TEST_CASE("what a client is told names the side, the reason and the way out") {
  Secured head;
  const auto ann = head.mine.Issue({Role::kOperator, "ann"});
  CHECK(head.List(ann).ToString() == "OK");
  CHECK(head.Client({head.mine.ca(), "", ""}, kToken)->Cancel({7}).ToString() == "OK");
  const auto told = [](const Status& status, const char* text) {
    CHECK(status.code() == StatusCode::kPermissionDenied);
    CHECK_THAT(status.ToString(), Contains("coordinator at 127.0.0.1:") && Contains(text));
    CHECK(status.cause().ok());
  };
  told(head.List(head.mine.Issue({Role::kOperator, "ann"}, 3)),
       "the caller's certificate 'CN = ann");
  told(head.List(head.mine.Issue({Role::kOperator, "ann"}, 3)), "expired on ");
  told(head.List({head.foreign.ca(), ann.certificate, ann.key}), "the coordinator's certificate");
  told(head.List({head.mine.ca(), "", ""}), "neither a certificate nor a token");
  told(head.Client({head.mine.ca(), "", ""}, "fedcba98765432100123")->List().status(), "the token");
  told(head.Client(head.mine.Issue({Role::kReader, "bob"}))->Cancel({7}), "the role operator");
}

TEST_CASE("a key that does not fit its certificate changes nothing, one that does is shown soon") {
  Secured head;
  const auto ann = head.mine.Issue({Role::kOperator, "ann"});
  const auto replace = [&](const TlsFiles& with) {
    for (const auto& [from, to] : {std::pair(with.key, head.own.key),
                                   std::pair(with.certificate, head.own.certificate)}) {
      std::filesystem::rename(from, to);
    }
  };
  const TlsFiles next = head.mine.Issue({Role::kCoordinator, "next", {"127.0.0.1"}});
  std::filesystem::rename(head.mine.Issue({Role::kReader, "bob"}).key, head.own.key);
  // Longer than a listener takes to look at its files twice.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2500);
  while (std::chrono::steady_clock::now() < until) {
    const Status listed = head.List(ann);
    REQUIRE(listed.ToString() == "OK");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  replace(next);
  const TlsFiles foreign{head.foreign.ca(), ann.certificate, ann.key};
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (head.List(foreign).ToString().find("'CN = next") == std::string::npos) {
    REQUIRE(std::chrono::steady_clock::now() < limit);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK(head.List(ann).ToString() == "OK");
}

TEST_CASE("a client believes only a coordinator of that host, in its time") {
  const auto list = [](const CertificateRequest& request, int64_t age_days) {
    Secured other(request, age_days);
    return other.List(other.mine.Issue({Role::kOperator, "ann"}));
  };
  const CertificateRequest head{Role::kCoordinator, "head", {"127.0.0.1"}};
  CHECK(list(head, 0).ToString() == "OK");
  CHECK_THAT(list(head, 3).ToString(),
             Contains("the coordinator's certificate") && Contains("expired on "));
  CHECK_THAT(list({Role::kCoordinator, "head", {"head.example.org"}}, 0).ToString(),
             Contains("does not name '127.0.0.1'"));
  CHECK_THAT(list({Role::kWorker, "node-1", {"127.0.0.1"}}, 0).ToString(),
             Contains("no coordinator's"));
}

class Attempt : public CoordinatorLinkListener {
 public:
  Attempt(const std::string& address, const ClientSecurity& security) {
    CoordinatorLinkOptions options;
    options.security = security;
    link_ = CoordinatorLink::Open(address, this, options);
  }
  void OnConnected() override {}
  void OnMessage(ToWorker) override {}
  void OnClosed(Status why) override { closed_.Push(std::move(why)); }
  CoordinatorLink& link() { return *link_; }
  Status Closed() {
    auto why = closed_.PopFor(kPatience);
    REQUIRE(why.has_value());
    return *why;
  }

 private:
  Queue<Status> closed_;
  std::unique_ptr<CoordinatorLink> link_;
};

TEST_CASE("only what a coordinator refuses itself is a refusal to a worker") {
  const auto attach = [](int64_t head_age_days, int64_t age_days, bool stranger) {
    Secured head({Role::kCoordinator, "head", {"127.0.0.1"}}, head_age_days);
    TlsFiles own = head.mine.Issue({Role::kWorker, "node-1"}, age_days);
    if (stranger) own.ca = head.foreign.ca();
    return Attempt(head.server->address(), {MustOpen(own), ""}).Closed();
  };
  const Status refused = attach(0, 3, false);
  CHECK(refused.code() == StatusCode::kPermissionDenied);
  CHECK_THAT(refused.ToString(), Contains("the caller's certificate") && Contains("expired on "));
  const Status out_of_date = attach(3, 0, false);  // until it is renewed there
  CHECK(out_of_date.code() == StatusCode::kUnavailable);
  CHECK_THAT(out_of_date.ToString(),
             Contains("the coordinator's certificate") && Contains("expired on "));
  const Status early = attach(-3, 0, false);
  CHECK(early.code() == StatusCode::kUnavailable);
  CHECK_THAT(early.ToString(), Contains("is not valid before"));
  const Status unknown = attach(0, 0, true);
  CHECK(unknown.code() == StatusCode::kFailedPrecondition);
  CHECK_THAT(unknown.ToString(), Contains("the coordinator's certificate"));
}

TEST_CASE("TLS on one side alone is one clear error of that side") {
  Secured head;
  Handler handler;
  const auto plain = CoordinatorServer::Make("127.0.0.1:0", &handler);
  REQUIRE(plain.ok());
  const ClientSecurity tls{MustOpen(head.mine.Issue({Role::kWorker, "node-1"})), ""};
  ApiClientOptions options;
  const Status client = (*ApiClient::Make(head.server->address(), options))->List().status();
  Attempt worker(head.server->address(), {});
  for (const Status& why : {client, worker.Closed()}) {
    CHECK(why.code() == StatusCode::kFailedPrecondition);
    CHECK_THAT(why.ToString(),
               Contains(head.server->address()) && Contains("plain text and the other one TLS"));
  }
  options.security = tls;
  const Status other = (*ApiClient::Make((*plain)->address(), options))->List().status();
  Attempt secured((*plain)->address(), tls);
  for (const Status& why : {other, secured.Closed()}) {
    CHECK(why.code() == StatusCode::kFailedPrecondition);
    CHECK_THAT(why.ToString(),
               Contains((*plain)->address()) && Contains("speaks TLS and the other"));
  }
}

TEST_CASE("a worker attaches under the name of its certificate and no other") {
  Secured head;
  const ClientSecurity security{MustOpen(head.mine.Issue({Role::kWorker, "node-1"})), ""};
  Hello hello{.version = "1", .arithmetic_id = "a", .session = "s", .address = "127.0.0.1:1"};
  for (const char* name : {"node-1", "node-1:77"}) {
    Attempt good(head.server->address(), security);
    hello.name = name;
    good.link().Send(hello);
    CHECK(head.handler.messages.PopFor(kPatience).has_value());
  }
  Attempt bad(head.server->address(), security);
  hello.name = "node-2";
  bad.link().Send(hello);
  const Status why = bad.Closed();
  CHECK(why.code() == StatusCode::kPermissionDenied);
  CHECK_THAT(why.ToString(), Contains("'node-2'") && Contains("worker 'node-1'"));
}

TEST_CASE("open streams end when token or certificate are taken back, the others go on") {
  Secured head;
  head.handler.keeps_watchers = true;
  const auto watch = [&](const TlsFiles& files, const std::string& token) {
    auto ended = std::async(std::launch::async, [&head, files, token] {
      return head.Client(files, token)->Watch({7}, [](JobUpdate) {});
    });
    return std::pair(std::move(ended), head.handler.watchers.PopFor(kPatience).value());
  };
  auto [by_token, sink] = watch({head.mine.ca(), "", ""}, kToken);
  auto [by_certificate, other_sink] = watch(head.mine.Issue({Role::kOperator, "ann"}), "");
  const TlsFiles taken_back = head.mine.Issue({Role::kWorker, "node-1"});
  Attempt bad(head.server->address(), {MustOpen(taken_back), ""});
  Attempt good(head.server->address(), {MustOpen(head.mine.Issue({Role::kWorker, "node-2"})), ""});
  Hello hello{.version = "1", .arithmetic_id = "a", .session = "s", .address = "127.0.0.1:1"};
  hello.name = "node-1";
  bad.link().Send(hello);
  hello.name = "node-2";
  good.link().Send(hello);
  for (int i = 0; i < 2; ++i) REQUIRE(head.handler.messages.PopFor(kPatience).has_value());

  head.mine.Replace("tokens", "operator carl 0000111122223333\n", Secrecy::kSecret);
  REQUIRE(by_token.wait_for(kPatience) == std::future_status::ready);
  const Status no_token = by_token.get();
  CHECK(no_token.code() == StatusCode::kPermissionDenied);
  CHECK_THAT(no_token.ToString(), Contains("this was ended") && Contains("taken back"));

  head.mine.Revoke(taken_back);
  const Status revoked = bad.Closed();
  CHECK(revoked.code() == StatusCode::kPermissionDenied);
  CHECK_THAT(revoked.ToString(), Contains("this was ended") && Contains("revoked"));
  CHECK(head.handler.closed.PopFor(kPatience)->code() == StatusCode::kPermissionDenied);

  good.link().Send(Heartbeat{});
  CHECK(head.handler.messages.PopFor(kPatience).has_value());
  CHECK(by_certificate.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  other_sink->Close(Status::Ok());
  CHECK(by_certificate.get().ok());
}

TEST_CASE("a watcher who does not read is ended, too, when its certificate is taken back") {
  Secured head;
  head.handler.keeps_watchers = true;
  const TlsFiles bob = head.mine.Issue({Role::kReader, "bob"});
  rpc::TransportSettings settings;
  settings.message_bytes_max = 256 << 20;
  settings.keepalive_interval_ms = settings.keepalive_timeout_ms = 10'000;
  const rpc::Connection connection =
      rpc::MakeChannel(head.server->address(), settings, {MustOpen(bob), ""});
  const auto stub = espalier::v1::Espalier::NewStub(connection.channel);
  grpc::ClientContext context;
  context.set_deadline(rpc::Deadline(60'000));
  espalier::v1::WatchRequest request;
  request.set_job(7);
  const auto reader = stub->Watch(&context, request);
  const auto sink = head.handler.watchers.PopFor(kPatience);
  REQUIRE(sink.has_value());
  JobUpdate update;  // more than a connection takes that nobody reads from
  update.history.resize(500'000);
  for (size_t i = 0; i < update.history.size(); ++i) {
    update.history[i].step = static_cast<int64_t>(i + 1);
  }
  (*sink)->Send(update);
  head.mine.Revoke(bob);
  // Longer than one may take to read what waits. Who did not read gets no more of it.
  std::this_thread::sleep_for(std::chrono::seconds(15));
  espalier::v1::JobUpdate read;
  CHECK_FALSE(reader->Read(&read));
  CHECK(reader->Finish().error_code() != grpc::StatusCode::OK);
}

TEST_CASE("a plain server limits the calls that one caller may have open") {
  Handler handler;
  CoordinatorServerLimits limits;
  limits.calls_a_caller_max = 0;
  const auto server = CoordinatorServer::Make("127.0.0.1:0", &handler, limits);
  REQUIRE(server.ok());
  const auto client = ApiClient::Make((*server)->address());
  CHECK((*client)->List().status().code() == StatusCode::kResourceExhausted);
  CHECK((*client)->Cancel({7}).code() == StatusCode::kResourceExhausted);
  CHECK((*client)->Watch({7}, [](JobUpdate) {}).code() == StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace espalier
