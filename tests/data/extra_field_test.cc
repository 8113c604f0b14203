// Fields beyond the names of a header: a delimiter at the end of lines, or R's row names.
#include "src/data/input/extra_field.h"

#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

// Returns rows of a,b,y between `before` and `after`. {N} is the row's number.
std::string Rows(const std::string& before, const std::string& after, int rows = 300) {
  std::string text;
  for (int i = 0; i < rows; ++i) {
    const auto filled = [i](std::string part) {
      const size_t at = part.find("{N}");
      return at == part.npos ? part : part.replace(at, 3, std::to_string(i + 1));
    };
    text += filled(before) + std::to_string(i * 37 % 101) + "," + std::to_string(i % 7) + "." +
            std::to_string(i % 3) + "," + (i % 3 ? "no" : "yes") + filled(after) + "\n";
  }
  return text;
}

Gathered Expected() {
  DataFixture f;
  f.Train("a,b,y\n" + Rows("", ""));
  return f.AllRows();
}

void CheckRead(DataFixture& f, const std::string& content) {
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{1} << 10}) {
    f.job.data.shard_bytes = bytes;
    f.Train(content);
    INFO(content.substr(0, 60));
    CHECK(f.AllRows() == Expected());
  }
}

TEST_CASE("an empty field at each line's end is left out") {
  DataFixture f;
  CheckRead(f, "a,b,y\n" + Rows("", ","));
  CheckRead(f, "a,b,y,\n" + Rows("", ","));
  CheckRead(f, "a,b,y,\n" + Rows("", ""));
  CheckRead(f, "a,b,y,\n" + Rows("", ", "));
}

TEST_CASE("the row names of R are left out") {
  DataFixture f;
  CheckRead(f, "\"a\",\"b\",\"y\"\n" + Rows("\"{N}\",", ""));
  REQUIRE(f.plan.notes.size() == 1);
  CHECK(f.plan.notes[0].find("the row names of R, is left out") != std::string::npos);
  CheckRead(f, "a,b,y\n" + Rows("{N},", ""));
  CheckRead(f, "a,b,y\n" + Rows("\"Mazda RX{N}\",", ""));
  f.job.data.csv.extra_field = spec::ExtraField::kFirst;
  CheckRead(f, "a,b,y\n" + Rows("row{N},", ""));
}

TEST_CASE("files of one table may differ in their extra field") {
  DataFixture f;
  const std::string first = f.dir.Put("1.csv", "a,b,y\n" + Rows("", ",", 100));
  const std::string second = f.dir.Put("2.csv", "y,a,b\nno,1,2\nyes,3,4\n");
  const std::string third = f.dir.Put("3.csv", "a,b,y\n\"1\",5,6,no\n\"2\",7,8,yes\n");
  const std::string fourth = f.dir.Put("4.csv", "b,a,y,\n10,9,no,\n");
  f.job.data.train = {first, second, third, fourth};
  const Gathered rows = f.AllRows();
  REQUIRE(rows.inputs.size() == 2 * 105);
  CHECK(std::vector<double>(rows.inputs.end() - 10, rows.inputs.end()) ==
        std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
}

TEST_CASE("an uncertain extra field is refused by name") {
  const auto refused = [](const std::string& content, spec::ExtraField field = {}) {
    DataFixture f;
    f.job.data.csv.extra_field = field;
    f.Train(content);
    const Status status = f.Profile().status();
    INFO(status.ToString());
    CHECK_FALSE(status.ok());
    return status.message();
  };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  // Row numbers and an empty last field: a delimiter at the end, or a column of R without values.
  has(refused("a,b,y\n" + Rows("", "").insert(0, "1,2,no,\n")), "It ends with a delimiter");
  has(refused("a,y\n1,no,\n2,no,\n3,yes,\n"), "data.csv.extra_field: first");
  // Each row has a decimal comma.
  has(refused("a,b,y\n" + Rows("7,", "")), "data.csv.extra_field: first");
  has(refused("a,b,y\n" + Rows("row{N},", "")), "data.csv.extra_field: first");
  // Row numbers, and the parts of a number with a decimal comma: 1,05.
  std::string prices = "id,price,y\n";
  for (int i = 1; i <= 30; ++i) {
    prices += std::to_string(i) + "," + std::to_string(i % 4) + ",0" + std::to_string(i % 7) +
              (i % 3 ? ",no\n" : ",yes\n");
  }
  has(refused(prices), "may be one number with a decimal comma. Set data.csv.extra_field: first");
  // The field that was empty has a value.
  has(refused("a,b,y\n" + Rows("", ",") + "1,2,no,5\n"), "data.csv.extra_field: none");
  has(refused("a,b,y\n" + Rows("", ","), spec::ExtraField::kNone), "ends with a delimiter");
  has(refused("a,b,y\n" + Rows("{N},", ""), spec::ExtraField::kNone), "has 4 fields, expected 3");
  has(refused("a,b,y\n" + Rows("", "") + "1,2,n\\,o\n"), "data.csv.escape");
}

TEST_CASE("the key settles which field is extra") {
  DataFixture f;
  f.job.data.csv.extra_field = spec::ExtraField::kLast;
  f.Train("a,y\n1,no,\n2,no,\n3,yes,\n");
  CHECK(f.AllRows().inputs == std::vector<double>{1, 2, 3});
  f.job.data.csv.extra_field = spec::ExtraField::kFirst;
  f.job.data.label.clear();
  f.job.model.task = spec::Task::kAutoencoder;
  f.Train("a,b\n1,5,6\n2,7,8\n");
  CHECK(f.AllRows().inputs == std::vector<double>{5, 6, 7, 8});
}

TEST_CASE("without a header an empty last field is left out") {
  DataFixture f;
  f.job.data.csv.header = false;
  f.job.data.csv.delimiter = '|';
  f.job.data.label = {int64_t{2}};
  std::string text = Rows("", ",");
  std::replace(text.begin(), text.end(), ',', '|');
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{1} << 10}) {
    f.job.data.shard_bytes = bytes;
    f.Train(text);
    CHECK(f.AllRows() == Expected());
  }
  // A key that names the last column keeps the column.
  f.job.data.label = {int64_t{3}};
  CHECK(f.Profile().status().message().find("the label is empty") != std::string::npos);
}

TEST_CASE("row names and columns by position do not go together") {
  DataFixture f;
  f.job.data.features.columns = {int64_t{0}};
  f.Train("a,b,y\n" + Rows("\"{N}\",", ""));
  const Status status = f.Plan().status();
  INFO(status.ToString());
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK(status.message().find("by position") != std::string::npos);
}

}  // namespace
}  // namespace espalier::data
