#include "src/data/text/csv_reader.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/data/table/number.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

class TextFile : public storage::ReadableFile {
 public:
  explicit TextFile(std::string text) : text_(std::move(text)) {
    info_.path = "text.csv";
    info_.length = static_cast<int64_t>(text_.size());
  }
  const storage::FileInfo& info() const override { return info_; }
  Result<size_t> ReadAt(int64_t offset, std::span<char> out) const override {
    const size_t begin = std::min<size_t>(offset, text_.size());
    const size_t size = std::min(out.size(), text_.size() - begin);
    std::copy_n(text_.data() + begin, size, out.data());
    return size;
  }
  void WillRead(int64_t, int64_t) const override {}

 private:
  std::string text_;
  storage::FileInfo info_;
};

using Record = std::vector<std::string>;
using Records = std::map<int64_t, Record>;  // by offset; a bad record is {"!"}

// Adds the records of a range. Fails the test if two records have one offset.
uint32_t Read(const std::string& text, const spec::CsvOptions& options, CsvRange range,
              Records* records, int64_t window = CsvReader::kWindowBytes) {
  const TextFile file(text);
  CsvReader reader(file, options, range, window);
  for (;;) {
    const CsvReader::Outcome outcome = reader.Next();
    REQUIRE(outcome != CsvReader::Outcome::kFailed);
    if (outcome == CsvReader::Outcome::kEnd) return reader.checksum();
    Record record = {"!"};
    if (outcome == CsvReader::Outcome::kRecord) {
      record.clear();
      for (size_t i = 0; i < reader.fields(); ++i) record.emplace_back(reader.field(i));
    }
    INFO("record at " << reader.record_offset());
    REQUIRE(records->emplace(reader.record_offset(), record).second);
  }
}

Records ReadAll(const std::string& text, const spec::CsvOptions& options = {}) {
  Records records;
  Read(text, options, {0, static_cast<int64_t>(text.size()), false}, &records);
  return records;
}

TEST_CASE("records are lines, fields are divided by the delimiter") {
  CHECK(ReadAll("a,b\n1,2\n") == Records{{0, {"a", "b"}}, {4, {"1", "2"}}});
  CHECK(ReadAll("a,b\r\n1,2") == Records{{0, {"a", "b"}}, {5, {"1", "2"}}});
  CHECK(ReadAll("\n\r\n,\n\n") == Records{{3, {"", ""}}});
  CHECK(ReadAll("") == Records{});
  CHECK(ReadAll("\n\n\r\n\r") == Records{});
  CHECK(ReadAll("\xEF\xBB\xBF"
                "a,b\n1,2") == Records{{0, {"a", "b"}}, {7, {"1", "2"}}});
  CHECK(ReadAll("\xEF\xBB\xBF\n1") == Records{{4, {"1"}}});
  CHECK(ReadAll("a;b", {.delimiter = ';'}) == Records{{0, {"a", "b"}}});
}

TEST_CASE("quoted fields hold delimiters and doubled quotes") {
  CHECK(ReadAll("\"a,b\",\"c\"\"d\",e\n1,2,3\n") ==
        Records{{0, {"a,b", "c\"d", "e"}}, {15, {"1", "2", "3"}}});
  CHECK(ReadAll("5\" pipe,\"\"\r\n") == Records{{0, {"5\" pipe", ""}}});
  CHECK(ReadAll("'a,b',c", {.quote = '\''}) == Records{{0, {"a,b", "c"}}});
  CHECK(ReadAll("\"a\"b,c\n1,2\n") == Records{{0, {"!"}}, {7, {"1", "2"}}});
  CHECK(ReadAll("\"a\nb\",c\n") == Records{{0, {"!"}}});
  CHECK(ReadAll("\xEF\xBB\xBF\"a\",b\n") == Records{{0, {"a", "b"}}});
}

