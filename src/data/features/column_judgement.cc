#include "src/data/features/column_judgement.h"

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/data/features/feature_decoder.h"
#include "src/spec/shard_sums.h"

namespace espalier::data {
namespace {

// A column with this few values may be a category although its values have a unit: "2WD", "4WD".
constexpr size_t kGradesMax = 20;
// Minimum number of labels of which TaskOfLabel asks whether nearly all differ.
constexpr int64_t kDifferentLabelsMin = 10;

// Returns a text that represents a whole value in limited memory: a long value by its beginning and
// its hash.
constexpr size_t kLongestKey = 64;  // a text of this size is its own key
std::string KeyOf(std::string_view text) {
  constexpr size_t kBegin = 48;
  if (text.size() <= kLongestKey) return std::string(text);
  const uint64_t hash = spec::HashOfText(std::string(text));
  return std::string(text.substr(0, kBegin)) + '\0' + std::to_string(hash) + '\0' +
         std::to_string(text.size());
}

// Reads a number of one to three digits, which cannot be a date or an address. Most numbers of wide
// tables are of this form.
bool ReadShortWhole(std::string_view text, double* value) {
  if (text.empty() || text.size() > 3) return false;
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + (c - '0');
  }
  *value = number;
  return true;
}

bool IsWord(std::string_view text) { return text.size() > 1 && BooleanWord(text).has_value(); }

bool IsIndexName(const std::string& name) {
  constexpr std::string_view kBegin = "__index_level_", kEnd = "__";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  const std::string number = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  return !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
}

bool Half(int64_t part, const ColumnSample& sample) { return 2 * part >= sample.values(); }

// Returns whether this is a day without separators and a time after a hyphen or an underscore.
bool IsNumberedDay(const std::string& format) {
  return format.starts_with("%Y%m%d-") || format.starts_with("%Y%m%d_");
}

// Returns whether other things than dates are often written in this form: the season 2005-06, the
// version 2023.1.2, the number 20240131-000001.
bool IsLooseFormat(const std::string& format) {
  return format.find("%d") == std::string::npos || format.starts_with("%Y.%m.%d") ||
         IsNumberedDay(format);
}

bool AreLoose(const std::vector<std::string>& formats) {
  return std::all_of(formats.begin(), formats.end(), IsLooseFormat);
}

// Returns the formats with the largest number of values, which it stores.
std::vector<std::string> MostFrequent(const std::map<std::string, int64_t>& formats,
                                      int64_t* most) {
  std::vector<std::string> found;
  *most = 0;
  for (const auto& [format, values] : formats) *most = std::max(*most, values);
  for (const auto& [format, values] : formats) {
    if (values == *most) found.push_back(format);
  }
  return found;
}

// Returns nothing if the values may be something other than dates.
std::optional<Undecided> DateUndecided(const ColumnSample::Texts& texts,
                                       const ColumnSample& sample) {
  Undecided found{.why = Undecided::Why::kDateFormat, .example = texts.like_date};
  int64_t most = 0;
  found.date_formats = MostFrequent(texts.date_formats, &most);
  if (AreLoose(found.date_formats) && most < sample.values()) return std::nullopt;
  return found;
}

Undecided NumberUndecided(const ColumnSample::Texts& texts) {
  const WrittenNumber& how = texts.how;
  Undecided found{.example = texts.like_number, .thousands = how.thousands};
  if (how.currency || how.percent || how.sign || how.quoted || texts.with_unit > 0) {
    found.why = Undecided::Why::kWritten;
  } else if (how.decimal_comma) {
    found.why = Undecided::Why::kDecimalComma;
  } else if (how.thousands != 0) {
    found.why = Undecided::Why::kThousands;
  } else if (how.either_comma) {
    found.why = Undecided::Why::kEitherComma;
  } else if (how.blanks) {
    found.why = Undecided::Why::kBlanks;
  } else {
    found.why = Undecided::Why::kPoint;
  }
  return found;
}

// Examines a column whose values are not mainly numbers, dates or truth values by default.
std::optional<Undecided> FindUndecided(const ColumnSample& sample) {
  const ColumnSample::Texts& texts = *sample.texts();
  if (sample.dates() > 0 && Half(sample.dates(), sample)) return std::nullopt;
  if (texts.times > 0 && Half(texts.times, sample)) {
    int64_t most = 0;
    return Undecided{.why = Undecided::Why::kTimeOfDay,
                     .example = texts.time,
                     .date_formats = MostFrequent(texts.time_formats, &most)};
  }
  if (texts.like_dates > 0 && Half(sample.dates() + texts.like_dates, sample)) {
    if (auto undecided = DateUndecided(texts, sample)) return undecided;
  }
  if (texts.zones > 0 && Half(sample.dates() + texts.zones, sample)) {
    return Undecided{.why = Undecided::Why::kZone, .example = texts.zone};
  }
  const int64_t all = sample.dates() + texts.like_dates + texts.other_dates;
  if (texts.other_dates > 0 && (all == sample.values() || Half(all - texts.loose_dates, sample))) {
    return Undecided{.why = Undecided::Why::kDateForm, .example = texts.other_date};
  }
  if (Half(sample.numbers(), sample)) return std::nullopt;  // the others are bad rows
  if (texts.written == 0 || !Half(sample.numbers() + texts.written, sample)) return std::nullopt;
  const bool grades = texts.with_unit == texts.written && texts.different.size() <= kGradesMax &&
                      sample.values() >= 10 * static_cast<int64_t>(texts.different.size());
  if (grades || texts.units.size() > 3) return std::nullopt;
  return NumberUndecided(texts);
}

// Returns whether the text is a whole number in digits that a double does not represent exactly.
bool IsBeyondDoubles(std::string_view text, double value) {
  constexpr double kExactMax = 0x1p53;
  if (std::abs(value) <= kExactMax) return false;
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  return text.find_first_not_of("0123456789", sign) == std::string_view::npos;
}

// Returns the end of the message for a label of dates. No key makes a date a target.
std::string DateLabel(const Undecided& undecided, const std::string& last) {
  return "dates (found " + Quoted(undecided.example) +
         ", expected numbers or classes). Write numbers such as days, " + last;
}

// Returns the end of the message for times of day. A label needs numbers.
std::string TimesOfDay(const std::string& column, const ColumnFacts& facts,
                       const Undecided& undecided, const std::string& last) {
  const std::string found = "times of day (found " + Quoted(undecided.example);
  if (facts.label) {
    return found +
           ", expected numbers or classes). Write numbers such as seconds since midnight, " + last;
  }
  return found + "). To read them as seconds since midnight, add the group {columns: " + column +
         ", type: date, date_format: \"" + undecided.date_formats.front() +
         "\", parts: [epoch]} to data.features.groups. Or " + last;
}

std::string Shown(char byte) { return byte == '\'' ? "\"'\"" : "'" + std::string(1, byte) + "'"; }

}  // namespace

