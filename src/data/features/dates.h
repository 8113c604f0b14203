// Texts and numbers that are dates. Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/spec/job_spec.h"

namespace espalier::data {

// The days that dates may name, counted from 1970: 0001-01-01 and 9999-12-31.
inline constexpr int64_t kFirstDay = -719'162, kLastDay = 2'932'896;
// Ranges of the numbers that are read as days, such as 20240229, and as months, such as 202402.
inline constexpr int64_t kDayNumberMin = 19'000'101, kDayNumberMax = 21'991'231;
inline constexpr int64_t kMonthNumberMin = 190'001, kMonthNumberMax = 219'912;

// Seconds since 1970 of a text that can mean one moment only:
//   2024-02-29, 2024/02/29, 29.02.2024    alone, or with T or a blank and 23:59 or 23:59:58.5
//   20240229T2359, 20240229T235958.5
// Behind a time there may be a zone: Z, UTC, GMT, +01:00, +0100 or +01, after a blank or none, and
// a region in brackets after it. Without a zone the time is UTC. Years 1 to 9999.
std::optional<double> ParseDate(std::string_view text);

// Seconds since 1970 of the number of a day such as 20240229 or a month such as 202402, both of the
// years 1900 to 2199; any other number is seconds since 1970. Of seconds that begin a day or a
// quarter of an hour, none looks like a day.
double SecondsOfNumber(double number);
bool IsDayNumber(double number);
bool IsMonthNumber(double number);

// How the texts of a column are written: a subset of strptime's formats.
//   %Y %y %m %d %j %b %B    year, of two digits (69 is 1969), month, day, day of the year, English
//                           name of the month, short or long
//   %H %I %M %S %f %p       hour, of twelve, minute, second, fraction, AM or PM
//   %z %Z                   offset or Z, UTC, GMT; UTC, GMT or Z alone
//   %a %A                   English name of the day, which is not compared
//   %F %T %%                %Y-%m-%d, %H:%M:%S, a percent sign
// %Y has four digits, %f one to nine, others one or two (%j three). A blank stands for one or more.
class DateFormat {
 public:
  // REQUIRES: spec::DateFormatFault(format) is absent.
  explicit DateFormat(std::string_view format);
  // Absent: the text is not written so, or names no day of the calendar.
  std::optional<double> Parse(std::string_view text) const;

 private:
  std::string format_;  // %F and %T written out
};

// The formats in which a text may be read, of those that ParseDate refuses because they have two
// meanings, or names of months, or a clock of twelve hours: of "02/03/2024" "%d/%m/%Y" and
// "%m/%d/%Y". Empty: it is not a date.
std::vector<std::string> DateFormatsOf(std::string_view text);
// Whether the text is a date that ParseDate would read without the name of a time zone at its end.
bool HasUnknownZone(std::string_view text);

// A part of that moment, in UTC. REQUIRES: a moment of these years.
double PartOf(double seconds, spec::DatePart part);
// The texts of a day, counted from 1970, and of a moment so many units after it began, in UTC:
// "2024-02-29", "2024-02-29 23:59:58.5". `units_a_second`: a power of ten. Absent outside of these
// years.
std::optional<std::string> DateText(int64_t days);
std::optional<std::string> MomentText(int64_t units, int64_t units_a_second);

}  // namespace espalier::data
