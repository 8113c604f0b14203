#include <catch2/catch.hpp>

#include "src/cli/command_table.h"
#include "src/cli/json_view.h"
#include "src/cli/metrics_text.h"
#include "src/cli/parse_arguments.h"
#include "src/cli/progress_view.h"
#include "src/cli/result_view.h"
#include "src/cli/scoring_view.h"

namespace espalier::cli {
namespace {

ParsedArguments Parse(std::vector<std::string> arguments) { return ParseArguments(arguments, {}); }

TEST_CASE("predict takes a model, data, an output and what to write") {
  const auto parsed = Parse({"predict",         "m",          "a.csv",         "b.csv",
                             "--output",        "out",        "--keep",        "id,name",
                             "--columns",       "prediction", "--format",      "parquet",
                             "--rejects-limit", "7",          "--overwrite",   "--spreadsheet-safe",
                             "--threads",       "3",          "--data-format", "csv"});
  INFO(parsed.error.ToString());
  REQUIRE(parsed.options);
  CHECK(parsed.command->name == "predict");
  const ScoringArguments& s = parsed.options->scoring;
  CHECK(s.model == "m");
  CHECK(s.data == std::vector<std::string>{"a.csv", "b.csv"});
  CHECK(s.output == "out");
  CHECK(s.keep == std::vector<std::string>{"id", "name"});
  CHECK(s.columns == std::vector<std::string>{"prediction"});
  CHECK(s.format == "parquet");
  CHECK(s.rejects_max == 7);
  CHECK(s.on_bad_row == "empty");
  CHECK(s.overwrite);
  CHECK(s.spreadsheet_safe);
  CHECK(parsed.options->threads == 3);
}

TEST_CASE("evaluate takes a model, data and optionally a report") {
  const auto parsed = Parse({"evaluate", "m", "t.csv", "--report", "r.html", "--json"});
  REQUIRE(parsed.options);
  CHECK(parsed.command->name == "evaluate");
  CHECK(parsed.options->scoring.report == "r.html");
  CHECK(parsed.options->json);
  CHECK(!Parse({"evaluate", "m", "t.csv"}).options->scoring.report);
}

TEST_CASE("invalid scoring options are refused before reading") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad = {
      {{"predict", "m", "d"}, "--output"},
      {{"predict", "m"}, "DATA"},
      {{"evaluate"}, "MODEL"},
      {{"evaluate", "m", "d", "--output", "o"}, "--output"},
      {{"predict", "m", "d", "--output", ""}, "--output"},
      {{"predict", "m", "d", "--output", "o", "--columns", "scores"}, "scores"},
      {{"predict", "m", "d", "--output", "o", "--format", "json"}, "--format"},
      {{"predict", "m", "d", "--output", "o", "--data-format", "orc"}, "--data-format"},
      {{"predict", "m", "d", "--output", "o", "--rejects-limit", "-1"}, "--rejects-limit"},
      {{"predict", "m", "d", "--output", "o", "--on-bad-row", "skip"}, "--on-bad-row"},
      {{"predict", "m", "d", "--output", "o", "--threads", "0"}, "--threads"},
      {{"predcit", "m", "d"}, "did you mean 'predict'?"},
      {{"predict", "m", "d", "--output", "o", "--detach"}, "--detach"},
      {{"predict", "m", "d", "--output", "o", "--coordinator", "h:1", "--threads", "2"},
       "--threads"},
      {{"evaluate", "m", "d", "--coordinator", "h:1", "--report", ""}, "--report"},
      {{"export", "m", "--coordinator", "h:1"}, "--coordinator"},
  };
  for (const auto& [arguments, says] : bad) {
    const auto parsed = Parse(arguments);
    INFO(says << ": " << parsed.error.ToString());
    REQUIRE(!parsed.options);
    CHECK(parsed.error.message().find(says) != std::string::npos);
  }
}

TEST_CASE("a cluster scores only if the command line names one") {
  Environment env;
  env.coordinator = "elsewhere:7700";
  const auto parse = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"predict", "m", "d", "--output", "o"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ParseArguments(arguments, env);
  };
  CHECK(parse({}).options->coordinator.empty());
  const auto there = parse({"--coordinator", "h:1", "--detach"});
  INFO(there.error.ToString());
  REQUIRE(there.options);
  CHECK(there.options->coordinator == "h:1");
  CHECK(there.options->detach);
}

