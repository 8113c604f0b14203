// Judges the content of a column from a sample of its values, for `columns: auto`.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "src/data/features/dates.h"
#include "src/data/table/value_rules.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Limits for identifiers: a column of different texts is an identifier if it has at least
// kIdentifierValuesMin values and at least this fraction of them differ.
inline constexpr int64_t kIdentifierValuesMin = 50;
inline constexpr double kIdentifierShare = 0.95;
// Maximum number of different integers in a label whose integers are classes.
inline constexpr size_t kWholeClassesMax = 20;
// Labels are nearly all different if more than this fraction of them differ.
inline constexpr double kDifferentLabelsShare = 0.9;
// Minimum number of rows to leave out a column without differences. With fewer, it is a feature.
inline constexpr int64_t kWholeTableRowsMin = 10;

// Minimum number of different whole numbers in an unnamed column that is the index of a shuffled or
// filtered table.
inline constexpr int64_t kIndexRowsMin = 10;

// Returns whether a column is unnamed: its name is empty, or pandas generated it, like "Unnamed: 0"
// and "Unnamed: 0.1".
bool IsUnnamed(const std::string& name);

// Counts the values of one column. Values are texts, or typed numbers written as texts.
class ColumnSample {
 public:
  // Evidence from values that are not numbers.
  struct Texts {
    std::set<std::string, std::less<>> different;  // texts; long ones by beginning and hash
    double others = 0;  // estimated number of further values, not counted
    std::string first;  // first of these values
    int64_t dates = 0;
    std::map<std::string, int64_t> date_formats;  // DateFormatsOf -> number of values
    int64_t like_dates = 0;   // values with one of these formats that are not dates
    std::string like_date;    // first of them
    int64_t other_dates = 0;  // values with OtherDateFormatsOf
    std::string other_date;   // first of them
    int64_t loose_dates = 0;  // of both kinds, those in a form that other things have too
    int64_t times = 0;        // times of day
    std::string time;         // first of them
    std::map<std::string, int64_t> time_formats;  // TimeFormatOf -> number of values
    int64_t zones = 0;                            // values with HasUnknownZone
    std::string zone;
    int64_t written = 0;  // values that only ReadWrittenNumber reads
    std::string like_number;
    WrittenNumber how;            // what holds for at least one of them; `unit` of the last one
    std::set<std::string> units;  // at most kUnits
    int64_t with_unit = 0;
  };
  static constexpr size_t kUnits = 8;

  // Adds a value. `format`: format of the column's dates; null: as ParseDate reads them. `times`:
  // number of rows with this value.
  void Add(std::string_view text, const ValueRules& rules = {}, const DateFormat* format = nullptr,
           int64_t times = 1);
  // Adds a null without text.
  void AddNull() { ++rows_; }
  void AddNulls(int64_t rows) { rows_ += rows; }
  // Adds the values of a column that was read as booleans, numbers or parts of dates.
  void AddStats(spec::FeatureType type, const spec::ColumnStats& stats);
  // Adds texts. If some were not counted, the counted ones represent them in proportion.
  void AddTexts(const spec::TextCounts& texts, const ValueRules& rules, const DateFormat* format);
  // Adds the evidence from values that did not have the type of the column.
  void AddEvidence(spec::FeatureType type, const spec::ColumnEvidence& evidence,
                   const ValueRules& rules, const DateFormat* format);
  // Counts different numbers without a limit. Call it before the first value.
  void CountDifferent() { all_numbers_.emplace(); }
  // Starts a block: the next value is not in the row after the previous one.
  void BeginBlock() { begins_ = true; }

  int64_t rows() const { return rows_; }
  int64_t values() const { return values_; }  // without nulls
  // Returns the number of values that are numbers, including those that are too large.
  int64_t numbers() const { return numbers_; }
  // Returns the number of words for true and false with two letters or more, and of values 1 or 0.
  int64_t booleans() const { return booleans_; }
  int64_t dates() const { return texts_ ? texts_->dates : 0; }
  // Return the number of values like 20240229 and like 202402.
  int64_t days() const { return days_; }
  int64_t months() const { return months_; }
  // Returns whether the values were added with a format. It reads none of the numbers.
  bool formatted() const { return formatted_; }
  // Returns the formats of NumberFormatsOf that apply to all values. `first`: first value.
  std::vector<std::string> moment_formats() const;
  const std::string& first() const { return first_; }
  // Returns the number of values like 240131.
  int64_t short_days() const { return short_days_; }
  // Returns whether all values are the same text.
  bool constant() const { return values_ > 0 && constant_; }
  // Returns whether each value is an integer, one more than the previous value in its block.
  bool counts_rows() const { return values_ > 1 && counts_ && numbers_ == values_; }
  // Returns whether CountDifferent was called and the values are whole numbers, all different.
  bool different_integers() const {
    return all_numbers_ && whole_ && numbers_ == values_ &&
           static_cast<int64_t>(all_numbers_->size()) == values_;
  }
  // Returns whether the values are whole numbers without a gap, each once, and no value is null. In
  // a block they may also be in order, with gaps between the blocks. Not for statistics.
  bool consecutive() const;
  // Returns whether the values are whole numbers above 2^53 in digits, and not all the same.
  bool beyond_doubles() const { return values_ > 0 && !constant_ && large_ == values_; }
  const Texts* texts() const { return texts_.get(); }  // null: all values are numbers
  // Returns the first different numbers, at most kWholeClassesMax + 1. whole() returns whether all
  // numbers are integers.
  const std::set<double>& different_numbers() const { return different_numbers_; }
  // Returns the approximate number of different values, text and numbers. It does not count numbers
  // whose statistics were added.
  double different() const;
  bool whole() const { return whole_; }
  // Returns the first numbers, at most kNumbersCounted. They represent the others.
  const std::vector<double>& counted() const { return counted_; }