TEST_CASE("with multiline a quoted field holds line breaks") {
  const spec::CsvOptions multiline = {.multiline = true};
  CHECK(ReadAll("\"a\nb\r\n\nc\",d\r\n\"1\",2\n3,4", multiline) ==
        Records{{0, {"a\nb\r\n\nc", "d"}}, {13, {"1", "2"}}, {19, {"3", "4"}}});
  CHECK(ReadAll("1,2\n\"a\nb\nc", multiline) == Records{{0, {"1", "2"}}, {4, {"!"}}});
  // The lines read before a quote is closed may be longer than the record.
  CHECK(ReadAll("\"a long first line\r\nx\",rome\r\n\"a long first line\r\ny\",oslo\r\n",
                multiline) ==
        Records{{0, {"a long first line\r\nx", "rome"}}, {29, {"a long first line\r\ny", "oslo"}}});
  // One field has many lines, over several windows.
  std::string field;
  for (int i = 0; i < 30'000; ++i) field += "line " + std::to_string(i) + "\n";
  Records records;
  const std::string text = "x,y\n\"" + field + "\",1\n2,3\n";
  Read(text, multiline, {0, static_cast<int64_t>(text.size()), false}, &records, 4096);
  CHECK(records.size() == 3);
  CHECK(records[4] == Record{field, "1"});
}

TEST_CASE("a NUL byte makes its record bad and no other") {
  const std::string text("1,2\n3,\0\n5,6\n", 12);
  CHECK(ReadAll(text) == Records{{0, {"1", "2"}}, {4, {"!"}}, {8, {"5", "6"}}});
}

TEST_CASE("fields keep their places in the file") {
  const TextFile file(
      "\xEF\xBB\xBF"
      "ab,c\n1,\"2\",3\n");
  CsvReader reader(file, {}, {0, 17, false});
  REQUIRE(reader.Next() == CsvReader::Outcome::kRecord);
  CHECK(reader.record_offset() == 0);
  CHECK(reader.field_offset(0) == 3);
  CHECK(reader.field_offset(1) == 6);
  REQUIRE(reader.Next() == CsvReader::Outcome::kRecord);
  CHECK(reader.record_offset() == 8);
  CHECK(reader.field_offset(1) == 10);
  CHECK(reader.field_offset(2) == 14);
}

// Returns random text with any CSV construct and records of up to a few hundred bytes.
std::string RandomText(std::mt19937* random) {
  const auto pick = [random](int n) { return static_cast<int>((*random)() % n); };
  std::string text = pick(3) == 0 ? "\xEF\xBB\xBF" : "";
  const int lines = pick(40);
  for (int i = 0; i < lines; ++i) {
    const int fields = pick(6) == 0 ? 0 : 1 + pick(pick(4) == 0 ? 90 : 6);
    for (int f = 0; f < fields; ++f) {
      if (f > 0) text += ',';
      switch (pick(5)) {
        case 0:
          text += "\"q,\"\"" + std::to_string(pick(100)) + "\"";
          break;
        case 1:
          break;
        case 2:
          text += "-12.5e3";
          break;
        default:
          text += std::to_string(pick(1000));
      }
    }
    if (i + 1 < lines || pick(2)) text += pick(2) ? "\r\n" : "\n";
  }
  return text;
}

TEST_CASE("for any cut the shards give each row of the file once") {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const std::string text = RandomText(&random);
    INFO("round " << round << ": " << Printable(text, 4000));
    const int64_t length = static_cast<int64_t>(text.size());
    const Records whole = ReadAll(text);
    std::vector<int64_t> cuts = {0, length};
    const int count = random() % 8;
    for (int i = 0; i < count; ++i) cuts.push_back(random() % (length + 1));
    std::sort(cuts.begin(), cuts.end());
    Records pieces;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      const int64_t window = 1 + random() % 300;
      const uint32_t checksum = Read(text, {}, {cuts[i], cuts[i + 1], false}, &pieces, window);
      REQUIRE(checksum == Crc32c(text.data() + cuts[i], cuts[i + 1] - cuts[i]));
    }
    REQUIRE(pieces == whole);
  }
}

TEST_CASE("every single cut of a small file gives each row once") {
  const std::string text =
      "\xEF\xBB\xBF"
      "a,b\r\n1,\"2,\"\n\n\r\n3,4\n5,6";
  const int64_t length = static_cast<int64_t>(text.size());
  const Records whole = ReadAll(text);
  CHECK(whole.size() == 4);
  for (int64_t a = 0; a <= length; ++a) {
    for (int64_t b = a; b <= length; ++b) {
      Records pieces;
      Read(text, {}, {0, a, false}, &pieces, 1);
      Read(text, {}, {a, b, false}, &pieces, 2);
      Read(text, {}, {b, length, false}, &pieces, 3);
      REQUIRE(pieces == whole);
    }
  }
}

TEST_CASE("a record beyond the limit ends the read with its place") {
  const TextFile file("1,2\n" + std::string(CsvReader::kRecordBytesMax + 5000, 'x'));
  CsvReader reader(file, {}, {0, file.info().length, false});
  REQUIRE(reader.Next() == CsvReader::Outcome::kRecord);
  REQUIRE(reader.Next() == CsvReader::Outcome::kFailed);
  CHECK_THAT(reader.error().message(), Says("a record is longer than 16.0 MiB"));
  CHECK(reader.error().position()->offset == 4);
}

