// Rules for the texts of a job's columns: which texts are null, and the form of numbers.
//
// Thread rule: const and safe from any number of threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/data/table/number.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

class ValueRules {
 public:
  // Default rules: kNullWords (number.h) are null, and numbers have a decimal point.
  ValueRules() = default;
  // `csv`: the texts come from a CSV file, whose numbers may use csv.decimal and csv.thousands.
  ValueRules(const spec::DataSpec& data, bool csv);

  // Returns whether ParseDecimal reads plain decimals correctly under these rules.
  bool plain() const { return has_points() && null_numbers_.empty(); }
  // Parses a number like ParseNumberSlowly, with data.null_values as additional nulls. Thousands
  // separators divide groups of three digits, or groups of two before a last group of three, of a
  // number that begins with another digit than 0 and has no exponent. A blank as separator includes
  // no-break spaces, and these may also surround the number.
  NumberKind ParseNumber(std::string_view text, double* value) const;
  // Returns whether numbers have a decimal point and no thousands separators.
  bool has_points() const { return decimal_ == '.' && thousands_ == 0; }
  // Returns a number of this form with a decimal point and without thousands separators, and any
  // other text unchanged: "1.0" for "1,0".
  std::string PlainText(std::string_view text) const;
  // Returns whether a number is one of data.null_values.
  bool IsNullNumber(double value) const;
  bool has_null_numbers() const { return !null_numbers_.empty(); }
  // Returns whether a category is null: empty, \N or one of data.null_values. REQUIRES: trimmed.
  bool IsNullCategory(std::string_view text) const;
  // Returns whether the label of a class is missing: empty, \N or one of data.null_values. Without
  // data.null_values, kNullWords are missing too. REQUIRES: trimmed.
  bool IsNullLabel(std::string_view text) const;

 private:
  // Rewrites a number with a decimal point and without separators. Returns false for other texts.
  bool MakePlain(std::string* text) const;

  char decimal_ = '.', thousands_ = 0;
  bool listed_ = false;  // the job sets null_values
  std::vector<std::string> nulls_;
  std::vector<double> null_numbers_;
};

// Features of a text that a person reads as a number but a parser does not.
struct WrittenNumber {
  bool decimal_comma = false;  // "28,7"
  bool either_comma = false;   // "1,234"
  char thousands = 0;          // certain separator of digit groups: "1,234.5"
  bool sign = false;           // U+2212, "5-" or "(5)"
  bool currency = false, percent = false;
  bool quoted = false;  // ="5" or '5
  bool blanks = false;  // no-break spaces around it, and no others
  std::string unit;     // text after the number: "kg"
};
// Returns whether the text is an IPv4 address: four numbers from 0 to 255. Four groups of three
// digits also have the form of a number with thousands separators.
bool IsAddress(std::string_view text);
// Returns the text with ASCII digits, blanks and hyphens in place of characters that look like
// them.
std::string WithPlainSigns(std::string_view text);
// Reads a text that is not a number by default. False: it is not a number in any of these ways
// either.
bool ReadWrittenNumber(std::string_view text, WrittenNumber* out);

}  // namespace espalier::data
