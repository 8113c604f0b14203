// Owners of jobs across restarts, and the keys of their submissions.
#include <catch2/catch.hpp>

#include "src/cluster/coordinator_core.h"
#include "tests/testing/says.h"

namespace espalier::cluster {
namespace {

Submission Of(const std::string& owner, const std::string& id, int64_t workers_min = 1) {
  Submission s;
  s.owner = owner;
  s.client_request_id = RequestKey(owner, id);
  s.output = "/out/" + owner + id;
  s.workers_min = workers_min;
  s.leaves = 8;
  auto input = std::make_shared<spec::InputPlan>();
  input->files.push_back({"f", 10, 1, spec::FileRole::kTrain, {}});
  input->shards.push_back({0, 0, 10});
  s.input = input;
  return s;
}

CoordinatorCoreOptions Options(uint64_t incarnation) {
  CoordinatorCoreOptions options;
  options.incarnation = {incarnation};
  return options;
}

Status Answer(const CoordinatorActions& actions) {
  REQUIRE(actions.reply.size() == 1);
  return actions.reply[0].result.status();
}

TEST_CASE("equal request ids of different owners have different keys") {
  CHECK(RequestKey("", "id") == "id");
  CHECK(RequestKey("anna", "id") == RequestKey("anna", "id"));
  CHECK(RequestKey("anna", "id") != RequestKey("bob", "id"));
  CHECK(RequestKey("ann", "aid") != RequestKey("anna", "id"));
  CHECK(RequestKey(std::string(512, 'n'), std::string(256, 'i')).size() == 64);
}

TEST_CASE("an operator may end jobs without an owner in an old journal") {
  CoordinatorCore core(Options(2), {JobAccepted{{1}, 1000, Of("", "old")},
                                    JobAccepted{{2}, 1000, Of("anna", "new")}});
  core.Step(Tick{}, 1000);
  CHECK(core.Job({1})->owner.empty());
  CHECK(core.Job({2})->owner == "anna");
  const Requester bob{"bob", false};
  CHECK(Answer(core.Step(CancelJob{{1}, {1}, "why", bob}, 1000)).ok());
  const Status denied = Answer(core.Step(CancelJob{{2}, {2}, "why", bob}, 1000));
  CHECK(denied.code() == StatusCode::kPermissionDenied);
  CHECK(denied.message() == "job-2 belongs to 'anna'; ask anna or an admin");
  // A plain-text cluster permits everything.
  CHECK(Answer(core.Step(CancelJob{{3}, {2}, "why", {"", true}}, 1000)).ok());
}

TEST_CASE("a job that has ended keeps its owner") {
  std::vector<JournalEntry> past;
  {
    CoordinatorCore core(Options(1));
    for (const CoordinatorEvent& event : {CoordinatorEvent(Submit{{1}, Of("anna", "a")}),
                                          CoordinatorEvent(CancelJob{{2}, {1}, "", {"anna"}})}) {
      const CoordinatorActions actions = core.Step(event, 1000);
      past.insert(past.end(), actions.persist.begin(), actions.persist.end());
    }
  }
  const CoordinatorCore core(Options(2), past);
  CHECK(core.Job({1})->owner == "anna");
  CHECK(CoordinatorCore(Options(3), core.Remember()).Job({1})->owner == "anna");
  CHECK(core.FindSubmission(RequestKey("anna", "a")) == JobId{1});
  CHECK_FALSE(core.FindSubmission(RequestKey("bob", "a")));
}

TEST_CASE("a submission beyond its owner's quota is refused") {
  CoordinatorCoreOptions options = Options(1);
  options.owner_waiting_jobs_max = 2;
  options.owner_workers_max = 3;
  CoordinatorCore core(options);
  const auto submit = [&core](const Submission& s) {
    return Answer(core.Step(Submit{{1}, s}, 1000));
  };
  const Status wide = submit(Of("anna", "wide", 4));
  CHECK(wide.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(wide.message(), Catch::StartsWith("workers.min: ") && Catch::Contains(" 3 workers") &&
                                 Catch::Contains("found 4"));
  CHECK(submit(Of("anna", "a")).ok());
  CHECK(submit(Of("anna", "b")).ok());
  const Status third = submit(Of("anna", "c"));
  CHECK(third.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(third.message(), Says("'anna' has 2 waiting jobs ... 2 (owner_waiting_jobs_max"));
  CHECK(submit(Of("anna", "a")).ok());  // the same submission again
  CHECK(submit(Of("bob", "a")).ok());
  for (const char* id : {"1", "2", "3"}) CHECK(submit(Of("", id, 4)).ok());
}

TEST_CASE("a running job stays when its owner's quota is lowered") {
  Submission s = Of("anna", "a");
  CoordinatorCoreOptions options = Options(2);
  options.owner_workers_max = options.owner_running_jobs_max = 1;
  const auto profile = std::make_shared<const spec::TableProfile>();
  CoordinatorCore core(
      options,
      {JobAccepted{{1}, 1000, s}, ProfileRecorded{{1}, profile}, TrainingStarted{{1}, 1000},
       GenerationStarted{{1}, {1}, {{{1}, "a", "a:1"}, {{2}, "b", "b:1"}}, {{0, 4}, {4, 8}}},
       JobAccepted{{2}, 1000, Of("anna", "b")}});
  core.Step(Tick{}, 1000);
  CHECK(core.Job({1})->workers.size() == 2);
  CHECK_FALSE(spec::IsFinal(core.Job({1})->state));
  CHECK_THAT(core.Job({2})->waiting_because,
             Says("'anna' has 1 running job ... 1 (owner_running_jobs_max)"));
}

}  // namespace
}  // namespace espalier::cluster