TEST_CASE("a file cut short under the reader is data loss") {
  class Short : public TextFile {
   public:
    Short() : TextFile("1,2\n3,4\n") { longer_ = TextFile::info(), longer_.length = 20; }
    const storage::FileInfo& info() const override { return longer_; }

   private:
    storage::FileInfo longer_;
  };
  const Short file;
  CsvReader reader(file, {}, {0, 20, false});
  CHECK(reader.Next() == CsvReader::Outcome::kFailed);
  CHECK(reader.error().code() == StatusCode::kDataLoss);
}

TEST_CASE("lines are counted on demand, forwards and back") {
  const TextFile file("a\n\nb\r\nc");
  LineCounter lines(file);
  CHECK(lines.LineOf(0).value() == 1);
  CHECK(lines.LineOf(6).value() == 4);
  CHECK(lines.LineOf(3).value() == 3);
}

NumberKind Parse(const std::string& text, double* value) {
  // The buffer ends one byte after the text, so that the sanitizer sees a longer read. Digits
  // before the text would show a read before its start.
  const std::string padded = std::string(16, '9') + text + ',';
  const std::unique_ptr<char[]> exact(new char[padded.size()]);
  std::copy(padded.begin(), padded.end(), exact.get());
  return ParseNumber(exact.get() + 16, exact.get() + padded.size() - 1, value);
}

TEST_CASE("numbers are read to the last bit, as strtod does") {
  std::mt19937_64 random(3);
  const auto check = [](const std::string& text) {
    double value = 0;
    INFO(text);
    REQUIRE(Parse(text, &value) == NumberKind::kNumber);
    const double expected = std::strtod(text.c_str(), nullptr);
    REQUIRE(value == expected);
    REQUIRE(std::signbit(value) == std::signbit(expected));
  };
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "255",
                           "12345678",
                           "0.1",
                           ".5",
                           "5.",
                           "-.5",
                           "1234.567",
                           "-122.23",
                           "1e3",
                           "-2.5E-3",
                           "123456789",
                           "0.30000000000000004",
                           "000000000000001.5",
                           "0000000000000000",
                           "-0.0",
                           "-0000.0000000000",
                           "9999999999999999",
                           "9007199254740992",
                           "9.00719925474099",
                           "12345.67890123456",
                           "-123456789012345",
                           "-123456789012.345",
                           ".123456789012345",
                           "123456789012345.",
                           "1.234567890123456e-7",
                           "+1.5e+300",
                           "2.2250738585072011e-308",
                           "+7",
                           "1.7976931348623157e308",
                           "4.9e-324",
                           "  12 ",
                           "9007199254740993"}) {
    check(text);
  }
  for (int i = 0; i < 100'000; ++i) {
    std::string digits = std::to_string(random() % 100'000'000'000'000'000 >> (random() % 56));
    if (random() % 4 == 0) digits.insert(0, random() % 8, '0');
    if (random() % 2) digits.insert(random() % (digits.size() + 1), ".");
    if (random() % 8 == 0) digits += "e" + std::to_string(static_cast<int>(random() % 60) - 30);
    check(random() % 2 ? "-" + digits : digits);
  }
}

TEST_CASE("a bad record reaches to its closing quote for every cut") {
  const std::string text =
      "a,b\n1,x\n2,\"head\n7,tail\",8\n3,y\n4,\"two\n\n6,z\nlines\"\n5,\"z\"\n6,\"open\n7,w\n";
  const auto at = [&text](const char* part) { return static_cast<int64_t>(text.find(part)); };
  const Records expected = {
      {0, {"a", "b"}},   {at("1,x"), {"1", "x"}}, {at("2,"), {"!"}},       {at("3,y"), {"3", "y"}},
      {at("4,"), {"!"}}, {at("5,"), {"5", "z"}},  {at("6,\"open"), {"!"}}, {at("7,w"), {"7", "w"}}};
  const auto length = static_cast<int64_t>(text.size());
  for (int64_t cut = 0; cut <= length; ++cut) {
    for (const int64_t window : {int64_t{7}, CsvReader::kWindowBytes}) {
      INFO("cut at " << cut << ", window " << window);
      Records records;
      uint32_t sum = Read(text, {}, {0, cut, false, true}, &records, window);
      Read(text, {}, {cut, length, false, true}, &records, window);
      CHECK(records == expected);
      CHECK(sum == Crc32c(text.data(), static_cast<size_t>(cut), 0));
    }
  }
}

