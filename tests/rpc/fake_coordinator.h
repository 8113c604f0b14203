// A coordinator's server with a fake handler.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/queue.h"
#include "src/rpc/api_client.h"
#include "src/rpc/coordinator_server.h"
#include "tests/rpc/messages.h"

namespace espalier::rpc {

inline constexpr auto kPatience = std::chrono::seconds(20);

// A handler that records the events of workers and answers clients as the request says.
class FakeHandler : public CoordinatorHandler {
 public:
  struct Event {
    cluster::SessionId session;
    std::string what;  // "opened", "closed" or "message"
    cluster::FromWorker message;
    Status why;
  };
  void OnWorkerOpened(cluster::SessionId session, std::string) override {
    events.Push({session, "opened", {}, {}});
  }
  void OnWorkerMessage(cluster::SessionId session, cluster::FromWorker message,
                       MessageHold hold) override {
    if (keep_holds) holds.Push(std::move(hold));
    events.Push({session, "message", std::move(message), {}});
  }
  void OnWorkerClosed(cluster::SessionId session, Status why) override {
    events.Push({session, "closed", {}, std::move(why)});
  }
  void OnSubmit(cluster::Requester, spec::SubmitRequest request, CallerGone gone,
                Done<JobId> done) override {
    if (request.job_yaml == "drop") return;
    if (request.job_yaml == "wait") {
      std::lock_guard lock(mutex);
      never.push_back(std::move(done));
      waiting.Push(std::move(gone));
      return;
    }
    if (request.job_yaml == "bad") return done(SampleError());
    done(JobId{7});
    done(JobId{8});  // the server ignores a second answer
  }
  void OnRenewer(Done<std::string> done) override { done(std::string("espalier/h@R")); }
  void OnWithdraw(cluster::Requester, std::string client_request_id, Done<JobId> done) override {
    withdrawn.Push(std::move(client_request_id));
    done(JobId{});
  }
  void OnDrain(WorkerId worker, Done<WorkerId> done) override { done(worker); }
  void OnCancel(cluster::Requester, JobId job, bool, Done<JobId> done) override {
    if (job.value == 404) return done(NotFound("no such job: job-404"));
    if (job.value == 1) {
      std::lock_guard lock(mutex);
      never.push_back(std::move(done));
      return;
    }
    done(job);
  }
  void OnList(CallerGone, Done<std::vector<spec::JobSnapshot>> done) override {
    done(std::vector<spec::JobSnapshot>{SampleSnapshot()});
  }
  void OnGet(JobId, CallerGone, Done<spec::JobUpdate> done) override {
    done(LongUpdate(history_rows));
  }
  void OnWorkers(CallerGone, Done<std::vector<spec::WorkerSnapshot>> done) override {
    std::thread([done] { done(std::vector<spec::WorkerSnapshot>{SampleWorker()}); }).detach();
  }
  void OnWatch(JobId, std::shared_ptr<WatchSink> sink) override { sinks.Push(std::move(sink)); }

  std::atomic<int64_t> history_rows = 2;  // rows in the answer of OnGet

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
  Queue<CallerGone> waiting;  // one per submission that waits
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

}  // namespace espalier::rpc
