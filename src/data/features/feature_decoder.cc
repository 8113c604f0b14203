#include "src/data/features/feature_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "src/base/text.h"
#include "src/data/table/class_text.h"
#include "src/data/table/number.h"
#include "src/data/table/shard_rows.h"

namespace espalier::data {
namespace {

constexpr double kNull = std::numeric_limits<double>::quiet_NaN();
constexpr double kSecondsADay = 86'400;

bool IsOneOf(std::string_view text, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<std::string> DecodeBoolean(const ValueRules& rules, std::string_view text,
                                         double* value) {
  if (const auto word = BooleanWord(text)) {
    *value = *word ? 1 : 0;
    return {};
  }
  const NumberKind kind = rules.ParseNumber(text, value);
  if (kind == NumberKind::kNull) {
    *value = kNull;
    return {};
  }
  if (kind == NumberKind::kNumber && (*value == 0 || *value == 1)) return {};
  return "the value is neither true nor false (expected true, false, yes, no, 1 or 0)";
}

std::optional<std::string> DecodeLog(const ValueRules& rules, std::string_view text,
                                     double* value) {
  switch (rules.ParseNumber(text, value)) {
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
  if (*value <= -1) return "log1p of the value is undefined (expected a number above -1)";
  *value = Log1p(*value);
  return {};
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

bool IsZeroWeight(std::string_view text, const ValueRules& rules) {
  text = Trimmed(text);
  double value = 1;
  const NumberKind kind = rules.ParseNumber(text, &value);
  if (kind == NumberKind::kNotNumber) return BooleanWord(text) == false;
  return kind == NumberKind::kNumber && value == 0;
}

double Log1p(double x) {
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  // 1 + x = 2^e m, with m near 1. A small x keeps its digits in m - 1 = f.
  int exponent = 0;
  double f = x;
  if (x < -0.25 || x > 0.4) {
    double m = std::frexp(1 + x, &exponent);
    if (m < 0.70710678118654752) m *= 2, --exponent;
    f = m - 1;
  }
  const double s = f / (2 + f), square = s * s;
  double sum = 0;  // series of artanh, from its last term
  for (int n = 25; n >= 3; n -= 2) sum = (sum + 1.0 / n) * square;
  const double e = exponent;
  return e * kLn2High + (2 * s + (2 * s * sum + e * kLn2Low));
}

size_t CategoriesCountedMax(int64_t min_count) {
  return min_count > 1 ? kCategoriesCountedMax : kCategoriesMax;
}

Status TooManyCategories(int64_t min_count, const std::string& file, const std::string& column) {
  const bool counted = min_count > 1;
  return BadInput("the column has more than " + HumanCount(CategoriesCountedMax(min_count)) +
                  " different values, too many " + (counted ? "to count" : "for a vocabulary") +
                  ". Hash them (a group of data.features.groups with `type: categorical, hash: "
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
                  " of a vocabulary. Raise min_count, or hash them (`hash: 1000` in its place)")
      .At({.file = file, .column = column});
}

FeatureDecoder::FeatureDecoder(const spec::DataSpec& data, const spec::Schema& schema, bool csv)
    : schema_(schema),
      own_columns_(static_cast<int32_t>(schema.names.size()) - schema.partitions),
      rules_(data, csv),
      directory_rules_(data, false),
      vocabulary_of_(schema.features.size(), -1) {
  const spec::FeatureSpec& features = data.features;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    const spec::FeatureRule rule = schema.rule(i);
    options_.push_back(spec::OptionsOf(features, rule));
    const std::string& format = options_.back().date_format;
    const bool formatted = rule.type == spec::FeatureType::kDate && !format.empty();
    formats_.push_back(formatted && format != "auto" ? std::optional<DateFormat>(format)
                                                     : std::nullopt);
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
    return "the value has " + std::to_string(text.size()) + " bytes (expected at most " +
           std::to_string(kCategoryBytesMax) + ", as a category)";
  }
  const int32_t vocabulary = vocabulary_of_[feature];
  if (vocabulary < 0) {
    *value = static_cast<double>(HashedCode(ClassText(std::string(text)), options.hash));
    return {};
  }
  LabelTexts& texts = texts_.categories[static_cast<size_t>(vocabulary)];
  int32_t code = texts.Find(text);
  if (code < 0) {  // a text is checked when it is new
    if (auto fault = NameFault(text)) return fault;
    code = texts.IndexOf(text);
  }
  *value = code;
  return {};
}

std::optional<std::string> FeatureDecoder::Decode(size_t feature,
                                                  std::optional<std::string_view> text,
                                                  double* value) {
  const spec::FeatureOptions& options = options_[feature];
  const ValueRules& rules = rules_of(schema_.features[feature]);
  switch (options.type) {
    case spec::FeatureType::kCategorical: {
      const std::string_view category = text ? Trimmed(*text) : std::string_view();
      const bool null = rules.IsNullCategory(category);
      return DecodeCategory(feature, null ? std::string_view() : category, value);
    }
    case spec::FeatureType::kBoolean:
      return DecodeBoolean(rules, text.value_or(""), value);
    case spec::FeatureType::kNumeric:
      return DecodeLog(rules, text.value_or(""), value);
    case spec::FeatureType::kDate:
      break;
  }
  return DecodeDate(feature, text.value_or(""), value);
}

std::optional<std::string> FeatureDecoder::DecodeDate(size_t feature, std::string_view text,
                                                      double* value) const {
  const std::optional<DateFormat>& format = formats_[feature];
  if (const auto parsed = format ? format->Parse(text) : ParseDate(text)) {
    return DecodeSeconds(feature, *parsed, value);
  }
  double seconds = 0;
  const NumberKind kind = rules_of(schema_.features[feature]).ParseNumber(text, &seconds);
  if (kind == NumberKind::kNull) return DecodeSeconds(feature, kNull, value);
  if (format || kind != NumberKind::kNumber) return DateFault(options_[feature].date_format);
  return DecodeSeconds(feature, SecondsOfNumber(seconds), value);
}

std::optional<std::string> FeatureDecoder::DecodeSeconds(size_t feature, double seconds,
                                                         double* value) const {
  *value = kNull;
  if (std::isnan(seconds)) return {};
  const double day = seconds / kSecondsADay;
  if (!(day >= kFirstDay && day < kLastDay + 1)) return DateFault(options_[feature].date_format);
  *value = PartOf(seconds, schema_.rule(feature).part);
  return {};
}

void FeatureDecoder::ForgetCategories() {
  for (LabelTexts& texts : texts_.categories) texts = {};
}

Status FeatureDecoder::CheckManyTexts(const std::string& file, RowRules rules) const {
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
