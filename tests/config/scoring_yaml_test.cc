#include "src/config/scoring_yaml.h"

#include <catch2/catch.hpp>
#include <string>

#include "src/config/job_yaml.h"

namespace espalier::config {
namespace {

std::string ErrorOf(const std::string& text) {
  return ParseScoring(text, "job.yaml").status().message();
}

TEST_CASE("a prediction with all keys is read and written back") {
  const auto spec = ParseScoring(R"(
name: all keys
predict:
  model: models/m
  data: [a.csv, "b/*.csv"]
  data_format: csv
  format: parquet
  keep: [id, "a, b"]
  columns: prediction
  spreadsheet_safe: true
  raw: true
  on_bad_row: reject
  rejects_limit: 7
workers: {min: 2, max: 3}
output: {path: /out, overwrite: true}
)",
                                 "job.yaml");
  INFO(spec.status().ToString());
  REQUIRE(spec.ok());
  spec::ScoringSpec expected;
  expected.name = "all keys";
  expected.model = "models/m";
  expected.data = {"a.csv", "b/*.csv"};
  expected.data_format = spec::DataFormat::kCsv;
  expected.raw = true;
  expected.work = spec::PredictionSpec{.format = spec::PartFormat::kParquet,
                                       .keep = {"id", "a, b"},
                                       .columns = {spec::AnswerColumn::kPrediction},
                                       .spreadsheet_safe = true,
                                       .on_bad_row = spec::OnBadRow::kReject,
                                       .rejects_limit = 7};
  expected.workers = {2, 3};
  expected.output = {"/out", true};
  CHECK(*spec == expected);
  const auto again = ParseScoring(ScoringYaml(*spec), "text");
  INFO(ScoringYaml(*spec) << again.status().ToString());
  REQUIRE(again.ok());
  CHECK(*again == expected);
}

TEST_CASE("missing scoring keys have defaults, also in evaluations") {
  const auto predict = ParseScoring("predict: {model: m, data: d}\noutput: o.parquet\n", "x");
  REQUIRE(predict.ok());
  CHECK(predict->name == "predict");
  REQUIRE(predict->prediction() != nullptr);
  CHECK(*predict->prediction() == spec::PredictionSpec());
  CHECK(spec::FormatOf(*predict->prediction(), predict->output) == spec::PartFormat::kParquet);
  const auto evaluate = ParseScoring("evaluate: {model: m, data: [d, e]}\n", "x");
  REQUIRE(evaluate.ok());
  CHECK(evaluate->kind() == spec::JobKind::kEvaluate);
  CHECK(evaluate->name == "evaluate");
  const auto reported = ParseScoring("evaluate: {model: m, data: d}\noutput: r.html\n", "x");
  REQUIRE(reported.ok());
  CHECK(reported->output.path == "r.html");
  for (const spec::ScoringSpec& spec : {*evaluate, *reported}) {
    const auto again = ParseScoring(ScoringYaml(spec), "text");
    REQUIRE(again.ok());
    CHECK(*again == spec);
  }
}

TEST_CASE("JobKindOf returns the kind of a job text") {
  CHECK(*JobKindOf("data: {}\noutput: m\n", "x") == spec::JobKind::kTrain);
  CHECK(*JobKindOf("", "x") == spec::JobKind::kTrain);
  CHECK(*JobKindOf("name: predict\npredict: {}\n", "x") == spec::JobKind::kPredict);
  CHECK(*JobKindOf("evaluate: {}\n", "x") == spec::JobKind::kEvaluate);
  CHECK(*JobKindOf("train: {}\n", "x") == spec::JobKind::kTrain);
  CHECK_FALSE(JobKindOf("a: [", "x").ok());
  CHECK(ErrorOf("data: {}\n").find("`predict` or `evaluate`") != std::string::npos);
}

TEST_CASE("a scoring error has its place and the expected value") {
  const std::string good = "predict: {model: m, data: d}\noutput: o\n";
  CHECK(ParseScoring(good, "x").ok());
  const std::pair<const char*, const char*> bad[] = {
      {"predict:\n  modle: m\n  data: d\noutput: o\n",
       "job.yaml:2:3: unknown key 'modle'; did you mean 'model'?"},
      {"predict: {data: d}\noutput: o\n", "predict.model: found nothing, expected the directory"},
      {"predict: {model: m}\noutput: o\n", "predict.data: found nothing, expected files"},
      {"predict: {model: m, data: d}\n", "output: found nothing, expected the directory"},
      {"predict: {model: m, data: d, format: orc}\noutput: o\n", "job.yaml:1:38: "},
      {"predict: {model: m, data: d, columns: classes}\noutput: o\n", "columns"},
      {"predict: {model: m, data: d, rejects_limit: -1}\noutput: o\n",
       "job.yaml:1:45: predict.rejects_limit: found -1, expected a whole number from 0"},
      {"predict: {model: m, data: d}\nevaluate: {model: m, data: d}\noutput: o\n",
       "unknown key 'evaluate'"},
      {"predict: {model: m, data: d}\ntrain: {epochs: 3}\noutput: o\n", "unknown key 'train'"},
      {"evaluate: {model: m, data: d, keep: id}\n", "unknown key 'keep'"},
      {"evaluate: {model: m, data: d}\noutput: {path: o, overwrite: true}\n",
       "output: found overwrite"},
      {"evaluate: {model: m, data: d}\noutput: ftp://x/o\n", "output"},
      {"evaluate: {model: m, data: d}\noutput: pages/\n",
       "output: found 'pages/', expected a file"},
      {"evaluate: {model: m, data: d}\nworkers: {min: 3, max: 2}\n", "workers.max: found 2"},
      {"evaluate: {model: m, data: 'ftp://x/y'}\n", "evaluate.data"},
  };
  for (const auto& [text, words] : bad) {
    INFO(text << ": " << ErrorOf(text));
    CHECK(ErrorOf(text).find(words) != std::string::npos);
  }
}

TEST_CASE("relative paths of this machine are made absolute") {
  const auto text = MakePathsAbsolute(
      "predict: {model: m, data: [d.csv, 'hdfs:///x']}\noutput: {path: o}\n", "/here");
  REQUIRE(text.ok());
  const auto spec = ParseScoring(*text, "x");
  REQUIRE(spec.ok());
  CHECK(spec->model == "/here/m");
  CHECK(spec->data == std::vector<std::string>{"/here/d.csv", "hdfs:///x"});
  CHECK(spec->output.path == "/here/o");
}

}  // namespace
}  // namespace espalier::config