// Returns a job that has scored half of its input.
spec::JobSnapshot ScoringJob(spec::JobKind kind) {
  spec::JobSnapshot job;
  job.job = {3};
  job.kind = kind;
  job.name = "may";
  job.state = spec::JobState::kProfiling;
  job.workers = {"a"};
  job.leaves = 7;
  job.input_bytes = 2048;
  job.profiling_bytes_done = 1024;
  return job;
}

spec::JobSnapshot ScoredJob(spec::JobKind kind) {
  spec::JobSnapshot job = ScoringJob(kind);
  job.state = spec::JobState::kSucceeded;
  job.profiling_phase_ms = 2000;
  job.notes = {"each counts 1"};
  spec::ScoringResult result{.rows = 1000,
                             .rejected = 1,
                             .output = "/out",
                             .work = spec::PredictionResult{.parts = 2, .format = "csv"}};
  if (kind == spec::JobKind::kEvaluate) {
    result.work = spec::EvaluationResult{{.rows = 1000, .weight = 1000, .accuracy = 0.5}};
  }
  job.result = std::move(result);
  return job;
}

TEST_CASE("a scoring job is shown as one") {
  const spec::JobSnapshot scoring = ScoringJob(spec::JobKind::kPredict);
  CHECK(StateLine(scoring) == "job-3 scoring: 2.0 KiB on 1 worker (a)");
  CHECK(LiveLine(scoring, std::nullopt, std::nullopt, 80).starts_with("scoring"));
  const std::string table = JobTable({scoring, ScoredJob(spec::JobKind::kPredict)}, 0);
  for (const char* words : {"KIND", "predict", "SCORING", "SUCCEEDED", "1,000 rows"}) {
    INFO(table);
    CHECK(table.find(words) != std::string::npos);
  }
  CHECK(JobTable({ScoredJob(spec::JobKind::kEvaluate)}, 0).find("accuracy 50.00 %") !=
        std::string::npos);
  const std::string status = StatusText(scoring, 0, false);
  CHECK(status.find("SCORING") != std::string::npos);
  CHECK(status.find("50 %") != std::string::npos);
  CHECK(JobJson(scoring)["kind"] == "predict");
}

TEST_CASE("a scoring job's result is shown like that of a local run") {
  const spec::JobSnapshot predicted = ScoredJob(spec::JobKind::kPredict);
  const std::string text = ResultText(predicted, 0);
  for (const char* words : {"job-3 'may' succeeded", "scored 1,000 rows in 2.0 s", "500 rows/s",
                            "1 row has no prediction", "/out (2 parts)"}) {
    INFO(text);
    CHECK(text.find(words) != std::string::npos);
  }
  const Json json = OutcomeJson(predicted, 0);
  CHECK(json["status"] == "SUCCEEDED");
  CHECK(json["job"] == "job-3");
  CHECK(json["rows"] == 1000);
  CHECK(json["output"] == "/out");
  CHECK(json["seconds"] == 2.0);
  const spec::JobSnapshot evaluated = ScoredJob(spec::JobKind::kEvaluate);
  CHECK(ResultText(evaluated, 0).find("evaluated 1,000 rows") != std::string::npos);
  CHECK(OutcomeJson(evaluated, 0)["metrics"]["accuracy"] == 0.5);
  CHECK(OutcomeJson(evaluated, 0)["report"] == "/out");
  CHECK(OutcomeJson(evaluated, 0)["notes"] == Json::array({"each counts 1"}));
}

