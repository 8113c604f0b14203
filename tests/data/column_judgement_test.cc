// The kind of column that a sample of values suggests.
#include "src/data/features/column_judgement.h"

#include <catch2/catch.hpp>
#include <functional>

#include "src/spec/names.h"

namespace espalier::data {
namespace {

using Strings = std::vector<std::string>;

Strings Repeated(int64_t count, const std::function<std::string(int64_t)>& value) {
  Strings values;
  for (int64_t i = 0; i < count; ++i) values.push_back(value(i));
  return values;
}

std::string WordOf(Undecided::Why why) {
  constexpr const char* kWords[] = {"decimal comma", "thousands", "either comma", "written",
                                    "date format",   "zone",      "date",         "blanks",
                                    "point",         "date form", "time of day"};
  return std::string("undecided: ") + kWords[static_cast<int>(why)];
}

std::string Judged(const Strings& values, const ColumnFacts& facts = {.name = "a"},
                   const ValueRules& rules = {}) {
  ColumnSample sample;
  for (const std::string& value : values) sample.Add(value, rules);
  const Judgement judgement = Judge(sample, facts);
  if (const auto* type = std::get_if<spec::FeatureType>(&judgement)) return spec::NameOf(*type);
  if (const auto* out = std::get_if<spec::LeftOutReason>(&judgement)) {
    return std::string("left out: ") + spec::NameOf(*out);
  }
  return WordOf(std::get<Undecided>(judgement).why);
}

TEST_CASE("half of the values make a number or a date, all a boolean") {
  CHECK(Judged({}) == "numeric");
  CHECK(Judged({"", "NA", "null", "\\N"}) == "numeric");
  CHECK(Judged({"1", "-2.5e3", "inf", "1e999", ""}) == "numeric");
  CHECK(Judged({"1", "x"}) == "numeric");
  CHECK(Judged({"1", "x", "y"}) == "categorical");
  CHECK(Judged({"0", "1", "1"}) == "numeric");
  CHECK(Judged({"yes", "no", ""}) == "boolean");
  CHECK(Judged({"True", "0", "FALSE"}) == "boolean");
  CHECK(Judged({"yes", "no", "maybe"}) == "categorical");
  CHECK(Judged({"Y", "N", "Y"}) == "categorical");
  CHECK(Judged({"2024-02-29", " 2024-02-29 23:59 ", "NA"}) == "date");
  CHECK(Judged({"2024-02-29", "2024-02-30"}) == "date");
  CHECK(Judged({"2024-02-29", "0000-00-00", "unknown"}) == "categorical");
}

TEST_CASE("numbers that all look like days are noted") {
  const auto note = [](const Strings& values) {
    ColumnSample sample;
    for (const std::string& value : values) sample.Add(value);
    REQUIRE(std::get<spec::FeatureType>(Judge(sample, {.name = "d"})) ==
            spec::FeatureType::kNumeric);
    return ShortDayNote(sample, "d").value_or("");
  };
  const auto days = [](int64_t count) {
    return Repeated(count,
                    [](int64_t i) { return std::to_string(240'101 + i % 28 + i / 28 * 100); });
  };
  CHECK_THAT(note(days(100)),
             Catch::Contains("days like '240101'") &&
                 Catch::Contains("{columns: d, type: date, date_format: \"%y%m%d\"}"));
  CHECK_FALSE(note(days(20)).empty());
  CHECK(note(days(19)).empty());
  Strings values = days(100);
  values.emplace_back("241301");
  CHECK(note(values).empty());
  values.back() = "";
  CHECK_FALSE(note(values).empty());
  values.back() = "-240101";
  CHECK(note(values).empty());
}

TEST_CASE("consecutive and very large whole numbers may be identifiers") {
  const auto note = [](const Strings& values) {
    ColumnSample sample;
    for (const std::string& value : values) sample.Add(value);
    return IdentifierNote(sample, "id").value_or("");
  };
  const auto number = [](int64_t i) { return std::to_string(i); };
  CHECK_THAT(note(Repeated(60, number)),
             Catch::StartsWith("column 'id' may be an identifier: it has consecutive"));
  CHECK_FALSE(note(Repeated(60, [&](int64_t i) { return number(100 + i * 7 % 60); })).empty());
  CHECK(note(Repeated(49, number)).empty());
  CHECK(note(Repeated(60, [&](int64_t i) { return number(2 * i); })).empty());
  CHECK(note(Repeated(60, [&](int64_t i) { return number(i % 59); })).empty());
  CHECK(note(Repeated(60, [&](int64_t i) { return i == 7 ? "" : number(i); })).empty());
  CHECK(note(Repeated(60, [&](int64_t i) { return number(i) + ".5"; })).empty());
  const int64_t large = 100'000'000'000'000'000;
  CHECK_THAT(note(Repeated(9, [&](int64_t i) { return number(large + i); })),
             Catch::Contains("whole numbers above 2^53, which are rounded"));
  CHECK(note(Repeated(9, [&](int64_t) { return number(large); })).empty());
  CHECK(note({"1e17", "2e17", "3.5e17"}).empty());
  // Blocks of a larger table.
  ColumnSample blocks;
  for (int64_t i = 0; i < 60; ++i) {
    if (i % 20 == 0) blocks.BeginBlock();
    blocks.Add(number(i % 20 + i / 20 * 1000));
  }
  CHECK(IdentifierNote(blocks, "id"));
}

TEST_CASE("common words for null do not count as values") {
  for (const char* word : {"None", "N/A", "#N/A", "<NA>", "NULL", "null", "NaN", "NaT", "nan",
                           "-nan", "?", "-", ".", "n/a", "Null", ""}) {
    INFO(word);
    CHECK(Judged({"1.5", word, word, word}) == "numeric");
    CHECK(Judged({"2024-02-29", word, word, word}) == "date");
  }
  CHECK(Judged({"red", "None", "blue"}) == "categorical");
}

TEST_CASE("only unambiguous forms of dates are dates") {
  for (const char* text :
       {"2024-02-29 23:59:58 UTC", "2024-02-29 23:59:58.000 +0000", "2024/02/29", "29.02.2024",
        "20240229T235958Z", "2024-02-29T23:59:58+01:00[Europe/Paris]",
        "2024-02-29 23:59:58.0123456789", "2024/2/9", "9.2.2024 08:00", "2024-02-29T23:59Z"}) {
    INFO(text);
    CHECK(Judged({text, text}) == "date");
  }
  CHECK(Judged({"202401", "202402"}) == "date");
  CHECK(Judged({"20240131", "20240229"}) == "date");
  CHECK(Judged({"202401", "202413"}) == "numeric");
  CHECK(Judged({"20240229", "20240229"}) == "numeric");
}

TEST_CASE("dates with two meanings need a format") {
  for (const char* text : {"02/03/2024", "29/02/2024", "02/29/2024 11:59 PM", "29-Feb-2024",
                           "29-02-2024", "Feb 29, 2024", "29.02.24", "2024-02-29 11:59:58 PM"}) {
    INFO(text);
    CHECK(Judged({text, text}) == "undecided: date format");
  }
  for (const char* text : {"2024.02.29", "2024-02", "02/2024", "2024/02", "Feb-24", "Feb 2024",
                           "2024-02-29 23:59:58,123", "2024-02-29T23:59:58,123"}) {
    INFO(text);
    CHECK(Judged({text, text}) == "undecided: date format");
    for (const std::string& format : DateFormatsOf(text)) CHECK(DateFormat(format).Parse(text));
  }
  CHECK(Judged({"20240229235958", "20240301070100"}) == "undecided: date format");
  CHECK(Judged({"20240229235958", "20240301077100"}) == "numeric");
  CHECK(Judged({"1234-05", "1850-11", "05/1234"}) == "categorical");
  using Pair = std::pair<const char*, const char*>;
  for (const auto& [one, other] :
       {Pair{"202402292359", "202402290001"}, Pair{"2024022923", "2024022901"},
        Pair{"20240229235958123", "20240229235958124"}, Pair{"29022024", "01022024"},
        Pair{"02.2024", "12.2023"}}) {
    INFO(one);
    CHECK(Judged({one, other}) == "undecided: date format");
    CHECK(Judged({one, other, "7"}) == "numeric");
    for (const std::string& format : NumberFormatsOf(one)) CHECK(DateFormat(format).Parse(one));
  }
  CHECK(DateFormatsOf("2024-02") == Strings{"%Y-%m"});
  CHECK(DateFormatsOf("2024.02.29") == Strings{"%Y.%m.%d"});
  CHECK(Judged({"2024-02-29 23:59:58 CET"}) == "undecided: zone");
  const Strings two = DateFormatsOf("02/03/2024");
  CHECK(two == Strings{"%d/%m/%Y", "%m/%d/%Y"});
  CHECK(DateFormatsOf("29/02/2024") == Strings{"%d/%m/%Y"});
  CHECK(DateFormatsOf("29/02/2024 23:59") == Strings{"%d/%m/%Y %H:%M"});
  CHECK(DateFormatsOf("555-1234").empty());
}

TEST_CASE("dates of other programs need a format") {
  for (const char* text : {"29/Feb/2024:23:59:58 +0000",
                           "29-FEB-24 11.59.58.000000 PM",
                           "29FEB2024:23:59:58",
                           "Thu Feb 29 23:59:58 UTC 2024",
                           "Thu Feb 29 23:59:58 2024",
                           "2024:02:29 23:59:58",
                           "2024-02-29-23.59.58.123456",
                           "20240229_235958",
                           "20240229 23:59",
                           "2024_02_29",
                           "29.02.2024, 23:59",
                           "29. 02. 2024",
                           "02/29/2024T23:59:58Z",
                           "02/29/2024 11:59:58PM",
                           "02/29/2024, 23:59:58+01:00",
                           "29/Feb/24",
                           "Feb2024",
                           "02-2024",
                           "Thursday, February 29, 2024",
                           "2024-02-29 23",
                           "2024\xE5\xB9\xB4"
                           "2\xE6\x9C\x88"
                           "29\xE6\x97\xA5"}) {
    INFO(text);
    CHECK(Judged({text, text}) == "undecided: date format");
    CHECK_FALSE(DateFormatsOf(text).empty());
    for (const std::string& format : DateFormatsOf(text)) CHECK(DateFormat(format).Parse(text));
  }
  CHECK(DateFormatsOf("24-02-03") == Strings{"%d-%m-%y", "%y-%m-%d"});
  CHECK(DateFormatsOf("20240229").empty());
  CHECK(DateFormatsOf("20240131-0001").empty());
  CHECK(DateFormatsOf("20240131_01").empty());
  CHECK(Judged({"02/29/2024 11:59 PM EST"}) == "undecided: zone");
}

TEST_CASE("dates that no format reads are not categories") {
  for (const char* text :
       {"2024-02-29t23:59:58z", "'2024-02-29'", "[29/Feb/2024:23:59:58 +0000]",
        "February 29th, 2024", "29th of February 2024", "02/29/2024 11:59 p.m.",
        "February 29, 2024 at 11:59 PM", "29.02.2024 23:59 Uhr", "29. Februar 2024",
        "28 f\xC3\xA9vr. 2024", "28 de julio de 2024", "28 m\xC3\xA4rz 2024",
        "2024-02-29\xC2\xA0"
        "23:59",
        "2024\xE2\x80\x91"
        "02\xE2\x80\x91"
        "29",
        "Thu Feb 29 2024 23:59:58 GMT+0100 (CET)"}) {
    INFO(text);
    CHECK(Judged({text, text}) == "undecided: date form");
  }
  for (const char* text : {"3 Series 2019", "May", "setter 12", "Street 29, 2024", "v1.2.2024a"}) {
    INFO(text);
    CHECK(Judged({text, "x"}) == "categorical");
  }
}

TEST_CASE("times of day need a group of dates") {
  for (const auto& [text, format] :
       {std::pair{"13:45", "%H:%M"}, std::pair{"9:05:10", "%H:%M:%S"},
        std::pair{"13:45:10.25", "%H:%M:%S.%f"}, std::pair{"1:45 PM", "%I:%M %p"},
        std::pair{"1:45pm", "%I:%M%p"}, std::pair{"5 am", "%I %p"},
        std::pair{"13:45:10Z", "%H:%M:%S%z"}, std::pair{"13:45 +01:00", "%H:%M %z"}}) {
    INFO(text);
    CHECK(Judged({text, text, "", "unknown"}) == "undecided: time of day");
    CHECK(TimeFormatOf(text) == format);
    CHECK(HasNoDay(format));
  }
  CHECK(DateFormat("%I:%M %p").Parse("1:45 PM") == 49'500);
  for (const char* text : {"13:60", "24:00", "1:2", "09:00-17:00", "12.30.10", "16:9", "12:30 bus",
                           "00:1A:2B:3C:4D:5E", "12:30:10:25", "13", "PM"}) {
    INFO(text);
    CHECK_FALSE(TimeFormatOf(text));
  }
  CHECK(Judged({"09:00-17:00", "10:00-12:00"}) == "categorical");
  CHECK(Judged({"13:45 CET", "14:45 CET"}) == "undecided: zone");
  CHECK(Judged({"1:45\xE2\x80\xAFPM", "2:45\xE2\x80\xAFPM"}) == "undecided: date form");
  CHECK(Judged({"1:45 p.m.", "2:45 p.m."}) == "undecided: date form");
  for (const char* format : {"%Y", "%d.%m.", "%H:%M %F", "%j", "auto", ""}) {
    INFO(format);
    CHECK_FALSE(HasNoDay(format));
  }
}

TEST_CASE("words that begin like months are no dates") {
  for (const char* text :
       {"Market 2020", "Marketing 2021", "gene-12", "set-07", "Outlet 2019", "Mars 2020",
        "General 12 2020", "12 Marken 2020", "out 2019", "Dictionary, 2019"}) {
    INFO(text);
    CHECK(Judged({text, text}) == "categorical");
  }
  CHECK(Judged({"12 sept. 2024", "1 ottobre 2024"}) == "undecided: date form");
}

TEST_CASE("seasons are no months in any spelling") {
  const auto season = [](const char* dash) {
    return [dash](int64_t i) {
      const std::string end = std::to_string(2006 + i % 11);
      return std::to_string(2005 + i % 11) + dash + end.substr(2);
    };
  };
  CHECK(Judged(Repeated(44, season("\xE2\x80\x93"))) == "categorical");
  Strings seasons = Repeated(44, season("-"));
  CHECK(Judged(seasons) == "categorical");
  seasons.emplace_back("2005-06 (b)");
  CHECK(Judged(seasons) == "categorical");
  CHECK(Judged({"2024\xE2\x80\x93"
                "01",
                "2024\xE2\x80\x93"
                "02"}) == "undecided: date form");
}

TEST_CASE("numbers that begin with a day are identifiers") {
  const auto numbered = [](const char* sign, size_t digits) {
    return [=](int64_t i) {
      const std::string number = std::to_string(i);
      return "20240131" + (sign + std::string(digits - number.size(), '0')) + number;
    };
  };
  for (const char* sign : {"-", "_"}) {
    CHECK(Judged(Repeated(59, numbered(sign, 4))) == "left out: different");
    CHECK(Judged(Repeated(59, numbered(sign, 6))) == "left out: different");
    CHECK(Judged(Repeated(500, numbered(sign, 6))) == "left out: different");
  }
  CHECK(Judged(Repeated(59, numbered(" ", 4))) == "undecided: date format");
}

TEST_CASE("codes that begin with a currency are identifiers") {
  for (const char* code : {"CAD-0", "ISK-", "CAD0"}) {
    INFO(code);
    const auto value = [&](int64_t i) { return code + std::to_string(100 + i); };
    CHECK(Judged(Repeated(60, value)) == "left out: different");
  }
}

TEST_CASE("a number with a currency after it is not a category") {
  for (const char* currency : {" EUR", "EUR", " Rs.", " R$"}) {
    INFO(currency);
    const auto price = [&](int64_t i) { return std::to_string(5 + i % 20) + currency; };
    CHECK(Judged(Repeated(300, price)) == "undecided: written");
  }
  const Strings names = {" EUR", " USD", " GBP", " CHF", " PLN"};
  CHECK(Judged(Repeated(300, [&](int64_t i) { return std::to_string(i) + names[i % 5]; })) ==
        "undecided: written");
}

TEST_CASE("numbers of other scripts and programs need a key") {
  for (const char* text : {"$1.2M",
                           "A$5",
                           "HK$5.50",
                           "NOK 5",
                           "usd 5",
                           "Rs. 5",
                           "kr 5",
                           "\xE2\x82\xBA"
                           "5",
                           "\xEF\xBC\x84"
                           "5",
                           "$(5)",
                           "%5",
                           "5 kg/m3",
                           "5 m2",
                           "1,200 sq. ft",
                           "5 years old",
                           "5.5 l/100 km",
                           "5% vol",
                           "5 x10^9/L",
                           "5'",
                           "5*",
                           "5[1]",
                           "~5",
                           "'5'",
                           "\"5\"",
                           "\xE2\x80\x90"
                           "5",
                           "\xE2\x80\x94"
                           "5"}) {
    INFO(text);
    CHECK(Judged({text, text}) == "undecided: written");
  }
  for (const char* text : {"\xEF\xBC\x91\xEF\xBC\x92", "\xD9\xA1\xD9\xAB\xD9\xA2",
                           "1\xC2\xB7"
                           "5",
                           "1.5\xC3\x97"
                           "10^3",
                           "1.5*10^3", "1.5D+03"}) {
    INFO(text);
    CHECK(Judged({text, text}) == "undecided: point");
  }
  for (const char* text : {"\xE2\x80\x82"
                           "5",
                           "5\xE3\x80\x80",
                           "\xE2\x80\x8B"
                           "5",
                           "\v5",
                           "\xE2\x80\x8E"
                           "5"}) {
    INFO(text);
    CHECK(Judged({text, text}) == "undecided: blanks");
  }
  CHECK(Judged({"1`234",
                "5\xC2\xB4"
                "678"}) == "undecided: thousands");
  for (const char* text : {"10 to 20", "18-24", ">50K", "<=50K", "0x1F", "12 Main 5", "5 - 10",
                           "5'10\"", "TOP 10", "A/5 21171", "1D"}) {
    INFO(text);
    const std::string judged = Judged({text, "x"});
    CHECK(judged == (std::string(text) == "1D" ? "undecided: written" : "categorical"));
  }
}

TEST_CASE("numbers with separators or units need a key") {
  CHECK(Judged({"28,7", "1,25", "3"}) == "undecided: decimal comma");
  CHECK(Judged({"1.234,5", "2.000,25"}) == "undecided: decimal comma");
  CHECK(Judged({"1,234.5", "1,000", "999"}) == "undecided: thousands");
  CHECK(Judged({"1,234.5", "999"}) == "numeric");
  CHECK(Judged({"1,234,567"}) == "undecided: thousands");
  CHECK(Judged({"1 234", "5 678"}) == "undecided: thousands");
  CHECK(Judged({"1\xC2\xA0"
                "234",
                "5'678"}) == "undecided: thousands");
  CHECK(Judged({"1,234", "5,678"}) == "undecided: either comma");
  for (const char* text : {"$5.00", "12%", "(5)", "5-",
                           "\xE2\x88\x92"
                           "5",
                           "=\"5\"", "5kg", "5 \xE2\x82\xAC", "7,5 %", "12 USD", "-$5"}) {
    INFO(text);
    CHECK(Judged({text, text}) == "undecided: written");
  }
  CHECK(Judged({"28.7\xC2\xA0", "1\xC2\xA0"}) == "undecided: blanks");
  CHECK(Judged({"0,731", "0,250"}) == "undecided: decimal comma");
  CHECK(Judged({"192.168.100.100", "192.168.101.101"}) == "categorical");
  CHECK(Judged({"A12", "B7", "3rd Street"}) == "categorical");
  CHECK(Judged({"1.2.3.4", "10-20", "12:30"}) == "categorical");
  CHECK(Judged({"1st", "2nd", "3rd", "4th"}) == "categorical");
  CHECK(Judged(Repeated(100, [](int64_t i) { return i % 2 == 0 ? "2WD" : "4WD"; })) ==
        "categorical");
}

TEST_CASE("a declared number format is read") {
  spec::DataSpec data;
  data.csv.decimal = ',';
  CHECK(Judged({"28,7", "1,25"}, {.name = "a"}, ValueRules(data, true)) == "numeric");
  CHECK(Judged({"28,7", "1,25"}, {.name = "a"}, ValueRules(data, false)) ==
        "undecided: decimal comma");
  CHECK(Judged({"28.7", "1.25"}, {.name = "a"}, ValueRules(data, true)) == "undecided: point");
  data.csv.thousands = '.';
  CHECK(Judged({"192.168.100.100", "192.168.101.101"}, {.name = "a"}, ValueRules(data, true)) ==
        "categorical");
  CHECK(Judged({"1.234", "2.000"}, {.name = "a"}, ValueRules(data, true)) == "numeric");
  data.csv.thousands.reset();
  data.null_values = {"unknown"};
  CHECK(Judged({"1,5", "unknown", "unknown"}, {.name = "a"}, ValueRules(data, true)) == "numeric");
}

TEST_CASE("columns that are not features are left out with a reason") {
  const auto counts = [](int64_t i) { return std::to_string(i); };
  CHECK(Judged(Repeated(60, counts), {.name = ""}) == "left out: row_number");
  CHECK(Judged(Repeated(60, counts), {.name = "Unnamed: 0"}) == "left out: row_number");
  CHECK(Judged(Repeated(60, counts), {.name = "n"}) == "numeric");
  CHECK(Judged({"3", "1"}, {.name = "__index_level_0__"}) == "left out: index");
  CHECK(Judged({"3", "1"}, {.name = "t", .index = true}) == "left out: index");
  CHECK(Judged({"", ""}, {.name = ""}) == "left out: empty");
  const auto same = [](const char* text) { return Repeated(10, [=](int64_t) { return text; }); };
  const ColumnFacts whole = {.name = "a", .complete = true};
  CHECK(Judged(same("NA"), whole) == "left out: empty");
  CHECK(Judged(same("7"), whole) == "left out: constant");
  CHECK(Judged(same("x"), whole) == "left out: constant");
  CHECK(Judged(same("7")) == "numeric");
  CHECK(Judged({"7", "7"}, whole) == "numeric");
  CHECK(Judged(Repeated(10, [](int64_t i) { return i == 3 ? "" : "7"; }), whole) == "numeric");
  const auto id = [](int64_t i) { return "user-" + std::to_string(i); };
  CHECK(Judged(Repeated(60, id)) == "left out: different");
  CHECK(Judged(Repeated(kIdentifierValuesMin - 1, id)) == "categorical");
  CHECK(Judged(Repeated(60, [](int64_t i) { return "c" + std::to_string(i / 2); })) ==
        "categorical");
}

TEST_CASE("long texts are compared as a whole") {
  const std::string begin(70, 'x');
  const ColumnFacts whole = {.name = "a", .complete = true};
  const auto link = [&](int64_t kinds) {
    return Repeated(60, [&, kinds](int64_t i) { return begin + std::to_string(i % kinds); });
  };
  CHECK(Judged(link(1), whole) == "left out: constant");
  CHECK(Judged(link(2), whole) == "categorical");
  CHECK(Judged(link(60), whole) == "left out: different");
}

TEST_CASE("identifiers may be numbers in part") {
  const auto ids = [](int64_t kinds) {
    return Repeated(
        60, [=](int64_t i) { return (i % 3 == 0 ? "" : "A") + std::to_string(1000 + i % kinds); });
  };
  CHECK(Judged(ids(60)) == "left out: different");
  CHECK(Judged(ids(30)) == "categorical");
}

TEST_CASE("an undecided column names the keys that settle it") {
  const auto fault = [](const Strings& values, bool csv) {
    ColumnSample sample;
    for (const std::string& value : values) sample.Add(value);
    const ColumnFacts facts = {.name = "a", .csv = csv};
    return UndecidedFault("a", facts, std::get<Undecided>(Judge(sample, facts)));
  };
  CHECK_THAT(fault({"1.234,5"}, true), Catch::Contains("data.csv.decimal: ','") &&
                                           Catch::Contains("data.csv.thousands: '.'") &&
                                           Catch::Contains("found '1.234,5'"));
  CHECK_THAT(fault({"1.234,5"}, false),
             !Catch::Contains("data.csv") && Catch::Contains("data.features.exclude"));
  CHECK_THAT(fault({"1,234"}, true),
             Catch::Contains("data.csv.thousands: ',' or data.csv.decimal: ','"));
  CHECK_THAT(fault({"02/03/2024"}, true),
             Catch::Contains("date_format") && Catch::Contains("'%d/%m/%Y' or '%m/%d/%Y'"));
  CHECK_THAT(fault({"5kg"}, true), Catch::Contains("make the column a category"));
  CHECK_THAT(fault({"20240229235958", "20240301070100"}, true),
             Catch::Contains("'%Y%m%d%H%M%S'") && Catch::Contains("found '20240229235958'"));
  CHECK_THAT(fault({"0,731"}, true),
             Catch::Contains("data.csv.decimal: ','") && !Catch::Contains("thousands"));
  CHECK_THAT(fault({"2.5\xC2\xA0"}, true),
             Catch::Contains("no-break spaces") && Catch::Contains("data.csv.thousands: ' '"));
  CHECK_THAT(fault({"2.5\xC2\xA0"}, false), !Catch::Contains("data.csv"));
  CHECK_THAT(
      fault({"13:45", "9:05", "9:05:10"}, true),
      Catch::Contains("holds times of day (found '13:45')") &&
          Catch::Contains("{columns: a, type: date, date_format: \"%H:%M\", parts: [epoch]}") &&
          Catch::Contains("make the column a category"));
}

ColumnSample Labels(const Strings& values, int64_t times = 1) {
  ColumnSample sample;
  for (const std::string& value : values) sample.Add(value, {}, nullptr, times);
  return sample;
}

std::string LabelWord(const Strings& values, int64_t times = 1) {
  const auto undecided = UndecidedLabel(Labels(values, times));
  return undecided ? WordOf(undecided->why) : "";
}

TEST_CASE("a label written as numbers or dates needs a decision") {
  CHECK(LabelWord({"-7,31", "6,95", "5"}) == "undecided: decimal comma");
  CHECK(LabelWord({"1,5", "2", "3"}) == "undecided: decimal comma");
  CHECK(LabelWord({"$73.13", "$69.49"}) == "undecided: written");
  CHECK(LabelWord({"12%", "7%"}) == "undecided: written");
  CHECK(LabelWord({"1,234,567", "2,000,000"}) == "undecided: thousands");
  CHECK(LabelWord({"2024-01-01", "2024-01-02"}) == "undecided: date");
  CHECK(LabelWord({"02/03/2024", "03/03/2024"}) == "undecided: date format");
  CHECK(LabelWord({"13:45", "14:45"}) == "undecided: time of day");
  CHECK(LabelWord({"yes", "no"}).empty());
  CHECK(LabelWord({"0", "1", "2"}).empty());
  CHECK(LabelWord({"1", "2", "2a"}).empty());
  CHECK(LabelWord({"1.5", "2.5", "1,5"}).empty());
  CHECK(LabelWord({"2WD", "4WD"}, 10).empty());
}

TEST_CASE("the fault of a label names keys of the job") {
  const auto fault = [](const Strings& values, bool many) {
    const ColumnFacts facts = {.name = "y", .csv = true, .label = true, .many = many};
    return UndecidedFault("y", facts, *UndecidedLabel(Labels(values)));
  };
  CHECK_THAT(fault({"-7,31", "6,95"}, false),
             Catch::StartsWith("data.label: column 'y' holds numbers with a decimal comma") &&
                 Catch::Contains("data.csv.decimal: ','") &&
                 Catch::Contains("model.task: classification"));
  CHECK_THAT(fault({"-7,31", "6,95"}, true),
             Catch::Contains("data.csv.decimal: ','; or choose another data.label") &&
                 !Catch::Contains("model.task"));
  CHECK_THAT(fault({"2024-01-01"}, false), Catch::Contains("holds dates (found '2024-01-01'"));
  CHECK_THAT(fault({"02/03/2024"}, false), !Catch::Contains("date_format"));
  CHECK_THAT(fault({"13:45"}, false), Catch::Contains("times of day (found '13:45', expected") &&
                                          !Catch::Contains("date_format"));
}

TEST_CASE("whole labels that nearly all differ are a target") {
  const auto task = [](int rows, int classes) {
    return TaskOfLabel(
               Labels(Repeated(rows, [=](int64_t i) { return std::to_string(i % classes); })))
        .task;
  };
  CHECK(task(9, 9) == spec::Task::kClassification);
  CHECK(task(10, 10) == spec::Task::kRegression);
  CHECK(task(20, 18) == spec::Task::kClassification);
  CHECK(task(20, 19) == spec::Task::kRegression);
}

}  // namespace
}  // namespace espalier::data
