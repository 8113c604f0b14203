// A coordinator's server with certificates and tokens, and a handler that records its calls.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "src/base/queue.h"
#include "src/rpc/api_client.h"
#include "src/rpc/coordinator_server.h"
#include "tests/rpc/certificates.h"

namespace espalier::rpc {

inline constexpr const char* kToken = "0123456789abcdef0123";       // token of operator carl
inline constexpr const char* kAdminToken = "0123456789abcdef4567";  // token of admin dora

// A handler that answers each call at once.
class Handler : public CoordinatorHandler {
 public:
  void OnWorkerOpened(cluster::SessionId, std::string) override { ++opened; }
  void OnWorkerMessage(cluster::SessionId session, cluster::FromWorker, MessageHold) override {
    messages.Push(session);
  }
  void OnWorkerClosed(cluster::SessionId, Status why) override { closed.Push(std::move(why)); }
  void OnSubmit(cluster::Requester by, spec::SubmitRequest, CallerGone, Done<JobId> done) override {
    requesters.Push(std::move(by));
    done(JobId{7});
  }
  void OnWithdraw(cluster::Requester by, std::string, Done<JobId> done) override {
    requesters.Push(std::move(by));
    done(JobId{});
  }
  void OnRenewer(Done<std::string> done) override { done(std::string("espalier@R")); }
  void OnCancel(cluster::Requester by, JobId, bool, Done<JobId> done) override {
    requesters.Push(std::move(by));
    done(JobId{7});
  }
  void OnDrain(WorkerId, Done<WorkerId> done) override { done(WorkerId{7}); }
  void OnList(CallerGone, Done<std::vector<spec::JobSnapshot>> done) override {
    done(std::vector<spec::JobSnapshot>());
  }
  void OnGet(JobId, CallerGone, Done<spec::JobUpdate> done) override { done(NotFound("none")); }
  void OnWorkers(CallerGone, Done<std::vector<spec::WorkerSnapshot>> done) override {
    done(std::vector<spec::WorkerSnapshot>());
  }
  void OnWatch(JobId, std::shared_ptr<WatchSink> sink) override {
    if (!keeps_watchers) return sink->Close(Status::Ok());
    watchers.Push(std::move(sink));
  }

  bool keeps_watchers = false;
  Queue<std::shared_ptr<WatchSink>> watchers;

  std::atomic<int> opened{0};
  Queue<cluster::SessionId> messages;
  Queue<cluster::Requester> requesters;  // callers that submit, withdraw or cancel
  Queue<Status> closed;
};

struct Secured {
  explicit Secured(const CoordinatorServerLimits& limits)
      : Secured({security::Role::kCoordinator, "head", {"127.0.0.1"}}, 0, limits) {}
  explicit Secured(const security::CertificateRequest& request = {security::Role::kCoordinator,
                                                                  "head",
                                                                  {"localhost", "127.0.0.1"}},
                   int64_t age_days = 0, CoordinatorServerLimits limits = {}) {
    ServerSecurity security;
    own = mine.Issue(request, age_days);
    security.keychain = MustOpen(own);
    auto tokens = security::TokenFile::Open(mine.Put(
        "tokens", std::string("operator carl ") + kToken + "\nadmin dora " + kAdminToken + "\n",
        security::Secrecy::kSecret));
    REQUIRE(tokens.ok());
    security.tokens = *tokens;
    limits.recheck_interval_ms = 50;
    auto made = CoordinatorServer::Make("127.0.0.1:0", &handler, limits, security);
    REQUIRE(made.status().ToString() == "OK");
    server = *std::move(made);
  }
  std::unique_ptr<ApiClient> Client(const security::TlsFiles& files,
                                    const std::string& token = "") {
    ApiClientOptions options;
    options.security = {MustOpen(files), token};
    return *ApiClient::Make(server->address(), options);
  }
  Status List(const security::TlsFiles& files) { return Client(files)->List().status(); }

  Certificates mine, foreign;
  security::TlsFiles own;
  Handler handler;
  std::unique_ptr<CoordinatorServer> server;
};

}  // namespace espalier::rpc
