// Texts and numbers that are dates, and date formats.
#include "src/data/features/dates.h"

#include <catch2/catch.hpp>

namespace espalier::data {
namespace {

constexpr double kDay = 86'400, kLeapDay = 19'782 * kDay, kMoment = kLeapDay + 86'398;

std::optional<double> Read(const char* format, const char* text) {
  return DateFormat(format).Parse(text);
}

TEST_CASE("all spellings of a moment give that moment") {
  for (const char* text :
       {"2024-02-29T23:59:58", "2024-02-29 23:59:58 UTC", "2024-02-29 23:59:58.000 +0000",
        "2024/02/29 23:59:58", "29.02.2024 23:59:58", "20240229T235958Z", "20240229T235958",
        "2024-03-01T00:59:58+01:00[Europe/Paris]", "2024-02-29 22:59:58 -01",
        "2024-02-29 23:59:58Z", "2024-02-29 23:59:58 GMT"}) {
    INFO(text);
    CHECK(ParseDate(text) == kMoment);
  }
  CHECK(ParseDate("29.2.2024") == kLeapDay);
  CHECK(ParseDate("2024-02-29 23:59:58.1234567899") == kMoment + 0.123456789);
}

TEST_CASE("an ambiguous or impossible date is not a date") {
  for (const char* text :
       {"02/03/2024", "29-02-2024", "2024-02-30", "30.02.2024", "2024-2-29", "0000-00-00",
        "2024/02-29", "20240229", "202402", "2024-02-29 24:00", "2024-02-29 23:59:58 CET",
        "2024-02-29[Europe/Paris]", "2024-02-29T23:59:58[Europe/Paris]", "20240229 235958", ""}) {
    INFO(text);
    CHECK_FALSE(ParseDate(text));
  }
}

TEST_CASE("numbers of days and months are dates, others seconds") {
  CHECK(SecondsOfNumber(20240229) == kLeapDay);
  CHECK(SecondsOfNumber(202402) == kLeapDay - 28 * kDay);
  CHECK(SecondsOfNumber(20240230) == 20240230);
  CHECK(SecondsOfNumber(202413) == 202413);
  CHECK(SecondsOfNumber(1709251198) == 1709251198);
  CHECK_FALSE(IsMonthNumber(202402.5));
}

TEST_CASE("a format specifies how dates are written") {
  CHECK(Read("%d/%m/%Y", "29/02/2024") == kLeapDay);
  CHECK(Read("%d/%m/%Y", " 29/2/2024 ") == kLeapDay);
  CHECK_FALSE(Read("%m/%d/%Y", "29/02/2024"));
  CHECK(Read("%m/%d/%Y %I:%M:%S %p", "02/29/2024 11:59:58 PM") == kMoment);
  CHECK(Read("%d-%b-%Y", "29-FEB-2024") == kLeapDay);
  CHECK(Read("%B %d, %Y", "February  29,  2024") == kLeapDay);
  CHECK(Read("%B %d, %Y", "February 29, 2024") == kLeapDay);
  CHECK(Read("%a, %d %b %Y %T %z", "Thu, 29 Feb 2024 22:59:58 -0100") == kMoment);
  CHECK(Read("%Y%m", "202402") == kLeapDay - 28 * kDay);
  CHECK(Read("%Y", "2024") == kLeapDay - 59 * kDay);
  CHECK(Read("%Y-%j", "2024-60") == kLeapDay);
  CHECK_FALSE(Read("%Y-%j", "2023-366"));
  CHECK(Read("%d.%m.%y", "29.02.24") == kLeapDay);
  CHECK(Read("%d.%m.%y", "01.01.70") == 0.0);
  CHECK(Read("%F %H:%M:%S.%f", "2024-02-29 23:59:58.5") == kMoment + 0.5);
  CHECK(Read("%Y%%%m", "2024%02") == kLeapDay - 28 * kDay);
  CHECK_FALSE(Read("%F", "2024-02-29x"));
  CHECK_FALSE(Read("%I %Y", "13 2024"));
}

}  // namespace
}  // namespace espalier::data