 private:
  void AddText(std::string_view text, const DateFormat* format, int64_t times);
  void AddNumbers(int64_t count, double low, double high);
  void NoteValue(std::string_view text);
  // Appends a number to counted_, unless that is full.
  void CountNumber(double value);
  Texts& SomeTexts();

  int64_t rows_ = 0, values_ = 0, numbers_ = 0, booleans_ = 0;
  int64_t days_ = 0, months_ = 0, short_days_ = 0;
  std::map<std::string, int64_t> moments_;  // NumberFormatsOf -> number of values
  static constexpr size_t kNumbersCounted = 65'536;
  std::string first_;          // first value; if it is long, its beginning and hash
  double last_ = 0;            // last number
  double low_ = 0, high_ = 0;  // smallest and largest number
  int64_t large_ = 0;          // numbers of beyond_doubles()
  bool constant_ = true, counts_ = true, whole_ = true, begins_ = true, formatted_ = false;
  std::set<double> different_numbers_;
  std::vector<double> counted_;
  std::optional<std::unordered_set<double>> all_numbers_;
  std::unique_ptr<Texts> texts_;
};

// Task that fits these labels, with the reason as text: "the label has 3 whole numbers".
//   classification  text, or words for true and false, or few different integers
//   regression      other numbers, and integers that are different in nearly every row
struct LabelTask {
  spec::Task task = spec::Task::kClassification;
  std::string why;
};
LabelTask TaskOfLabel(const ColumnSample& sample);

// Facts about a column apart from its values.
struct ColumnFacts {
  std::string name;
  bool complete = false;  // the sample contains all training rows
  bool index = false;     // the file declares it as the index of a data frame
  bool csv = false;       // csv.decimal and csv.thousands apply
  bool label = false;     // the column is the label
  bool many = false;      // the texts of the label are too different for classes
};

// A column that cannot be read without a decision by the user.
struct Undecided {
  enum class Why {
    kDecimalComma,  // set data.csv.decimal
    kThousands,     // set data.csv.thousands
    kEitherComma,   // set one of the two
    kWritten,       // numbers with a currency, a percent sign, a unit or another sign
    kDateFormat,    // set date_format
    kZone,          // dates with the name of a time zone
    kDate,          // a label of dates
    kBlanks,        // numbers with no-break spaces around them
    kPoint,         // numbers in a form that is not read
    kDateForm,      // dates with signs or words that no format reads
    kTimeOfDay,     // times of day, which need a group of dates
  };
  Why why = Why::kDateFormat;
  std::string example;
  char thousands = 0;  // kDecimalComma, kThousands: group separator; 0: none
  // kDateFormat, kTimeOfDay: formats that read most values.
  std::vector<std::string> date_formats;
};
using Judgement = std::variant<spec::FeatureType, spec::LeftOutReason, Undecided>;

// Applies this rule to the values of a sample that are not null:
//   left out     an index of a data frame, and an unnamed column that is empty, numbers the rows or
//                has at least kIndexRowsMin whole numbers, all different; if the sample has all
//                training rows, also a column that is empty or constant
//   numeric      at least half are numbers, or all are null; other values are bad rows, as in a
//                column that the job names
//   date         at least half are dates, or all are numbers like 202402 or 20240229 and there is
//                no format for dates
//   boolean      all are booleans
//   undecided    at least half are numbers or dates in a form that has two meanings or requires a
//                format, or times of day, or all are numbers like 20240229235958 or 29022024
//   left out     text that is different in nearly every row, also if it reads as a moment like
//                20240229-235958
//   categorical  otherwise
Judgement Judge(const ColumnSample& sample, const ColumnFacts& facts);

// Returns the note that a column may hold days like 240131, or nothing. Needs at least
// kShortDaysMin different values, so that numbers do not look like days by chance. REQUIRES: Judge
// finds the column numeric.
inline constexpr size_t kShortDaysMin = 20;
std::optional<std::string> ShortDayNote(const ColumnSample& sample, const std::string& column);

// Returns the note that a column may be an identifier, or nothing. REQUIRES: Judge finds the column
// numeric.
std::optional<std::string> IdentifierNote(const ColumnSample& sample, const std::string& column);

// Returns the decision that a label needs before its texts can be classes: the label is written as
// numbers or dates. Nothing: the label has no such form.
std::optional<Undecided> UndecidedLabel(const ColumnSample& sample);

// Returns the error message for the column, with the keys that resolve the decision.
std::string UndecidedFault(const std::string& column, const ColumnFacts& facts,
                           const Undecided& undecided);

}  // namespace espalier::data
