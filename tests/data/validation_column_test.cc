// Validation rows that a column selects: marks, groups and times.
#include "src/data/features/validation_column.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/data/input/complete_job.h"
#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

using spec::FileRole;

spec::Schema SchemaWithColumn() {
  spec::Schema schema;
  schema.validation = 0;
  return schema;
}

spec::RowSample PlacesOf(const std::vector<double>& values) {
  spec::RowSample sample;
  for (size_t i = 0; i < values.size(); ++i) sample.keys.push_back(i);
  sample.values = values;
  return sample;
}

spec::ValidationSpec TimeOf(double fraction) {
  spec::ValidationSpec v;
  v.time = spec::ColumnRef(std::string("day"));
  v.fraction = fraction;
  return v;
}

spec::ValidationSpec FoldOf(int64_t fold, int64_t of) {
  spec::ValidationSpec v;
  v.group = spec::ColumnRef(std::string("customer"));
  v.fold = fold;
  v.of = of;
  return v;
}

TEST_CASE("marks select the role of a row; other texts are bad") {
  spec::JobSpec job;
  job.data.validation.column = spec::ColumnRef(int64_t{0});
  ValidationColumn column(job, SchemaWithColumn(), 0);
  REQUIRE(column.active());
  for (const char* yes : {"1", "true", "True", "TRUE"}) {
    CHECK(column.RoleOf(yes, 0, false) == FileRole::kValidation);
  }
  for (const char* no : {"0", "false", "False", "FALSE"}) {
    CHECK(column.RoleOf(no, 0, false) == FileRole::kTrain);
  }
  for (const char* bad : {"", "2", "yes", "NA"}) CHECK_FALSE(column.RoleOf(bad, 0, false));
  CHECK_THAT(column.fault(), Catch::Contains("neither true nor false"));
}

TEST_CASE("times in any format have the same place") {
  spec::JobSpec job;
  job.data.validation = TimeOf(0);
  job.data.validation.from = 1'709'164'800;  // 2024-02-29
  ValidationColumn column(job, SchemaWithColumn(), 0);
  for (const char* later :
       {"2024-02-29", "29.02.2024", "2024-02-29T00:00:00Z", "2024-02-29 00:00:00.5"}) {
    INFO(later);
    CHECK(column.RoleOf(later, 0, false) == FileRole::kValidation);
  }
  for (const char* earlier : {"2024-02-28T23:59:59Z", "2024/02/28", "1969-12-31"}) {
    INFO(earlier);
    CHECK(column.RoleOf(earlier, 0, false) == FileRole::kTrain);
  }
  for (const char* bad : {"", "NaT", "02/03/2024", "soon"}) {
    INFO(bad);
    CHECK_FALSE(column.RoleOf(bad, 0, false));
  }
  CHECK_FALSE(column.RoleOf("1709164800", 0, false));
  CHECK_THAT(column.fault(), Catch::Contains("data.validation.time has dates in other rows"));
  job.data.features.date_format = "%d/%m/%Y";
  ValidationColumn formatted(job, SchemaWithColumn(), 0);
  CHECK(formatted.RoleOf("02/03/2024", 0, false) == FileRole::kValidation);
  CHECK_FALSE(formatted.RoleOf("2024-03-02", 0, false));
}

TEST_CASE("numbers in a time column keep their order, even date-like") {
  spec::JobSpec job;
  job.data.validation = TimeOf(0);
  job.data.validation.from = 300'000;
  ValidationColumn column(job, SchemaWithColumn(), 0);
  for (const char* earlier : {"-3", "202401", "199912", "219912", "299999.5"}) {
    INFO(earlier);
    CHECK(column.RoleOf(earlier, 0, false) == FileRole::kTrain);
  }
  for (const char* later : {"300000", "20240229", "19690101", "1e12"}) {
    INFO(later);
    CHECK(column.RoleOf(later, 0, false) == FileRole::kValidation);
  }
  CHECK_FALSE(column.RoleOf("2024-02-29", 0, false));
  CHECK_THAT(column.fault(), Catch::Contains("has numbers in other rows"));
}

TEST_CASE("groups are equal by text or number, and depend on the seed") {
  spec::JobSpec job;
  job.data.validation = FoldOf(0, 2);
  const auto place = [&job](const std::string& text) {
    ValidationColumn column(job, SchemaWithColumn(), 3);
    CHECK(column.RoleOf(text, 7, false) == FileRole::kTrain);
    const spec::RowSample places = column.TakePlaces();
    REQUIRE(places.values.size() == 1);
    return places.values[0];
  };
  CHECK(place("12") == place("12.0"));
  CHECK(place("12") == place("1.2e1"));
  CHECK(place("012") != place("12"));
  CHECK(place("") == place(""));
  CHECK(place("") != place("ann"));
  const double before = place("ann");
  CHECK((before >= 0 && before < 1));
  job.train.seed = 99;
  const double after = place("ann");
  CHECK(after != before);
  job.data.validation.seed = 0;
  CHECK(place("ann") != after);
}