TEST_CASE("a prediction is shown with its parts and its rejects") {
  spec::ScoringResult result;
  result.output = "/out";
  result.work = spec::PredictionResult{.parts = 3, .reject_parts = 1, .format = "csv"};
  result.rows = 1234567;
  result.rejected = 2;
  result.first_rejects = {
      BadInput("it is no number").At({.file = "t.csv", .row = 9, .column = "a"}),
      BadInput("it is no number either")};
  const std::string text = PredictText(result, {}, 2000, false);
  for (const char* words : {"scored 1,234,567 rows", "617,283 rows/s", "2 rows have no prediction",
                            "it is no number", "/out (3 parts)", "/out/_rejects"}) {
    INFO(text);
    CHECK(text.find(words) != std::string::npos);
  }
  const Json json = PredictJson(result, {}, 2000);
  CHECK(json["rows"] == 1234567);
  CHECK(json["rejects"][0]["row"] == 9);
  CHECK(json["rejects"][1]["row"].is_null());
  CHECK(json["format"] == "csv");
  CHECK(json["seconds"] == 2.0);
  CHECK(json["unseen_values"].empty());
}

TEST_CASE("unseen values are counted by column, the largest first") {
  const spec::PredictionResult predicted{.parts = 1, .format = "csv"};
  spec::ScoringResult result{.rows = 20, .output = "/out", .work = predicted};
  result.unseen = {{"city", 1}, {"job", 12}};
  CHECK(PredictText(result, {}, 1, false)
            .find("\nunseen or rare values: job 12 rows, city 1 row\n") != std::string::npos);
  CHECK(PredictJson(result, {}, 1)["unseen_values"] == Json({{"city", 1}, {"job", 12}}));
  spec::Metrics metrics{.rows = 20, .weight = 20, .accuracy = 0.5};
  metrics.unknown_labels = 10;
  result.work = spec::EvaluationResult{metrics};
  const std::string text = EvaluateText(result, {}, 1, false);
  CHECK(text.find("unseen or rare values: job 12 rows") != std::string::npos);
  CHECK(EvaluateText(result, {"seen before"}, 1, false).find("\nnote: seen before\n\n") !=
        std::string::npos);
  CHECK(EvaluateJson(result, {"seen before"}, 1)["notes"] == Json::array({"seen before"}));
  CHECK(text.find("10 rows have a label") != std::string::npos);
  const Json json = EvaluateJson(result, {}, 1);
  CHECK(json["unseen_values"]["city"] == 1);
  CHECK(json["unknown_labels"] == 10);
  CHECK(json["metrics"]["unknown_labels"] == 10);
  CHECK(json["metrics"]["warnings"].size() == 1);
  result.work = predicted;
  for (int i = 0; i < 20; ++i) result.unseen["c" + std::to_string(i)] = 2;
  CHECK(PredictText(result, {}, 1, false).find("and 12 more columns") != std::string::npos);
}

TEST_CASE("metrics of several targets are shown by target") {
  spec::Metrics m{.rows = 9, .weight = 9};
  m.classification = false;
  m.targets = {{"u", 1.5, 1, 0.25, false}, {"v", 2.5, 2, 0, true}};
  const std::string text = MetricsText("data", m, {});
  CHECK(text.find("data set by target") != std::string::npos);
  CHECK(text.find("2.5") != std::string::npos);
  CHECK(text.find("note: data: r2 of 'v' is 0 by convention") != std::string::npos);
  spec::ScoringResult result{.rows = 9, .work = spec::EvaluationResult{m}};
  const Json json = EvaluateJson(result, {}, 1)["metrics"];
  REQUIRE(json["per_target"].size() == 2);
  CHECK(json["per_target"][0] == Json({{"target", "u"}, {"rmse", 1.5}, {"mae", 1}, {"r2", 0.25}}));
  m.targets.pop_back();
  result.work = spec::EvaluationResult{m};
  CHECK_FALSE(EvaluateJson(result, {}, 1)["metrics"].contains("per_target"));
}

TEST_CASE("progress is a share of the shards") {
  CHECK(ScoringLine(1, 4, 1000, 500).find(" 25 %  1,000 rows  2,000 rows/s") != std::string::npos);
  CHECK(ScoringLine(0, 0, 0, 0).find("100 %") != std::string::npos);
}

}  // namespace
}  // namespace espalier::cli
