// A job that keeps the columns of the model from which its training starts.
#include "src/data/input/keep_columns.h"

#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/config/job_yaml.h"
#include "src/data/input/complete_job.h"
#include "tests/data/earlier_model.h"
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
    spec::EarlierModel earlier;
    if (keeps) {
      const KeptJob model(Table(model_row), false, model_features);
      earlier = EarlierModelOf(model.completed);
    }
    completed = CompletedJob(*f.files, yaml, keeps ? &earlier : nullptr);
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

TEST_CASE("a constant date keeps a format only if it has that form") {
  const std::string format = ", features: {date_format: \"%d/%m/%Y\"}";
  const auto row = [](const std::string& day) {
    return [day](int64_t i) {
      return day + "," + std::to_string(i * 7 % 100) + "," + City(i) + ",basic";
    };
  };
  const auto earlier = [&row](int64_t i) {
    return row("0" + std::to_string(1 + i % 9) + "/03/2024")(i);
  };
  for (const std::string day : {"2024-03-05", "20240305", "05/03/2024"}) {
    KeptJob job(Table(row(day)), true, "", format, earlier);
    const auto& groups = job.completed.job.data.features.groups;
    REQUIRE(groups.size() == 1);
    CHECK(groups[0].date_format == (day == "05/03/2024" ? "%d/%m/%Y" : ""));
    job.f.job = job.completed.job;
    CHECK(job.f.Profile()->train_rows > 0);
  }
}

TEST_CASE("a name of digits is kept as a name") {
  DataFixture f;
  const auto job = [&f](const std::string& name, const std::string& city, bool row_names) {
    std::string table = "0,1,y\n";
    for (int64_t i = 0; i < 300; ++i) {
      if (row_names) table += "\"row " + std::to_string(i) + "\",";
      table += std::to_string(i * 7 % 100) + "," + (city.empty() ? City(i) : city) +
               (i % 3 == 0 ? ",p\n" : ",q\n");
    }
    return "data: {train: " + f.Train(table, name) + ", label: y}\noutput: m\n";
  };
  const spec::EarlierModel model = EarlierModelOf(CompletedJob(*f.files, job("a.csv", "", false)));
  const auto kept = CompletedJob(*f.files, job("b.csv", "Oslo", true), &model);
  REQUIRE(kept.job.data.features.groups.size() == 1);
  CHECK(kept.job.data.features.groups[0].columns ==
        std::vector<spec::ColumnPattern>{std::string("1")});
}

TEST_CASE("files without a header keep their columns") {
  DataFixture f;
  const auto job = [&f](const std::string& table, const std::vector<std::string>& directories,
                        const std::function<std::string(int64_t)>& city) {
    for (const std::string& k : directories) {
      std::string rows;
      for (int64_t i = 0; i < 300; ++i) {
        rows += std::to_string(i * 7 % 100) + "," + city(i) + (i % 3 == 0 ? ",p\n" : ",q\n");
      }
      REQUIRE(f.files->MakeDirectory(f.dir / (table + "/k=" + k)).ok());
      f.dir.Put(table + "/k=" + k + "/0.csv", rows);
    }
    return "data: {train: " + f.dir / table + ", label: 2, csv: {header: false}}\noutput: m\n";
  };
  const auto one = [](int64_t) { return std::string("Oslo"); };
  const spec::EarlierModel model =
      EarlierModelOf(CompletedJob(*f.files, job("a", {"1", "2"}, City)));
  const auto kept = CompletedJob(*f.files, job("b", {"1"}, one), &model);
  CHECK(kept.input.schema.features == model.schema.features);
  CHECK(kept.job.data.features.groups.size() == 2);
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

// A plan of columns that the earlier model has too.
struct WideTable {
  std::function<std::string(int64_t)> name = [](int64_t i) {
    return "a_column_of_a_wide_table_" + std::to_string(i);
  };
  std::string path = "a.csv";
  FeatureFindings findings = {.provisional = true};

  // `type`: type of a column in the earlier model, which left out a column without one.
  Result<KeptColumns> Kept(
      int64_t columns, const std::function<std::optional<spec::FeatureType>(int64_t)>& type) const {
    spec::InputPlan plan;
    spec::EarlierModel earlier;
    FeatureFindings found = findings;
    plan.files.push_back({.path = path});
    for (int64_t i = 0; i < columns; ++i) {
      const auto column = static_cast<int32_t>(i);
      plan.schema.names.push_back(name(i));
      plan.schema.features.push_back(column);
      plan.schema.rules.push_back({.type = type(i).value_or(spec::FeatureType::kNumeric)});
      found.columns.emplace_back(plan.schema.rules.back().type);
      if (!type(i)) {
        earlier.schema.left_out.push_back({column, spec::LeftOutReason::kConstant});
        continue;
      }
      earlier.schema.features.push_back(column);
      earlier.schema.rules.push_back({.type = *type(i)});
      earlier.options.emplace_back();
      earlier.options.back().type = *type(i);
    }
    earlier.schema.names = plan.schema.names;
    return KeepColumns({}, plan, found, earlier, "data: {train: a.csv, label: y}\noutput: m\n");
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

TEST_CASE("a job with too many values is written with ranges") {
  const WideTable table = {.name = [](int64_t i) {
    const auto letter = [](int64_t digit) {
      return static_cast<char>(digit % 52 < 26 ? 'a' + digit % 26 : 'A' + digit % 26);
    };
    return std::string{letter(i / 2704), letter(i / 52), letter(i)};
  }};
  const auto kept = table.Kept(66'000, [](int64_t) { return std::optional<spec::FeatureType>(); });
  REQUIRE(kept.ok());
  const auto job = config::ParseJob(kept->yaml + "preset: none\n", "job");
  INFO(job.status().ToString());
  REQUIRE(job.ok());
  CHECK(job->data.features.exclude ==
        std::vector<spec::ColumnPattern>{spec::ColumnRange{0, 65'999}});
}

TEST_CASE("a wide vector is written by its own name") {
  WideTable table = {.name = [](int64_t i) { return "v[" + std::to_string(i) + "]"; },
                     .path = "a.parquet"};
  table.findings.vectors = {"v"};
  const auto groups = [&table](int64_t width, int64_t other) {
    const auto kept = table.Kept(width, [other](int64_t i) {
      return i == other ? spec::FeatureType::kBoolean : spec::FeatureType::kNumeric;
    });
    REQUIRE(kept.ok());
    const auto job = config::ParseJob(kept->yaml + "preset: none\n", "job");
    INFO(job.status().ToString());
    REQUIRE(job.ok());
    return job->data.features.groups;
  };
  const auto whole = groups(200'000, -1);
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].columns == std::vector<spec::ColumnPattern>{std::string("v")});
  const auto parts = groups(3, 1);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].columns ==
        std::vector<spec::ColumnPattern>{std::string("v[0]"), std::string("v[2]")});
  CHECK(parts[1].columns == std::vector<spec::ColumnPattern>{std::string("v[1]")});
  table.findings.vectors.clear();  // three columns of numbers
  CHECK(groups(3, -1)[0].columns.size() == 3);
}

TEST_CASE("columns that the job describes are its own matter") {
  const KeptJob job(Table([](int64_t i) { return Day(i) + ",5," + City(i) + ",basic"; }), true,
                    ", features: {columns: [city]}");
  CHECK(job.Features() == std::vector<std::string>{"city:0:0"});
}

}  // namespace
}  // namespace espalier::data
