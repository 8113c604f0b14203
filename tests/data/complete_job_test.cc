// A submitted job that is completed from its table.
#include "src/data/input/complete_job.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "src/config/job_yaml.h"
#include "tests/data/fixture.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

std::string Csv(const std::string& header, int64_t rows,
                const std::function<std::string(int64_t)>& row) {
  std::string text = header + "\n";
  for (int64_t i = 0; i < rows; ++i) text += row(i) + "\n";
  return text;
}

// Completes a job of three lines that reads this file.
JobCompletion::Completed Completed(DataFixture& f, const std::string& csv,
                                   const std::string& more = "") {
  const std::string yaml = "data: {train: " + f.Train(csv) + ", label: y}\noutput: m\n" + more;
  const auto completion = JobCompletion::Read(yaml, "job.yaml");
  INFO(completion.status().ToString());
  REQUIRE(completion.ok());
  auto completed = completion->Complete(*f.files);
  INFO(completed.status().ToString());
  REQUIRE(completed.ok());
  CHECK(*config::ParseJob(completed->yaml, "job") == completed->job);
  return *std::move(completed);
}

TEST_CASE("the strata of a number are its deciles") {
  DataFixture f;
  const auto number = [](int64_t i) {
    return std::to_string(i) + "," + std::to_string(i * 37 % 1000);
  };
  for (const char* preset : {"good", "none"}) {
    const std::string yaml = "data: {train: " + f.Train(Csv("x,y", 1000, number)) +
                             ", label: y, validation: {fraction: 0.1, stratify: true}}\n"
                             "model: {task: regression}\noutput: m\npreset: " +
                             preset + "\n";
    const auto completion = JobCompletion::Read(yaml, "job.yaml");
    REQUIRE(completion.ok());
    const auto completed = completion->Complete(*f.files);
    INFO(completed.status().ToString());
    REQUIRE(completed.ok());
    CHECK(completed->job.data.validation.strata ==
          std::vector<double>{100, 200, 300, 400, 500, 600, 700, 800, 900});
    CHECK(*config::ParseJob(completed->yaml, "job") == completed->job);
    REQUIRE(!completed->input.notes.empty());
    CHECK_THAT(completed->input.notes.back(),
               Says("... number 'y': 10 strata ... at 100, 200, 300"));
  }
}

TEST_CASE("labels decide the task") {
  DataFixture f;
  struct Case {
    std::string why;
    spec::Task task;
    std::function<std::string(int64_t)> label;
  };
  const std::vector<Case> cases = {
      {"the label holds text", spec::Task::kClassification,
       [](int64_t i) { return i % 2 ? "yes" : "no"; }},
      {"the label holds text", spec::Task::kClassification,
       [](int64_t i) { return i % 2 ? "true" : "false"; }},
      {"the label has 3 different whole numbers", spec::Task::kClassification,
       [](int64_t i) { return std::to_string(i % 3); }},
      {"the label has more than 20 whole numbers", spec::Task::kRegression,
       [](int64_t i) { return std::to_string(i % 21); }},
      {"the label has numbers with fractions", spec::Task::kRegression,
       [](int64_t i) { return i % 2 ? "0.5" : "1"; }},
  };
  for (const Case& c : cases) {
    const auto completed = Completed(
        f, Csv("x,y", 100, [&](int64_t i) { return std::to_string(i * i) + "," + c.label(i); }));
    INFO(c.why);
    CHECK(completed.task_why == c.why);
    CHECK(completed.job.model.task == c.task);
    CHECK(completed.job.train.calibrate == (c.task == spec::Task::kClassification));
  }
  const auto given =
      Completed(f,
                Csv("x,y", 100,
                    [](int64_t i) { return std::to_string(i * i) + "," + std::to_string(i % 2); }),
                "model: {task: regression}\n");
  CHECK(given.task_why.empty());
  CHECK(given.job.model.task == spec::Task::kRegression);
}

TEST_CASE("a label of written numbers is refused without a task") {
  DataFixture f;
  const std::string csv = Csv("x;y", 100, [](int64_t i) {
    return std::to_string(i * i) + ";" + std::to_string(i % 30) + ",5";
  });
  const auto status = [&](const std::string& more) {
    const std::string yaml = "data: {train: " + f.Train(csv) +
                             ", label: y, csv: {delimiter: \";\"}}\noutput: m\n" + more;
    return JobCompletion::Read(yaml, "job.yaml")->Complete(*f.files).status();
  };
  const Status refused = status("");
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  REQUIRE(refused.position());
  CHECK(refused.position()->column == "y");
  CHECK_THAT(refused.message(), Catch::Contains("data.csv.decimal: ','") &&
                                    Catch::Contains("model.task: classification"));
  CHECK(status("model: {task: classification}\n").ok());
}

TEST_CASE("a table of few rows keeps all of them") {
  DataFixture f;
  const auto row = [](int64_t i) { return std::to_string(i) + ".5," + (i % 2 ? "a" : "b"); };
  const auto job = [&](int64_t rows) { return Completed(f, Csv("x,y", rows, row)).job; };
  CHECK_FALSE(job(49).data.validation.any());
  CHECK(job(49).train.ensemble.fits == 1);
  CHECK(job(50).train.ensemble == spec::EnsembleSpec{.fits = 5, .shrink = true});
  CHECK(job(5'000).train.ensemble == spec::EnsembleSpec{.fits = 5});
  CHECK(job(9'000).train.ensemble.fits == 1);
  CHECK(job(9'000).data.validation.fraction == 0.1);
}

TEST_CASE("rows of weight 0 do not count for the preset and the task") {
  DataFixture f;
  const auto table = [&](int64_t rows, int64_t weightless) {
    return Csv("x,y,w", rows + weightless, [&](int64_t i) {
      return std::to_string(i) + ".5," +
             (i < rows ? (i % 2 ? "0,1" : "1,1") : std::to_string(i) + ".5,0");
    });
  };
  const auto job = [&](int64_t rows, int64_t weightless) {
    const std::string yaml =
        "data: {train: " + f.Train(table(rows, weightless)) + ", label: y, weight: w}\noutput: m\n";
    const auto completed = JobCompletion::Read(yaml, "job")->Complete(*f.files);
    REQUIRE(completed.ok());
    return completed->job;
  };
  CHECK(job(49, 30).train.ensemble.fits == 1);
  CHECK(job(49, 300).model.task == spec::Task::kClassification);
  CHECK(job(50, 30).train.ensemble.fits == 5);
}

TEST_CASE("the number of rows is estimated from the first ones") {
  DataFixture f;
  const auto row = [](int64_t i) {
    return std::to_string(1'000'000 + i) + "," + (i % 2 ? "a" : "b");
  };
  const auto completed = Completed(f, Csv("x,y", 100'000, row));
  CHECK(completed.job.data.validation.fraction == 0.1);
  CHECK(spec::LeafCount(completed.job.train) == 8);  // for a batch of 512
}

TEST_CASE("a job without a preset is planned unchanged") {
  DataFixture f;
  const auto completed = Completed(
      f, Csv("x,y", 100, [](int64_t i) { return std::to_string(i) + ",a"; }), "preset: none\n");
  CHECK(completed.job.model.hidden.empty());
  CHECK(completed.job.train.batch == 256);
  CHECK(completed.input.files.size() == 1);
}

}  // namespace
}  // namespace espalier::data
