// What a column holds, judged by a sample of its values, as `columns: auto` needs it.
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
#include <variant>
#include <vector>

#include "src/data/features/dates.h"
#include "src/data/table/value_rules.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Values below which a column of different texts is not taken for an identifier, and the share of
// its values that differ in one.
inline constexpr int64_t kIdentifierValuesMin = 50;
inline constexpr double kIdentifierShare = 0.95;
// Different whole numbers of a label above which they are no classes.
inline constexpr size_t kWholeClassesMax = 20;
// Rows below which a column without differences is a feature.
inline constexpr int64_t kWholeTableRowsMin = 10;

// Whether a column is unnamed: its name is empty, or is the one that pandas gives such a column.
bool IsUnnamed(const std::string& name);

// Counts of the values of one column. Values are texts, or typed numbers written as texts.
class ColumnSample {
 public:
  // What is known of values that are not numbers.
  struct Texts {
    std::set<std::string, std::less<>> different;  // of each at most kDifferentBytes bytes
    double others = 0;                             // about how many more were not counted
    std::string first;                             // of these values
    int64_t dates = 0;
    std::map<std::string, int64_t> date_formats;  // DateFormatsOf -> values
    int64_t like_dates = 0;                       // with such a format, and not a date
    std::string like_date;                        // the first of them
    int64_t zones = 0;                            // HasUnknownZone
    std::string zone;
    int64_t written = 0;  // ReadWrittenNumber, and not a number
    std::string like_number;
    WrittenNumber how;            // what is true of some of them; `unit` of the last one
    std::set<std::string> units;  // at most kUnits
    int64_t with_unit = 0;
  };
  static constexpr size_t kDifferentBytes = 64, kUnits = 8;

  // Adds a value. `format`: how dates of the column are written; null: as ParseDate reads them.
  // `times`: how many rows have it.
  void Add(std::string_view text, const ValueRules& rules = {}, const DateFormat* format = nullptr,
           int64_t times = 1);
  // Adds a null that has no text.
  void AddNull() { ++rows_; }
  // Adds the values of a column that was read as a boolean, a number or a part of a date.
  void AddStats(spec::FeatureType type, const spec::ColumnStats& stats);
  // Adds texts; where some of them were not counted, as many as there are, of the same kinds.
  void AddTexts(const spec::TextCounts& texts, const ValueRules& rules, const DateFormat* format);
  // Adds what was found where values were not of the type that the column had.
  void AddEvidence(spec::FeatureType type, const spec::ColumnEvidence& evidence,
                   const ValueRules& rules, const DateFormat* format);
  // The next value is not in the row after the one before.
  void BeginBlock() { begins_ = true; }

  int64_t rows() const { return rows_; }
  int64_t values() const { return values_; }  // that are not null
  // How many of them are numbers, also such as are too large.
  int64_t numbers() const { return numbers_; }
  // Words for true and false of two letters or more, and 1 or 0.
  int64_t booleans() const { return booleans_; }
  int64_t dates() const { return texts_ ? texts_->dates : 0; }
  // Numbers such as 20240229 and 202402.
  int64_t days() const { return days_; }
  int64_t months() const { return months_; }
  // Whether all values are the same text.
  bool constant() const { return values_ > 0 && constant_; }
  // Whether each value is a whole number that is one more than the value before in its block.
  bool counts_rows() const { return values_ > 1 && counts_ && numbers_ == values_; }
  const Texts* texts() const { return texts_.get(); }  // null: all values are numbers
  // The first different numbers, one more than kWholeClassesMax at most, and whether all numbers
  // are whole.
  const std::set<double>& different_numbers() const { return different_numbers_; }
  bool whole() const { return whole_; }

 private:
  void AddText(std::string_view text, const DateFormat* format, int64_t times);
  void AddNumbers(int64_t count, double low, double high);
  // Notes one of the values, of which `first_` is the first.
  void NoteValue(std::string_view begin);
  Texts& SomeTexts();

  int64_t rows_ = 0, values_ = 0, numbers_ = 0, booleans_ = 0, days_ = 0, months_ = 0;
  std::string first_;  // value; at most kDifferentBytes bytes
  double last_ = 0;    // number
  bool constant_ = true, counts_ = true, whole_ = true, begins_ = true;
  std::set<double> different_numbers_;
  std::unique_ptr<Texts> texts_;
};

// The task whose labels these are, and why, for people: "the label has 3 whole numbers".
//   classification  text, or words for true and false, or few whole numbers
//   regression      other numbers
struct LabelTask {
  spec::Task task = spec::Task::kClassification;
  std::string why;
};
LabelTask TaskOfLabel(const ColumnSample& sample);

// What is known of a column besides its values.
struct ColumnFacts {
  std::string name;
  bool complete = false;  // the sample has all training rows
  bool index = false;     // the file calls it the index of a data frame
  bool csv = false;       // csv.decimal and csv.thousands are of use
};

// A column that cannot be read as it is without a decision of a person.
struct Undecided {
  enum class Why {
    kDecimalComma,  // data.csv.decimal settles it
    kThousands,     // data.csv.thousands
    kEitherComma,   // either of them
    kWritten,       // numbers with a currency, a percent sign, a unit or another sign
    kDateFormat,    // date_format
    kZone,          // dates with the name of a time zone
  };
  Why why = Why::kDateFormat;
  std::string example;
  char thousands = 0;                     // kDecimalComma, kThousands: between groups; 0: nothing
  std::vector<std::string> date_formats;  // kDateFormat: those that read most values
};
using Judgement = std::variant<spec::FeatureType, spec::LeftOutReason, Undecided>;

// The rule, over the values of a sample that are not null:
//   left out     an index of a data frame, an unnamed column that is empty or numbers the rows,
//                and, of a sample with all training rows, a column that is empty or constant
//   numeric      at least half of them are numbers, or there are none: the others are bad rows, as
//                they would be in a column that is named
//   date         at least half of them are dates, or all are numbers such as 202402 or 20240229
//   boolean      all of them are
//   undecided    at least half of them are numbers or dates in a form that has two meanings, or
//                that has to be given a format
//   left out     text that is different in nearly every row
//   categorical  otherwise
Judgement Judge(const ColumnSample& sample, const ColumnFacts& facts);

// What is wrong with the column, and the keys that settle it.
std::string UndecidedFault(const std::string& column, const ColumnFacts& facts,
                           const Undecided& undecided);

}  // namespace espalier::data
