// A job that keeps the columns of the model from which its training starts.
#include "src/data/input/keep_columns.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "src/data/input/complete_job.h"
#include "tests/data/fixture.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

// Returns a table of a date, a number, a category, a constant and a class.
std::string Table(const std::function<std::string(int64_t)>& row, int64_t rows = 300) {
  std::string text = "day,size,city,plan,y\n";
  for (int64_t i = 0; i < rows; ++i) text += row(i) + (i % 3 == 0 ? ",p\n" : ",q\n");
  return text;
}
std::string Day(int64_t i) { return "2024-01-" + std::to_string(10 + i % 20); }
std::string City(int64_t i) { return i % 2 == 0 ? "Oslo" : "Rome"; }

std::string Earlier(int64_t i) {
  return Day(i) + "," + std::to_string(i * 7 % 100) + "," + City(i) + ",basic";
}

class KeptJob {
 public:
  // Completes a job over a table. `keeps`: it keeps the columns of the earlier model.
  explicit KeptJob(const std::string& table, bool keeps = true, const std::string& features = "") {
    const std::string yaml =
        "data: {train: " + f.Train(table) + ", label: y" + features + "}\noutput: m\n";
    auto completion = JobCompletion::Read(yaml, "job.yaml");
    REQUIRE(completion.ok());
    spec::EarlierColumns earlier;
    if (keeps) {
      const KeptJob model(Table(Earlier), false);
      earlier.schema = model.completed.input.schema;
      for (size_t i = 0; i < earlier.schema.features.size(); ++i) {
        const spec::FeatureRule rule = earlier.schema.rule(i);
        earlier.options.push_back(spec::OptionsOf(model.completed.job.data.features, rule));
        earlier.options.back().type = rule.type;
      }
    }
    auto done = completion->Complete(*f.files, keeps ? &earlier : nullptr);
    INFO(done.status().ToString());
    REQUIRE(done.ok());
    completed = *std::move(done);
  }

  // Returns "name:type" of each feature.
  std::vector<std::string> Features() const {
    const spec::Schema& schema = completed.input.schema;
    std::vector<std::string> found;
    for (size_t i = 0; i < schema.features.size(); ++i) {
      found.push_back(schema.names[static_cast<size_t>(schema.features[i])] + ":" +
                      std::to_string(static_cast<int>(schema.rule(i).type)) + ":" +
                      std::to_string(static_cast<int>(schema.rule(i).part)));
    }
    return found;
  }

  DataFixture f;
  JobCompletion::Completed completed;
};

TEST_CASE("rows like those of the model change nothing") {
  const KeptJob job(Table([](int64_t i) { return Earlier(i + 5); }));
  CHECK(job.completed.job.data.features.groups.empty());
  CHECK(job.completed.input.notes.empty());
}

TEST_CASE("columns of the model stay features if they are constant") {
  const KeptJob model(Table(Earlier), false);
  const KeptJob job(
      Table([](int64_t i) { return "2024-01-10," + std::to_string(i % 9) + ",Oslo,basic"; }));
  CHECK(job.Features() == model.Features());
  REQUIRE(job.completed.input.notes.size() == 2);
  CHECK_THAT(job.completed.input.notes[1], Says("column 'city' ... train.initial ... constant"));
  const auto& groups = job.completed.job.data.features.groups;
  REQUIRE(groups.size() == 2);
  const spec::CategoryOptions& options = model.completed.job.data.features.categories;
  CHECK(static_cast<const spec::CategoryOptions&>(groups[1]) == options);
  CHECK(JobCompletion::Read(job.completed.asked, "job").ok());
}

TEST_CASE("columns of the model keep their type") {
  const KeptJob model(Table(Earlier), false);
  const KeptJob job(Table([](int64_t i) {
    return Day(i) + "," + std::to_string(i) + "," + std::to_string(i % 4) + ",basic";
  }));
  CHECK(job.Features() == model.Features());
}

TEST_CASE("a column that the model left out stays out") {
  const KeptJob model(Table(Earlier), false);
  const KeptJob job(Table([](int64_t i) {
    return Day(i) + "," + std::to_string(i) + "," + City(i) + (i % 2 == 0 ? ",basic" : ",full");
  }));
  CHECK(job.Features() == model.Features());
  REQUIRE(!job.completed.input.notes.empty());
  CHECK_THAT(job.completed.input.notes.back(),
             Says("column 'plan' ... left out ... train.initial"));
}

TEST_CASE("a plan by a sample names all columns of the model") {
  const KeptJob model(Table(Earlier), false);
  const KeptJob job(
      Table([](int64_t i) { return "2024-01-10," + std::to_string(i) + "," + City(i) + ",basic"; },
            100'000));
  CHECK(job.Features() == model.Features());
  CHECK(job.completed.job.data.features.groups.size() == 3);
}

TEST_CASE("columns that the job describes are its own matter") {
  const KeptJob job(Table([](int64_t i) { return Day(i) + ",5," + City(i) + ",basic"; }), true,
                    ", features: {columns: [city]}");
  CHECK(job.Features() == std::vector<std::string>{"city:0:0"});
}

}  // namespace
}  // namespace espalier::data
