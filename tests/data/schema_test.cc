#include "src/data/table/schema.h"

#include <catch2/catch.hpp>

#include "tests/data/fixture.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

using Positions = std::vector<int32_t>;
const std::vector<std::string> kNames = {"id", "age", "height", "weight", "is_val", "sex"};

TEST_CASE("columns are found by name, by position and by range") {
  spec::DataSpec data;
  data.label = {std::string("sex")};
  data.weight = int64_t{3};
  data.validation.column = std::string("is_val");
  CHECK(MakeSchema(data, kNames)->features == Positions{0, 1, 2});
  CHECK(MakeSchema(data, kNames)->label == Positions{5});
  CHECK(MakeSchema(data, kNames)->weight == 3);
  CHECK(MakeSchema(data, kNames)->validation == 4);
  data.features.columns = {std::string("height"), int64_t{0}};
  CHECK(MakeSchema(data, kNames)->features == Positions{2, 0});
  data.features.columns = {spec::ColumnRange{0, 3}};
  CHECK(MakeSchema(data, kNames)->features == Positions{0, 1, 2, 3});
}

TEST_CASE("with a header, a name like a position is a name") {
  spec::DataSpec data;
  data.label = {std::string("1")};
  CHECK(MakeSchema(data, {"1", "0", "x"})->label == Positions{0});
  data.label = {int64_t{1}};
  CHECK(MakeSchema(data, {"1", "0", "x"})->label == Positions{1});
  data.label = {std::string("2")};
  CHECK(MakeSchema(data, PositionNames(3))->label == Positions{2});
}

