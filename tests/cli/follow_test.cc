#include "src/cli/follow.h"

#include <catch2/catch.hpp>
#include <deque>
#include <thread>
#include <utility>

#include "tests/cli/jobs.h"
#include "tests/testing/says.h"

namespace espalier::cli {
namespace {

// A stream of one connection: its updates and its end. Without an end it lasts until stopped.
struct Stream {
  std::vector<spec::JobUpdate> updates;
  std::optional<Status> end;
};

class FakeClient final : public rpc::ApiClient {
 public:
  explicit FakeClient(Stream stream) : stream_(std::move(stream)) {}
  Result<JobId> Submit(spec::SubmitRequest, bool*, const std::function<bool()>&) override {
    return Unimplemented("submit");
  }
  Status Withdraw(const std::string&) override { return Unimplemented("withdraw"); }
  Result<std::string> Renewer() override { return Unimplemented("renewer"); }
  Result<std::vector<spec::JobSnapshot>> List() override { return Unimplemented("list"); }
  Result<spec::JobUpdate> Get(JobId) override { return Unimplemented("get"); }
  Status Cancel(JobId, bool) override { return Unimplemented("cancel"); }
  Status Drain(WorkerId) override { return Status::Ok(); }
  Result<std::vector<spec::WorkerSnapshot>> Workers() override { return Unimplemented("workers"); }
  Status Watch(JobId, const std::function<void(spec::JobUpdate)>& on_update,
               const std::atomic<bool>* stop) override {
    for (const spec::JobUpdate& update : stream_.updates) on_update(update);
    while (!stream_.end && !*stop) std::this_thread::yield();
    return stream_.end.value_or(Cancelled("stopped"));
  }

