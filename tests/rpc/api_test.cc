// Tests of the API client with the coordinator's server, over loopback.
#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "proto/espalier/v1/api.grpc.pb.h"
#include "src/base/version.h"
#include "src/rpc/api_client.h"
#include "src/rpc/call_status.h"
#include "src/rpc/coordinator_server.h"
#include "src/rpc/transport.h"
#include "tests/rpc/fake_coordinator.h"
#include "tests/rpc/messages.h"
#include "tests/testing/eventually.h"

namespace espalier::rpc {
namespace {

TEST_CASE("every public call returns the coordinator's answer") {
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

TEST_CASE("a client receives an error's code, causes and position") {
  Coordinator c;
  const auto job = c.Client()->Submit({"", "request", "bad"});
  REQUIRE(!job.ok());
  CHECK(job.status().code() == StatusCode::kBadInput);
  CHECK(job.status().ToString() == SampleError().ToString());
  CHECK(job.status().position() == SampleError().position());
}

TEST_CASE("a dropped answer and a missing answer end as errors") {
  Coordinator c;
  ApiClientOptions options;
  options.call_timeout_ms = 300;
  const auto client = c.Client(options);
  CHECK(client->Submit({"", "request", "drop"}).status().code() == StatusCode::kUnavailable);
  const Status late = client->Cancel({1});
  CHECK(late.code() == StatusCode::kDeadlineExceeded);
  CHECK_THAT(late.message(), Catch::Contains("did not answer within 300 ms"));
}

TEST_CASE("a stopped submission ends at once and can be withdrawn") {
  Coordinator c;
  const auto client = c.Client();
  CallerGone gone;
  bool known = true;
  const auto job = client->Submit({"", "request", "wait"}, &known, [&] {
    if (auto heard = c.handler.waiting.TryPop()) gone = *std::move(heard);
    return gone != nullptr;
  });
  CHECK(job.status().code() == StatusCode::kCancelled);
  CHECK_FALSE(known);
  REQUIRE(Eventually(gone));
  CHECK(client->Withdraw("request").ok());
  CHECK(*c.handler.withdrawn.PopFor(kPatience) == "request");
  CHECK(client->Withdraw("").code() == StatusCode::kInvalidArgument);
}

TEST_CASE("a submission without an answer in time ends as unknown") {
  Coordinator c;
  ApiClientOptions options;
  options.submit_timeout_ms = 300;
  bool known = true;
  const auto job = c.Client(options)->Submit({"", "request", "wait"}, &known);
  CHECK(job.status().code() == StatusCode::kDeadlineExceeded);
  CHECK_THAT(job.status().message(), Catch::Contains("did not answer within 300 ms"));
  CHECK_FALSE(known);
  const CallerGone gone = *c.handler.waiting.PopFor(kPatience);
  REQUIRE(Eventually(gone));
}

TEST_CASE("a client of another version is refused with both versions") {
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

TEST_CASE("an unreachable coordinator is reported with advice") {
  auto client = ApiClient::Make("127.0.0.1:1");
  REQUIRE(client.ok());
  const Status status = (*client)->List().status();
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK_THAT(status.message(),
             Catch::StartsWith(
                 "coordinator at 127.0.0.1:1 cannot be reached (connection refused). Start"));
  CHECK(ApiClient::Make("nonsense").status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("a host named like a gRPC scheme is dialled as a host") {
  for (const char* host : {"xds", "google-c2p", "unix-abstract", "ipv4"}) {
    const std::string address = std::string(host) + ":7";
    const Status status = (*ApiClient::Make(address))->List().status();
    CHECK(status.code() == StatusCode::kUnavailable);
    CHECK_THAT(status.message(), Catch::Contains("at " + address + " cannot be reached (the name"));
  }
}

TEST_CASE("the cause of a failed connection is without gRPC's words") {
  const std::string all = "failed to connect to all addresses; last error: UNKNOWN: ";
  for (const auto& [message, cause] : std::initializer_list<std::pair<std::string, std::string>>{
           {all + "ipv4:127.0.0.1:7700: Failed to connect to remote host: Connection refused",
            "connection refused"},
           {all + "unix:/x: Failed to connect to remote host: No such file or directory",
            "no such file or directory"},
           {all + "ipv4:10.0.0.1:7700: Failed to connect to remote host: FD Shutdown",
            "no answer in time"},
           {all +
                "ipv4:10.0.0.1:7700: connection attempt timed out before receiving SETTINGS frame",
            "no answer in time"},
           {all + "Ssl handshake failed: SSL_ERROR_SSL: error:1: SSL routines: CERTIFICATE_UNKNOWN",
            "the TLS handshake failed: CERTIFICATE_UNKNOWN"},
           {"DNS resolution failed for a:1: C-ares status is not ARES_SUCCESS: Domain name not "
            "found",
            "the name cannot be resolved"},
           {"Socket closed", "socket closed"},
           {"", "no message"}}) {
    CHECK(ConnectionCause(message) == cause);
  }
}

TEST_CASE("a slow watcher receives every history row once and the end") {
  Coordinator c;
  const auto client = c.Client();
  std::vector<int64_t> steps;
  int64_t last = 0;
  Status end = Internal("not yet");
  std::thread watcher([&] {
    end = client->Watch({7}, [&](spec::JobUpdate update) {
      for (const spec::HistoryRow& row : update.history) steps.push_back(row.step);
      last = update.snapshot.leaves;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // a slow watcher
    });
  });
  const auto sink = c.handler.NextSink();
  for (int i = 1; i <= 300; ++i) {
    spec::JobUpdate update{SampleSnapshot(), {SampleRow(i)}};
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

TEST_CASE("a watcher that does not read is dropped at its limit") {
  CoordinatorServerLimits limits;
  limits.watch_rows_max = 50;
  Coordinator c(limits);
  auto stub = v1::Espalier::NewStub(
      rpc::MakeChannel(c.server->address(), {1 << 26, 10'000, 5'000}).channel);
  grpc::ClientContext context;
  v1::WatchRequest request;
  request.set_job(7);
  const auto reader = stub->Watch(&context, request);  // never read
  const auto sink = c.handler.NextSink();
  spec::JobUpdate large{SampleSnapshot(), {}};
  large.snapshot.workers.assign(30, std::string(1000, 'w'));
  for (int i = 0; i < 100'000 && !sink->cancelled(); ++i) {
    spec::JobUpdate update = large;
    update.history = {SampleRow(i)};
    sink->Send(std::move(update));
  }
  CHECK(sink->cancelled());
}

// A call of GetJob that never reads its answer of several megabytes.
struct Unread {
  explicit Unread(const Coordinator& c) {
    // A separate connection keeps the flow-control window small, because reads of other calls widen
    // it.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    stub = v1::Espalier::NewStub(grpc::CreateCustomChannel(
        c.server->address(), grpc::InsecureChannelCredentials(), arguments));
    v1::GetJobRequest request;
    request.set_job(7);
    call = stub->AsyncGetJob(&context, request, &queue);
    call->ReadInitialMetadata(&context);  // sends the request
    void* tag;
    bool ok = false;
    REQUIRE(queue.Next(&tag, &ok));  // the answer has begun
    REQUIRE(ok);
  }
  ~Unread() {
    context.TryCancel();
    call->Finish(&answer, &status, nullptr);
    queue.Shutdown();
    void* tag;
    for (bool ok; queue.Next(&tag, &ok);) {
    }
  }
  std::unique_ptr<v1::Espalier::Stub> stub;
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  v1::JobUpdate answer;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::JobUpdate>> call;
};

TEST_CASE("a caller that reads no answers gets only small ones") {
  CoordinatorServerLimits limits;
  limits.unread_bytes_max = 1 << 20;
  Coordinator c(limits);
  c.handler.history_rows = 10'000;
  const auto client = c.Client();
  REQUIRE(client->Get({7}).ok());  // one answer may have any size
  const auto refused = [&] {
    return client->Get({7}).status().code() == StatusCode::kResourceExhausted;
  };
  {
    const Unread unread(c);
    REQUIRE(Eventually(refused));
    CHECK_THAT(client->Get({7}).status().message(), Catch::Contains("not read"));
    CHECK(client->Cancel({7}).ok());
    Status end;
    std::thread watcher([&] { end = client->Watch({7}, [](spec::JobUpdate) {}); });
    const auto sink = c.handler.NextSink();
    sink->Send(SampleUpdate());
    sink->Send(LongUpdate(10'000));
    sink->Close(Status::Ok());  // the refusal wins, even if it comes later
    watcher.join();
    CHECK(end.code() == StatusCode::kResourceExhausted);
    CHECK(sink->cancelled());
  }
  REQUIRE(Eventually([&] { return client->Get({7}).ok(); }));  // the unread call has ended
}

TEST_CASE("an unread answer is dropped after the read timeout") {
  CoordinatorServerLimits limits;
  limits.unread_bytes_max = 1 << 20;
  limits.read_timeout_ms = 5'000;
  Coordinator c(limits);
  c.handler.history_rows = 10'000;
  const auto client = c.Client();
  const Unread unread(c);
  REQUIRE(Eventually([&] { return !client->Get({7}).ok(); }));
  REQUIRE(Eventually([&] { return client->Get({7}).ok(); }));
}

TEST_CASE("a stopped watch ends and its sink is cancelled") {
  Coordinator c;
  const auto client = c.Client();
  std::atomic<bool> stop = false;
  Status end;
  std::thread watcher([&] {
    end = client->Watch(
        {7}, [&](spec::JobUpdate) { stop = true; }, &stop);
  });
  const auto sink = c.handler.NextSink();
  sink->Send(SampleUpdate());
  watcher.join();
  CHECK(end.code() == StatusCode::kCancelled);
  // The server learns of the end a little later. A sink has no function that waits for it.
  CHECK(Eventually([&] { return sink->cancelled(); }));
  sink->Send(SampleUpdate());  // nothing happens
}

TEST_CASE("a watch ends with its reason") {
  Coordinator c;
  const auto client = c.Client();
  const auto watch = [&] { return client->Watch({7}, [](spec::JobUpdate) {}); };
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

}  // namespace
}  // namespace espalier::rpc
