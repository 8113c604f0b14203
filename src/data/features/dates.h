// Parses texts and numbers that are dates. Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/spec/job_spec.h"

namespace espalier::data {

// First and last day of a date, in days since 1970: 0001-01-01 and 9999-12-31.
inline constexpr int64_t kFirstDay = -719'162, kLastDay = 2'932'896;
// Ranges of numbers that are read as days, like 20240229, and as months, like 202402.
inline constexpr int64_t kDayNumberMin = 19'000'101, kDayNumberMax = 21'991'231;
inline constexpr int64_t kMonthNumberMin = 190'001, kMonthNumberMax = 219'912;

// Returns the seconds since 1970 for a text with only one possible meaning:
//   2024-02-29, 2024/02/29, 29.02.2024    alone, or with T or a blank and 23:59 or 23:59:58.5
//   20240229T2359, 20240229T235958.5
// A zone may follow the time, with or without a blank: Z, UTC, GMT, +01:00, +0100 or +01. After it,
// a region may follow in brackets. Without a zone the time is UTC. Years 1 to 9999.
std::optional<double> ParseDate(std::string_view text);

// Returns the seconds since 1970 for the number of a day like 20240229 or of a month like 202402,
// in the years 1900 to 2199. Any other number is seconds since 1970. Seconds at the start of a day
// or of a quarter of an hour never look like the number of a day.
double SecondsOfNumber(double number);
bool IsDayNumber(double number);
bool IsMonthNumber(double number);
// Returns the format of a number that looks like a moment: "%Y%m%d%H%M%S" for "20240229235958",
// "%d%m%Y" for "29022024", "%m.%Y" for "02.2024". It is not read as one without this format. Of
// "%d%m%Y" and "%m%d%Y", both may apply. Empty: a number without this look.
std::vector<std::string> NumberFormatsOf(std::string_view text);
// Returns whether six digits are a day like 240131 (kShortDayFormat). Many other numbers are too.
bool IsShortDay(std::string_view text);
inline constexpr const char* kShortDayFormat = "%y%m%d";

// Format of the texts in a column: a subset of the formats of strptime.
//   %Y %y %m %d %j %b %B    year, of two digits (69 is 1969), month, day, day of the year, English
//                           name of the month, short or long
//   %H %I %M %S %f %p       hour, of twelve, minute, second, fraction, AM or PM
//   %z %Z                   offset or Z, UTC, GMT; UTC, GMT or Z alone
//   %a %A                   English name of the day, which is not compared
//   %F %T %%                %Y-%m-%d, %H:%M:%S, a percent sign
// %Y has four digits, %f one to nine, %j one to three, others one or two. A blank matches one or
// more.
class DateFormat {
 public:
  // REQUIRES: spec::DateFormatFault(format) is absent.
  explicit DateFormat(std::string_view format);
  // Returns the seconds since 1970. Absent: the text has another form or is not a calendar day.
  std::optional<double> Parse(std::string_view text) const;

 private:
  std::string format_;  // with %F and %T expanded
};

// Returns the formats that may read a text that ParseDate rejects, because it has two meanings,
// names of months or a 12-hour clock. Example: "%d/%m/%Y" and "%m/%d/%Y" for "02/03/2024". Empty:
// not a date.
std::vector<std::string> DateFormatsOf(std::string_view text);
// Returns the format of a time of day: "%H:%M" for "13:45", "%I:%M %p" for "1:45 PM". Absent: the
// text is not a time of day.
std::optional<std::string> TimeFormatOf(std::string_view text);
// Returns whether a format has no part of a day. It reads a time of day as seconds since midnight.
bool HasNoDay(std::string_view format);
// Returns whether ParseDate or a format would read the text without the name of a time zone at its
// end, which a time of day has in capital letters.
bool HasUnknownZone(std::string_view text);
// Returns formats for a date with signs or words that no format reads, as if these were plain ones:
// no-break spaces, quotes, "t" and "z", "a.m.", "29th", months in other languages. "%Y-%m-%d" also
// represents the forms of ParseDate. A date with other words has a day. Empty: neither a date nor a
// time of day.
std::vector<std::string> OtherDateFormatsOf(std::string_view text);

// Returns a part of a moment, in UTC. REQUIRES: a moment in the years 1 to 9999.
double PartOf(double seconds, spec::DatePart part);
// Return the text of a day (counted from 1970) or of a moment (in units since 1970), in UTC:
// "2024-02-29", "2024-02-29 23:59:58.5". `units_a_second`: a power of ten. Absent: outside the
// years 1 to 9999.
std::optional<std::string> DateText(int64_t days);
std::optional<std::string> MomentText(int64_t units, int64_t units_a_second);

}  // namespace espalier::data