bool IsUnnamed(const std::string& name) {
  constexpr std::string_view kPandas = "Unnamed: ";
  return name.empty() || (name.starts_with(kPandas) &&
                          name.find_first_not_of("0123456789.", kPandas.size()) == name.npos);
}

ColumnSample::Texts& ColumnSample::SomeTexts() {
  if (texts_ == nullptr) texts_ = std::make_unique<Texts>();
  return *texts_;
}

void ColumnSample::AddText(std::string_view text, const DateFormat* format, int64_t times) {
  Texts& t = SomeTexts();
  if (t.different.empty()) t.first = text;
  t.different.insert(KeyOf(text));
  if (IsWord(text)) {
    booleans_ += times;
    return;
  }
  if (format != nullptr ? format->Parse(text).has_value() : ParseDate(text).has_value()) {
    t.dates += times;
    return;
  }
  const auto note = [&](int64_t* count, std::string* example) {
    if (*count == 0) *example = text;
    *count += times;
  };
  if (std::optional<std::string> clock = TimeFormatOf(text)) {
    note(&t.times, &t.time);
    t.time_formats[*std::move(clock)] += times;
    return;
  }
  std::vector<std::string> formats = DateFormatsOf(text);
  if (formats.empty() && format != nullptr && ParseDate(text)) formats.emplace_back("auto");
  const size_t formats_found = formats.size();
  if (formats_found > 0) {
    note(&t.like_dates, &t.like_date);
    if (AreLoose(formats)) t.loose_dates += times;
  }
  for (std::string& one : formats) t.date_formats[std::move(one)] += times;
  if (HasUnknownZone(text)) {
    note(&t.zones, &t.zone);
  } else if (formats_found == 0) {
    const std::vector<std::string> others = OtherDateFormatsOf(text);
    if (!others.empty()) note(&t.other_dates, &t.other_date);
    if (!others.empty() && AreLoose(others)) t.loose_dates += times;
  }
  WrittenNumber how;
  if (!ReadWrittenNumber(text, &how)) return;
  note(&t.written, &t.like_number);
  t.how.decimal_comma |= how.decimal_comma;
  t.how.either_comma |= how.either_comma;
  t.how.blanks |= how.blanks;
  t.how.sign |= how.sign;
  t.how.currency |= how.currency;
  t.how.percent |= how.percent;
  t.how.quoted |= how.quoted;
  if (how.thousands != 0) t.how.thousands = how.thousands;
  if (how.unit.empty()) return;
  t.with_unit += times;
  if (t.units.size() < kUnits) t.units.insert(std::move(how.unit));
}