TEST_CASE("a quote that is not closed soon ends its record on its line") {
  std::string text = "1,\"open\n";
  while (text.size() < CsvReader::kOpenQuoteBytesMax + 100) text += "2,x\n";
  const size_t rows = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  text += "3,\"y\"\n";
  const Records records = ReadAll(text);
  CHECK(records.size() == rows + 1);
  CHECK(records.at(0) == Record{"!"});
  CHECK(records.at(8) == Record{"2", "x"});
}

TEST_CASE("an escape makes a quote or an escape in quotes plain text") {
  const spec::CsvOptions options = {.escape = '\\'};
  CHECK(ReadAll("\"he said \\\"hi\\\"\",2\n3,4\n", options) ==
        Records{{0, {"he said \"hi\"", "2"}}, {19, {"3", "4"}}});
  CHECK(ReadAll("\"C:\\\\\",\"\\\\\\\"\",x\n", options) == Records{{0, {"C:\\", "\\\"", "x"}}});
  // The escape is plain before another character and outside quotes, as in Spark.
  CHECK(ReadAll("\"a\\nb\",c\\\\d,\\N\n", options) == Records{{0, {"a\\nb", "c\\\\d", "\\N"}}});
  CHECK(ReadAll("\"a\"\"b\",\"\"\n", options) == Records{{0, {"a\"b", ""}}});
  CHECK(ReadAll("\"a\"\"b\"\n", {.escape = '"'}) == Records{{0, {"a\"b"}}});
  CHECK(ReadAll("\"open\\\"\n1\n", options) == Records{{0, {"!"}}, {8, {"1"}}});
  CHECK(ReadAll("\"a\\\"\nb\",2\n", {.multiline = true, .escape = '\\'}) ==
        Records{{0, {"a\"\nb", "2"}}});
}

TEST_CASE("an ambiguous backslash is reported, not guessed") {
  CHECK(ReadAll("\"C:\\\\\",2\n3,4\n") == Records{{0, {"!"}}, {9, {"3", "4"}}});
  CHECK(ReadAll("\"C:\\\\\",2\n", {.escape = spec::CsvOptions::kNoEscape}) ==
        Records{{0, {"C:\\\\", "2"}}});
  CHECK(ReadAll("\"a\\\\b\",C:\\\\\n") == Records{{0, {"a\\\\b", "C:\\\\"}}});
}

TEST_CASE("without a quote the escape works in all fields") {
  constexpr char kNone = spec::CsvOptions::kNoQuote;
  CHECK(ReadAll("\"a,b\"c\n", {.quote = kNone}) == Records{{0, {"\"a", "b\"c"}}});
  const spec::CsvOptions options = {.quote = kNone, .escape = '\\'};
  CHECK(ReadAll("a\\,b,c\\\\,\\N,d\\ne\\r,\\x\r\n1,2,3,4,5\n", options) ==
        Records{{0, {"a,b", "c\\", "\\N", "d\ne\r", "x"}}, {23, {"1", "2", "3", "4", "5"}}});
  CHECK(ReadAll("x\\ty,\\b\\f\\v,\\\\t\n1,a\\0,3\n", options) ==
        Records{{0, {"x\ty", "\b\f\v", "\\t"}}, {16, {"!"}}});
  const TextFile file("1,2\n3,a\\\nb\n");
  CsvReader reader(file, options, {0, file.info().length, false});
  REQUIRE(reader.Next() == CsvReader::Outcome::kRecord);
  REQUIRE(reader.Next() == CsvReader::Outcome::kFailed);
  CHECK(reader.error().message().find("ends in the escape character") != std::string::npos);
  CHECK(reader.error().position()->offset == 4);
}

TEST_CASE("runs of blanks and tabs divide the fields") {
  const spec::CsvOptions options = {.delimiter = spec::CsvOptions::kBlanks};
  CHECK(ReadAll("  a   b\t y  \r\n 1 \t -2 3\n   \n\t\r\n4 5 6", options) ==
        Records{{0, {"a", "b", "y"}}, {14, {"1", "-2", "3"}}, {31, {"4", "5", "6"}}});
  CHECK(ReadAll(" \"New  York\"   \"\" x\n", options) == Records{{0, {"New  York", "", "x"}}});
  CHECK(ReadAll("\"a\"b c\n1 2\n", options) == Records{{0, {"!"}}, {7, {"1", "2"}}});
  const TextFile file("  12   3\n");
  CsvReader reader(file, options, {0, file.info().length, false});
  REQUIRE(reader.Next() == CsvReader::Outcome::kRecord);
  CHECK(reader.field_offset(0) == 2);
  CHECK(reader.field_offset(1) == 7);
}

