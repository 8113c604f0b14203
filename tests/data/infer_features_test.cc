// `columns: auto`: features that follow from the values of columns.
#include "src/data/input/infer_features.h"

#include <catch2/catch.hpp>
#include <functional>

#include "src/data/input/column_sample.h"
#include "src/spec/inferred_text.h"
#include "tests/data/compress.h"
#include "tests/data/fixture.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

using Strings = std::vector<std::string>;

// Returns the columns, parts and types of the features, as in "a numeric, c.year date".
std::string Types(const spec::Schema& schema) {
  constexpr const char* kTypes[] = {"numeric", "boolean", "date", "categorical"};
  std::string text;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    text += (i == 0 ? "" : ", ") + schema.names[schema.features[i]] + " " +
            kTypes[static_cast<int>(schema.rule(i).type)];
  }
  return text;
}

TEST_CASE("auto gives each column its type, and numbers alone no rules") {
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

TEST_CASE("a plan notes numbers that may be identifiers") {
  DataFixture f;
  std::string content = "id,a,y\n";
  for (int i = 0; i < 60; ++i) {
    content += std::to_string(i) + "," + std::to_string(i % 7) + "," + std::to_string(i % 2) + "\n";
  }
  f.Train(content);
  REQUIRE(f.Plan()->notes.size() == 1);
  CHECK_THAT(f.Plan()->notes[0], Catch::StartsWith("column 'id' may be an identifier"));
  f.job.data.features.exclude = {std::string("id")};
  CHECK(f.Plan()->notes.empty());
}

TEST_CASE("a quoted auto is the keyword unless a column has that name") {
  DataFixture f;
  f.job.data.features.columns = {std::string("auto")};
  f.Train("a,city,y\n1,Rome,0\n2,Oslo,1\n");
  CHECK(Types(f.Plan()->schema) == "a numeric, city categorical");
  f.Train("a,auto,y\n1,4,0\n2,3,1\n");
  CHECK(Types(f.Plan()->schema) == "auto numeric");
}

TEST_CASE("an autoencoder refuses categories and dates") {
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

TEST_CASE("columns that the spec describes are not judged by values") {
  DataFixture f;
  f.Train("a,city,y\n1,Rome,0\n2,Oslo,1\n");
  f.job.data.features.columns = {std::string("a"), std::string("city")};
  CHECK(f.Plan()->schema.rules.empty());
  CHECK_THAT(f.Profile().status().message(), Says("the value ... not a number"));
  f.job.data.features.columns.clear();
  spec::FeatureGroup group;
  group.columns = {std::string("city")};
  group.type = spec::FeatureType::kCategorical;
  group.hash = 10;
  f.job.data.features.groups = {group};
  CHECK(f.Plan()->schema.rule(1).group == 0);
  CHECK(spec::InferredText(f.Plan()->schema).empty());
}

TEST_CASE("the sample continues in further training files, and ends") {
  DataFixture f;
  f.job.data.train = {f.dir.Put("a.csv", "a,b,y\n"), f.dir.Put("b.csv", "b,a,y\nx,1,0\n"),
                      f.dir.Put("c.csv", "a,b,y\n2,y,0\n3,z,1\n")};
  CHECK(Types(f.Plan()->schema) == "a numeric, b categorical");
}

// Returns a table of about `bytes` bytes with the column `a` and the label `y`. `value` takes the
// share of rows before the row.
std::string Long(int64_t bytes, const std::function<std::string(double)>& value) {
  std::string content = "a,y\n";
  const int64_t rows = bytes / 8;
  for (int64_t i = 0; i < rows; ++i) {
    std::string field = value(static_cast<double>(i) / static_cast<double>(rows));
    field.resize(5, field.empty() ? ' ' : field.back());
    content += field + (i % 2 == 0 ? ",0\n" : ",1\n");
  }
  return content;
}

TEST_CASE("a small table is judged as a whole") {
  DataFixture f;
  f.Train(Long(kWholeTableBytes / 2, [](double at) { return at < 0.51 ? "1" : "x"; }));
  CHECK(Types(f.Plan()->schema) == "a numeric");
  f.Train(Long(kWholeTableBytes / 2, [](double at) { return at < 0.49 ? "1" : "x"; }));
  CHECK(Types(f.Plan()->schema) == "a categorical");
}

TEST_CASE("rows of weight 0 are as if absent") {
  const auto table = [](bool with) {
    std::string text = "number,constant,date,y,w\n";
    for (int i = 0; i < 200; ++i) {
      const std::string y = i % 3 == 0 ? "p" : "q";
      text += std::to_string(i % 17) + ",u,2024-01-1" + std::to_string(i % 9) + "," + y + ",1\n";
      if (with) text += "$5,v" + std::to_string(i) + ",late,,0.0\n";
    }
    return text;
  };
  for (const bool exact : {false, true}) {
    DataFixture without, with;
    for (DataFixture* f : {&without, &with}) {
      f->Train(table(f == &with));
      f->job.data.weight = std::string("w");
      f->job.data.validation.fraction = exact ? 0.2 : 0;
      f->job.data.validation.exact = f->job.data.validation.stratify = exact;
    }
    CHECK((with.AllRows() == without.AllRows()));
    CHECK(Types(with.plan.schema) == Types(without.plan.schema));
    CHECK(with.plan.schema.left_out.size() == 1);
    CHECK(with.classes == std::vector<std::string>{"p", "q"});
  }
}

TEST_CASE("a large table is judged by blocks from all parts of it") {
  DataFixture f;
  f.Train(Long(2 * kWholeTableBytes, [](double at) { return at < 0.3 ? "1" : "x"; }));
  CHECK(Types(f.Plan()->schema) == "a categorical");
  f.Train(Long(2 * kWholeTableBytes, [](double at) { return at < 0.3 || at > 0.6 ? "1" : "x"; }));
  CHECK(Types(f.Plan()->schema) == "a numeric");
  const std::string numbers = Long(kWholeTableBytes, [](double) { return "1"; });
  const std::string texts = Long(kWholeTableBytes, [](double) { return "x"; });
  f.job.data.train = {f.dir.Put("1.csv", numbers), f.dir.Put("2.csv", texts),
                      f.dir.Put("3.csv", texts)};
  CHECK(Types(f.Plan()->schema) == "a categorical");
  const auto sample = SampleColumns(*f.files, f.job.data, *f.Plan());
  REQUIRE(sample.ok());
  CHECK_FALSE(sample->complete);
  CHECK(sample->columns[0].rows() <= kBlocks * kBlockRows);
  CHECK(std::abs(static_cast<double>(sample->rows) / (3.0 * kWholeTableBytes / 8) - 1) < 0.02);
  CHECK(sample->columns[0].numbers() == 5 * kBlockRows);  // one third of the file
}

TEST_CASE("a compressed file gives its first rows once") {
  DataFixture f;
  const std::string content =
      Long(2 * kWholeTableBytes, [](double at) { return at < 0.1 ? "1" : "x"; });
  f.Train(Gzip(content, 0), "train.csv.gz");
  const auto sample = SampleColumns(*f.files, f.job.data, *f.Plan());
  REQUIRE(sample.ok());
  CHECK_FALSE(sample->complete);
  CHECK(sample->columns[0].rows() == kBlockRows);
  CHECK(sample->columns[0].numbers() == kBlockRows);
}

TEST_CASE("a row counter continues from block to block") {
  DataFixture f;
  std::string content = ",a,y\n";
  for (int i = 0; i < 200'000; ++i) {
    content += std::to_string(i) + "," + std::to_string(i % 7) + "," + std::to_string(i % 2) + "\n";
  }
  f.Train(content);
  CHECK(f.Plan()->schema.left_out ==
        std::vector<spec::LeftOutColumn>{{0, spec::LeftOutReason::kRowNumber}});
}

TEST_CASE("the index of a shuffled or filtered table is left out") {
  const auto left_out = [](const std::string& name, int modulus) {
    DataFixture f;
    std::string text = name + ",a,y\n";
    for (int i = 0; i < 60; ++i) {
      text += std::to_string(i * 37 % modulus) + "," + std::to_string(i % 9) + ".5," +
              (i % 3 ? "no\n" : "yes\n");
    }
    f.Train(text);
    const auto plan = f.Plan();
    INFO(plan.status().ToString());
    REQUIRE(plan.ok());
    return plan->schema.left_out;
  };
  const std::vector<spec::LeftOutColumn> index = {{0, spec::LeftOutReason::kRowNumber}};
  CHECK(left_out("", 101) == index);
  CHECK(left_out("Unnamed: 0", 101) == index);
  CHECK(left_out("Unnamed: 0.1", 101) == index);
  CHECK(left_out("n", 101).empty());
  CHECK(left_out("", 31).empty());  // values repeat
}

TEST_CASE("inferred features equal those of explicit groups") {
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

TEST_CASE("text with too many values is refused with a suggestion") {
  DataFixture f;
  std::string content = "id,y\n";
  for (int i = 0; i < 20'002; ++i)
    content += "u" + std::to_string(i / 2) + "," + std::to_string(i % 2) + "\n";
  f.Train(content);
  const auto profile = f.Profile();
  REQUIRE_FALSE(profile.ok());
  CHECK(profile.status().position()->column == "id");
  CHECK_THAT(profile.status().message(), Catch::Contains("more than 10,000 different values") &&
                                             Catch::Contains("type: categorical, hash: 1000"));
}

TEST_CASE("a scored table follows the model's rules, not its values") {
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

// Returns 60 rows of a feature `a`, a label `y` and the column `name` with these values.
std::string Table(const std::string& name, const std::function<std::string(int)>& value) {
  std::string content = name + ";a;y\n";
  for (int i = 0; i < 60; ++i) {
    content += value(i) + ";" + std::to_string(i * i) + ";" + std::to_string(i % 2) + "\n";
  }
  return content;
}

TEST_CASE("a column that needs a decision is refused with the key") {
  DataFixture f;
  f.job.data.csv.delimiter = ';';
  f.Train(Table("n", [](int i) { return std::to_string(i) + ",5"; }));
  const Status refused = f.Plan().status();
  CHECK(refused.position()->column == "n");
  CHECK_THAT(refused.message(), Catch::Contains("data.csv.decimal: ','"));
  f.job.data.csv.decimal = ',';
  CHECK(f.AllRows().inputs[2] == 1.5);
  f.Train(Table("d", [](int i) { return "02/" + std::to_string(i % 12 + 1) + "/2024"; }));
  CHECK_THAT(f.Plan().status().message(), Catch::Contains("date_format"));
  f.job.data.features.date_format = "%d/%m/%Y";
  CHECK(f.AllRows().inputs[5 + 1] == 2);  // month of the second row
  f.Train(Table("n", [](int i) { return i % 3 > 0 ? "unknown" : std::to_string(i); }));
  CHECK(spec::InferredText(f.Plan()->schema) == "categorical: n; numeric: 1 other");
  f.job.data.null_values = {{"unknown"}};
  CHECK(f.Plan()->schema.rules.empty());
}

TEST_CASE("columns left out of the features keep their reason") {
  DataFixture f;
  f.job.data.csv.delimiter = ';';
  f.Train(Table("", [](int i) { return std::to_string(i); }));
  CHECK(spec::InferredText(f.Plan()->schema) ==
        "numeric: 1 other; left out: the unnamed column (numbers the rows)");
  CHECK(f.Plan()->schema.features == std::vector<int32_t>{1});
  CHECK(f.Plan()->schema.rules.empty());
  f.Train(Table("id", [](int i) { return "u" + std::to_string(i); }));
  CHECK(f.Plan()->schema.left_out ==
        std::vector<spec::LeftOutColumn>{{0, spec::LeftOutReason::kDifferent}});
  f.Train(Table("c", [](int) { return "same"; }));
  CHECK(spec::InferredText(f.Plan()->schema) == "numeric: 1 other; left out: c (constant)");
  f.Train(Table("e", [](int) { return ""; }));
  CHECK(spec::InferredText(f.Plan()->schema) == "numeric: 1 other; left out: e (empty)");
  f.job.data.features.exclude = {std::string("a")};
  CHECK_THAT(f.Plan().status().message(), Catch::Contains("no column is left"));
}

TEST_CASE("exclude removes columns by name, position and pattern") {
  DataFixture f;
  f.Train("id_a,id_b,x,z,y\n1,2,3,4,0\n5,6,7,8,1\n");
  f.job.data.features.exclude = {std::string("id_*"), int64_t{3}};
  CHECK(f.Plan()->schema.features == std::vector<int32_t>{2});
  f.job.data.features.columns = {spec::ColumnRange{0, 3}};
  CHECK(f.Plan()->schema.features == std::vector<int32_t>{2});
  f.job.data.features.columns.clear();
  f.job.data.features.exclude = {std::string("ids_*")};
  CHECK_THAT(f.Plan().status().message(), Catch::Contains("no column matches 'ids_*'"));
  f.job.data.features.exclude = {std::string("zz")};
  CHECK_THAT(f.Plan().status().message(), Catch::Contains("column 'zz' does not exist"));
}

TEST_CASE("a first line of numbers and a class is a row") {
  DataFixture f;
  f.job.data.label = {int64_t{2}};
  f.Train("5.1,3.5,setosa\n4.9,3,virginica\n5,3.6,setosa\n");
  CHECK_THAT(f.Plan().status().message(),
             Catch::Contains("a value of a column") && Catch::Contains("data.csv.header: false"));
  f.job.data.csv.extra_field = spec::ExtraField::kNone;
  CHECK_FALSE(f.Plan().ok());
  f.Train("2019,2020,country\n4.9,3,DE\n5,3.6,NL\n");
  CHECK(f.Plan().ok());
  f.job.data.csv.header = false;
  f.Train("5.1,3.5,setosa\n4.9,3,virginica\n5,3.6,setosa\n");
  CHECK(f.AllRows().labels.size() == 3);
}

TEST_CASE("a header of numbers is a row, except if it counts up") {
  DataFixture f;
  f.job.data.label = {int64_t{2}};
  f.Train("5.1,3.5,0\n4.9,3,1\n");
  CHECK_THAT(f.Plan().status().message(), Catch::Contains("data.csv.header: false"));
  f.job.data.csv.header = false;
  CHECK(f.Plan().ok());
  f.job.data.csv.header = true;
  f.Train("0,1,2\n4.9,3,1\n5,1,0\n");
  CHECK(f.Plan().ok());
  f.job.data.label = {std::string("2020")};
  f.Train("2019,2020\n4.9,1\n5,0\n");
  CHECK(f.Plan().ok());
}

TEST_CASE("numbers like 240131 are read as numbers, with a note") {
  DataFixture f;
  std::string rows = "d,y\n";
  for (int i = 0; i < 28; ++i) rows += std::to_string(240'101 + i) + (i % 2 == 0 ? ",a\n" : ",b\n");
  f.Train(rows);
  const auto plan = f.Plan();
  REQUIRE(plan.ok());
  CHECK(plan->schema.rule(0).type == spec::FeatureType::kNumeric);
  std::string notes;
  for (const std::string& note : plan->notes) notes += note + "\n";
  CHECK_THAT(notes, Catch::Contains("days like '240101'"));
}

TEST_CASE("a format without a day reads seconds since midnight") {
  DataFixture f;
  f.job.data.features.scale.kind = spec::ScaleKind::kNone;
  f.Train("d,y\n1:45 PM,0\n12:00 AM,1\n");
  spec::FeatureGroup& group = f.job.data.features.groups.emplace_back();
  group.columns = {std::string("d")};
  group.type = spec::FeatureType::kDate;
  group.date_format = "%I:%M %p";
  CHECK_THAT(f.Profile().status().message(),
             Catch::Contains("'%I:%M %p' has no day") && Catch::Contains("[epoch]"));
  group.parts = {spec::DatePart::kEpoch};
  CHECK(f.AllRows().inputs == std::vector<double>{49'500, 0});
  group.parts = {spec::DatePart::kHour, spec::DatePart::kMinute};
  CHECK(f.AllRows().inputs == std::vector<double>{13, 45, 0, 0});
}

TEST_CASE("dates that are all in 1970 are an error") {
  DataFixture f;
  spec::FeatureGroup& group = f.job.data.features.groups.emplace_back();
  group.columns = {std::string("d")};
  group.type = spec::FeatureType::kDate;
  f.Train("d,y\n2023,0\n2024,1\n");
  CHECK_THAT(f.Profile().status().message(), Catch::Contains("January 1970"));
  group.parts = {spec::DatePart::kEpoch};
  CHECK_THAT(f.Profile().status().message(), Catch::Contains("January 1970"));
  group.date_format = "%Y";
  CHECK(f.Profile().ok());
  f.Train("d,y\n1012024,0\n31122024,1\n");
  group.date_format = "auto";
  CHECK_THAT(f.Profile().status().message(), Says("all dates ... are in 1970"));
  group.parts = spec::FeatureGroup().parts;
  CHECK_THAT(f.Profile().status().message(), Says("all dates ... are in 1970"));
  group.date_format = "%d%m%Y";
  f.Train("d,y\n01012024,0\n31122024,1\n");
  CHECK(f.Profile().ok());
  f.Train("d,y\n1700000000,0\n1700000001,1\n");
  group.date_format = "auto";
  CHECK(f.Profile().ok());
}

TEST_CASE("a word for null is not a class, in each task") {
  DataFixture f;
  f.Train("a,y\n1,0\n2,NA\n3,1\n");
  CHECK_THAT(f.Profile().status().message(), Catch::Contains("the label is missing: 'NA'"));
  f.job.data.bad_rows = {true, 1};
  CHECK(f.Profile()->train_rows == 2);
  f.job.data.null_values.emplace();
  CHECK(f.Profile()->preprocessing.classes == Strings{"0", "1", "NA"});
  f.job.data.null_values.reset();
  f.job.data.bad_rows = {};
  f.job.model.task = spec::Task::kRegression;
  CHECK_THAT(f.Profile().status().message(), Catch::Contains("the label is missing"));
}

}  // namespace
}  // namespace espalier::data
