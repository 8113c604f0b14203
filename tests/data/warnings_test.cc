// Warnings about a table before training.
#include "src/data/profile/warnings.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <string>

#include "tests/data/fixture.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

using Strings = std::vector<std::string>;

std::string Rows(const std::string& header, int rows, const std::function<std::string(int)>& row) {
  std::string content = header + "\n";
  for (int i = 0; i < rows; ++i) content += row(i) + "\n";
  return content;
}

// Returns different numbers without an order.
int Noise(int i) { return (i * 7919 + 13) % 10'007; }

Strings Warnings(DataFixture& f, const std::string& content) {
  f.Train(content);
  const auto profile = f.Profile();
  INFO(profile.status().ToString());
  REQUIRE(profile.ok());
  return profile->warnings;
}

TEST_CASE("a sound table has no warnings") {
  DataFixture f;
  f.job.data.validation.fraction = 0.2;
  CHECK(Warnings(f, Rows("a,b,y", 3000,
                         [](int i) {
                           return std::to_string(Noise(i)) + "," + std::to_string(i) + "," +
                                  std::to_string(Noise(3 * i + 1) % 2);
                         }))
            .empty());
}

TEST_CASE("a class with almost all rows gives a warning") {
  DataFixture f;
  const Strings warnings = Warnings(
      f, Rows("a,y", 2000,
              [](int i) { return std::to_string(Noise(i)) + (i % 200 == 0 ? ",x" : ",z"); }));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Says("99.5 % of the training rows ... 'z'"));
}

TEST_CASE("repeated rows give a warning, and rows in both sets") {
  DataFixture f;
  f.job.data.validation.fraction = 0.2;
  const auto row = [](int i) {
    return std::to_string(Noise(i % 2000)) + ".5," + std::to_string(i % 2000) + ",c" +
           std::to_string(i % 4) + "," + std::to_string(Noise(i % 2000 + 9) % 2);
  };
  for (const int64_t shard_bytes : {int64_t{1} << 20, int64_t{5000}}) {
    f.job.data.shard_bytes = shard_bytes;
    const Strings warnings = Warnings(f, Rows("a,b,c,y", 4000, row));
    REQUIRE(warnings.size() == 2);
    CHECK_THAT(warnings[0], Catch::Contains("training rows are exact duplicates"));
    CHECK_THAT(warnings[1], Catch::Contains("validation rows are training rows"));
  }
}

TEST_CASE("a column that alone predicts the label gives a warning") {
  DataFixture f;
  const auto lines = [&](const std::function<std::string(int)>& row) {
    return Warnings(f, Rows("a,b,y", 3000, row));
  };
  const auto label = [](int i) { return Noise(i + 5) % 2 == 0 ? "no" : "yes"; };
  const std::string warning = "column 'b' alone predicts";
  for (const auto& leak : std::vector<std::function<std::string(int)>>{
           [&](int i) { return std::string(label(i)) + "_code"; },
           [&](int i) { return std::to_string(Noise(i) + (label(i)[0] == 'n' ? 0 : 50'000)); },
           [&](int i) { return label(i)[0] == 'n' ? "0" : "1"; }}) {
    const Strings warnings =
        lines([&](int i) { return std::to_string(Noise(i)) + "," + leak(i) + "," + label(i); });
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].starts_with(warning));
  }
  f.job.model.task = spec::Task::kRegression;
  const Strings warnings = lines([](int i) {
    return std::to_string(Noise(i)) + "," + std::to_string(2 * Noise(i + 1) + i % 2) + "," +
           std::to_string(Noise(i + 1));
  });
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].starts_with(warning));
}

TEST_CASE("a random number predicts none of many or rare classes") {
  DataFixture f;
  const auto warnings = [&](int rows, const std::function<int(int)>& label) {
    return Warnings(f, Rows("a,b,y", rows, [&](int i) {
                      return std::to_string(Noise(i)) + "," + std::to_string(Noise(5 * i + 3)) +
                             ",c" + std::to_string(label(i));
                    }));
  };
  CHECK(warnings(120, [](int i) { return i % 60; }).empty());
  CHECK(warnings(120, [](int i) { return i % 40 == 7 ? 1 : 0; }).empty());
  CHECK(warnings(300, [](int i) { return Noise(i) / 500; }).size() == 1);
}

TEST_CASE("rows in order of time give a warning of a random split") {
  DataFixture f;
  const auto row = [](int i) {
    char day[32];
    std::snprintf(day, sizeof(day), "%d-%02d-%02d", 2000 + i / 1008, i / 84 % 12 + 1,
                  i / 3 % 28 + 1);
    return std::string(day) + "," + std::to_string(Noise(i)) + "," +
           std::to_string(Noise(7 * i + 1) % 2);
  };
  const std::string content = Rows("day,a,y", 3000, row);
  CHECK(Warnings(f, content).empty());
  f.job.data.validation.fraction = 0.2;
  const Strings warnings = Warnings(f, content);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Says("the rows ... in the order ... 'day' ... validation"));
  f.job.data.validation.fraction = 0;
  f.job.train.ensemble = {.fits = 5};
  CHECK(Warnings(f, content) == warnings);
}

TEST_CASE("a column that is empty for one class alone is a leak") {
  DataFixture f;
  f.job.data.features.nulls = {spec::NullKind::kConstant, 0};
  const auto row = [](int i, const char* value) {
    return std::string(i % 2 == 0 ? "" : value) + "," + std::to_string(Noise(i)) + "," +
           std::to_string(i % 2);
  };
  const auto number = [&](int i) { return row(i, std::to_string(Noise(3 * i)).c_str()); };
  const Strings numbers = Warnings(f, Rows("paid,a,y", 1000, number));
  REQUIRE(numbers.size() == 1);
  CHECK_THAT(numbers[0], Says("column 'paid' alone predicts the label"));
  const auto date = [&](int i) {
    return row(i, ("2024-01-" + std::to_string(10 + Noise(3 * i) % 19)).c_str());
  };
  const Strings dates = Warnings(f, Rows("paid,a,y", 1000, date));
  REQUIRE(dates.size() == 1);
  CHECK_THAT(dates[0], Says("column 'paid', by being empty or not, alone predicts the label"));
  const auto apart = [&](int i) {
    return std::string(Noise(5 * i) % 2 == 0 ? "" : "2024-01-15") + "," + std::to_string(Noise(i)) +
           "," + std::to_string(i % 2);
  };
  CHECK(Warnings(f, Rows("paid,a,y", 1000, apart)).empty());
}

}  // namespace
}  // namespace espalier::data
