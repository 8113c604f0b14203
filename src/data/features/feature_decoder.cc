#include "src/data/features/feature_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>

#include "src/base/text.h"
#include "src/data/table/class_text.h"
#include "src/data/table/number.h"
#include "src/data/table/row_words.h"
#include "src/data/table/shard_rows.h"

namespace espalier::data {
namespace {

constexpr double kNull = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kDaySeconds = 86'400;

// Days since 1970 and back: Hinnant, "chrono-compatible low-level date algorithms", 2013.
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

// Absent for what no calendar has, such as 30 February.
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
  bool Skip(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // A number of so many digits, from `least` to `most`.
  bool Digits(size_t count, int64_t least, int64_t most, int64_t* out) {
    if (text_.size() < count) return false;
    *out = 0;
    for (size_t i = 0; i < count; ++i) {
      if (text_[i] < '0' || text_[i] > '9') return false;
      *out = *out * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(count);
    return *out >= least && *out <= most;
  }
  // The digits after a point, as a fraction of 1; up to nine of them.
  bool Fraction(double* out) {
    int64_t digits = 0, scale = 1;
    size_t count = 0;
    for (; count < text_.size() && count < 9 && text_[count] >= '0' && text_[count] <= '9';
         ++count) {
      digits = digits * 10 + (text_[count] - '0');
      scale *= 10;
    }
    text_.remove_prefix(count);
    *out = static_cast<double>(digits) / static_cast<double>(scale);
    return count > 0;
  }

 private:
  std::string_view text_;
};

bool ParseTime(Scanner& scan, double* seconds) {
  int64_t hour = 0, minute = 0, second = 0;
  double fraction = 0;
  if (!scan.Digits(2, 0, 23, &hour) || !scan.Skip(':') || !scan.Digits(2, 0, 59, &minute)) {
    return false;
  }
  if (scan.Skip(':') && !scan.Digits(2, 0, 60, &second)) return false;
  if (scan.Skip('.') && !scan.Fraction(&fraction)) return false;
  *seconds += static_cast<double>(hour * 3600 + minute * 60 + second) + fraction;
  if (scan.Skip('Z') || scan.done()) return true;
  const bool east = scan.Skip('+');
  if (!east && !scan.Skip('-')) return false;
  if (!scan.Digits(2, 0, 23, &hour)) return false;
  minute = 0;
  if (!scan.done() && (scan.Skip(':'), !scan.Digits(2, 0, 59, &minute))) return false;
  *seconds -= static_cast<double>((east ? 1 : -1) * (hour * 3600 + minute * 60));
  return true;
}

bool IsOneOf(std::string_view text, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<std::string> DecodeBoolean(std::string_view text, double* value) {
  if (const auto word = BooleanWord(text)) {
    *value = *word ? 1 : 0;
    return {};
  }
  const NumberKind kind = ParseNumberSlowly(text, value);
  if (kind == NumberKind::kNull) {
    *value = kNull;
    return {};
  }
  if (kind == NumberKind::kNumber && (*value == 0 || *value == 1)) return {};
  return "the value is neither true nor false; expected true, false, yes, no, 1 or 0";
}

std::optional<std::string> DecodeLog(std::string_view text, double* value) {
  switch (ParseNumberSlowly(text, value)) {
    case NumberKind::kNumber:
      break;
    case NumberKind::kNull:
      *value = kNull;
      return {};
    case NumberKind::kInfinite:
      return FeatureFault(Fault::kInfinite);
    case NumberKind::kNotNumber:
      return FeatureFault(Fault::kNotNumber);
  }
  if (*value <= -1) return "the value has no log1p; expected a number above -1";
  *value = Log1p(*value);
  return {};
}

constexpr const char* kNoDate =
    "the value is not a date; expected one like 2024-02-29, 20240229 or 2024-02-29T23:59:58Z, of "
    "the years 1 to 9999, or seconds since 1970";

// 20240229 is a day, of the years 1900 to 2199, as much as its text is; any other number is seconds
// since 1970. Days' seconds are multiples of 100, so that none of them looks like such a day.
double SecondsOfNumber(double number) {
  if (!(number >= kDayNumberMin && number <= kDayNumberMax) || number != std::floor(number)) {
    return number;
  }
  const auto digits = static_cast<int64_t>(number);
  const auto days = DayOf({digits / 10'000, digits / 100 % 100, digits % 100});
  return days ? static_cast<double>(*days * kDaySeconds) : number;
}

}  // namespace

int64_t HashedCode(std::string_view text, int64_t buckets) {
  constexpr uint32_t kFirst = 0xcc9e2d51, kSecond = 0x1b873593;
  uint32_t hash = 0;
  const auto mix = [](uint32_t block) { return std::rotl(block * kFirst, 15) * kSecond; };
  size_t at = 0;
  for (; at + 4 <= text.size(); at += 4) {
    uint32_t block = 0;
    std::memcpy(&block, text.data() + at, 4);
    hash = std::rotl(hash ^ mix(block), 13) * 5 + 0xe6546b64;
  }
  uint32_t tail = 0;
  for (size_t i = text.size(); i > at; --i) {
    tail = (tail << 8) | static_cast<uint8_t>(text[i - 1]);
  }
  if (at < text.size()) hash ^= mix(tail);
  hash ^= static_cast<uint32_t>(text.size());
  hash = (hash ^ (hash >> 16)) * 0x85ebca6b;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35;
  hash ^= hash >> 16;
  return static_cast<int64_t>(hash) % buckets;
}

std::optional<bool> BooleanWord(std::string_view text) {
  const std::string_view word = Trimmed(text);
  if (IsOneOf(word, kTrueWords)) return true;
  if (IsOneOf(word, kFalseWords)) return false;
  return std::nullopt;
}

double Log1p(double x) {
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  // 1 + x = 2^e m with m near 1; small x keep their digits in m - 1 = f.
  int exponent = 0;
  double f = x;
  if (x < -0.25 || x > 0.4) {
    double m = std::frexp(1 + x, &exponent);
    if (m < 0.70710678118654752) m *= 2, --exponent;
    f = m - 1;
  }
  const double s = f / (2 + f), square = s * s;
  double sum = 0;  // the series of artanh, from its last term
  for (int n = 25; n >= 3; n -= 2) sum = (sum + 1.0 / n) * square;
  const double e = exponent;
  return e * kLn2High + (2 * s + (2 * s * sum + e * kLn2Low));
}

std::optional<double> ParseDate(std::string_view text) {
  Scanner scan(Trimmed(text));
  int64_t year = 0, month = 0, day = 0;
  if (!scan.Digits(4, 1, 9999, &year) || !scan.Skip('-') || !scan.Digits(2, 1, 12, &month) ||
      !scan.Skip('-') || !scan.Digits(2, 1, 31, &day)) {
    return std::nullopt;
  }
  const std::optional<int64_t> days = DayOf({year, month, day});
  if (!days) return std::nullopt;
  double seconds = static_cast<double>(*days * kDaySeconds);
  if (scan.done()) return seconds;
  if (!scan.Skip('T') && !scan.Skip(' ')) return std::nullopt;
  if (!ParseTime(scan, &seconds) || !scan.done()) return std::nullopt;
  return seconds;
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
  const int64_t rest = units % units_a_day;  // days * units_a_day might not fit
  const int64_t of_day = rest < 0 ? rest + units_a_day : rest, second = of_day / units_a_second;
  char time[32];
  std::snprintf(time, sizeof time, " %02d:%02d:%02d", static_cast<int>(second / 3600),
                static_cast<int>(second / 60 % 60), static_cast<int>(second % 60));
  *text += time;
  const int64_t fraction = of_day % units_a_second;
  if (fraction == 0) return text;
  std::string digits = std::to_string(units_a_second + fraction);  // with its zeros, after a 1
  digits.erase(digits.find_last_not_of('0') + 1);
  *text += "." + digits.substr(1);
  return text;
}

size_t CategoriesCountedMax(int64_t min_count) {
  return min_count > 1 ? kCategoriesCountedMax : kCategoriesMax;
}

Status TooManyCategories(int64_t min_count, const std::string& file, const std::string& column) {
  const bool counted = min_count > 1;
  return BadInput("the column has more than " + HumanCount(CategoriesCountedMax(min_count)) +
                  " different values, too many " + (counted ? "to count" : "for a vocabulary") +
                  "; hash them (a group of data.features.groups with `type: categorical, hash: "
                  "1000` and this column), " +
                  (counted ? "" : "make rare ones one value (with `min_count: 5` there), ") +
                  "or leave it out if it is an identifier")
      .At({.file = file, .column = column});
}

Status TooManyFrequent(size_t found, int64_t min_count, const std::string& file,
                       const std::string& column) {
  return BadInput(HumanCount(static_cast<int64_t>(found)) + " values of the column have the " +
                  HumanCount(min_count) + " training rows of its min_count, more than the " +
                  HumanCount(kCategoriesMax) +
                  " of a vocabulary; raise min_count, or hash them (`hash: 1000` in its place)")
      .At({.file = file, .column = column});
}

FeatureDecoder::FeatureDecoder(const spec::FeatureSpec& features, const spec::Schema& schema)
    : schema_(schema), vocabulary_of_(schema.features.size(), -1) {
  for (size_t i = 0; i < schema.features.size(); ++i) {
    const spec::FeatureRule rule = schema.rule(i);
    options_.push_back(spec::OptionsOf(features, rule));
    if (spec::IsPlain(features, rule)) continue;
    decoded_.push_back(static_cast<int32_t>(i));
    if (!spec::HasVocabulary(features, rule)) continue;
    vocabulary_of_[i] = static_cast<int32_t>(texts_.categories.size());
    feature_of_.push_back(static_cast<int32_t>(i));
    texts_.categories.emplace_back();
  }
}

std::optional<std::string> FeatureDecoder::DecodeCategory(size_t feature, std::string_view text,
                                                          double* value) {
  const spec::FeatureOptions& options = options_[feature];
  if (text.empty() && options.nulls->kind != spec::NullKind::kCategory) {
    *value = kNull;
    return {};
  }
  if (text.size() > kCategoryBytesMax) {
    return "the value has " + std::to_string(text.size()) + " bytes; a category has at most " +
           std::to_string(kCategoryBytesMax);
  }
  const int32_t vocabulary = vocabulary_of_[feature];
  *value = vocabulary < 0
               ? static_cast<double>(HashedCode(ClassText(std::string(text)), options.hash))
               : texts_.categories[static_cast<size_t>(vocabulary)].IndexOf(text);
  return {};
}

std::optional<std::string> FeatureDecoder::Decode(size_t feature,
                                                  std::optional<std::string_view> text,
                                                  double* value) {
  const spec::FeatureOptions& options = options_[feature];
  switch (options.type) {
    case spec::FeatureType::kCategorical: {
      const std::string_view category = text ? Trimmed(*text) : std::string_view();
      return DecodeCategory(feature, category == "\\N" ? std::string_view() : category, value);
    }
    case spec::FeatureType::kBoolean:
      return DecodeBoolean(text.value_or(""), value);
    case spec::FeatureType::kNumeric:
      return DecodeLog(text.value_or(""), value);
    case spec::FeatureType::kDate:
      break;
  }
  double seconds = 0;
  if (const auto parsed = ParseDate(text.value_or(""))) {
    seconds = *parsed;
  } else {
    const NumberKind kind = ParseNumberSlowly(text.value_or(""), &seconds);
    if (kind == NumberKind::kNull) seconds = kNull;
    if (kind == NumberKind::kNotNumber || kind == NumberKind::kInfinite) return kNoDate;
    seconds = SecondsOfNumber(seconds);
  }
  return DecodeSeconds(feature, seconds, value);
}

std::optional<std::string> FeatureDecoder::DecodeSeconds(size_t feature, double seconds,
                                                         double* value) const {
  *value = kNull;
  if (std::isnan(seconds)) return {};
  const double day = seconds / kDaySeconds;
  if (!(day >= kFirstDay && day < kLastDay + 1)) return kNoDate;
  *value = PartOf(seconds, schema_.rule(feature).part);
  return {};
}

void FeatureDecoder::ForgetCategories() {
  for (LabelTexts& texts : texts_.categories) texts = {};
}

Status FeatureDecoder::CheckTexts(const std::string& file, RowRules rules) const {
  if (const size_t labels = texts_.labels.texts().size(); labels > kClassesMax) {
    return CheckLabels(labels, file, schema_.names[static_cast<size_t>(schema_.label[0])]);
  }
  if (rules == RowRules::kScoring) return {};
  for (size_t i = 0; i < texts_.categories.size(); ++i) {
    const size_t found = texts_.categories[i].texts().size();
    if (found <= kCategoriesMax) continue;
    const auto feature = static_cast<size_t>(feature_of_[i]);
    const int64_t min_count = options_[feature].min_count;
    if (found <= CategoriesCountedMax(min_count)) continue;
    const auto column = static_cast<size_t>(schema_.features[feature]);
    return TooManyCategories(min_count, file, schema_.names[column]);
  }
  return {};
}

}  // namespace espalier::data
