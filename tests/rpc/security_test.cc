// Tests of the errors for credentials that do not match, and of credential files that change.
#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "proto/espalier/v1/api.grpc.pb.h"
#include "src/rpc/call_status.h"
#include "src/rpc/coordinator_client.h"
#include "src/rpc/peer.h"
#include "src/rpc/transport.h"
#include "tests/rpc/raw_client.h"
#include "tests/rpc/secured.h"

namespace espalier::rpc {
namespace {

using Catch::Contains;

constexpr auto kPatience = std::chrono::seconds(20);

TEST_CASE("a refusal names the side, the reason and the fix") {
  Secured head;
  const auto ann = head.mine.Issue({security::Role::kOperator, "ann"});
  CHECK(head.List(ann).ToString() == "OK");
  CHECK(head.Client({head.mine.ca(), "", ""}, kToken)->Cancel({7}).ToString() == "OK");
  const auto told = [](const Status& status, const char* text) {
    CHECK(status.code() == StatusCode::kPermissionDenied);
    CHECK_THAT(status.ToString(), Contains("coordinator at 127.0.0.1:") && Contains(text));
    CHECK(status.cause().ok());
  };
  told(head.List(head.mine.Issue({security::Role::kOperator, "ann"}, 3)),
       "the caller's certificate 'CN = ann");
  told(head.List(head.mine.Issue({security::Role::kOperator, "ann"}, 3)), "expired on ");
  told(head.List({head.foreign.ca(), ann.certificate, ann.key}), "the coordinator's certificate");
  told(head.List({head.mine.ca(), "", ""}), "neither a certificate nor a token");
  told(head.Client({head.mine.ca(), "", ""}, "fedcba98765432100123")->List().status(), "the token");
  told(head.Client(head.mine.Issue({security::Role::kReader, "bob"}))->Cancel({7}),
       "the role operator");
}

TEST_CASE("a refused submission is known to have failed") {
  Secured head;
  const auto refused = [](ApiClient& client, StatusCode expected) {
    bool known = false;
    const auto job = client.Submit({"", "request", "name: x"}, &known);
    CHECK(job.status().code() == expected);
    CHECK(known);
  };
  security::TlsFiles stranger = head.foreign.Issue({security::Role::kOperator, "ann"});
  stranger.ca = head.mine.ca();
  for (const security::TlsFiles& files : {head.mine.Issue({security::Role::kReader, "bob"}),
                                          stranger, security::TlsFiles{head.mine.ca(), "", ""}}) {
    refused(*head.Client(files), StatusCode::kPermissionDenied);
  }
  const auto believed =
      head.foreign.Issue({security::Role::kOperator, "ann"});  // does not trust the coordinator
  refused(*head.Client(believed), StatusCode::kPermissionDenied);
  refused(**ApiClient::Make(head.server->address()), StatusCode::kFailedPrecondition);
}

TEST_CASE("a mismatched key is ignored and a matching pair is used") {
  Secured head;
  const auto ann = head.mine.Issue({security::Role::kOperator, "ann"});
  const auto replace = [&](const security::TlsFiles& with) {
    for (const auto& [from, to] :
         {std::pair(with.key, head.own.key), std::pair(with.certificate, head.own.certificate)}) {
      std::filesystem::rename(from, to);
    }
  };
  const security::TlsFiles next =
      head.mine.Issue({security::Role::kCoordinator, "next", {"127.0.0.1"}});
  std::filesystem::rename(head.mine.Issue({security::Role::kReader, "bob"}).key, head.own.key);
  // Lasts longer than two checks of the files by the listener.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2500);
  while (std::chrono::steady_clock::now() < until) {
    const Status listed = head.List(ann);
    REQUIRE(listed.ToString() == "OK");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  replace(next);
  const security::TlsFiles foreign{head.foreign.ca(), ann.certificate, ann.key};
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (head.List(foreign).ToString().find("'CN = next") == std::string::npos) {
    REQUIRE(std::chrono::steady_clock::now() < limit);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK(head.List(ann).ToString() == "OK");
}

TEST_CASE("a client accepts only a valid certificate of that host") {
  const auto list = [](const security::CertificateRequest& request, int64_t age_days) {
    Secured other(request, age_days);
    return other.List(other.mine.Issue({security::Role::kOperator, "ann"}));
  };
  const security::CertificateRequest head{security::Role::kCoordinator, "head", {"127.0.0.1"}};
  CHECK(list(head, 0).ToString() == "OK");
  CHECK_THAT(list(head, 3).ToString(),
             Contains("the coordinator's certificate") && Contains("expired on "));
  CHECK_THAT(list({security::Role::kCoordinator, "head", {"head.example.org"}}, 0).ToString(),
             Contains("does not name '127.0.0.1'"));
  CHECK_THAT(list({security::Role::kWorker, "node-1", {"127.0.0.1"}}, 0).ToString(),
             Contains("not a coordinator's"));
}

class Attempt : public CoordinatorLinkListener {
 public:
  Attempt(const std::string& address, const ClientSecurity& security) {
    CoordinatorLinkOptions options;
    options.security = security;
    link_ = CoordinatorLink::Open(address, this, options);
  }
  void OnConnected() override {}
  void OnMessage(cluster::ToWorker) override {}
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

TEST_CASE("only the coordinator's own refusal is PermissionDenied") {
  const auto attach = [](int64_t head_age_days, int64_t age_days, bool stranger) {
    Secured head({security::Role::kCoordinator, "head", {"127.0.0.1"}}, head_age_days);
    security::TlsFiles own = head.mine.Issue({security::Role::kWorker, "node-1"}, age_days);
    if (stranger) own.ca = head.foreign.ca();
    return Attempt(head.server->address(), {MustOpen(own), ""}).Closed();
  };
  const Status refused = attach(0, 3, false);
  CHECK(refused.code() == StatusCode::kPermissionDenied);
  CHECK_THAT(refused.ToString(), Contains("the caller's certificate") && Contains("expired on "));
  const Status out_of_date = attach(3, 0, false);  // temporary: the coordinator may renew it
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

TEST_CASE("TLS on only one side is reported clearly") {
  Secured head;
  Handler handler;
  const auto plain = CoordinatorServer::Make("127.0.0.1:0", &handler);
  REQUIRE(plain.ok());
  const ClientSecurity tls{MustOpen(head.mine.Issue({security::Role::kWorker, "node-1"})), ""};
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

TEST_CASE("a worker attaches only under its certificate's name") {
  Secured head;
  const ClientSecurity security{MustOpen(head.mine.Issue({security::Role::kWorker, "node-1"})), ""};
  cluster::Hello hello{
      .version = "1", .arithmetic_id = "a", .session = "s", .address = "127.0.0.1:1"};
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

TEST_CASE("revoking a credential ends only its own open streams") {
  Secured head;
  head.handler.keeps_watchers = true;
  const auto watch = [&](const security::TlsFiles& files, const std::string& token) {
    auto ended = std::async(std::launch::async, [&head, files, token] {
      return head.Client(files, token)->Watch({7}, [](spec::JobUpdate) {});
    });
    return std::pair(std::move(ended), head.handler.watchers.PopFor(kPatience).value());
  };
  auto [by_token, sink] = watch({head.mine.ca(), "", ""}, kToken);
  auto [by_certificate, other_sink] =
      watch(head.mine.Issue({security::Role::kOperator, "ann"}), "");
  const security::TlsFiles taken_back = head.mine.Issue({security::Role::kWorker, "node-1"});
  Attempt bad(head.server->address(), {MustOpen(taken_back), ""});
  Attempt good(head.server->address(),
               {MustOpen(head.mine.Issue({security::Role::kWorker, "node-2"})), ""});
  cluster::Hello hello{
      .version = "1", .arithmetic_id = "a", .session = "s", .address = "127.0.0.1:1"};
  hello.name = "node-1";
  bad.link().Send(hello);
  hello.name = "node-2";
  good.link().Send(hello);
  for (int i = 0; i < 2; ++i) REQUIRE(head.handler.messages.PopFor(kPatience).has_value());

  head.mine.Replace("tokens", "operator carl 0000111122223333\n", security::Secrecy::kSecret);
  REQUIRE(by_token.wait_for(kPatience) == std::future_status::ready);
  const Status no_token = by_token.get();
  CHECK(no_token.code() == StatusCode::kPermissionDenied);
  CHECK_THAT(no_token.ToString(), Contains("this was ended") && Contains("taken back"));

  head.mine.Revoke(taken_back);
  const Status revoked = bad.Closed();
  CHECK(revoked.code() == StatusCode::kPermissionDenied);
  CHECK_THAT(revoked.ToString(), Contains("this was ended") && Contains("revoked"));
  CHECK(head.handler.closed.PopFor(kPatience)->code() == StatusCode::kPermissionDenied);

  good.link().Send(cluster::Heartbeat{});
  CHECK(head.handler.messages.PopFor(kPatience).has_value());
  CHECK(by_certificate.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  other_sink->Close(Status::Ok());
  CHECK(by_certificate.get().ok());
}

// Revokes a watcher after an update that is larger than the buffers of a connection.
struct RevokedWatcher {
  explicit RevokedWatcher(RawClient::Window window, const CoordinatorServerLimits& limits = {})
      : head(limits), client(head.server->port()) {
    head.handler.keeps_watchers = true;
    v1::WatchRequest request;
    request.set_job(7);
    client.Call("/espalier.v1.Espalier/Watch", kToken, request.SerializeAsString(), window);
    const auto sink = head.handler.watchers.PopFor(kPatience);
    REQUIRE(sink.has_value());
    spec::JobUpdate update;
    update.snapshot.output = std::string(64 << 20, 'x');
    (*sink)->Send(update);
    head.mine.Replace("tokens", "operator dan 0000111122223333\n", security::Secrecy::kSecret);
  }

  Secured head;
  RawClient client;
};

TEST_CASE("revocation also ends a watcher that does not read") {
  RevokedWatcher watcher(RawClient::Window::kFirst);
  CHECK(watcher.client.CallEnds(kPatience));
}

TEST_CASE("revocation ends a connection whose socket is not read") {
  CoordinatorServerLimits limits;
  limits.keepalive_timeout_ms = 10 * 60'000;  // the system does not end the connection
  RevokedWatcher watcher(RawClient::Window::kLargest, limits);
  CHECK(watcher.client.ConnectionEnds(kPatience));
}

TEST_CASE("a plain server limits the open calls of one caller") {
  Handler handler;
  CoordinatorServerLimits limits;
  limits.calls_a_caller_max = 0;
  const auto server = CoordinatorServer::Make("127.0.0.1:0", &handler, limits);
  REQUIRE(server.ok());
  const auto client = ApiClient::Make((*server)->address());
  CHECK((*client)->List().status().code() == StatusCode::kResourceExhausted);
  CHECK((*client)->Cancel({7}).code() == StatusCode::kResourceExhausted);
  CHECK((*client)->Watch({7}, [](spec::JobUpdate) {}).code() == StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace espalier::rpc
