// A job that keeps the columns of the model from which its training starts.
#include "src/data/input/keep_columns.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "src/config/job_yaml.h"
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
  // `model_features`, `model_row`: the job and the rows of that model.
  explicit KeptJob(const std::string& table, bool keeps = true, const std::string& features = "",
                   const std::string& model_features = "",
                   const std::function<std::string(int64_t)>& model_row = Earlier) {
    const std::string yaml =
        "data: {train: " + f.Train(table) + ", label: y" + features + "}\noutput: m\n";
    auto completion = JobCompletion::Read(yaml, "job.yaml");
    REQUIRE(completion.ok());
    spec::EarlierModel earlier;
    if (keeps) {
      const KeptJob model(Table(model_row), false, model_features);
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

TEST_CASE("a table of constants keeps all columns of the model") {
  const KeptJob model(Table(Earlier), false);
  const KeptJob job(Table([](int64_t) { return "2024-01-10,5,Oslo,basic"; }));
  CHECK(job.Features() == model.Features());
}

TEST_CASE("undecided columns of the model keep their type") {
  const KeptJob model(Table(Earlier), false);
  const KeptJob job(Table([](int64_t i) {
    return Day(i) + ",$" + std::to_string(i % 50) + "," + (i % 2 == 0 ? "02" : "11") +
           "/03/2024,basic";
  }));
  CHECK(job.Features() == model.Features());
  REQUIRE(job.completed.input.notes.size() == 2);
  CHECK_THAT(job.completed.input.notes[0], Says("column 'size' is read as ... train.initial"));
}

TEST_CASE("an undecided column that the model left out stays out") {
  const KeptJob model(Table(Earlier), false);
  const KeptJob job(Table([](int64_t i) {
    return Day(i) + "," + std::to_string(i * 7 % 100) + "," + City(i) + ",$" +
           std::to_string(i % 50);
  }));
  CHECK(job.Features() == model.Features());
}

TEST_CASE("dates keep the format of the model") {
  const std::string format = ", features: {date_format: \"%d/%m/%Y\"}";
  const auto row = [](int64_t i) {
    return "0" + std::to_string(1 + i % 9) + "/03/2024," + std::to_string(i * 7 % 100) + "," +
           City(i) + ",basic";
  };
  const KeptJob model(Table(row), false, format);
  const KeptJob job(Table(row), true, "", format, row);
  CHECK(job.Features() == model.Features());
  REQUIRE(job.completed.job.data.features.groups.size() == 1);
  CHECK(job.completed.job.data.features.groups[0].date_format == "%d/%m/%Y");
  const KeptJob given(Table(row), true, format, format, row);
  CHECK(given.completed.job.data.features.groups.empty());
}

TEST_CASE("the task and the scaling layer of the model are kept") {
  DataFixture f;
  std::string table = "x,y\n";
  for (int64_t i = 0; i < 300; ++i) {
    table += std::to_string(i * 7 % 100) + "," + std::to_string(i % 3) + "\n";
  }
  const spec::EarlierModel earlier = {
      .schema = {}, .columns = false, .task = spec::Task::kRegression, .scaling_layer = true};
  const auto job = [&](const std::string& more) {
    const std::string yaml = "data: {train: " + f.Train(table) + ", label: y}\noutput: m\n" + more;
    const auto completion = JobCompletion::Read(yaml, "job.yaml");
    REQUIRE(completion.ok());
    const auto completed = completion->Complete(*f.files, &earlier);
    INFO(completed.status().ToString());
    REQUIRE(completed.ok());
    CHECK(JobCompletion::Read(completed->asked, "job").ok());
    return *completed;
  };
  const JobCompletion::Completed kept = job("train: {optimizer: sgd}\n");
  CHECK(kept.job.model.task == spec::Task::kRegression);
  CHECK(kept.job.model.scaling_layer);
  REQUIRE(!kept.input.notes.empty());
  CHECK_THAT(kept.input.notes.back(), Says("the task is regression ... train.initial"));
  CHECK(job("model: {task: classification}\n").job.model.task == spec::Task::kClassification);
  CHECK_FALSE(job("model: {scaling_layer: false}\n").job.model.scaling_layer);
}

// A plan of text columns that a part of the rows shows to be numbers or categories.
struct WideTable {
  // `kept`: columns whose names have 30 characters; `types`: type of a column.
  Result<KeptColumns> Kept(int64_t columns,
                           const std::function<spec::FeatureType(int64_t)>& type) const {
    spec::InputPlan plan;
    spec::EarlierModel earlier;
    FeatureFindings findings{.provisional = true};
    plan.files.push_back({.path = "a.csv"});
    for (int64_t i = 0; i < columns; ++i) {
      plan.schema.names.push_back("a_column_of_a_wide_table_" + std::to_string(i));
      plan.schema.features.push_back(static_cast<int32_t>(i));
      plan.schema.rules.push_back({.type = type(i)});
      earlier.options.emplace_back();
      earlier.options.back().type = type(i);
      findings.columns.emplace_back(type(i));
    }
    earlier.schema = plan.schema;
    return KeepColumns({}, plan, findings, earlier, "data: {train: a.csv, label: y}\noutput: m\n");
  }
};

TEST_CASE("columns of a wide table are written as ranges") {
  const auto kept = WideTable().Kept(45'000, [](int64_t i) {
    return i < 1000 ? spec::FeatureType::kCategorical : spec::FeatureType::kNumeric;
  });
  REQUIRE(kept.ok());
  const auto job = config::ParseJob(kept->yaml + "preset: none\n", "job");
  INFO(job.status().ToString());
  REQUIRE(job.ok());
  REQUIRE(job->data.features.groups.size() == 2);
  CHECK(job->data.features.groups[0].columns ==
        std::vector<spec::ColumnPattern>{spec::ColumnRange{0, 999}});
  CHECK(job->data.features.groups[1].columns ==
        std::vector<spec::ColumnPattern>{spec::ColumnRange{1000, 44'999}});
}

TEST_CASE("a job that would be too long stays as it is") {
  const auto kept = WideTable().Kept(200'000, [](int64_t i) {
    return i % 2 == 0 ? spec::FeatureType::kCategorical : spec::FeatureType::kNumeric;
  });
  REQUIRE(kept.ok());
  CHECK(kept->yaml.empty());
  REQUIRE(kept->notes.size() == 1);
  CHECK_THAT(kept->notes[0], Says("... too long"));
}

TEST_CASE("columns that the job describes are its own matter") {
  const KeptJob job(Table([](int64_t i) { return Day(i) + ",5," + City(i) + ",basic"; }), true,
                    ", features: {columns: [city]}");
  CHECK(job.Features() == std::vector<std::string>{"city:0:0"});
}

}  // namespace
}  // namespace espalier::data
