#include "src/data/text/json_reader.h"

#include <random>

#include "src/data/profile/table_scan.h"
#include "tests/data/compress.h"
#include "tests/data/fixture.h"
#include "tests/data/scan_rows.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

using Fields = std::vector<std::string>;

// Reads all records of a text for these columns. A bad record gives its message.
std::vector<Fields> Read(const std::string& text, const Fields& names) {
  const storage::TemporaryDirectory dir;
  const auto files = storage::MakeFileSystem();
  const auto file = *files->Open(dir.Put("a.json", text));
  JsonReader reader(*file, {0, file->info().length}, names);
  std::vector<Fields> records;
  for (;;) {
    switch (reader.Next()) {
      case RecordReader::Outcome::kRecord:
        records.emplace_back();
        for (size_t i = 0; i < reader.fields(); ++i) records.back().emplace_back(reader.field(i));
        break;
      case RecordReader::Outcome::kBadRecord:
        records.push_back({"bad", reader.error().message()});
        break;
      case RecordReader::Outcome::kFailed:
        records.push_back({"failed", reader.error().message()});
        return records;
      case RecordReader::Outcome::kEnd:
        return records;
    }
  }
}

TEST_CASE("values of JSON become text by the names of the keys") {
  CHECK(Read("{\"a\": 1, \"b\": \"x\"}\n"
             "\n  \t\n"
             "{\"b\":\"y,\\\"z\\n\\u00e4\\ud83d\\ude00\",\"other\":{\"a\":5},\"a\":-1.50e+3}\r\n"
             " { \"u\" : { \"v\" : { \"w\" : true } , \"x\" : 2 } } \n"
             "{}\n"
             "{\"a\":null,\"b\":\"\",\"u\":null}\n"
             "{\"a\":NaN,\"b\":[1, {\"c\": [\"]\"]}],\"u\":{}}",
             {"a", "b", "u.v.w"}) ==
        std::vector<Fields>{{"1", "x", ""},
                            {"-1.50e+3", "y,\"z\n\xC3\xA4\xF0\x9F\x98\x80", ""},
                            {"", "", "true"},
                            {"", "", ""},
                            {"", "", ""},
                            {"NaN", "[1, {\"c\": [\"]\"]}]", ""}});
}

TEST_CASE("a line that is not one JSON object is bad") {
  struct Case {
    std::string line, says;
  };
  const std::vector<Case> cases = {
      {"[1, 2]", "the line is an array"},
      {"1", "the opening brace is missing"},
      {"{", "the line ends before the quote of a key. Write each row on one line"},
      {"{\"a\"", "the line ends before the colon"},
      {"{\"a\":", "the line ends before a value"},
      {"{\"a\":1", "the line ends before the closing brace"},
      {"{\"a\":1,}", "the quote of a key is missing"},
      {"{a:1}", "the quote of a key is missing"},
      {"{'a':1}", "the quote of a key is missing"},
      {"{\"a\" 1}", "the colon after a key is missing"},
      {"{\"a\":1 \"b\":2}", "the closing brace is missing"},
      {"{\"a\":1}{\"a\":2}", "the line continues after the object"},
      {"{\"a\":1},", "the line continues after the object"},
      {"{\"a\":01}", "a number starts with 0"},
      {"{\"a\":-01}", "a number starts with 0"},
      {"{\"a\":.5}", "this is not a JSON value"},
      {"{\"a\":1.}", "this is not a JSON value"},
      {"{\"a\":1e}", "this is not a JSON value"},
      {"{\"a\":+1}", "this is not a JSON value"},
      {"{\"a\":True}", "this is not a JSON value"},
      {"{\"a\":nullx}", "the closing brace is missing"},
      {"{\"a\":\"x}", "the line ends before the closing quote of a string"},
      {"{\"a\":\"x\ty\"}", "a string contains a control character"},
      {"{\"a\":\"\\x\"}", "a string has an unknown escape"},
      {"{\"a\":\"\\u12\"}", "a string has an unknown escape"},
      {"{\"a\":\"\\u12g4\"}", "a string has an unknown escape"},
      {"{\"a\":\"\\", "a string has an unknown escape"},
      {"{\"a\":\"\\u0000\"}", "a string contains a NUL character"},
      {"{\"a\":\"\\ud800\"}", "a string has half a surrogate pair"},
      {"{\"a\":\"\\ud800\\u0041\"}", "a string has half a surrogate pair"},
      {"{\"a\":\"\\udc00\"}", "a string has half a surrogate pair"},
      {"{\"a\":[1,]}", "this is not a JSON value"},
      {"{\"a\":[1", "the line ends before the closing bracket"},
      {"{\"a\":[{\"b\"}]}", "the colon after a key is missing"},
      {"{\"a\":1,\"b\":2,\"a\":3}", "the key 'a' is in the record twice"},
      {"{\"a\":{\"b\":1}}", "the column 'a' has an object here"},
      {"{\"b\":" + std::string(100, '[') + std::string(100, ']') + "}",
       "the values are nested more than 64"},
  };
  for (const Case& c : cases) {
    INFO(c.line);
    const auto records = Read("{\"a\":7}\n" + c.line + "\n{\"a\":8}\n", {"a"});
    REQUIRE(records.size() == 3);
    CHECK(records[0] == Fields{"7"});
    CHECK(records[1].front() == "bad");
    CHECK_THAT(records[1].back(), Says(c.says));
    CHECK(records[2] == Fields{"8"});
  }
}

