#include "tests/data/naive_fit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

namespace espalier::data {
namespace {

double PartByCalendar(double moment, spec::DatePart part) {
  using namespace std::chrono;
  const sys_seconds seconds{std::chrono::seconds(static_cast<int64_t>(std::floor(moment)))};
  const sys_days day = floor<days>(seconds);
  const year_month_day date(day);
  const hh_mm_ss time(seconds - day);
  switch (part) {
    case spec::DatePart::kYear:
      return static_cast<int>(date.year());
    case spec::DatePart::kMonth:
      return static_cast<unsigned>(date.month());
    case spec::DatePart::kDay:
      return static_cast<unsigned>(date.day());
    case spec::DatePart::kWeekday:
      return weekday(day).iso_encoding() - 1;
    case spec::DatePart::kYearday:
      return static_cast<double>((day - sys_days(date.year() / January / 1)).count() + 1);
    case spec::DatePart::kHour:
      return static_cast<double>(time.hours().count());
    case spec::DatePart::kMinute:
      return static_cast<double>(time.minutes().count());
    case spec::DatePart::kSecond:
      return static_cast<double>(time.seconds().count());
    case spec::DatePart::kEpoch:
      break;
  }
  return moment;
}

}  // namespace

double MeantNumber(const spec::FeatureOptions& options, spec::DatePart part, const Cell& cell) {
  if (cell.null) return std::numeric_limits<double>::quiet_NaN();
  if (options.type == spec::FeatureType::kDate) return PartByCalendar(cell.number, part);
  return options.log1p ? std::log1p(cell.number) : cell.number;
}

NaiveScale FitNaively(const spec::FeatureOptions& options, const std::vector<double>& column) {
  std::vector<long double> known;
  for (const double x : column) {
    if (!std::isnan(x)) known.push_back(x);
  }
  const auto mean = [&known] {
    long double sum = 0;
    for (const long double x : known) sum += x;
    return sum / static_cast<long double>(known.size());
  };
  NaiveScale fitted;
  if (options.nulls->kind == spec::NullKind::kMean) fitted.null_value = mean();
  if (options.nulls->kind == spec::NullKind::kConstant) {
    const double constant = options.nulls->constant;
    fitted.null_value = options.log1p ? std::log1p(constant) : constant;
    known.resize(column.size(), fitted.null_value);
  }
  std::sort(known.begin(), known.end());
  const auto quantile = [&known](long double q) {
    const long double at = q * static_cast<long double>(known.size() - 1);
    const auto below = static_cast<size_t>(at);
    const size_t above = std::min(below + 1, known.size() - 1);
    return known[below] + (at - static_cast<long double>(below)) * (known[above] - known[below]);
  };
  const auto deviation = [&] {
    const long double m = mean();
    long double squares = 0;
    for (const long double x : known) squares += (x - m) * (x - m);
    return std::sqrt(squares / static_cast<long double>(known.size()));
  };
  const spec::ScaleKind kind = options.scale->kind;
  const bool constant = known.front() == known.back();
  if (kind == spec::ScaleKind::kNone) return fitted;
  if (kind == spec::ScaleKind::kDivide) {
    fitted.factor = 1 / static_cast<long double>(options.scale->divisor);
  } else if (constant) {
    fitted.shift = known.front(), fitted.factor = 0;
  } else if (kind == spec::ScaleKind::kMinMax) {
    fitted.shift = known.front(), fitted.factor = 1 / (known.back() - known.front());
  } else if (kind == spec::ScaleKind::kStandard) {
    fitted.shift = mean(), fitted.factor = 1 / deviation();
  } else {
    const long double range = quantile(0.75L) - quantile(0.25L);
    fitted.shift = quantile(0.5L), fitted.factor = 1 / (range > 0 ? range : deviation());
  }
  return fitted;
}

NaiveCodes CodesNaively(int64_t min_count, const std::vector<std::string>& column) {
  std::map<std::string, int64_t> counts;
  for (const std::string& text : column) ++counts[text];
  NaiveCodes codes;
  bool whole = true, rare = false;
  for (const auto& [text, count] : counts) {
    rare = rare || count < min_count;
    if (count < min_count) continue;
    codes.vocabulary.push_back(text);
    whole = whole && text.find_first_not_of("-0123456789") == std::string::npos;
  }
  const auto number = [](const std::string& text) {
    return text.empty() ? std::numeric_limits<long>::min() : std::stol(text);
  };
  if (whole) std::ranges::sort(codes.vocabulary, {}, number);
  if (rare) codes.others = static_cast<int32_t>(codes.vocabulary.size());
  return codes;
}

}  // namespace espalier::data
