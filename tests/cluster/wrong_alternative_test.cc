// Messages and results of the wrong alternative for the kind of a job.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "src/cluster/coordinator_core.h"
#include "src/spec/names.h"

namespace espalier::cluster {
namespace {

constexpr JobId kJob{1};
constexpr Generation kGeneration{1};
constexpr SessionId kSession{1};
constexpr spec::JobKind kKinds[] = {spec::JobKind::kTrain, spec::JobKind::kPredict,
                                    spec::JobKind::kEvaluate};

// A coordinator with one job of one shard in its profiling pass, on one worker.
class Cluster {
 public:
  explicit Cluster(spec::JobKind kind) {
    CoordinatorCoreOptions options;
    options.incarnation = {1};
    core_.emplace(options);
    core_->Step(SessionOpened{kSession, "peer"}, kNowMs);
    Hello hello;
    hello.version = kVersion;
    hello.arithmetic_id = "a";
    hello.session = "session";
    hello.name = "machine";
    hello.address = "host:1";
    Send(hello);
    Submission submission;
    submission.client_request_id = "a";
    submission.output = "/out";
    if (kind != spec::JobKind::kTrain) submission.work = ScoringSubmission{kind};
    spec::InputPlan input;
    input.files = {{.path = "/in.csv", .length = 10}};
    input.shards = {{0, 0, 10}};
    submission.input = std::make_shared<const spec::InputPlan>(input);
    core_->Step(Submit{{1}, submission}, kNowMs);
    REQUIRE(Job().state == spec::JobState::kProfiling);
  }
  CoordinatorActions Send(const FromWorker& message) {
    return core_->Step(WorkerMessage{kSession, message}, kNowMs);
  }
  spec::JobSnapshot Job() const { return *core_->Job(kJob); }

 private:
  static constexpr int64_t kNowMs = 1000;
  std::optional<CoordinatorCore> core_;
};

ProfilePart PartOf(spec::ShardResult result) {
  return {kJob, kGeneration, {std::make_shared<const spec::ShardResult>(std::move(result))}};
}

// Returns a valid result of a shard of each kind of job, in the order of kKinds.
std::vector<ProfilePart> Results() {
  return {PartOf(spec::ShardProfile{}),
          PartOf(spec::ShardScore{.rows = 2, .work = spec::PredictedShard{.parts = 1}}),
          PartOf(spec::ShardScore{.rows = 2, .work = spec::EvaluatedShard{{2, 2, 0.5}}})};
}

TEST_CASE("a shard's result of another kind fails the job") {
  for (const spec::JobKind kind : kKinds) {
    const std::vector<ProfilePart> results = Results();
    for (size_t i = 0; i < results.size(); ++i) {
      CAPTURE(spec::NameOf(kind), spec::NameOf(kKinds[i]));
      Cluster cluster(kind);
      const CoordinatorActions actions = cluster.Send(results[i]);
      if (kKinds[i] == kind) {
        REQUIRE(actions.work.size() == 1);
        CHECK((actions.work[0].score() != nullptr) == (kind != spec::JobKind::kTrain));
        continue;
      }
      CHECK(actions.work.empty());
      CHECK(cluster.Job().state == spec::JobState::kFailed);
      CHECK_THAT(cluster.Job().error.ToString(), Catch::Contains("not of this kind of job"));
    }
  }
}

// Returns a message of each alternative that a member sends of its training.
std::vector<FromWorker> TrainingMessages() {
  return {MemberReady{kJob, kGeneration, 1},
          Switched{kJob, kGeneration, 1},
          LinkBroken{kJob, kGeneration, {1}, Unavailable("gone")},
          StatesDiffer{kJob, kGeneration, 1, {0}},
          Uneven{kJob, kGeneration, 1, {1}},
          Progress{kJob, kGeneration, {.step = 1}},
          HistoryEntry{kJob, kGeneration, {.step = 1}},
          JobDone{kJob, kGeneration, {.steps = 1}},
          StateKept{kJob, kGeneration, 1, "/out.checkpoints", {}}};
}

TEST_CASE("messages of a training end no coordinator and no scoring") {
  for (const spec::JobKind kind : kKinds) {
    // Before its training, also a training job expects none of them.
    for (const FromWorker& message : TrainingMessages()) {
      CAPTURE(spec::NameOf(kind), message.index());
      Cluster cluster(kind);
      const CoordinatorActions actions = cluster.Send(message);
      CHECK(actions.check.empty());  // nothing was trained
      CHECK(cluster.Job().state != spec::JobState::kSucceeded);
      CHECK(cluster.Job().state != spec::JobState::kTraining);
      CHECK_FALSE(cluster.Job().has_result());
      if (cluster.Job().state == spec::JobState::kFailed) {
        CHECK_THAT(cluster.Job().error.ToString(), Catch::Contains("broke the protocol"));
      }
    }
  }
}

}  // namespace
}  // namespace espalier::cluster
