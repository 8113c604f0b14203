// Limits of the model's size and of the shard list at submission.
#include <malloc.h>

#include <catch2/catch.hpp>
#include <cstdio>

#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {
namespace {

CoordinatorActions Attach(CoordinatorCore& core, uint64_t session, int64_t memory_bytes) {
  Hello hello;
  hello.version = kVersion;
  hello.arithmetic_id = "a";
  hello.session = "session " + std::to_string(session);
  hello.name = "node-" + std::to_string(session);
  hello.address = "host:" + std::to_string(session);
  hello.memory_bytes = memory_bytes;
  core.Step(SessionOpened{{session}, "peer"}, 1000);
  return core.Step(WorkerMessage{{session}, hello}, 1000);
}

Status Submitted(CoordinatorCore& core, const std::string& id, int64_t least_model_bytes,
                 size_t shards = 1) {
  Submission submission;
  submission.client_request_id = id;
  submission.output = "/out/" + id;
  spec::InputPlan input;
  for (size_t i = 0; i < shards; ++i) {  // each takes about 13 bytes in a packed plan
    const auto begin = static_cast<int64_t>((i + 1) << 30);
    input.shards.push_back({0, i % 2 == 0 ? begin : 0, begin + 1 + static_cast<int64_t>(i)});
  }
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
  CHECK(Submitted(core, "a", 0, 3500).ok());
  CHECK(Submitted(core, "b", 0, 3500).ok());
  CHECK(Submitted(core, "c", 0, 3500).code() == StatusCode::kResourceExhausted);
  options.incarnation = {2};
  CoordinatorCore next(options, core.Remember());
  CHECK(Submitted(next, "c", 0, 3500).code() == StatusCode::kResourceExhausted);
}

// Returns the plan of 1,000 files on HDFS with 100 blocks each, which have 3 hosts of 500.
std::shared_ptr<const spec::InputPlan> LargePlan() {
  constexpr int32_t kFiles = 1000, kBlocks = 100;
  constexpr int64_t kBlockBytes = int64_t{128} << 20;
  spec::InputPlan plan;
  for (int32_t file = 0; file < kFiles; ++file) {
    plan.files.push_back({.path = "hdfs://namenode.example:8020/warehouse/table/part-" +
                                  std::to_string(100'000 + file) + ".csv",
                          .length = kBlocks * kBlockBytes,
                          .modified_ms = 1'700'000'000'000 + file});
    for (int32_t block = 0; block < kBlocks; ++block) {
      plan.shards.push_back({file, block * kBlockBytes, (block + 1) * kBlockBytes});
      std::vector<std::string>& hosts = plan.hosts.emplace_back();
      for (int32_t copy = 0; copy < 3; ++copy) {
        const int32_t node = (file * 7919 + block * 104'729 + copy * 31) % 500;
        hosts.push_back("datanode-" + std::to_string(1000 + node) + ".example.com");
      }
    }
  }
  plan.schema.names = {"y", "x"};
  plan.schema.features = {1};
  plan.schema.label = {0};
  return std::make_shared<const spec::InputPlan>(std::move(plan));
}

int64_t BytesAllocated() {
  const auto info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

TEST_CASE("a waiting job of 100,000 shards takes less than 1 MB") {
  CoordinatorCoreOptions options;
  options.incarnation = {1};
  CoordinatorCore core(options);
  constexpr int64_t kJobs = 5;
  const int64_t before = BytesAllocated();
  int64_t journaled = 0;
  for (int64_t i = 0; i < kJobs; ++i) {
    Submission submission;
    submission.client_request_id = std::to_string(i);
    submission.output = "/out/" + std::to_string(i);
    submission.input = LargePlan();
    const CoordinatorActions actions = core.Step(Submit{{1}, std::move(submission)}, 1000);
    REQUIRE(actions.persist.size() == 1);
    const auto& accepted = std::get<JobAccepted>(actions.persist[0]);
    CHECK(accepted.submission.input == nullptr);
    journaled += PlanBytes(accepted.submission);
  }
  const int64_t taken = BytesAllocated() - before;
  std::printf("a waiting job of 100,000 shards: %lld bytes of memory, %lld in the journal\n",
              static_cast<long long>(taken / kJobs), static_cast<long long>(journaled / kJobs));
  CHECK(taken / kJobs < 1'000'000);
  CHECK(journaled / kJobs < 1'000'000);
}

TEST_CASE("a job starts with the input that it was submitted with") {
  CoordinatorCoreOptions options;
  options.incarnation = {1};
  CoordinatorCore first(options);
  const auto plan = LargePlan();
  Submission submission;
  submission.client_request_id = "a";
  submission.output = "/out";
  submission.input = plan;
  first.Step(Submit{{1}, submission}, 1000);
  options.incarnation = {2};
  CoordinatorCore next(options, first.Remember());
  CHECK(next.Jobs()[0].input_bytes == first.Jobs()[0].input_bytes);
  for (CoordinatorCore* core : {&first, &next}) {
    const CoordinatorActions actions = Attach(*core, 1, 1 << 30);
    const StartProfiling* order = nullptr;
    for (const SendToWorker& send : actions.send) {
      if (const auto* o = std::get_if<StartProfiling>(&send.message)) order = o;
    }
    REQUIRE(order != nullptr);
    CHECK(order->input->files == plan->files);
    CHECK(order->input->shards == plan->shards);
    CHECK(order->input->schema == plan->schema);
    CHECK(order->input->hosts == plan->hosts);
  }
}

}  // namespace
}  // namespace espalier::cluster
