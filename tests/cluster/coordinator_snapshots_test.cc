// Snapshots of jobs after a clock went backwards (set back, or on another host), and of large
// results.
#include <catch2/catch.hpp>

#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {
namespace {

TEST_CASE("spans are never below 0 after a clock was ahead") {
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
  auto input = std::make_shared<spec::InputPlan>();
  input->files.push_back({"f", 10, 1, spec::FileRole::kTrain, {}});
  input->shards.push_back({0, 0, 10});
  submission.input = input;
  keep(first.Step(Submit{{1}, submission}, kAhead));

  options.incarnation = {2};
  CoordinatorCore second(options, past);
  const auto check = [](const spec::JobSnapshot& s) {
    CHECK(s.start_phase_ms >= 0);
    CHECK(s.profiling_phase_ms >= 0);
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

TEST_CASE("lists omit confusion matrices, whose bytes are bounded") {
  constexpr int kClasses = 10, kBytes = kClasses * kClasses * 8;
  std::vector<JournalEntry> past;
  for (uint64_t id = 1; id <= 4; ++id) {
    past.push_back(JobAccepted{{id}, 1'000, {.client_request_id = std::to_string(id)}});
    spec::JobSnapshot s;
    s.job = {id};
    s.state = spec::JobState::kSucceeded;
    s.submitted_ms = s.ended_ms = 1'000;
    spec::TrainingResult result;
    result.steps = 1;
    spec::Metrics m;
    m.classes.resize(kClasses);
    m.confusion.assign(kClasses * kClasses, static_cast<double>(id));
    result.validation = result.test = m;
    s.result = std::move(result);
    past.push_back(JobEnded{s});
  }
  CoordinatorCoreOptions options;
  options.incarnation = {2};
  options.confusion_bytes_max = 2 * 2 * kBytes + kBytes;
  const auto check = [&](const CoordinatorCore& core) {
    REQUIRE(core.Jobs().size() == 4);
    for (const spec::JobSnapshot& s : core.Jobs()) {
      CHECK(s.trained()->validation->confusion.empty());
      CHECK(s.trained()->test->confusion.empty());
      CHECK(s.trained()->test->classes.size() == kClasses);
    }
    for (uint64_t id = 1; id <= 4; ++id) {
      const auto s = core.Job({id});
      const std::vector<double> kept(kClasses * kClasses, static_cast<double>(id));
      CHECK(s->trained()->validation->confusion == (id >= 3 ? kept : std::vector<double>()));
      CHECK(s->trained()->test->confusion == (id >= 3 ? kept : std::vector<double>()));
    }
  };
  const CoordinatorCore core(options, past);
  check(core);
  check(CoordinatorCore(options, core.Remember()));
}

}  // namespace
}  // namespace espalier::cluster