void ColumnSample::NoteValue(std::string_view text) {
  if (values_ == 0) first_ = KeyOf(text);
  if (!constant_) return;
  constant_ = text.size() <= kLongestKey ? text == first_ : KeyOf(text) == first_;
}

void ColumnSample::CountNumber(double value) {
  if (counted_.size() < kNumbersCounted) counted_.push_back(value);
}

double ColumnSample::different() const {
  std::vector<double> numbers = counted_;
  std::sort(numbers.begin(), numbers.end());
  const auto end = std::unique(numbers.begin(), numbers.end());
  auto count = static_cast<double>(end - numbers.begin());
  if (counted_.size() == kNumbersCounted) {
    count *= static_cast<double>(numbers_) / static_cast<double>(kNumbersCounted);
  }
  if (texts_ != nullptr) count += static_cast<double>(texts_->different.size()) + texts_->others;
  return count;
}

bool ColumnSample::consecutive() const {
  if (values_ < 2 || values_ < rows_ || !whole_ || numbers_ != values_) return false;
  const auto values = static_cast<double>(values_);
  const bool close = counts_rows() || high_ - low_ + 1 == values;
  return close && static_cast<int64_t>(counted_.size()) == values_ && different() == values;
}

std::vector<std::string> ColumnSample::moment_formats() const {
  std::vector<std::string> formats;
  for (const auto& [format, values] : moments_) {
    if (values == values_) formats.push_back(format);
  }
  return formats;
}

void ColumnSample::Add(std::string_view text, const ValueRules& rules, const DateFormat* format,
                       int64_t times) {
  rows_ += times;
  formatted_ = formatted_ || format != nullptr;
  text = Trimmed(text);
  double value = 0;
  const bool brief = format == nullptr && rules.plain() && ReadShortWhole(text, &value);
  const NumberKind kind = brief ? NumberKind::kNumber : rules.ParseNumber(text, &value);
  if (kind == NumberKind::kNull) return;
  NoteValue(text);
  values_ += times;
  if (kind == NumberKind::kNotNumber || (!rules.has_points() && IsAddress(text)) ||
      (format != nullptr && format->Parse(text))) {
    return AddText(text, format, times);
  }
  const bool repeated = numbers_ > 0 && value == last_;
  counts_ = counts_ && times == 1 && (begins_ ? value == std::floor(value) : value == last_ + 1);
  begins_ = false;
  last_ = value;
  low_ = numbers_ == 0 ? value : std::min(low_, value);
  high_ = numbers_ == 0 ? value : std::max(high_, value);
  numbers_ += times;
  CountNumber(value);
  if (!repeated && different_numbers_.size() <= kWholeClassesMax) different_numbers_.insert(value);
  if (!repeated && all_numbers_) all_numbers_->insert(value);
  booleans_ += kind == NumberKind::kNumber && (value == 0 || value == 1) ? times : 0;
  if (brief) return;
  large_ += IsBeyondDoubles(text, value) ? times : 0;
  whole_ = whole_ && value == std::floor(value);
  if (kind != NumberKind::kNumber) return;
  days_ += IsDayNumber(value) ? times : 0;
  months_ += IsMonthNumber(value) ? times : 0;
  short_days_ += IsShortDay(text) ? times : 0;
  for (std::string& one : NumberFormatsOf(text)) moments_[std::move(one)] += times;
}