TEST_CASE("impossible columns are errors with a suggestion") {
  spec::DataSpec data;
  const auto message = [&](const std::vector<std::string>& names = kNames) {
    const auto schema = MakeSchema(data, names);
    REQUIRE_FALSE(schema.ok());
    CHECK(schema.status().code() == StatusCode::kInvalidArgument);
    return schema.status().message();
  };
  data.label = {std::string("sexx")};
  const std::string columns = " ... 6 columns: 'id', 'age', 'height', 'weight', 'is_val', 'sex'";
  CHECK_THAT(message(),
             Says("data.label: column 'sexx' does not exist" + columns + "; did you mean 'sex'?"));
  data.label = {std::string("zzzzzzzz")};
  CHECK_THAT(message(), Says("data.label: column 'zzzzzzzz' does not exist" + columns) &&
                            !Catch::Contains("did you mean"));
  data.label = {std::string("c")};
  CHECK_THAT(
      message({"a", " c"}),
      Says("data.label: column 'c' does not exist ... 2 columns: 'a', ' c'; did you mean ' c'?"));
  data.label = {std::string("zz")};
  CHECK_THAT(message({"x", "y"}),
             Says("data.label: column 'zz' does not exist ... 2 columns: 'x', 'y'") &&
                 !Catch::Contains("did you mean"));
  data.label = {int64_t{6}};
  CHECK_THAT(message(), Says("data.label: column 6 does not exist ... 6 columns ... from 0"));
  data.label = {int64_t{5}};
  CHECK_THAT(message({"5", "0", "0", "1", "2", "3"}),
             Says("the header names '0' twice, in columns 1 and 2 ... csv.header: false"));
  data.features.columns = {std::string("age"), int64_t{1}};
  CHECK_THAT(message(), Says("data.features.columns: column 'age' is named twice"));
  data.features.columns = {std::string("age"), std::string("sex")};
  CHECK_THAT(message(), Says("data.features.columns: column 'sex' is the label ... Leave it out"));
  data.features.columns = {spec::ColumnRange{4, 6}};
  CHECK_THAT(message(),
             Says("data.features.columns: column 6 does not exist ... 6 columns ... from 0"));
  data.features.columns.assign(10'000, spec::ColumnRange{0, 4});
  CHECK_THAT(message(), Says("data.features.columns: names columns more than once"));
  data.features.columns.clear();
  data.label = {int64_t{0}};
  CHECK_THAT(message({"y"}), Says("data.features.columns: no column is left ... 1 column: 'y'"));
  data.label = {int64_t{0}, std::string("id")};
  CHECK_THAT(message(), Says("data.label: column 'id' is named twice"));
}

TEST_CASE("input is listed set by set, frozen and cut") {
  DataFixture f;
  REQUIRE(f.files->MakeDirectory(f.dir / "t").ok());
  const std::string b = f.dir.Put("t/b.csv", "a,y\n1,0\n2,1\n");
  const std::string a = f.dir.Put("t/a.csv", "a,y\n3,0\n");
  const std::string empty = f.dir.Put("t/c.csv", "");
  const std::string test = f.dir.Put("test.csv", "a,y\n9,1\n");
  f.dir.Put("t/_SUCCESS", "");
  f.job.data.train = {f.dir / "t"};
  f.job.data.test = {test};
  const auto plan = PlanInput(*f.files, f.job.data, 6);
  REQUIRE(plan.ok());
  REQUIRE(plan->files.size() == 4);
  CHECK(plan->files[0].path == a);
  CHECK(plan->files[1].path == b);
  CHECK(plan->files[2].path == empty);
  CHECK(plan->files[3].path == test);
  CHECK(plan->files[3].role == spec::FileRole::kTest);
  CHECK(plan->files[1].length == 12);
  CHECK(plan->files[1].modified_ms > 0);
  // The rest is less than half a shard and joins the last one.
  CHECK(plan->shards == std::vector<spec::Shard>{{0, 0, 8}, {1, 0, 6}, {1, 6, 12}, {3, 0, 8}});
}

TEST_CASE("a header, and a multiline file, stay in one shard") {
  DataFixture f;
  f.Train("\n\n\n\n\n\nlong_name_of_a,y\n3,0\n");
  CHECK(PlanInput(*f.files, f.job.data, 4)->shards ==
        std::vector<spec::Shard>{{0, 0, 23}, {0, 23, 27}});
  f.job.data.csv.multiline = true;
  CHECK(PlanInput(*f.files, f.job.data, 4)->shards.size() == 1);
}

TEST_CASE("input that cannot be listed is an error with the pattern") {
  DataFixture f;
  const auto status = [&f] { return f.Plan().status(); };
  f.job.data.train = {f.dir / "*.csv"};
  CHECK(status().code() == StatusCode::kNotFound);
  CHECK_THAT(status().message(), Says("data.train: no file matches '" + (f.dir / "*.csv") +
                                      "' ... _ or . and *._COPYING_"));
  f.job.data.train = {f.dir / "none.csv"};
  CHECK(status().code() == StatusCode::kNotFound);
  CHECK(status().message() ==
        "data.train: cannot look up '" + (f.dir / "none.csv") + "': it does not exist");
  const std::string train = f.Train("a,y\n1,0\n");
  f.job.data.test = {f.dir / "t*.csv"};
  CHECK_THAT(status().message(), Says("data.test: '" + train + "' is listed twice, by '" + train +
                                      "' and by '" + (f.dir / "t*.csv") + "'"));
  f.job.data.test.clear();
  f.job.data.train = {train, f.dir.Put("other.csv", "a,z\n1,0\n")};
  CHECK(status().code() == StatusCode::kInvalidArgument);
  CHECK_THAT(status().message(),
             Says("the header has 'z' in column 1, which '" + train + "' ... same columns"));
  const std::string other = f.dir / "other.csv";
  CHECK(status().position() ==
        InputPosition{.file = other, .row = 1, .column = "z", .offset = 2, .text = "z"});
  f.dir.Put("other.csv", "\na,y,a\n");
  CHECK_THAT(status().message(), Says("the header has 'a' in column 2 ... column 0"));
  CHECK(status().position() ==
        InputPosition{.file = other, .row = 2, .column = "a", .offset = 5, .text = "a"});
  f.dir.Put("other.csv", "a\n");
  CHECK_THAT(status().message(),
             Says("the header has no column 'y', which '" + train + "' ... same columns"));
  CHECK(status().position() ==
        InputPosition{.file = other, .row = 1, .column = "y", .offset = 0, .text = "a"});
  f.Train("PK\x03\x04 archive");
  CHECK(status().code() == StatusCode::kUnimplemented);
  f.job.data.train = {"ftp://name/x"};
  CHECK(status().code() == StatusCode::kInvalidArgument);
  f.Train("\"a,y\n1,0\n");
  CHECK_THAT(status().message(), Says("the header: a quoted field ... not closed"));
  CHECK(status().position()->row == 1);
}

TEST_CASE("the files of a directory decide its format, LIBSVM too") {
  DataFixture f;
  REQUIRE(f.files->MakeDirectory(f.dir / "d").ok());
  f.dir.Put("d/0.svm", "1 1:2 2:3\n0 2:5\n");
  f.dir.Put("d/1.libsvm", "1 1:4\n");
  f.job.data.train = {f.dir / "d"};
  f.job.data.label = {int64_t{0}};
  f.job.data.features.columns = {spec::ColumnRange{1, 2}};
  auto profile = f.Profile();
  INFO(profile.status().ToString());
  REQUIRE(profile.ok());
  CHECK(profile->train_rows == 3);
  f.job.data.features.columns.clear();
  CHECK(f.Plan().status().message().find("data.features.columns: found nothing, expected the "
                                         "indices that are features") == 0);
  f.dir.Put("d/2.csv", "a,b\n");
  CHECK(f.Plan().status().message().find("2.csv' is CSV by its name, '") != std::string::npos);
  f.job.data.train = {f.dir / "d/*.csv"};
  CHECK(f.Plan().status().message().find("is CSV by its name") == std::string::npos);
}

TEST_CASE("a file of bad rows is reported by the first one") {
  DataFixture f;
  f.job.data.csv.header = false;
  f.job.data.label = {int64_t{1}};
  f.Train("\n1,\"2\n3,\"4\n");
  Status error = f.Plan().status();
  CHECK(error.code() == StatusCode::kBadInput);
  CHECK_THAT(error.message(), Says("a quoted field ... not closed"));
  CHECK(error.position()->row == 2);
  CHECK(error.position()->offset == 3);
  f.Train("1 1 :2\n", "t.svm");
  f.job.data.label = {int64_t{0}};
  f.job.data.features.columns = {spec::ColumnRange{1, 2}};
  error = f.Plan().status();
  CHECK(error.code() == StatusCode::kBadInput);
  CHECK(error.position()->row == 1);
  CHECK(error.message().find("no record") == std::string::npos);
  std::string rows = "1 1:3\n";
  for (int i = 0; i < 2000; ++i) rows = "x y\n" + rows;
  f.Train(rows, "t.svm");
  CHECK(f.Plan().status().position()->row == 1);  // the good row is beyond the bounded look
  f.job.data.train.insert(f.job.data.train.begin(), f.dir.Put("good.svm", "1 1:2\n"));
  CHECK(f.Plan().ok());
}

TEST_CASE("an error about a column points into the header") {
  DataFixture f;
  const auto position = [&f] {
    const Status error = f.Plan().status();
    INFO(error.ToString());
    REQUIRE(error.position().has_value());
    return *error.position();
  };
  const auto at = [](const std::string& file, const std::string& column, int64_t offset,
                     const std::string& text) {
    return InputPosition{.file = file, .row = 2, .column = column, .offset = offset, .text = text};
  };
  const std::string twice = f.Train("\na,\"b\",a,y\n1,2,3,0\n");
  CHECK(position() == at(twice, "a", 7, "a"));
  const std::string file = f.Train("\nid,a,y\n1,2,0\n");
  f.job.data.label = {std::string("z")};
  CHECK(position() == at(file, "z", 1, "id,a,y"));
  f.job.data.label = {int64_t{7}};
  CHECK(position() == at(file, "7", 1, "id,a,y"));
  f.job.data.label = {std::string("y")};
  f.job.data.weight = std::string("w");
  CHECK(position() == at(file, "w", 1, "id,a,y"));
  f.job.data.weight.reset();
  f.job.data.validation.column = std::string("v");
  CHECK(position() == at(file, "v", 1, "id,a,y"));
  f.job.data.validation.column.reset();
  f.job.data.features.columns = {std::string("b")};
  CHECK(position() == at(file, "b", 1, "id,a,y"));
  f.job.data.features.columns = {std::string("y")};
  CHECK(position() == at(file, "y", 6, "y"));
}

}  // namespace
}  // namespace espalier::data
