#include "src/cli/check_view.h"

#include <catch2/catch.hpp>

namespace espalier::cli {
namespace {

CheckReport Report() {
  CheckReport r;
  r.job_name = "digits";
  r.sets = {{"train", 2, 2048, 900}, {"validation", 0, 0, 100}};
  r.schema = {"csv", 33, {"digit"}, {"a", "b", "c", "d", "e", "f", "g", "h"}, "", "held out"};
  r.shards = 4;
  r.hosts = {{"node1", 2048}, {"node2", 1024}};
  for (int i = 0; i < 22; ++i) {
    spec::ColumnStats s = {
        .count = 900, .nulls = i == 0 ? 3 : 0, .mean = 2, .m2 = 3600, .min = 0, .max = 4};
    if (i == 1) s = {.count = 900, .mean = 1, .min = 1, .max = 1};
    r.features.push_back({"x" + std::to_string(i), s});
  }
  r.labels = {{"no", 675, 60}, {"yes", 225, 40}};
  r.layers = {22, 16, 2};
  r.parameters = 402;
  r.leaves = 4;
  r.batch = 256;
  r.steps_per_epoch = 4;
  r.storage = "uint8";
  r.rows_bytes = 22000;
  r.model_bytes = 8040;
  r.reading_bytes = 4096;
  r.output = "/models/digits";
  return r;
}

TEST_CASE("check shows sets, columns, label balance, model and memory") {
  const std::string text = CheckText(Report(), false);
  CHECK_THAT(text, Catch::StartsWith("job 'digits'\n") &&
                       Catch::EndsWith("\n\nall checks passed: data, model and output\n"));
  CHECK_THAT(
      text, Catch::Contains("  train           2   2.0 KiB   900\n") &&
                Catch::Contains("  validation      -  of train   100\n") &&
                Catch::Contains("  4 shards\n  csv, 33 columns: label 'digit', validation by 'held "
                                "out', not used 'a', 'b', 'c', 'd', 'e', 'f' and 2 more\n"
                                "  near the data: node1 2.0 KiB, node2 1.0 KiB\n"));
  CHECK_THAT(text, Catch::Contains("22 features, 1 of them constant, 3 nulls\n"));
  CHECK_THAT(text, Catch::Contains("  x0          3    0    4     2          2\n"));
  CHECK_THAT(text, Catch::Contains("x19") && Catch::Contains("... and 2 more columns"));
  CHECK(text.find("x20") == std::string::npos);
  CHECK_THAT(text, Catch::Contains("  no               675  75.00 %"));
  CHECK_THAT(text, Catch::Contains("22-16-2, 402 parameters") && Catch::Contains("as uint8") &&
                       Catch::Contains("reading up to 4.0 KiB per thread"));
  CHECK(CheckJson(Report())["reading_bytes_per_thread"] == 4096);
  CHECK(text.find("evaluations") == std::string::npos);  // the report has no evaluations
  CheckReport evaluated = Report();
  evaluated.evaluation_bytes = 8192;
  CHECK_THAT(CheckText(evaluated, false),
             Catch::Contains("evaluations 8.0 KiB (shared among them), reading up to"));
  CHECK(CheckJson(evaluated)["evaluation_bytes"] == 8192);
  CheckReport town = Report();
  town.schema.list = {{"town", "category", "feature"}};
  CHECK_THAT(CheckText(town, false), Catch::Contains("3 nulls (categories not counted)\n"));
}

TEST_CASE("check shows the part that each fit holds out") {
  CheckReport r = Report();
  r.fits = 5;
  for (const auto& [folds, part] :
       {std::pair(5, "fifth"), {2, "half"}, {10, "tenth"}, {12, "part, one of 12,"}}) {
    r.folds = folds;
    CHECK_THAT(CheckText(r, false),
               Catch::Contains("fits    5, which are averaged; each holds out a different " +
                               std::string(part) + " of the training rows\n"));
  }
}

TEST_CASE("check states no success if the output is refused") {
  CheckReport r = Report();
  CHECK(CheckJson(r)["status"] == "OK");
  r.output_status = AlreadyExists("output: it already exists");
  CHECK_THAT(CheckText(r, false), !Catch::Contains("passed"));
  CHECK(CheckJson(r)["status"] == "FAILED");
}

TEST_CASE("check shows the shards near each worker of the cluster") {
  CheckReport r = Report();
  CHECK(CheckJson(r)["workers"].is_null());
  r.workers.emplace();
  CHECK_THAT(CheckText(r, false),
             Catch::Contains("  no workers are attached to the coordinator\n"));
  CHECK(CheckJson(r)["workers"].empty());
  r.workers = {
      {{"worker-1", "node1:77", "node1:7701", 4, 2048}, {"worker-2", "b", "far:7701", 0, 0}}};
  CHECK_THAT(CheckText(r, false),
             Catch::Contains("  worker    name      address     shards near it  bytes near it\n"
                             "  worker-1  node1:77  node1:7701  4 of 4          2.0 KiB\n"
                             "  worker-2  b         far:7701    0 of 4          0 B\n"));
  CHECK(CheckJson(r)["workers"][0]["bytes"] == 2048);
  r.hosts.clear();
  CHECK_THAT(CheckText(r, false), Catch::Contains("  near the workers: not known; "));
}

TEST_CASE("check shows name, type and role of the first twenty columns") {
  CheckReport r = Report();
  for (int i = 0; i < 22; ++i)
    r.schema.list.push_back({"x" + std::to_string(i), "number", "feature"});
  r.schema.list[1] = {"digit", "text", "label"};
  CHECK_THAT(CheckText(r, false),
             Catch::Contains("  column  type    role\n"
                             "  x0      number  feature\n"
                             "  digit   text    label\n"
                             "  x2      number  feature\n") &&
                 Catch::Contains("  ... and 2 more columns (--json has them all)\n"));
  CHECK(CheckJson(r)["schema"]["list"].size() == 22);
}

TEST_CASE("check's JSON has every column") {
  CheckReport report = Report();
  report.schema.list = {{"x0", "int32", "feature"}, {"digit", "string", "label"}};
  const Json json = Json::parse(JsonLine(CheckJson(report)));
  CHECK(json["schema"]["list"][0] ==
        Json({{"name", "x0"}, {"type", "int32"}, {"role", "feature"}}));
  CHECK(json["status"] == "OK");
  CHECK(json["schema"]["label"][0] == "digit");
  CHECK(json["schema"]["weight"].is_null());
  CHECK(json["features"].size() == 22);
  CHECK(json["features"][0]["nulls"] == 3);
  CHECK(json["labels"][1]["train_rows"] == 225);
  CHECK(json["parameters"] == 402);
  CHECK(json["sets"][0]["rows"] == 900);
}

}  // namespace
}  // namespace espalier::cli