TEST_CASE("dropped rows are not in the sample") {
  spec::JobSpec job;
  job.data.validation = TimeOf(0.5);
  ValidationColumn column(job, SchemaWithColumn(), 0);
  CHECK(column.RoleOf("7", 0, true) == FileRole::kTrain);
  CHECK(column.TakePlaces().keys.empty());
}

TEST_CASE("a fraction takes the latest rows and keeps equal times") {
  const auto bounds = [](double fraction, const std::vector<double>& places) {
    const auto chosen = ChooseBounds(TimeOf(fraction), PlacesOf(places));
    REQUIRE(chosen.ok());
    CHECK_FALSE(chosen->to);
    CHECK(chosen->of == static_cast<int64_t>(places.size()));
    return std::pair(chosen->from.value(), chosen->rows);
  };
  CHECK(bounds(0.1, {3, 1, 2, 4, 5, 6, 7, 8, 9, 10}) == std::pair(10.0, int64_t{1}));
  CHECK(bounds(0.3, {3, 1, 2, 4, 5, 6, 7, 8, 9, 10}) == std::pair(8.0, int64_t{3}));
  CHECK(bounds(0.1, {1, 1, 1, 2, 2, 2}) == std::pair(2.0, int64_t{3}));
  CHECK(bounds(0.9, {1, 1, 1, 1, 1, 2}) == std::pair(2.0, int64_t{1}));
  CHECK(bounds(0.001, {1, 2, 3}) == std::pair(3.0, int64_t{1}));
  const auto none = ChooseBounds(TimeOf(0.1), PlacesOf({4, 4, 4}));
  CHECK(none.status().code() == StatusCode::kBadInput);
  CHECK_THAT(none.status().message(), Catch::Contains("found 1 time"));
}

TEST_CASE("each group is in one fold, and no fold is empty") {
  // Groups have different sizes. The largest has more rows than a fold.
  for (const int64_t folds : {2, 3, 7}) {
    std::vector<double> places;
    for (int group = 0; group < 7; ++group) {
      const int rows = group == 3 ? 100 : 1 + group * group;
      places.insert(places.end(), static_cast<size_t>(rows), 0.1 * group + 0.05);
    }
    std::map<double, int> found;
    for (int64_t fold = 0; fold < folds; ++fold) {
      const auto bounds = ChooseBounds(FoldOf(fold, folds), PlacesOf(places));
      REQUIRE(bounds.ok());
      CHECK(bounds->rows > 0);
      std::set<double> inside;
      for (const double place : places) {
        const bool in =
            (!bounds->from || place >= *bounds->from) && (!bounds->to || place < *bounds->to);
        if (in) inside.insert(place);
      }
      for (const double group : inside) ++found[group];
    }
    CHECK(found.size() == 7);
    for (const auto& [group, times] : found) CHECK(times == 1);
  }
  const auto none = ChooseBounds(FoldOf(0, 8), PlacesOf({0.1, 0.2, 0.2, 0.3}));
  CHECK_THAT(none.status().message(), Catch::Contains("found 3 groups"));
  CHECK_THAT(none.status().message(), Catch::Contains("expected at least 8"));
}

// The column `day` has two rows a day, unordered. The pass over all rows completes the job.
TEST_CASE("the profiling pass finds the bounds of a job") {
  DataFixture f;
  std::string csv = "day,x,y\n";
  for (int i = 0; i < 400; ++i) {
    const int day = (i * 37) % 200;
    csv += std::to_string(day) + "," + std::to_string(i * i) + "," + (i % 3 ? "a" : "b") + "\n";
  }
  const std::string yaml = "data: {train: " + f.Train(csv) +
                           ", label: y, validation: {time: day, fraction: 0.25}}\noutput: m\n";
  const auto completion = JobCompletion::Read(yaml, "job.yaml");
  REQUIRE(completion.ok());
  const auto first = completion->Complete(*f.files);
  INFO(first.status().ToString());
  REQUIRE(first.ok());
  CHECK(first->open());
  f.job = first->job;
  f.plan = first->input;
  const auto unsplit = f.Profile();
  INFO(unsplit.status().ToString());
  std::vector<spec::ShardProfile> profiles;
  for (const ProfiledShard& shard : f.shards) profiles.push_back(shard.profile);
  const auto judged = completion->Judge(first->input, first->yaml, profiles);
  INFO(judged.status().ToString());
  REQUIRE(judged.ok());
  REQUIRE(*judged);
  CHECK_FALSE((*judged)->open());
  CHECK((*judged)->job.data.validation.from == 150);
  REQUIRE((*judged)->input.notes.size() == 1);
  CHECK_THAT((*judged)->input.notes[0], Catch::Contains("column 'day': 25 % of"));
  f.job = (*judged)->job;
  f.plan = (*judged)->input;
  const auto split = f.Profile();
  INFO(split.status().ToString());
  REQUIRE(split.ok());
  CHECK(split->validation_rows == 100);
  CHECK(split->train_rows == 300);
  CHECK(split->preprocessing.features.size() == 1);  // without the day
}

}  // namespace
}  // namespace espalier::data