void ColumnSample::AddNumbers(int64_t count, double low, double high) {
  if (count == 0) return;
  counts_ = false;
  NoteValue(ShortestDouble(low));
  constant_ = constant_ && low == high;
  values_ += count;
}

void ColumnSample::AddStats(spec::FeatureType type, const spec::ColumnStats& stats) {
  AddNumbers(stats.count, stats.min, stats.max);
  rows_ += stats.count + stats.nulls;
  if (type == spec::FeatureType::kNumeric) {
    numbers_ += stats.count;
    const auto truth = [](double x) { return x == 0 || x == 1; };
    if (truth(stats.min) && truth(stats.max)) booleans_ += stats.count;
    return;
  }
  Texts& t = SomeTexts();
  (type == spec::FeatureType::kDate ? t.dates : booleans_) += stats.count;
}

void ColumnSample::AddTexts(const spec::TextCounts& texts, const ValueRules& rules,
                            const DateFormat* format) {
  counts_ = false;
  int64_t counted = 0;
  for (const auto& [text, rows] : texts.counts) counted += rows;
  const double share = texts.more && counted > 0
                           ? static_cast<double>(texts.rows) / static_cast<double>(counted)
                           : 1;
  for (const auto& [text, rows] : texts.counts) {
    Add(text, rules, format, std::llround(static_cast<double>(rows) * share));
  }
  if (!texts.more) return;
  constant_ = false;
  SomeTexts().others +=
      std::max(0.0, spec::DifferentTexts(texts) - static_cast<double>(texts.counts.size()));
}

void ColumnSample::AddEvidence(spec::FeatureType type, const spec::ColumnEvidence& evidence,
                               const ValueRules& rules, const DateFormat* format) {
  AddNumbers(evidence.numbers, evidence.low, evidence.high);
  rows_ += evidence.numbers + evidence.nulls;
  booleans_ += evidence.truths;
  formatted_ = formatted_ || format != nullptr;
  // A format does not read these numbers, so they are bad rows.
  const bool read = type == spec::FeatureType::kDate && format == nullptr;
  const int64_t dates = read ? evidence.days + evidence.months : 0;
  if (dates > 0) SomeTexts().dates += dates;
  numbers_ += evidence.numbers - dates;
  days_ += evidence.days;
  months_ += evidence.months;
  AddTexts(evidence.texts, rules, format);
}

std::optional<Undecided> UndecidedLabel(const ColumnSample& sample) {
  if (sample.texts() == nullptr) return std::nullopt;
  const ColumnSample::Texts& texts = *sample.texts();
  if (!Half(sample.numbers(), sample)) {
    if (auto undecided = FindUndecided(sample)) return undecided;
    if (sample.dates() == 0 || !Half(sample.dates(), sample)) return std::nullopt;
    return Undecided{.why = Undecided::Why::kDate, .example = texts.first};
  }
  // In a regression, the other texts are bad rows. Among few integers they would be classes.
  const bool classes = sample.whole() && sample.different_numbers().size() <= kWholeClassesMax;
  const bool all = sample.numbers() + texts.written == sample.values();
  if (!classes || !all || texts.written == 0 || texts.with_unit > 0) return std::nullopt;
  return NumberUndecided(texts);
}