TEST_CASE("lines that start with the comment character are left out") {
  const spec::CsvOptions options = {.comment = '#'};
  CHECK(ReadAll("\xEF\xBB\xBF# made by x\n#\na,b\n1,#2\n#3,4\n5,6\n", options) ==
        Records{{17, {"a", "b"}}, {21, {"1", "#2"}}, {31, {"5", "6"}}});
  CHECK(ReadAll("#1\n").size() == 1);
  CHECK(ReadAll("  # x\n 1 2\n", {.delimiter = spec::CsvOptions::kBlanks, .comment = '#'}) ==
        Records{{6, {"1", "2"}}});
}

TEST_CASE("every cut gives each row once, however fields are written") {
  const std::string blanks = "# c\n x  \"a b\"\n\n   \n1\t 2 \r\n#\n3  4";
  const std::string spark = "x,y\n\"a\\\"\",\"\\\\\"\n#,\"b\n1,\"2\n\\\"\",3\n4,5\n";
  const std::string hive = "a\\,b,\\N\n\"1,2\n\\\\,\\n\n3,4\n";
  const std::map<std::string, spec::CsvOptions> texts = {
      {blanks, {.delimiter = spec::CsvOptions::kBlanks, .comment = '#'}},
      {spark, {.escape = '\\', .comment = '#'}},
      {hive, {.quote = spec::CsvOptions::kNoQuote, .escape = '\\'}}};
  for (const auto& [text, options] : texts) {
    const auto length = static_cast<int64_t>(text.size());
    Records whole;
    Read(text, options, {0, length, false, true}, &whole);
    CHECK(whole.size() >= 3);
    for (int64_t cut = 0; cut <= length; ++cut) {
      for (const int64_t window : {int64_t{1}, int64_t{7}, CsvReader::kWindowBytes}) {
        INFO(Printable(text) << " cut at " << cut << ", window " << window);
        Records pieces;
        Read(text, options, {0, cut, false, true}, &pieces, window);
        Read(text, options, {cut, length, false, true}, &pieces, window);
        REQUIRE(pieces == whole);
      }
    }
  }
}

TEST_CASE("the line that names the delimiter for Excel is left out") {
  spec::CsvOptions options;
  options.delimiter = ';';
  CHECK(ReadAll("sep=;\r\na;b\n1;2\n", options) == Records{{7, {"a", "b"}}, {11, {"1", "2"}}});
  CHECK(ReadAll("\xEF\xBB\xBFsep=;\na;b\n", options) == Records{{9, {"a", "b"}}});
  CHECK(ReadAll("sep=,\na;b\n", options).begin()->second == Record{"sep=,"});
}

TEST_CASE("text that is not a number has its kind") {
  const std::map<std::string, NumberKind> expected = {{"", NumberKind::kNull},
                                                      {"  ", NumberKind::kNull},
                                                      {"nan", NumberKind::kNull},
                                                      {"NaN", NumberKind::kNull},
                                                      {"NA", NumberKind::kNull},
                                                      {"null", NumberKind::kNull},
                                                      {"NULL", NumberKind::kNull},
                                                      {"inf", NumberKind::kInfinite},
                                                      {"-inf", NumberKind::kInfinite},
                                                      {"1e400", NumberKind::kInfinite},
                                                      {"a", NumberKind::kNotNumber},
                                                      {".", NumberKind::kNull},
                                                      {"-", NumberKind::kNull},
                                                      {"-.", NumberKind::kNotNumber},
                                                      {"1.2.3", NumberKind::kNotNumber},
                                                      {"..", NumberKind::kNotNumber},
                                                      {"123456.789.1234", NumberKind::kNotNumber},
                                                      {"123456789a", NumberKind::kNotNumber},
                                                      {"a123456789012345", NumberKind::kNotNumber},
                                                      {"1234567/90", NumberKind::kNotNumber},
                                                      {"12345-7890", NumberKind::kNotNumber},
                                                      {"1 2", NumberKind::kNotNumber},
                                                      {"--1", NumberKind::kNotNumber},
                                                      {"+-1", NumberKind::kNotNumber},
                                                      {"1:2", NumberKind::kNotNumber},
                                                      {"0x10", NumberKind::kNotNumber},
                                                      {"12,3", NumberKind::kNotNumber},
                                                      {"-nan", NumberKind::kNull},
                                                      {"\xff", NumberKind::kNotNumber},
                                                      {"1e", NumberKind::kNotNumber}};
  for (const auto& [text, kind] : expected) {
    double value = 0;
    INFO("'" << text << "'");
    CHECK(Parse(text, &value) == kind);
  }
}

}  // namespace
}  // namespace espalier::data
