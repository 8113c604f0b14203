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
             "{\"a\":NaN,\"b\":[1, {\"c\": [\"]\"]}],\"u\":{}}\n"
             "{\"a\":{ },\"b\":{\"c\":1},\"\":{\"a\":2}}",
             {"a", "b", "u.v.w"}) ==
        std::vector<Fields>{{"1", "x", ""},
                            {"-1.50e+3", "y,\"z\n\xC3\xA4\xF0\x9F\x98\x80", ""},
                            {"", "", "true"},
                            {"", "", ""},
                            {"", "", ""},
                            {"NaN", "[1, {\"c\": [\"]\"]}]", ""},
                            {"", "{\"c\":1}", ""}});
}

TEST_CASE("a line that is not one JSON object is bad") {
  struct Case {
    std::string line, says;
  };
  const std::vector<Case> cases = {
      {"[1, 2]", "the line is an array"},
      {"1", "the opening brace is missing"},
      {"{", "the line ends before the quote of a key ... Write each row on one line"},
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
      {"{\"a\":.5}", "the text is not a JSON value"},
      {"{\"a\":1.}", "the text is not a JSON value"},
      {"{\"a\":1e}", "the text is not a JSON value"},
      {"{\"a\":+1}", "the text is not a JSON value"},
      {"{\"a\":True}", "the text is not a JSON value"},
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
      {"{\"a\":[1,]}", "the text is not a JSON value"},
      {"{\"a\":[1", "the line ends before the closing bracket"},
      {"{\"a\":[{\"b\"}]}", "the colon after a key is missing"},
      {"{\"a\":1,\"b\":2,\"a\":3}", "the key 'a' is in the record twice"},
      {"{\"b\":" + std::string(100, '[') + std::string(100, ']') + "}",
       "the values are nested too deeply"},
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

TEST_CASE("keys that cannot be columns cost little") {
  const std::string dots(1 << 20, '.');
  std::string nested = "{\"" + std::string(3000, 'k') + "\":{";
  for (int i = 0; i < 20'000; ++i) nested += "\"a" + std::to_string(i) + "\":{},";
  nested.back() = '}';
  DataFixture f;
  f.job.data.features.columns = {std::string("x")};
  f.Train("{\"" + dots + "\":1,\"x\":1,\"y\":0}\n{\"x\":2,\"y\":1,\"\xFF\":1}\n" + nested +
              ",\"x\":3,\"y\":0}\n",
          "a.json");
  CHECK(f.AllRows().inputs == std::vector<double>{1, 2, 3});
  std::string many = "{";
  for (int i = 0; i < 6000; ++i) {
    many += "\"" + std::string(3000, 'k') + std::to_string(i) + "\":1,";
  }
  const size_t half = many.rfind(',', many.size() / 2);
  f.job.data.train = {f.dir.Put("1.json", many.substr(0, half) + "}\n"),
                      f.dir.Put("2.json", "{" + many.substr(half + 1) + "\"y\":0}\n")};
  CHECK_THAT(f.Plan().status().message(), Says("the records have too many different keys"));
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

TEST_CASE("a job names the columns of JSON by keys") {
  DataFixture f;
  f.job.data.label = {int64_t{0}};
  f.Train("{\"y\":0,\"x\":1}\n", "a.json");
  CHECK_THAT(f.Plan().status().message(), Says("the job names columns by their positions"));
}

TEST_CASE("a large JSON array is refused with advice") {
  std::string text = " [";
  while (text.size() <= CsvReader::kRecordBytesMax) text += "{\"x\":1,\"y\":0},";
  text.back() = ']';
  DataFixture f;
  f.Train(text, "a.json");
  CHECK_THAT(f.Plan().status().message(), Says("the file is one JSON array ... jq -c '.[]'"));
}

TEST_CASE("directories give columns to JSON, also without keys") {
  DataFixture f;
  f.job.data.features.columns = {std::string("x")};
  REQUIRE(f.files->MakeDirectory(f.dir / "t/x=1/y=0").ok());
  f.dir.Put("t/x=1/y=0/a.json", "{}\n{\"y\":5}\n");
  REQUIRE(f.files->MakeDirectory(f.dir / "t/x=2/y=1").ok());
  f.dir.Put("t/x=2/y=1/a.json", "{\"z\":1}\n");
  f.job.data.train = {f.dir / "t"};
  const Gathered rows = f.AllRows();
  CHECK(rows.inputs == std::vector<double>{1, 1, 2});
  CHECK(f.classes == std::vector<std::string>{"0", "1"});
  REQUIRE(f.files->MakeDirectory(f.dir / "u/x=1/y=0").ok());
  f.dir.Put("u/x=1/y=0/a.json", "{}\n");
  REQUIRE(f.files->MakeDirectory(f.dir / "u/x=2/y=1").ok());
  f.dir.Put("u/x=2/y=1/a.json", "{}\n");
  f.job.data.train = {f.dir / "u"};
  CHECK(f.AllRows().inputs == std::vector<double>{1, 2});
}

TEST_CASE("errors in JSON name the place of the value") {
  DataFixture f;
  f.job.data.features.columns = {std::string("u.x")};
  const std::string text =
      "\xEF\xBB\xBF{\"y\":\"\\u00e4\",\"u\":{\"x\":1}}\n{\"u\":{\"x\":\"bad\"},\"y\":\"b\"}\n";
  f.Train(text, "a.json");
  const Status failed = f.Profile().status();
  REQUIRE(failed.position());
  CHECK(failed.position()->row == 2);
  CHECK(failed.position()->column == "u.x");
  CHECK(failed.position()->offset == static_cast<int64_t>(text.find("\"bad\"")));
}

}  // namespace
}  // namespace espalier::data
