// Limits of the model's size and of the shard list at submission.
#include <catch2/catch.hpp>

#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {
namespace {

void Attach(CoordinatorCore& core, uint64_t session, int64_t memory_bytes) {
  Hello hello;
  hello.version = kVersion;
  hello.arithmetic_id = "a";
  hello.session = "session " + std::to_string(session);
  hello.name = "node-" + std::to_string(session);
  hello.address = "host:" + std::to_string(session);
  hello.memory_bytes = memory_bytes;
  core.Step(SessionOpened{{session}, "peer"}, 1000);
  core.Step(WorkerMessage{{session}, hello}, 1000);
}

Status Submitted(CoordinatorCore& core, const std::string& id, int64_t least_model_bytes,
                 size_t shards = 1) {
  Submission submission;
  submission.client_request_id = id;
  submission.output = "/out/" + id;
  spec::InputPlan input;
  input.shards.resize(shards);
  submission.input = std::make_shared<const spec::InputPlan>(input);
  submission.work = TrainingSubmission{.least_model_bytes = least_model_bytes};
  const CoordinatorActions actions = core.Step(Submit{{1}, submission}, 1000);
  REQUIRE(actions.reply.size() == 1);
  const Result<JobId>& result = actions.reply[0].result;
  return result.ok() ? Status::Ok() : result.status();
}

TEST_CASE("a model too large for every worker is refused") {
  CoordinatorCoreOptions options;
  options.incarnation = {1};
  CoordinatorCore core(options);
  CHECK(Submitted(core, "a", int64_t{1} << 40).ok());  // a larger worker may attach
  Attach(core, 1, 1 << 20);
  Attach(core, 2, 1 << 22);
  const Status refused = Submitted(core, "b", (1 << 22) + 1);
  CHECK(refused.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(refused.message(), Catch::Contains("memory_bytes_max"));
  CHECK(Submitted(core, "c", 1 << 22).ok());
}

TEST_CASE("plans of unfinished jobs are bounded in bytes") {
  CoordinatorCoreOptions options;
  options.incarnation = {1};
  options.plans_bytes_max = 100'000;
  CoordinatorCore core(options);
  CHECK(Submitted(core, "alone", 0, 10'000).ok());  // above the limit, but the only job
  const Status refused = Submitted(core, "more", 0);
  CHECK(refused.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(refused.message(), Catch::Contains("data.shard_bytes"));
  CHECK(Submitted(core, "alone", 0, 10'000).ok());  // the same job again

  const CoordinatorActions cancelled = core.Step(CancelJob{{2}, {1}, "why"}, 1000);
  REQUIRE(cancelled.reply.size() == 1);
  CHECK(Submitted(core, "a", 0, 2000).ok());
  CHECK(Submitted(core, "b", 0, 2000).ok());
  CHECK(Submitted(core, "c", 0, 2000).code() == StatusCode::kResourceExhausted);
  options.incarnation = {2};
  CoordinatorCore next(options, core.Remember());
  CHECK(Submitted(next, "c", 0, 2000).code() == StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace espalier::cluster