LabelTask TaskOfLabel(const ColumnSample& sample) {
  constexpr spec::Task kClasses = spec::Task::kClassification, kNumbers = spec::Task::kRegression;
  if (sample.values() == 0) return {kClasses, "the label has no value in the sampled rows"};
  if (sample.numbers() * 2 < sample.values()) return {kClasses, "the label holds text"};
  if (!sample.whole()) return {kNumbers, "the label has numbers with fractions"};
  const size_t different = sample.different_numbers().size();
  if (different > kWholeClassesMax) {
    return {kNumbers,
            "the label has more than " + std::to_string(kWholeClassesMax) + " whole numbers"};
  }
  const auto values = static_cast<double>(sample.values());
  if (sample.numbers() == sample.values() && sample.values() >= kDifferentLabelsMin &&
      static_cast<double>(different) > kDifferentLabelsShare * values) {
    return {kNumbers, "the label has " + std::to_string(different) +
                          " different whole numbers in " + std::to_string(sample.values()) +
                          " rows"};
  }
  return {kClasses, "the label has " + std::to_string(different) +
                        (different == 1 ? " whole number" : " different whole numbers")};
}

Judgement Judge(const ColumnSample& sample, const ColumnFacts& facts) {
  using spec::FeatureType;
  using spec::LeftOutReason;
  if (facts.index || IsIndexName(facts.name)) return LeftOutReason::kIndex;
  const bool unnamed = IsUnnamed(facts.name);
  const bool trusted = facts.complete && sample.rows() >= kWholeTableRowsMin;
  if (sample.values() == 0) {
    return trusted || (unnamed && sample.rows() > 0) ? Judgement(LeftOutReason::kEmpty)
                                                     : FeatureType::kNumeric;
  }
  const bool dates = sample.days() == sample.values() || sample.months() == sample.values();
  const bool index =
      facts.complete && sample.values() >= kIndexRowsMin && sample.different_integers() && !dates;
  if (unnamed && (sample.counts_rows() || index)) return LeftOutReason::kRowNumber;
  const bool nulls = sample.values() < sample.rows();
  if (trusted && !nulls && sample.constant()) return LeftOutReason::kConstant;
  const bool varies = !sample.constant() && sample.texts() == nullptr;
  if (varies && dates && !sample.formatted()) return FeatureType::kDate;
  if (varies && !sample.moment_formats().empty()) {
    return Undecided{.example = sample.first(), .date_formats = sample.moment_formats()};
  }
  if (sample.texts() == nullptr) return FeatureType::kNumeric;
  const auto values = static_cast<double>(sample.values());
  const bool identifier =
      sample.values() >= kIdentifierValuesMin && sample.different() >= kIdentifierShare * values;
  if (const auto undecided = FindUndecided(sample)) {
    const std::vector<std::string>& formats = undecided->date_formats;
    const bool numbered =
        !formats.empty() && std::all_of(formats.begin(), formats.end(), IsNumberedDay);
    if (numbered && identifier) return LeftOutReason::kDifferent;
    return *undecided;
  }
  if (Half(sample.numbers(), sample)) return FeatureType::kNumeric;
  if (sample.dates() > 0 && Half(sample.dates(), sample)) return FeatureType::kDate;
  if (sample.booleans() == sample.values()) return FeatureType::kBoolean;
  return identifier ? Judgement(LeftOutReason::kDifferent) : FeatureType::kCategorical;
}

std::optional<std::string> ShortDayNote(const ColumnSample& sample, const std::string& column) {
  static_assert(kShortDaysMin <= kWholeClassesMax + 1);
  const bool days = sample.values() > 0 && sample.short_days() == sample.values();
  if (!days || sample.different_numbers().size() < kShortDaysMin) return std::nullopt;
  return "column " + Quoted(column) + " is read as a number, but its values may be days like " +
         Quoted(sample.first()) + ". To read them as days, add the group {columns: " + column +
         ", type: date, date_format: \"" + kShortDayFormat + "\"} to data.features.groups";
}

