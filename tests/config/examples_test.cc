// Loads the main files in config/ and checks their settings.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "src/config/job_yaml.h"
#include "src/config/sweep_yaml.h"
#include "src/spec/job_spec.h"

namespace espalier::config {
namespace {

std::string Text(const std::string& name) {
  std::ifstream file("config/" + name);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

spec::JobSpec Job(const std::string& name) {
  const auto job = ParseJob(Text(name), name);
  INFO(job.status().ToString());
  REQUIRE(job.ok());
  return *job;
}

TEST_CASE("config/mnist.yaml is the shipped example") {
  const spec::JobSpec job = Job("mnist.yaml");
  CHECK(job.model.hidden == std::vector<int64_t>{256, 256});
  CHECK(job.model.dropout == std::vector<double>{0.2});
  CHECK(job.train.schedule.kind == spec::ScheduleKind::kCosine);
  CHECK(job.train.schedule.warmup == spec::Span{1, true});
  CHECK(job.train.epochs == 20.0);
  CHECK(spec::LeafCount(job.train) == 4);
  CHECK_FALSE(job.data.csv.header);
  CHECK(job.data.features.scale == spec::Scale{spec::ScaleKind::kDivide, 255});
}

TEST_CASE("the examples of small tables load with their settings") {
  const spec::JobSpec cancer = Job("breast_cancer.yaml");
  CHECK(cancer.model.loss == spec::Loss::kBinaryCrossEntropy);
  CHECK(cancer.train.early_stopping);
  const spec::JobSpec diabetes = Job("diabetes.yaml");
  CHECK(diabetes.model.task == spec::Task::kRegression);
  CHECK(diabetes.train.optimizer.kind == spec::OptimizerKind::kLbfgs);
  CHECK(diabetes.data.features.groups.size() == 1);
  const auto none = [](const std::string& path) -> Result<std::string> { return NotFound(path); };
  const auto sweep = ParseSweep(Text("iris_sweep.yaml"), "iris_sweep.yaml", "/here", none);
  INFO(sweep.status().ToString());
  REQUIRE(sweep.ok());
  CHECK(sweep->runs.size() == 20);
  CHECK(sweep->output == "/here/build/iris/sweep");
}

TEST_CASE("config/reference.yaml recommends valid settings") {
  const std::string reference = Text("reference.yaml");
  const auto data = [&](const std::string& lines) {
    const auto job = ParseJob("data: {train: t, label: 0" + lines + "}\noutput: o\n", "job.yaml");
    INFO(lines << ": " << job.status().ToString());
    REQUIRE(job.ok());
    return job->data;
  };
  for (const char* written :
       {R"(features: "1..784")", R"(columns: "1..784")", R"("\t")", R"("\x01")"}) {
    INFO(written);
    CHECK(reference.find(written) != std::string::npos);
  }
  const spec::DataSpec ranged = data(R"(, features: {columns: "1..784"})");
  CHECK(data(R"(, features: "1..784")") == ranged);
  CHECK(data(R"(, format: libsvm, features: "1..784")").features == ranged.features);
  CHECK(data(R"(, features: auto)") == data(""));
  CHECK(data(R"(, features: ["1..3", 7])") == data(R"(, features: {columns: ["1..3", 7]})"));
  CHECK(data(R"(, csv: {delimiter: "\x01"})").csv.delimiter == '\x01');
  CHECK(data(R"(, csv: {delimiter: "\t"})").csv.delimiter == '\t');
}

TEST_CASE("config/reference.yaml shows the defaults") {
  spec::JobSpec expected;
  expected.preset = spec::kDefaultPreset;
  expected.data.train = {"data/train/*.csv"};
  expected.data.label = {std::string("price")};
  expected.train.epochs = 10;
  expected.output.path = "models/job";
  expected.checkpoint->asked_for = true;
  const spec::JobSpec job = Job("reference.yaml");
  CHECK(job.data == expected.data);
  CHECK(job.model == expected.model);
  CHECK(job.train == expected.train);
  CHECK(job == expected);
}

}  // namespace
}  // namespace espalier::config
