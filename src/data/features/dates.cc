#include "src/data/features/dates.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "src/data/table/number.h"
#include "src/data/table/value_rules.h"

namespace espalier::data {
namespace {

constexpr int64_t kDaySeconds = 86'400;

// Converts dates to days since 1970 and back: Hinnant, "chrono-compatible low-level date
// algorithms", 2013.
int64_t DaysOf(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

struct Civil {
  int64_t year, month, day;
};

Civil CivilOf(int64_t days) {
  days += 719'468;
  const int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const int64_t day_of_era = days - era * 146'097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted = (5 * day_of_year + 2) / 153;  // months from March
  const int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  return {year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1};
}

// Returns nothing for a day that does not exist, such as 30 February.
std::optional<int64_t> DayOf(const Civil& date) {
  if (date.month < 1 || date.month > 12) return std::nullopt;
  const int64_t days = DaysOf(date.year, date.month, date.day);
  const Civil same = CivilOf(days);
  return same.month == date.month && same.day == date.day ? std::optional(days) : std::nullopt;
}

// Reads a text from left to right.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}
  bool done() const { return text_.empty(); }
  std::string_view rest() const { return text_; }
  bool Skip(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool Skip(char c) { return Skip(std::string_view(&c, 1)); }
  // Skips blanks. False: there is not one.
  bool SkipBlanks() {
    const size_t end = std::min(text_.find_first_not_of(' '), text_.size());
    text_.remove_prefix(end);
    return end > 0;
  }
  // Reads one of the words, in any case. `short_too`: its first three letters are enough.
  template <size_t N>
  bool Word(const std::array<std::string_view, N>& words, bool short_too, int64_t* out) {
    for (size_t i = 0; i < N; ++i) {
      for (const std::string_view word : {words[i], words[i].substr(0, short_too ? 3 : N * 16)}) {
        if (text_.size() < word.size()) continue;
        const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
        if (!std::equal(word.begin(), word.end(), text_.begin(), same)) continue;
        text_.remove_prefix(word.size());
        *out = static_cast<int64_t>(i);
        return true;
      }
    }
    return false;
  }
  // Reads a number with `least_digits` to `most_digits` digits, in the range `least` to `most`.
  bool Digits(size_t least_digits, size_t most_digits, int64_t least, int64_t most, int64_t* out) {
    size_t count = 0;
    *out = 0;
    for (; count < std::min(most_digits, text_.size()) && IsDigit(text_[count]); ++count) {
      *out = *out * 10 + (text_[count] - '0');
    }
    text_.remove_prefix(count);
    return count >= least_digits && *out >= least && *out <= most;
  }
  bool Digits(size_t count, int64_t least, int64_t most, int64_t* out) {
    return Digits(count, count, least, most, out);
  }
  // Reads the digits after a point as a fraction of 1. Digits after the ninth are ignored.
  bool Fraction(double* out) {
    int64_t digits = 0, scale = 1;
    size_t count = 0;
    for (; count < text_.size() && IsDigit(text_[count]); ++count) {
      if (count >= 9) continue;
      digits = digits * 10 + (text_[count] - '0');
      scale *= 10;
    }
    text_.remove_prefix(count);
    *out = static_cast<double>(digits) / static_cast<double>(scale);
    return count > 0;
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  std::string_view text_;
};

constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays = {
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
constexpr std::array<std::string_view, 2> kHalves = {"AM", "PM"};

// Reads Z, UTC, GMT or an offset.
bool ParseZone(Scanner& scan, double* seconds) {
  if (scan.Skip("UTC") || scan.Skip("GMT") || scan.Skip('Z')) return true;
  const bool east = scan.Skip('+');
  if (!east && !scan.Skip('-')) return false;
  int64_t hour = 0, minute = 0;
  if (!scan.Digits(2, 0, 23, &hour)) return false;
  const bool minutes = scan.Skip(':') || (!scan.done() && scan.rest()[0] != '[');
  if (minutes && !scan.Digits(2, 0, 59, &minute)) return false;
  *seconds -= static_cast<double>((east ? 1 : -1) * (hour * 3600 + minute * 60));
  return true;
}

// Reads "23:59", "23:59:58.5", or without colons "2359", "235958.5".
bool ParseTime(Scanner& scan, bool colons, double* seconds) {
  int64_t hour = 0, minute = 0, second = 0;
  double fraction = 0;
  if (!scan.Digits(2, 0, 23, &hour) || (colons && !scan.Skip(':')) ||
      !scan.Digits(2, 0, 59, &minute)) {
    return false;
  }
  const bool more = colons ? scan.Skip(':') : !scan.done() && std::isdigit(scan.rest()[0]);
  if (more && !scan.Digits(2, 0, 60, &second)) return false;
  if (scan.Skip('.') && !scan.Fraction(&fraction)) return false;
  *seconds += static_cast<double>(hour * 3600 + minute * 60 + second) + fraction;
  if (scan.done()) return true;
  scan.SkipBlanks();
  if (!ParseZone(scan, seconds)) return false;
  if (scan.rest().starts_with('[') && scan.rest().ends_with(']')) return true;
  return scan.done();
}

// Reads a day in one of the forms of ParseDate. `compact`: without separators.
std::optional<int64_t> ParseDay(Scanner& scan, bool* compact) {
  Civil date{};
  Scanner other = scan;
  *compact = false;
  if (scan.Digits(4, 1, 9999, &date.year) && (scan.Skip('-') || scan.Skip('/'))) {
    const char* separator = scan.rest().data() - 1;
    const size_t least = *separator == '-' ? 2 : 1;  // as in ISO 8601
    if (!scan.Digits(least, 2, 1, 12, &date.month) || !scan.Skip(*separator) ||
        !scan.Digits(least, 2, 1, 31, &date.day)) {
      return std::nullopt;
    }
    return DayOf(date);
  }
  scan = other;
  if (scan.Digits(1, 2, 1, 31, &date.day) && scan.Skip('.')) {
    if (!scan.Digits(1, 2, 1, 12, &date.month) || !scan.Skip('.') ||
        !scan.Digits(4, 1, 9999, &date.year)) {
      return std::nullopt;
    }
    return DayOf(date);
  }
  scan = other;
  *compact = true;
  if (!scan.Digits(4, 1, 9999, &date.year) || !scan.Digits(2, 1, 12, &date.month) ||
      !scan.Digits(2, 1, 31, &date.day) || !scan.rest().starts_with('T')) {
    return std::nullopt;
  }
  return DayOf(date);
}

// Content of a text, field by field.
struct Clock {
  Civil date{1970, 1, 1};
  int64_t yearday = 0, hour = 0, minute = 0, second = 0, half = -1;
  double fraction = 0, offset = 0;
};

bool ReadField(char directive, Scanner& scan, Clock* c) {
  int64_t ignored = 0;
  switch (directive) {
    case 'Y':
      return scan.Digits(4, 1, 9999, &c->date.year);
    case 'y':
      if (!scan.Digits(2, 0, 99, &c->date.year)) return false;
      c->date.year += c->date.year < 69 ? 2000 : 1900;
      return true;
    case 'm':
      return scan.Digits(1, 2, 1, 12, &c->date.month);
    case 'b':
    case 'B':
      if (!scan.Word(kMonths, true, &c->date.month)) return false;
      ++c->date.month;
      scan.Skip('.');
      return true;
    case 'd':
      return scan.Digits(1, 2, 1, 31, &c->date.day);
    case 'j':
      return scan.Digits(1, 3, 1, 366, &c->yearday);
    case 'H':
      return scan.Digits(1, 2, 0, 23, &c->hour);
    case 'I':
      return scan.Digits(1, 2, 1, 12, &c->hour);
    case 'M':
      return scan.Digits(1, 2, 0, 59, &c->minute);
    case 'S':
      return scan.Digits(1, 2, 0, 60, &c->second);
    case 'f':
      return scan.Fraction(&c->fraction);
    case 'p':
      return scan.Word(kHalves, false, &c->half);
    case 'z':
      return ParseZone(scan, &c->offset);
    case 'Z':
      return scan.Skip("UTC") || scan.Skip("GMT") || scan.Skip('Z');
    case 'a':
    case 'A':
      return scan.Word(kWeekdays, true, &ignored);
    case '%':
      return scan.Skip('%');
    default:
      return false;
  }
}

std::optional<double> SecondsOf(const Clock& c) {
  std::optional<int64_t> day = DayOf(c.date);
  if (!day) return std::nullopt;
  if (c.yearday > 0) {
    day = DaysOf(c.date.year, 1, 1) + c.yearday - 1;
    if (CivilOf(*day).year != c.date.year) return std::nullopt;
  }
  const int64_t hour = c.half < 0 ? c.hour : c.hour % 12 + 12 * c.half;
  return static_cast<double>(*day * kDaySeconds + hour * 3600 + c.minute * 60 + c.second) +
         c.fraction + c.offset;
}

// Reads up to the end of `scan` or of the format.
bool ReadFormat(std::string_view format, Scanner& scan, Clock* clock) {
  for (size_t i = 0; i < format.size(); ++i) {
    const bool read = format[i] == ' ' ? scan.SkipBlanks()
                      : format[i] != '%' || i + 1 == format.size()
                          ? scan.Skip(format[i])
                          : ReadField(format[++i], scan, clock);
    if (!read) return false;
  }
  return true;
}

constexpr std::array<std::string_view, 54> kDayFormats = {
    "%d/%m/%Y",     "%m/%d/%Y",     "%d-%m-%Y",
    "%m-%d-%Y",     "%d-%b-%Y",     "%d %b %Y",
    "%b %d, %Y",    "%b %d %Y",     "%Y-%b-%d",
    "%a, %d %b %Y", "%d/%m/%y",     "%m/%d/%y",
    "%d.%m.%y",     "%d-%b-%y",     "%d%b%Y",
    "%Y-%m-%d",     "%Y/%m/%d",     "%d.%m.%Y",
    "%d-%m-%y",     "%Y.%m.%d",     "%Y-%m",
    "%Y/%m",        "%m/%Y",        "%b-%y",
    "%b %Y",        "%d/%b/%Y",     "%d/%b/%y",
    "%d %b %y",     "%b-%d-%Y",     "%b/%d/%Y",
    "%Y %b %d",     "%Y/%b/%d",     "%Y_%m_%d",
    "%Y:%m:%d",     "%Y %m %d",     "%d %m %Y",
    "%y-%m-%d",     "%y/%m/%d",     "%d. %m. %Y",
    "%d. %b %Y",    "%Y. %m. %d.",  "%a, %b %d, %Y",
    "%a %b %d %Y",  "%a %b %d, %Y", "%a %d %b %Y",
    "%a %Y-%m-%d",  "%m-%Y",        "%b%Y",
    "%b-%Y",        "%Y-%b",        "%b/%Y",
    "%b/%y",        "%b, %Y",       "%Y\xE5\xB9\xB4%m\xE6\x9C\x88%d\xE6\x97\xA5"};
// A day of digits alone may have any meaning, so only a time makes it a date.
constexpr std::string_view kBareDay = "%Y%m%d";
// Formats with the time before the year, as of ctime and date.
constexpr std::array<std::string_view, 2> kYearLast = {"%a %b %d %H:%M:%S %Y",
                                                       "%a %b %d %H:%M:%S %z %Y"};

// Returns the format of the time after a day, with what separates the two: "T%H:%M:%S.%f %z".
// Empty: this is not a time. The text may still have values out of range.
std::string FormatAfterDay(std::string_view text) {
  Scanner scan(text);
  std::string format;
  for (const std::string_view separator : {", ", " ", "T", "-", "_", ":"}) {
    if (!scan.Skip(separator)) continue;
    format = separator;
    break;
  }
  if (format.ends_with(' ')) scan.SkipBlanks();
  int64_t number = 0;
  const std::string_view start = scan.rest();
  const size_t digits = std::min(start.find_first_not_of("0123456789"), start.size());
  if (format.empty() || digits == 0) return "";
  const bool compact = digits > 2;
  if (compact && digits != 4 && digits != 6) return "";
  const size_t hour = format.size();
  scan.Digits(1, 2, 0, 99, &number);
  format += "%H";
  const char colon = compact || scan.done() ? '\0' : scan.rest()[0];
  for (const char* part : {"%M", "%S"}) {
    if (compact ? scan.done() || !std::isdigit(scan.rest()[0])
                : (colon != ':' && colon != '.') || !scan.Skip(colon)) {
      break;
    }
    if (!scan.Digits(2, 0, 99, &number)) return "";
    if (!compact) format += colon;
    format += part;
  }
  double fraction = 0;
  for (const char point : {'.', ','}) {
    if (!format.ends_with("%S") || !scan.Skip(point)) continue;
    if (!scan.Fraction(&fraction)) return "";
    format += std::string(1, point) + "%f";
  }
  Scanner half = scan;
  const bool blank = half.SkipBlanks();
  if (half.Word(kHalves, false, &number)) {
    format[hour + 1] = 'I';
    format += blank ? " %p" : "%p";
    scan = half;
  }
  Scanner zone = scan;
  const bool apart = zone.SkipBlanks();
  if (ParseZone(zone, &fraction)) {
    format += apart ? " %z" : "%z";
    scan = zone;
  }
  return scan.done() ? format : "";
}

// Names of months in other languages, and their usual abbreviations.
struct MonthWord {
  std::string_view word, english;
};
constexpr std::array<MonthWord, 96> kMonthWords = {{{"januar", "Jan"},
                                                    {"januari", "Jan"},
                                                    {"janeiro", "Jan"},
                                                    {"janvier", "Jan"},
                                                    {"janv", "Jan"},
                                                    {"j\xC3\xA4nner", "Jan"},
                                                    {"j\xC3\xA4n", "Jan"},
                                                    {"enero", "Jan"},
                                                    {"ene", "Jan"},
                                                    {"gennaio", "Jan"},
                                                    {"gen", "Jan"},
                                                    {"februar", "Feb"},
                                                    {"februari", "Feb"},
                                                    {"feber", "Feb"},
                                                    {"febrero", "Feb"},
                                                    {"febbraio", "Feb"},
                                                    {"fevereiro", "Feb"},
                                                    {"fev", "Feb"},
                                                    {"f\xC3\xA9vrier", "Feb"},
                                                    {"fevrier", "Feb"},
                                                    {"f\xC3\xA9vr", "Feb"},
                                                    {"fevr", "Feb"},
                                                    {"f\xC3\xA9v", "Feb"},
                                                    {"m\xC3\xA4rz", "Mar"},
                                                    {"maerz", "Mar"},
                                                    {"m\xC3\xA4r", "Mar"},
                                                    {"mrz", "Mar"},
                                                    {"mars", "Mar"},
                                                    {"marts", "Mar"},
                                                    {"maart", "Mar"},
                                                    {"mrt", "Mar"},
                                                    {"marzo", "Mar"},
                                                    {"mar\xC3\xA7o", "Mar"},
                                                    {"marco", "Mar"},
                                                    {"abril", "Apr"},
                                                    {"abr", "Apr"},
                                                    {"avril", "Apr"},
                                                    {"avr", "Apr"},
                                                    {"aprile", "Apr"},
                                                    {"mai", "May"},
                                                    {"mei", "May"},
                                                    {"maj", "May"},
                                                    {"mayo", "May"},
                                                    {"maggio", "May"},
                                                    {"mag", "May"},
                                                    {"maio", "May"},
                                                    {"juni", "Jun"},
                                                    {"juin", "Jun"},
                                                    {"junio", "Jun"},
                                                    {"junho", "Jun"},
                                                    {"giugno", "Jun"},
                                                    {"giu", "Jun"},
                                                    {"juli", "Jul"},
                                                    {"juillet", "Jul"},
                                                    {"juil", "Jul"},
                                                    {"julio", "Jul"},
                                                    {"julho", "Jul"},
                                                    {"luglio", "Jul"},
                                                    {"lug", "Jul"},
                                                    {"augusti", "Aug"},
                                                    {"augustus", "Aug"},
                                                    {"ao\xC3\xBBt", "Aug"},
                                                    {"aout", "Aug"},
                                                    {"ao\xC3\xBB", "Aug"},
                                                    {"agosto", "Aug"},
                                                    {"ago", "Aug"},
                                                    {"septembre", "Sep"},
                                                    {"septiembre", "Sep"},
                                                    {"setiembre", "Sep"},
                                                    {"settembre", "Sep"},
                                                    {"setembro", "Sep"},
                                                    {"sett", "Sep"},
                                                    {"set", "Sep"},
                                                    {"sept", "Sep"},
                                                    {"oktober", "Oct"},
                                                    {"okt", "Oct"},
                                                    {"octobre", "Oct"},
                                                    {"octubre", "Oct"},
                                                    {"ottobre", "Oct"},
                                                    {"ott", "Oct"},
                                                    {"outubro", "Oct"},
                                                    {"out", "Oct"},
                                                    {"novembre", "Nov"},
                                                    {"noviembre", "Nov"},
                                                    {"novembro", "Nov"},
                                                    {"dezember", "Dec"},
                                                    {"dez", "Dec"},
                                                    {"d\xC3\xA9"
                                                     "cembre",
                                                     "Dec"},
                                                    {"decembre", "Dec"},
                                                    {"d\xC3\xA9"
                                                     "c",
                                                     "Dec"},
                                                    {"diciembre", "Dec"},
                                                    {"dicembre", "Dec"},
                                                    {"dic", "Dec"},
                                                    {"dezembro", "Dec"},
                                                    {"desember", "Dec"},
                                                    {"des", "Dec"}}};

// Returns the English name of a month for a word in another language, nothing for a word that dates
// have next to the month, and any other word unchanged.
std::string EnglishWord(const std::string& word) {
  std::string lower;
  for (const char c : word) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  for (const std::string_view extra :
       {"de", "del", "di", "uhr", "at", "um", "st", "nd", "rd", "th", "of"}) {
    if (lower == extra) return "";
  }
  if (lower == "t" || lower == "z") return lower == "t" ? "T" : "Z";
  if (lower == "a.m." || lower == "p.m.") return lower == "a.m." ? "AM" : "PM";
  if (lower == "gmt" || lower == "utc") return "";  // before an offset; alone it is read
  if (lower.ends_with('.')) lower.pop_back();
  for (const MonthWord& month : kMonthWords) {
    if (lower == month.word) return std::string(month.english);
  }
  return word;
}

// A number such as 20240131-0001 is not a moment.
bool IsTimeOfBareDay(std::string_view time) {
  return time.starts_with(' ') || time.starts_with('T') || time.find("%S") != time.npos ||
         time.find(':', 1) != time.npos;
}

// A code such as 1234-05 is not a month.
bool IsMonthFormat(std::string_view day) { return day.find("%d") == std::string_view::npos; }
bool IsUsualYear(int64_t year) { return year >= 1900 && year <= 2199; }

}  // namespace

std::optional<double> ParseDate(std::string_view text) {
  Scanner scan(Trimmed(text));
  bool compact = false;
  const std::optional<int64_t> days = ParseDay(scan, &compact);
  if (!days) return std::nullopt;
  double seconds = static_cast<double>(*days * kDaySeconds);
  if (scan.done()) return seconds;
  if (!scan.Skip('T') && !scan.Skip(' ')) return std::nullopt;
  if (!ParseTime(scan, !compact, &seconds)) return std::nullopt;
  return seconds;
}

bool IsDayNumber(double number) {
  if (!(number >= kDayNumberMin && number <= kDayNumberMax) || number != std::floor(number)) {
    return false;
  }
  const auto digits = static_cast<int64_t>(number);
  return DayOf({digits / 10'000, digits / 100 % 100, digits % 100}).has_value();
}

bool IsMonthNumber(double number) {
  if (!(number >= kMonthNumberMin && number <= kMonthNumberMax) || number != std::floor(number)) {
    return false;
  }
  const int64_t month = static_cast<int64_t>(number) % 100;
  return month >= 1 && month <= 12;
}

std::vector<std::string> NumberFormatsOf(std::string_view text) {
  constexpr std::array<std::string_view, 6> kFormats = {
      "%Y%m%d%H", "%Y%m%d%H%M", "%Y%m%d%H%M%S", "%Y%m%d%H%M%S%f", "%d%m%Y", "%m%d%Y"};
  constexpr std::array<size_t, 6> kSizes = {10, 12, 14, 17, 8, 8};
  std::vector<std::string> found;
  if (text.size() < 7 || text.size() > 17) return found;
  const auto year = [](std::string_view digits) {
    int64_t value = 0;
    return Scanner(digits).Digits(4, 1900, 2199, &value);
  };
  if (text.size() == 7 && text[2] == '.' && year(text.substr(3)) &&
      DateFormat("%m.%Y").Parse(text)) {
    found.emplace_back("%m.%Y");
  }
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return found;
  for (size_t i = 0; i < kFormats.size(); ++i) {
    if (text.size() != kSizes[i]) continue;
    const bool first = kFormats[i].starts_with("%Y");
    if (!year(first ? text.substr(0, 4) : text.substr(4))) continue;
    if (DateFormat(kFormats[i]).Parse(text)) found.emplace_back(kFormats[i]);
  }
  return found;
}

bool IsShortDay(std::string_view text) {
  if (text.size() != 6 || text.find_first_not_of("0123456789") != text.npos) return false;
  return DateFormat(kShortDayFormat).Parse(text).has_value();
}

double SecondsOfNumber(double number) {
  const bool month = IsMonthNumber(number);
  if (!month && !IsDayNumber(number)) return number;
  const int64_t digits =
      month ? static_cast<int64_t>(number) * 100 + 1 : static_cast<int64_t>(number);
  return static_cast<double>(DaysOf(digits / 10'000, digits / 100 % 100, digits % 100) *
                             kDaySeconds);
}

DateFormat::DateFormat(std::string_view format) {
  for (size_t i = 0; i < format.size(); ++i) {
    const std::string_view two = format.substr(i, 2);
    if (two == "%F" || two == "%T" || two == "%%") {
      format_ += two == "%F" ? "%Y-%m-%d" : two == "%T" ? "%H:%M:%S" : "%%";
      ++i;
    } else {
      format_ += format[i];
    }
  }
}

std::optional<double> DateFormat::Parse(std::string_view text) const {
  Scanner scan(Trimmed(text));
  Clock clock;
  if (!ReadFormat(format_, scan, &clock) || !scan.done()) return std::nullopt;
  return SecondsOf(clock);
}

std::vector<std::string> DateFormatsOf(std::string_view text) {
  std::vector<std::string> formats;
  text = Trimmed(text);
  if (text.size() < 6 || text.size() > 48) return formats;
  const auto add = [&](std::string_view day, bool bare) {
    Scanner scan(text);
    Clock clock;
    if (!ReadFormat(day, scan, &clock) || !DayOf(clock.date)) return;
    if (IsMonthFormat(day) && !(scan.done() && IsUsualYear(clock.date.year))) return;
    const std::string time = scan.done() ? "" : FormatAfterDay(scan.rest());
    if (bare ? !IsTimeOfBareDay(time) : time.empty() && !scan.done()) return;
    std::string format = std::string(day) + time;
    if (DateFormat(format).Parse(text)) formats.push_back(std::move(format));
  };
  for (const std::string_view day : kDayFormats) add(day, false);
  if (formats.empty()) add(kBareDay, true);
  for (const std::string_view format : kYearLast) {
    if (DateFormat(format).Parse(text)) formats.emplace_back(format);
  }
  return formats;
}

std::optional<std::string> TimeFormatOf(std::string_view text) {
  constexpr size_t kLongest = 32;
  text = Trimmed(text);
  if (text.size() < 3 || text.size() > kLongest || std::isdigit(text[0]) == 0) return std::nullopt;
  const std::string format = FormatAfterDay(" " + std::string(text));
  // Neither numbers with points nor intervals such as 09:00-17:00 are times of day.
  const bool clock = text.find('-') == text.npos &&
                     (format.find(":%M") != format.npos || format.find("%p") != format.npos);
  if (!clock || !DateFormat(format.substr(1)).Parse(text)) return std::nullopt;
  return format.substr(1);
}

bool HasNoDay(std::string_view format) {
  for (size_t i = 0; i + 1 < format.size(); ++i) {
    if (format[i] != '%') continue;
    if (std::string_view("YymdjbBF").find(format[++i]) != std::string_view::npos) return false;
  }
  return !format.empty() && format != "auto";
}

bool HasUnknownZone(std::string_view text) {
  text = Trimmed(text);
  const size_t blank = text.find_last_of(" [");
  if (blank == std::string_view::npos || blank + 3 > text.size() ||
      std::isalpha(static_cast<unsigned char>(text[blank + 1])) == 0) {
    return false;
  }
  const std::string word(text.substr(blank + 1));
  if (word != "UTC" && word != "GMT" && EnglishWord(word) != word) return false;
  text = text.substr(0, blank);
  const bool capitals = word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == word.npos;
  return ParseDate(text).has_value() || !DateFormatsOf(text).empty() ||
         (capitals && word.size() <= 5 && TimeFormatOf(text).has_value());
}

std::vector<std::string> OtherDateFormatsOf(std::string_view text) {
  constexpr size_t kLongest = 64;
  if (text.size() < 6 || text.size() > kLongest) return {};
  const std::string plain = WithPlainSigns(text);
  std::string_view rest = Trimmed(plain);
  if (const size_t note = rest.rfind(" ("); note != rest.npos && rest.ends_with(')')) {
    rest = rest.substr(0, note);  // "GMT+0100 (Central European Standard Time)"
  }
  while (rest.size() > 2 && std::string_view("'\"[(").find(rest.front()) != rest.npos) {
    rest = Trimmed(rest.substr(1, rest.size() - 2));
  }
  std::string out;
  bool words = false;  // some were replaced
  for (size_t at = 0; at < rest.size();) {
    const auto is_letter = [&](size_t i) {
      const auto c = static_cast<unsigned char>(rest[i]);
      return std::isalpha(c) != 0 || c >= 0x80 || (c == '.' && i > at);
    };
    size_t end = at;
    while (end < rest.size() && is_letter(end)) ++end;
    if (end == at) {
      out += rest[at++];
      continue;
    }
    const std::string word = EnglishWord(std::string(rest.substr(at, end - at)));
    words = words || word != rest.substr(at, end - at);
    out += word;
    at = end;
    const bool blank = at < rest.size() && rest[at] == ' ';
    if (word.empty() && blank && (out.empty() || out.ends_with(' '))) ++at;
  }
  if (ParseDate(out)) return {"%Y-%m-%d"};
  if (const auto clock = TimeFormatOf(out)) return {*clock};
  std::vector<std::string> formats = DateFormatsOf(out);
  if (words) std::erase_if(formats, IsMonthFormat);
  return formats;
}

double PartOf(double seconds, spec::DatePart part) {
  if (part == spec::DatePart::kEpoch) return seconds;
  const auto whole = static_cast<int64_t>(std::floor(seconds));
  const int64_t days = (whole >= 0 ? whole : whole - (kDaySeconds - 1)) / kDaySeconds;
  const int64_t second = whole - days * kDaySeconds;
  const Civil civil = CivilOf(days);
  const auto number = [&]() -> int64_t {
    switch (part) {
      case spec::DatePart::kYear:
        return civil.year;
      case spec::DatePart::kMonth:
        return civil.month;
      case spec::DatePart::kDay:
        return civil.day;
      case spec::DatePart::kWeekday:
        return ((days + 3) % 7 + 7) % 7;  // 1970 began on a Thursday
      case spec::DatePart::kYearday:
        return days - DaysOf(civil.year, 1, 1) + 1;
      case spec::DatePart::kHour:
        return second / 3600;
      case spec::DatePart::kMinute:
        return second / 60 % 60;
      case spec::DatePart::kSecond:
      case spec::DatePart::kEpoch:
        break;
    }
    return second % 60;
  };
  return static_cast<double>(number());
}

std::optional<std::string> DateText(int64_t days) {
  if (days < kFirstDay || days > kLastDay) return std::nullopt;
  const Civil civil = CivilOf(days);
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02d-%02d", static_cast<int>(civil.year),
                static_cast<int>(civil.month), static_cast<int>(civil.day));
  return text;
}

std::optional<std::string> MomentText(int64_t units, int64_t units_a_second) {
  const int64_t units_a_day = units_a_second * kDaySeconds;
  const int64_t days = units / units_a_day - (units % units_a_day < 0 ? 1 : 0);
  std::optional<std::string> text = DateText(days);
  if (!text) return text;
  const int64_t rest = units % units_a_day;  // days * units_a_day might overflow
  const int64_t of_day = rest < 0 ? rest + units_a_day : rest, second = of_day / units_a_second;
  char time[32];
  std::snprintf(time, sizeof time, " %02d:%02d:%02d", static_cast<int>(second / 3600),
                static_cast<int>(second / 60 % 60), static_cast<int>(second % 60));
  *text += time;
  const int64_t fraction = of_day % units_a_second;
  if (fraction == 0) return text;
  std::string digits = std::to_string(units_a_second + fraction);  // with leading zeros, after a 1
  digits.erase(digits.find_last_not_of('0') + 1);
  *text += "." + digits.substr(1);
  return text;
}

}  // namespace espalier::data