std::optional<std::string> IdentifierNote(const ColumnSample& sample, const std::string& column) {
  const bool beyond = sample.beyond_doubles();
  const bool rows = sample.values() >= kIdentifierValuesMin && sample.consecutive();
  if (!beyond && !rows) return std::nullopt;
  return "column " + Quoted(column) + " may be an identifier: it has " +
         (beyond ? "whole numbers above 2^53, which are rounded"
                 : "consecutive whole numbers, each in one row") +
         ". Exclude it with data.features.exclude, unless the number itself has a meaning";
}

std::string UndecidedFault(const std::string& column, const ColumnFacts& facts,
                           const Undecided& undecided) {
  const std::string otherwise =
      facts.many    ? "choose another data.label"
      : facts.label ? "set model.task: classification if these texts are classes, or choose "
                      "another data.label"
                    : "make the column a category in data.features.groups, or exclude it with "
                      "data.features.exclude";
  const std::string last = (facts.many ? "or " : "") + otherwise;
  const std::string rest = facts.csv ? "; or " + otherwise : ". Write numbers, " + last;
  const auto set = [&](const std::string& key, char value) {
    return "data.csv." + key + ": " + Shown(value);
  };
  const std::string start =
      (facts.label ? "data.label: column " : "data.features: column ") + Quoted(column) + " holds ";
  const std::string such = " (found " + Quoted(undecided.example) + ")";
  switch (undecided.why) {
    case Undecided::Why::kDecimalComma: {
      std::string keys = set("decimal", ',');
      if (undecided.thousands != 0) keys += " and " + set("thousands", undecided.thousands);
      return start + "numbers with a decimal comma" + such + (facts.csv ? ". Set " + keys : "") +
             rest;
    }
    case Undecided::Why::kThousands:
      return start + "numbers with separators of thousands" + such +
             (facts.csv ? ". Set " + set("thousands", undecided.thousands) : "") + rest;
    case Undecided::Why::kEitherComma:
      return start + "numbers whose comma may separate thousands or decimals" + such +
             (facts.csv ? ". Set " + set("thousands", ',') + " or " + set("decimal", ',') : "") +
             rest;
    case Undecided::Why::kWritten:
      return start + "numbers with a currency, a percent sign, a unit or another sign" + such +
             ". Write plain numbers, " + last;
    case Undecided::Why::kBlanks:
      return start + "numbers with no-break spaces or other special ones around them" + such +
             (facts.csv ? ". Remove these spaces or set " + set("thousands", ' ')
                        : ". Remove these spaces") +
             "; or " + otherwise;
    case Undecided::Why::kPoint:
      return start +
             (facts.csv
                  ? "numbers with other separators than data.csv.decimal and "
                    "data.csv.thousands" +
                        such + ". Write all numbers with the same separators"
                  : "numbers in a form that is not read" + such + ". Write them as in -1234.5") +
             "; or " + otherwise;
    case Undecided::Why::kDate:
      return start + DateLabel(undecided, last);
    case Undecided::Why::kZone:
      if (facts.label) return start + DateLabel(undecided, last);
      return start + "dates or times of day with the name of a time zone" + such +
             ". Write them in UTC or with an offset such as +01:00, " + otherwise;
    case Undecided::Why::kDateForm:
      if (facts.label) return start + DateLabel(undecided, last);
      return start + "dates or times of day in a form that is not read" + such +
             ". Write them as in 2024-02-29 23:59:58, " + otherwise;
    case Undecided::Why::kTimeOfDay:
      return start + TimesOfDay(column, facts, undecided, last);
    case Undecided::Why::kDateFormat:
      if (facts.label) return start + DateLabel(undecided, last);
      break;
  }
  std::string formats;
  for (const std::string& format : undecided.date_formats) {
    formats += (formats.empty() ? "" : " or ") + Quoted(format);
  }
  return start + "dates that need a format" + such +
         ". Set data.features.date_format, or date_format of a group with this column, to " +
         formats + ", or " + otherwise;
}

}  // namespace espalier::data
