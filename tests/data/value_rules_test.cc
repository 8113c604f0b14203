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
  CHECK_FALSE(comma.plain());
  CHECK(Rules({}, {}).plain());
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
