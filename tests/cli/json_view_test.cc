#include "src/cli/json_view.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "tests/cli/jobs.h"

namespace espalier::cli {
namespace {

std::vector<std::string> Keys(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

TEST_CASE("a successful job has the keys that scripts rely on") {
  spec::JobSnapshot job = SucceededJob();
  job.trained()->skipped_rows = 3;
  const Json json = Json::parse(JsonLine(OutcomeJson(job, 100)));
  CHECK(Keys(json) == std::vector<std::string>{"status", "job", "steps", "epochs",
                                               "stopped_because", "rows_per_epoch", "skipped_rows",
                                               "metrics", "weights_sha256", "bundle", "timing"});
  CHECK(json["status"] == "SUCCEEDED");
  CHECK(json["job"] == "job-17");
  CHECK(json["steps"] == 3760);
  CHECK(json["epochs"] == 20.0);
  CHECK(json["stopped_because"] == "epochs");
  CHECK(json["rows_per_epoch"] == 48000);
  CHECK(json["skipped_rows"] == 3);
  CHECK(Keys(json["metrics"]) == std::vector<std::string>{"train", "validation", "test"});
  CHECK(json["metrics"]["validation"]["loss"] == 0.25);
  CHECK(json["metrics"]["validation"]["accuracy"] == 0.94);
  CHECK(json["metrics"]["test"]["auc"] == 0.975);
  CHECK(json["weights_sha256"] == "ab12");
  CHECK(json["bundle"] == "/models/digits");
  CHECK(json["timing"] == Json({{"start_s", 0.35},
                                {"profiling_s", 0.5},
                                {"train_s", 1.25},
                                {"total_s", 2.1},
                                {"step_ms_p50", 3.125},
                                {"step_ms_p99", 4.5}}));
}

TEST_CASE("asynchronous training reports how late gradients came") {
  spec::JobSnapshot job = SucceededJob();
  CHECK_FALSE(OutcomeJson(job, 0).contains("async"));
  job.trained()->async = spec::AsyncCounts{5, 2};
  CHECK(OutcomeJson(job, 0)["async"] == Json({{"largest_lag", 5}, {"refused", 2}}));
}

TEST_CASE("running values have no precision, recall and f1") {
  spec::JobSnapshot job = SucceededJob();
  job.trained()->train.classes.clear();
  const Json train = OutcomeJson(job, 0)["metrics"]["train"];
  CHECK(train["accuracy"] == 0.95);
  CHECK_FALSE(train.contains("precision"));
  CHECK_FALSE(train.contains("f1"));
}

TEST_CASE("a missing set is null") {
  spec::JobSnapshot job = SucceededJob();
  job.trained()->test.reset();
  CHECK(OutcomeJson(job, 0)["metrics"]["test"].is_null());
}

TEST_CASE("a failure has code, message and position, null if unknown") {
  spec::JobSnapshot job = TrainingJob();
  job.state = spec::JobState::kFailed;
  job.error = BadInput("expected a number")
                  .At({.file = "/data/a.csv", .row = 12, .column = "age", .offset = 345});
  const Json json = OutcomeJson(job, 0);
  CHECK(Keys(json) == std::vector<std::string>{"status", "job", "error"});
  CHECK(json["status"] == "FAILED");
  CHECK(Keys(json["error"]) ==
        std::vector<std::string>{"code", "message", "file", "row", "column", "offset"});
  CHECK(json["error"]["code"] == "BAD_INPUT");
  CHECK(json["error"]["file"] == "/data/a.csv");
  CHECK(json["error"]["row"] == 12);
  CHECK(json["error"]["column"] == "age");
  CHECK(json["error"]["offset"] == 345);
  CHECK_THAT(json["error"]["message"].get<std::string>(), Catch::Contains("expected a number"));
  const Json usage = ErrorJson(std::nullopt, InvalidArgument("no"));
  CHECK(usage["job"].is_null());
  CHECK(usage["error"]["code"] == "INVALID_ARGUMENT");
  CHECK(usage["error"]["row"].is_null());
  CHECK(usage["error"]["file"].is_null());
  CHECK(ErrorJson(std::nullopt, Status())["error"]["code"].is_null());
}

TEST_CASE("a cancelled job has the status CANCELLED") {
  spec::JobSnapshot job = TrainingJob();
  job.state = spec::JobState::kCancelled;
  job.error = Cancelled("cancelled by a client");
  CHECK(OutcomeJson(job, 0)["status"] == "CANCELLED");
}

TEST_CASE("JSON lines report states, progress and evaluations") {
  spec::JobSnapshot training = TrainingJob();
  training.progress.phase = "evaluating";
  training.progress.phase_share = 0.25;
  training.progress.fit = 2;
  training.progress.fits = 5;
  training.progress.fit_epoch = 0.5;
  std::string out;
  JsonView view([&out](std::string_view text) { out += text; });
  view.OnUpdate({QueuedJob(), {}}, 0);
  view.OnUpdate({training, {}}, 10);
  view.OnUpdate({training, {EvaluationRow(1, 188)}}, 500);
  view.OnUpdate({training, {}}, 1010);
  view.OnUpdate({SucceededJob(), {}}, 1100);
  std::istringstream lines(out);
  std::vector<std::string> events;
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    events.push_back(json["event"]);
    CHECK(json["job"] == "job-17");
    if (json["event"] == "evaluation") {
      CHECK(json["validation"]["accuracy"] == 0.942);
      CHECK(json["fit"].is_null());
    }
    if (json["event"] == "progress") {
      CHECK(json["steps_total"] == 3760);
      CHECK(json["phase_share"] == 0.25);
      CHECK(json["fit"] == 2);
      CHECK(json["fits"] == 5);
      CHECK(json["fit_epoch"] == 0.5);
    }
  }
  CHECK(events ==
        std::vector<std::string>{"state", "state", "progress", "evaluation", "progress", "state"});
}

TEST_CASE("invalid UTF-8 and nonfinite numbers still make JSON") {
  CHECK(Json::parse(JsonLine({{"name", "a\xff"}, {"loss", 0.0 / 0.0}}))["loss"].is_null());
}

TEST_CASE("jobs and workers are listed with all fields") {
  CHECK(JobJson(SucceededJob())["outcome"]["status"] == "SUCCEEDED");
  CHECK(JobJson(QueuedJob())["outcome"].is_null());
  CHECK(JobJson(QueuedJob())["waiting_because"] == "1 of 2 workers have registered");
  CHECK(JobJson(QueuedJob())["owner"].is_null());
  spec::JobSnapshot owned = QueuedJob();
  owned.owner = "anna";
  CHECK(JobJson(owned)["owner"] == "anna");
  CHECK(WorkerJson({})["job"].is_null());
}

}  // namespace
}  // namespace espalier::cli
