// `columns: auto`: what is made of columns by what they hold.
#include "src/data/input/infer_features.h"

#include <catch2/catch.hpp>

#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

using Strings = std::vector<std::string>;

spec::FeatureType TypeOfValues(const Strings& values) {
  ColumnSample sample;
  for (const std::string& value : values) sample.Add(value);
  return TypeOf(sample);
}

// "a numeric, c.year date": of each feature its column (and part) and its type.
std::string Types(const spec::Schema& schema) {
  constexpr const char* kTypes[] = {"numeric", "boolean", "date", "categorical"};
  std::string text;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    text += (i == 0 ? "" : ", ") + schema.names[schema.features[i]] + " " +
            kTypes[static_cast<int>(schema.rule(i).type)];
  }
  return text;
}

TEST_CASE("a column is numeric if at least half of its values are, else a date, a boolean, text") {
  CHECK(TypeOfValues({}) == spec::FeatureType::kNumeric);
  CHECK(TypeOfValues({"", "NA", "null", "\\N"}) == spec::FeatureType::kNumeric);
  CHECK(TypeOfValues({"1", "-2.5e3", "inf", "1e999", ""}) == spec::FeatureType::kNumeric);
  CHECK(TypeOfValues({"1", "x"}) == spec::FeatureType::kNumeric);
  CHECK(TypeOfValues({"1", "x", "y"}) == spec::FeatureType::kCategorical);
  CHECK(TypeOfValues({"0", "1", "1"}) == spec::FeatureType::kNumeric);
  CHECK(TypeOfValues({"yes", "no", ""}) == spec::FeatureType::kBoolean);
  CHECK(TypeOfValues({"True", "0", "FALSE"}) == spec::FeatureType::kBoolean);
  CHECK(TypeOfValues({"yes", "no", "maybe"}) == spec::FeatureType::kCategorical);
  CHECK(TypeOfValues({"2024-02-29", " 2024-02-29 23:59 ", "NA"}) == spec::FeatureType::kDate);
  CHECK(TypeOfValues({"2024-02-29", "2024-02-30"}) == spec::FeatureType::kCategorical);
  CHECK(TypeOfValues({"20240229"}) == spec::FeatureType::kNumeric);
}

TEST_CASE("auto gives each column its type, in its place, and numbers alone no rule at all") {
  DataFixture f;
  f.Train("a,city,day,member,b,y\n1,Rome,2024-02-29,yes,,0\n2,Oslo,2023-01-31,no,7,1\n");
  const auto plan = f.Plan();
  REQUIRE(plan.ok());
  CHECK(Types(plan->schema) ==
        "a numeric, city categorical, day date, day date, day date, day date, member boolean, "
        "b numeric");
  CHECK(spec::InferredText(plan->schema) ==
        "categorical: city; date: day; boolean: member; numeric: 2 others");
  f.Train("a,b,y\n1,,0\n2,7,1\n");
  CHECK(f.Plan()->schema.rules.empty());
  CHECK(spec::InferredText(f.Plan()->schema).empty());
  f.Train("city,y\nRome,0\nOslo,1\n");
  CHECK(spec::InferredText(f.Plan()->schema) == "categorical: city");
}

TEST_CASE("without a label, all features are numbers to be given back") {
  DataFixture f;
  f.job.data.label.clear();
  f.Train("a,member\n1,yes\n2,no\n");
  CHECK(Types(f.Plan()->schema) == "a numeric, member boolean");
  f.Train("a,city\n1,Rome\n2,Oslo\n");
  CHECK(f.Plan().status().message().starts_with(
      "data.features: column 'city' holds categories; with task autoencoder"));
  f.Train("a,day\n1,2024-02-29\n2,2024-03-01\n");
  CHECK(f.Plan().status().message().find("'day' holds dates") != std::string::npos);
}

TEST_CASE("what the spec says of a column is not judged by its values") {
  DataFixture f;
  f.Train("a,city,y\n1,Rome,0\n2,Oslo,1\n");
  f.job.data.features.columns = {std::string("a"), std::string("city")};
  CHECK(f.Plan()->schema.rules.empty());
  CHECK(f.Profile().status().message().starts_with("the value is not a number"));
  f.job.data.features.columns.clear();
  spec::FeatureGroup group;
  group.columns = {std::string("city")};
  group.type = spec::FeatureType::kCategorical;
  group.hash = 10;
  f.job.data.features.groups = {group};
  CHECK(f.Plan()->schema.rule(1).group == 0);
  CHECK(spec::InferredText(f.Plan()->schema).empty());
}

TEST_CASE("the sample goes on in further training files, and ends") {
  DataFixture f;
  f.job.data.train = {f.dir.Put("a.csv", "a,b,y\n"), f.dir.Put("b.csv", "b,a,y\nx,1,0\n"),
                      f.dir.Put("c.csv", "a,b,y\n2,y,0\n3,z,1\n")};
  CHECK(Types(f.Plan()->schema) == "a numeric, b categorical");
  std::string numbers = "a,y\n";
  for (int64_t i = 0; i < kSampledRows; ++i) numbers += i % 2 == 0 ? "1,0\n" : "x,1\n";
  std::string more = numbers;
  for (int64_t i = 0; i < kSampledRows; ++i) more += "x,0\n";
  f.Train(more);
  CHECK(Types(f.Plan()->schema) == "a numeric");  // half of the rows that are looked at
}

TEST_CASE("inferred features are those of groups that say the same") {
  const auto rows = [](bool grouped) {
    DataFixture f;
    f.job.data.features.nulls.kind = spec::NullKind::kMean;
    if (grouped) {
      const auto add = [&](const char* name, spec::FeatureType type) {
        spec::FeatureGroup& group = f.job.data.features.groups.emplace_back();
        group.columns = {std::string(name)};
        group.type = type;
      };
      add("city", spec::FeatureType::kCategorical);
      add("day", spec::FeatureType::kDate);
      add("member", spec::FeatureType::kBoolean);
    }
    f.Train("a,city,day,member,y\n1,Rome,2024-02-29,yes,0\n2,,,no,1\n3,Oslo,2023-01-31,,1\n");
    return f.AllRows();
  };
  CHECK((rows(false) == rows(true)));
  CHECK(rows(false).codes == std::vector<int32_t>{2, 0, 1});
}

TEST_CASE("text with too many values is refused with the way out") {
  DataFixture f;
  std::string content = "id,y\n";
  for (int i = 0; i < 10'001; ++i)
    content += "u" + std::to_string(i) + "," + std::to_string(i % 2) + "\n";
  f.Train(content);
  const auto profile = f.Profile();
  REQUIRE_FALSE(profile.ok());
  CHECK(profile.status().position()->column == "id");
  CHECK_THAT(profile.status().message(), Catch::Contains("more than 10,000 different values") &&
                                             Catch::Contains("type: categorical, hash: 1000"));
}

TEST_CASE("a table to be scored goes by the model's rules and not by its own values") {
  DataFixture f;
  f.Train("1,2\n3,4\n");
  f.job.data.csv.header = false;
  f.job.data.label = {int64_t{1}};
  f.dir.Put("text.csv", "x,2\n");
  f.job.data.train = {f.dir.path() + "/text.csv"};
  const auto table = PlanTable(*f.files, f.job.data, 1 << 20);
  REQUIRE(table.ok());
  CHECK(table->schema.rules.empty());
  CHECK_FALSE(f.Plan()->schema.rules.empty());
}

}  // namespace
}  // namespace espalier::data