TEST_CASE("dotted names of nested keys take bounded memory") {
  std::string line = "{\"" + std::string(1 << 20, 'k') + "\":{";
  for (int i = 0; i < 100; ++i) line += "\"a" + std::to_string(i) + "\":1,";
  line.back() = '}';
  const auto records = Read(line + "}\n", {"a"});
  REQUIRE(records.size() == 1);
  CHECK_THAT(records[0].back(), Says("the dotted names of the nested keys have more than"));
}

TEST_CASE("mutated JSON gives records or errors") {
  const std::string text =
      "{\"a\":1,\"b\":{\"c\":[1,2,{\"d\":null}],\"e\":\"\\u00e4x\"}}\n{\"a\":-2.5e3,\"f\":false}\n";
  std::mt19937_64 random(7);
  int bad = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = text;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % changed.size();
      if (random() % 2 == 0)
        changed[at] = static_cast<char>(random());
      else
        changed.erase(at, 1 + random() % 4);
    }
    for (const Fields& record : Read(changed, {"a", "b.e", "f"})) {
      bad += record.front() == "bad";
      REQUIRE(record.size() >= 2);
    }
  }
  CHECK(bad > 10'000);
}

struct Table {
  std::string csv = "id,x,city,y\n", json;
};

Table RandomTable(int rows) {
  std::mt19937_64 random(3);
  Table table;
  for (int row = 0; row < rows; ++row) {
    const std::string x = std::to_string(static_cast<int>(random() % 2000) - 1000);
    const std::string city = random() % 5 == 0 ? "" : "city" + std::to_string(random() % 4);
    const std::string y = std::to_string(random() % 3);
    table.csv += std::to_string(row) + "," + x + "," + city + "," + y + "\n";
    const std::string quoted = city.empty() ? "null" : "\"" + city + "\"";
    if (row % 2 == 0) {
      table.json += "{\"id\":" + std::to_string(row) + ",\"x\":" + x + ",\"city\":" + quoted +
                    ",\"y\":" + y + "}\n";
    } else {
      table.json += "{\"y\":\"" + y + "\"" + (city.empty() ? "" : ",\"city\":" + quoted) +
                    ", \"x\":" + x + ",\"more\":[1],\"id\":" + std::to_string(row) + "}\n";
    }
  }
  return table;
}

TEST_CASE("JSON lines give the rows of the same CSV, however cut") {
  const Table table = RandomTable(3000);
  DataFixture f;
  f.job.data.features.columns = {std::string("x"), std::string("id")};
  f.Train(table.csv);
  const Gathered expected = f.AllRows();
  const std::vector<std::string> classes = f.classes;
  for (const int64_t shard_bytes : {1000, 7777, 1 << 20}) {
    f.job.data.shard_bytes = shard_bytes;
    f.Train(table.json, "a.jsonl");
    CHECK((f.AllRows() == expected));
    CHECK(f.classes == classes);
  }
  f.Train(Gzip(table.json), "a.ndjson.gz");
  CHECK((f.AllRows() == expected));
  f.job.data.format = spec::DataFormat::kJson;
  f.Train(table.json, "part-00000");
  CHECK((f.AllRows() == expected));
}

TEST_CASE("columns of JSON are judged as those of CSV") {
  const Table table = RandomTable(3000);
  DataFixture f;
  f.Train(table.csv);
  const Gathered expected = f.AllRows();
  f.Train(table.json, "a.json");
  CHECK((f.AllRows() == expected));
}

TEST_CASE("the columns of JSON are the keys of all files") {
  DataFixture f;
  f.job.data.features.columns = {std::string("b"), std::string("u.v")};
  f.job.data.features.nulls = {.kind = spec::NullKind::kConstant};
  f.job.data.train = {f.dir.Put("1.json", "{\"y\":0,\"b\":1,\"u\":null}\n"),
                      f.dir.Put("2.json", "{\"u\":{\"v\":5},\"y\":1}\n"), f.dir.Put("3.json", "")};
  CHECK(f.AllRows().inputs == std::vector<double>{1, 0, 0, 5});
  CHECK(f.plan.schema.names == std::vector<std::string>{"y", "b", "u.v"});
  f.job.data.features.columns = {std::string("c")};
  CHECK_THAT(f.Plan().status().message(), Says("... 'c'"));
}

}  // namespace
}  // namespace espalier::data
