// What the texts of a job's columns mean: which are null, and how numbers are written.
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
  // Null is what kNullWords (number.h) lists; numbers have a point.
  ValueRules() = default;
  // `csv`: the texts are of a CSV file, whose numbers may have csv.decimal and csv.thousands.
  ValueRules(const spec::DataSpec& data, bool csv);

  // Whether a plain decimal means what ParseDecimal makes of it.
  bool plain() const { return decimal_ == '.' && thousands_ == 0 && null_numbers_.empty(); }
  // As ParseNumberSlowly. Null, in addition: one of data.null_values. Thousands are separated in
  // groups of three digits, or of two before a last one of three; a blank is also a no-break space.
  NumberKind ParseNumber(std::string_view text, double* value) const;
  // Whether a number is one of data.null_values.
  bool IsNullNumber(double value) const;
  bool has_null_numbers() const { return !null_numbers_.empty(); }
  // Whether a category is null: it is empty, \N or one of data.null_values. REQUIRES: trimmed.
  bool IsNullCategory(std::string_view text) const;
  // Whether the label of a class is missing: it is empty, \N, or one of data.null_values, or
  // without them one of kNullWords. REQUIRES: trimmed.
  bool IsNullLabel(std::string_view text) const;

 private:
  char decimal_ = '.', thousands_ = 0;
  bool listed_ = false;  // the job has null_values
  std::vector<std::string> nulls_;
  std::vector<double> null_numbers_;
};

// What keeps a text from being a number, where a person sees one at once.
struct WrittenNumber {
  bool decimal_comma = false;  // "28,7"
  bool either_comma = false;   // "1,234"
  char thousands = 0;          // what surely separates groups of digits: "1,234.5"
  bool sign = false;           // U+2212, "5-" or "(5)"
  bool currency = false, percent = false;
  bool quoted = false;  // ="5" or '5
  std::string unit;     // behind it: "kg"
};
// Reads a text that is no number by default. False: it is not one in any of these ways.
bool ReadWrittenNumber(std::string_view text, WrittenNumber* out);

}  // namespace espalier::data
