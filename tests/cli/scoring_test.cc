#include <catch2/catch.hpp>

#include "src/cli/options.h"
#include "src/cli/scoring_view.h"

namespace espalier {
namespace {

ParsedArguments Parse(std::vector<std::string> arguments) { return ParseArguments(arguments, {}); }

TEST_CASE("predict takes a model, data, an output and what to write") {
  const auto parsed =
      Parse({"predict", "m", "a.csv", "b.csv", "--output", "out", "--keep", "id,name", "--columns",
             "prediction", "--format", "parquet", "--rejects-limit", "7", "--overwrite",
             "--threads", "3", "--data-format", "csv"});
  INFO(parsed.error.ToString());
  REQUIRE(parsed.options);
  CHECK(parsed.options->command == CommandKind::kPredict);
  const ScoringArguments& s = parsed.options->scoring;
  CHECK(s.model == "m");
  CHECK(s.data == std::vector<std::string>{"a.csv", "b.csv"});
  CHECK(s.output == "out");
  CHECK(s.keep == std::vector<std::string>{"id", "name"});
  CHECK(s.columns == std::vector<std::string>{"prediction"});
  CHECK(s.format == "parquet");
  CHECK(s.rejects_max == 7);
  CHECK(s.overwrite);
  CHECK(parsed.options->threads == 3);
}

TEST_CASE("evaluate takes a model, data and perhaps a page to write") {
  const auto parsed = Parse({"evaluate", "m", "t.csv", "--report", "r.html", "--json"});
  REQUIRE(parsed.options);
  CHECK(parsed.options->command == CommandKind::kEvaluate);
  CHECK(parsed.options->scoring.report == "r.html");
  CHECK(parsed.options->json);
  CHECK(!Parse({"evaluate", "m", "t.csv"}).options->scoring.report);
}

TEST_CASE("what cannot be meant is refused before anything is read") {
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
      {{"predict", "m", "d", "--output", "o", "--threads", "0"}, "--threads"},
      {{"predcit", "m", "d"}, "did you mean 'predict'?"},
  };
  for (const auto& [arguments, says] : bad) {
    const auto parsed = Parse(arguments);
    INFO(says << ": " << parsed.error.ToString());
    REQUIRE(!parsed.options);
    CHECK(parsed.error.message().find(says) != std::string::npos);
  }
}

TEST_CASE("a prediction is told with its parts and its rejects") {
  ScoringResult result;
  result.format = "csv";
  result.rows = 1234567;
  result.rejected = 2;
  result.parts = 3;
  result.first_rejects = {
      BadInput("it is no number").At({.file = "t.csv", .row = 9, .column = "a"}),
      BadInput("it is no number either")};
  const std::string text = PredictText(result, "/out", 2000, false);
  for (const char* words : {"scored 1,234,567 rows", "617,283 rows/s", "2 rows could not be scored",
                            "it is no number", "/out (3 parts)", "/out/_rejects"}) {
    INFO(text);
    CHECK(text.find(words) != std::string::npos);
  }
  const Json json = PredictJson(result, "/out", 2000);
  CHECK(json["rows"] == 1234567);
  CHECK(json["rejects"][0]["row"] == 9);
  CHECK(json["rejects"][1]["row"].is_null());
  CHECK(json["format"] == "csv");
  CHECK(json["seconds"] == 2.0);
}

TEST_CASE("progress is a share of the shards") {
  CHECK(ScoringLine(1, 4, 1000, 500).find(" 25 %  1,000 rows  2,000 rows/s") != std::string::npos);
  CHECK(ScoringLine(0, 0, 0, 0).find("100 %") != std::string::npos);
}

}  // namespace
}  // namespace espalier