 private:
  const Stream stream_;
};

struct Outcome {
  FollowEnd end;
  std::string text;
};

Outcome FollowStreams(std::deque<Stream> streams,
                      std::function<Status(const spec::JobSnapshot*)> tick = {},
                      bool submitted_here = false, int64_t reach_limit_ms = 0) {
  FollowOptions options;
  options.reach_limit_ms = reach_limit_ms;
  options.submitted_here = submitted_here;
  options.connect = [&streams]() -> Result<std::unique_ptr<rpc::ApiClient>> {
    if (streams.empty()) return Unavailable("connection refused");
    Stream next = std::move(streams.front());
    streams.pop_front();
    return std::unique_ptr<rpc::ApiClient>(std::make_unique<FakeClient>(std::move(next)));
  };
  options.tick = tick ? tick : [](const spec::JobSnapshot*) { return Status::Ok(); };
  options.away_limit_ms = 700;
  Outcome outcome;
  PlainView view([&outcome](std::string_view text) { outcome.text += text; });
  outcome.end = Follow(JobId{17}, view, options);
  return outcome;
}

TEST_CASE("following ends with the job's final state") {
  const Outcome o = FollowStreams(
      {{{{TrainingJob(), {EvaluationRow(1, 188)}}, {SucceededJob(), {}}}, Status::Ok()}});
  CHECK(o.end.status.ok());
  REQUIRE(o.end.last);
  CHECK(o.end.last->state == spec::JobState::kSucceeded);
  CHECK_THAT(o.text, Catch::Contains("epoch 1/20"));
}

TEST_CASE("after a reconnect no evaluation is shown twice") {
  const Outcome o = FollowStreams(
      {{{{TrainingJob(), {EvaluationRow(1, 188)}}}, Unavailable("stream broke")},
       {{{TrainingJob(), {EvaluationRow(1, 188), EvaluationRow(2, 376)}}, {SucceededJob(), {}}},
        Status::Ok()}});
  CHECK(o.end.status.ok());
  CHECK(o.text.find("epoch 1/20") == o.text.rfind("epoch 1/20"));
  CHECK_THAT(o.text, Catch::Contains("epoch 2/20"));
}

TEST_CASE("a new stream may start with the newest evaluations only") {
  const Outcome o = FollowStreams(
      {{{{TrainingJob(), {EvaluationRow(1, 188), EvaluationRow(2, 376), EvaluationRow(3, 564)}}},
        Unavailable("stream broke")},
       {{{TrainingJob(), {EvaluationRow(3, 564), EvaluationRow(4, 752)}}, {SucceededJob(), {}}},
        Status::Ok()}});
  CHECK(o.text.find("epoch 3/20") == o.text.rfind("epoch 3/20"));
  CHECK_THAT(o.text, Catch::Contains("epoch 4/20"));
}

TEST_CASE("an unreachable coordinator ends following within the limit") {
  const Outcome o = FollowStreams({{{{TrainingJob(), {}}}, Unavailable("stream broke")}});
  CHECK(o.end.status.code() == StatusCode::kUnavailable);
  CHECK_THAT(o.end.status.ToString(),
             Catch::Matches(R"(.*has been unreachable for [1-9][0-9.]* s.*)"));
  CHECK(o.end.last->state == spec::JobState::kTraining);
}

TEST_CASE("an end during an outage reports how long it lasted") {
  int ticks = 0;
  const Outcome o = FollowStreams(
      {{{{TrainingJob(), {}}}, Unavailable("stream broke")}},
      [&](const spec::JobSnapshot*) { return ++ticks < 4 ? Status::Ok() : Cancelled("enough"); });
  CHECK(o.end.status.code() == StatusCode::kCancelled);
  CHECK(o.end.away_ms > 0);
}

TEST_CASE("a coordinator that restarts without the job has lost it") {
  spec::JobSnapshot another = TrainingJob();
  another.submitted_ms += 5;
  for (const Stream& second : {Stream{{}, NotFound("there is no job-17")},
                               Stream{{{another, {EvaluationRow(1, 188)}}}, std::nullopt}}) {
    const Outcome o = FollowStreams({{{{TrainingJob(), {}}}, Unavailable("broke")}, second});
    CHECK(o.end.status.code() == StatusCode::kAborted);
    CHECK_THAT(o.end.status.message(), Says("job-17 was lost ... restarted"));
    CHECK_THAT(o.text, !Catch::Contains("epoch"));
  }
}

TEST_CASE("an unknown job is lost only if it was submitted here") {
  const std::deque<Stream> unknown = {{{}, NotFound("there is no job-17")}};
  CHECK(FollowStreams(unknown).end.status.ToString() == NotFound("there is no job-17").ToString());
  const Status lost = FollowStreams(unknown, {}, true).end.status;
  CHECK(lost.code() == StatusCode::kAborted);
  CHECK_THAT(lost.message(), Says("job-17 was lost ... restarted"));
}

TEST_CASE("following does not wait for a coordinator never reached") {
  const Outcome o = FollowStreams({});
  CHECK(o.end.status.code() == StatusCode::kUnavailable);
  CHECK_THAT(o.end.status.ToString(), Catch::Contains("connection refused"));
  CHECK_FALSE(o.end.last);
}

TEST_CASE("a coordinator that starts late is tried up to the limit") {
  const auto refused = [] { return Stream{{}, Unavailable("connection refused")}; };
  const Stream good{{{TrainingJob(), {}}, {SucceededJob(), {}}}, Status::Ok()};
  CHECK(FollowStreams({refused(), refused(), good}, {}, false, 60'000).end.status.ok());
  const Outcome o = FollowStreams({}, {}, false, 600);
  CHECK(o.end.status.code() == StatusCode::kUnavailable);
  CHECK_THAT(o.end.status.ToString(), Catch::Contains("no coordinator was reached in ") &&
                                          Catch::Contains("connection refused"));
}

TEST_CASE("an error of a tick ends the following and stops the stream") {
  const Outcome o =
      FollowStreams({{{{TrainingJob(), {}}}, std::nullopt}}, [](const spec::JobSnapshot* job) {
        return job == nullptr ? Status::Ok() : Cancelled("enough");
      });
  CHECK(o.end.status.code() == StatusCode::kCancelled);
  CHECK(o.end.last->state == spec::JobState::kTraining);
}

TEST_CASE("a stream that ends before the job is an error") {
  const Outcome o = FollowStreams({{{{TrainingJob(), {}}}, Status::Ok()}});
  CHECK(o.end.status.code() == StatusCode::kInternal);
}

}  // namespace
}  // namespace espalier::cli
