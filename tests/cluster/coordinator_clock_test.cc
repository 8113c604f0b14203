// A clock that is behind the one of an earlier life: set back, or that of another host.
#include <catch2/catch.hpp>

#include "src/cluster/coordinator_core.h"

namespace espalier {
namespace {

TEST_CASE("a job of a life whose clock was ahead has no spans below 0, in no journal either") {
  constexpr int64_t kNow = 1'000'000, kAhead = kNow + 7'200'000;
  CoordinatorCoreOptions options;
  options.incarnation = {1};
  std::vector<JournalEntry> past;
  CoordinatorCore first(options);
  const auto keep = [&past](const CoordinatorActions& actions) {
    past.insert(past.end(), actions.persist.begin(), actions.persist.end());
  };
  Submission submission;
  submission.client_request_id = "id";
  submission.job_yaml = "yaml";
  submission.output = "out";
  auto input = std::make_shared<InputPlan>();
  input->files.push_back({"f", 10, 1, FileRole::kTrain, {}});
  input->shards.push_back({0, 0, 10});
  submission.input = input;
  keep(first.Step(Submit{{1}, submission}, kAhead));

  options.incarnation = {2};
  CoordinatorCore second(options, past);
  const auto check = [](const JobSnapshot& s) {
    CHECK(s.start_phase_ms >= 0);
    CHECK(s.survey_phase_ms >= 0);
    CHECK(s.train_phase_ms >= 0);
  };
  keep(second.Step(Tick{}, kNow));
  REQUIRE(second.Jobs().size() == 1);
  check(second.Jobs()[0]);
  keep(second.Step(CancelJob{{2}, {1}}, kNow + 1));
  check(second.Jobs()[0]);
  const auto* ended = std::get_if<JobEnded>(&past.back());
  REQUIRE(ended != nullptr);
  check(ended->snapshot);
}

}  // namespace
}  // namespace espalier
