// Meanings of texts by a job's rules: null, numbers, labels.
#include "src/data/table/value_rules.h"

#include <catch2/catch.hpp>
#include <optional>

namespace espalier::data {
namespace {

ValueRules Rules(std::optional<char> decimal, std::optional<char> thousands,
                 std::optional<std::vector<std::string>> nulls = {}) {
  spec::DataSpec data;
  data.csv.decimal = decimal;
  data.csv.thousands = thousands;
  data.null_values = std::move(nulls);
  return ValueRules(data, true);
}

std::optional<double> Number(const ValueRules& rules, const char* text) {
  double value = 0;
  return rules.ParseNumber(text, &value) == NumberKind::kNumber ? std::optional(value)
                                                                : std::nullopt;
}

TEST_CASE("a label that is a number gets a decimal point") {
  const ValueRules comma = Rules(',', {}), german = Rules(',', '.');
  CHECK(comma.PlainText("1,0") == "1.0");
  CHECK(comma.PlainText("1") == "1");
  CHECK(comma.PlainText("a,b") == "a,b");
  CHECK(comma.PlainText("1.5") == "1.5");
  CHECK(german.PlainText("1.000") == "1000");
  CHECK(german.PlainText("1.234,50") == "1234.50");
  CHECK(german.PlainText("1.0.0") == "1.0.0");
  CHECK(Rules({}, {}).PlainText("1,0") == "1,0");
}

TEST_CASE("millions of special blanks take linear time") {
  std::string text;
  for (int i = 0; i < 4'000'000; ++i) text += "\xC2\xA0";
  CHECK(Number(Rules({}, ' '), (text + "5" + text).c_str()) == 5.0);
}

TEST_CASE("numbers follow the job's decimal sign and separator") {
  const ValueRules comma = Rules(',', {}), german = Rules(',', '.'), english = Rules({}, ','),
                   french = Rules(',', ' ');
  CHECK(Number(comma, "28,7") == 28.7);
  CHECK(Number(comma, "-1,5e3") == -1500.0);
  CHECK(Number(comma, "3") == 3.0);
  CHECK_FALSE(Number(comma, "28.7"));
  CHECK_FALSE(Number(comma, "1,2,3"));
  CHECK(Number(german, "1.234.567,5") == 1234567.5);
  CHECK(Number(german, "1.234") == 1234.0);
  CHECK_FALSE(Number(german, "1.23"));
  CHECK_FALSE(Number(german, "1234.567"));
  CHECK(Number(english, "1,234.5") == 1234.5);
  CHECK(Number(english, "12,34,567") == 1234567.0);
  CHECK(Number(english, "1234") == 1234.0);
  CHECK_FALSE(Number(english, "1,5"));
  CHECK_FALSE(Number(english, "1.234,567"));
  CHECK(Number(french, "1 234,5") == 1234.5);
  CHECK(Number(french,
               "1\xC2\xA0"
               "234,5") == 1234.5);
  CHECK(Number(french,
               "1\xE2\x80\xAF"
               "234") == 1234.0);
  CHECK(Number(french,
               "\xC2\xA0-1\xE2\x80\x87"
               "234,5\xC2\xA0") == -1234.5);
  CHECK_FALSE(Number(english, "0,123"));
  CHECK_FALSE(Number(english, "-01,234"));
  CHECK(Number(english, "0.5") == 0.5);
  CHECK_FALSE(Number(german, "1.100e-05"));
  CHECK_FALSE(Number(german, "1.100,5e3"));
  CHECK(Number(german, "1,5e3") == 1500.0);
  CHECK(Number(german, "192.168.100.200") == 192168100200.0);
  CHECK_FALSE(comma.plain());
  CHECK(Rules({}, {}).plain());
}

TEST_CASE("an address is four numbers up to 255") {
  for (const char* text : {"192.168.100.200", "0.0.0.0", "8.8.8.8"}) CHECK(IsAddress(text));
  for (const char* text : {"192.168.100.256", "1.2.3", "1.2.3.4.5", "1.2.3.", "1.2.3.4a",
                           "1234.1.1.1", "", "1,2,3,4"}) {
    INFO(text);
    CHECK_FALSE(IsAddress(text));
  }
}

TEST_CASE("written numbers have only the forms that can be meant") {
  const auto read = [](const char* text) {
    WrittenNumber how;
    CHECK(ReadWrittenNumber(text, &how));
    return how;
  };
  CHECK(read("0,731").decimal_comma);
  CHECK_FALSE(read("0,731").either_comma);
  CHECK(read("1,731").either_comma);
  CHECK(read("-0.7313\xC2\xA0").blanks);
  CHECK_FALSE(read("1\xC2\xA0"
                   "234")
                  .blanks);
  WrittenNumber how;
  CHECK_FALSE(ReadWrittenNumber("192.168.100.200", &how));
}

TEST_CASE("texts and numbers of null_values are null") {
  const ValueRules rules = Rules({}, {}, {{"unknown", "-999", " x "}});
  double value = 0;
  for (const char* text : {"unknown", " unknown ", "-999", "-999.0", "x", "", "NA", "None"}) {
    INFO(text);
    CHECK(rules.ParseNumber(text, &value) == NumberKind::kNull);
  }
  CHECK(Number(rules, "999") == 999.0);
  CHECK_FALSE(rules.plain());
  CHECK(Rules({}, {}, {{"unknown"}}).plain());
  CHECK(rules.IsNullCategory("unknown"));
  CHECK_FALSE(rules.IsNullCategory("None"));
}

TEST_CASE("words for null are not labels except by null_values") {
  for (const char* word : {"NA", "None", "nan", "-nan", "?", "-", ".", "", "\\N", "NaT", "<NA>"}) {
    INFO(word);
    CHECK(ValueRules().IsNullLabel(word));
  }
  const ValueRules none = Rules({}, {}, std::vector<std::string>());
  CHECK_FALSE(none.IsNullLabel("None"));
  CHECK(none.IsNullLabel(""));
  CHECK(Rules({}, {}, {{"unknown"}}).IsNullLabel("unknown"));
}

}  // namespace
}  // namespace espalier::data
