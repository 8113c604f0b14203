// What must become of a column, from what its values mean and the words of the spec alone: plainly,
// in long double, with the library's calendar and logarithm. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/spec/job_spec.h"
#include "tests/data/random_table.h"

namespace espalier::data {

// A number, boolean or part of a date, before its scale; NaN for null.
double MeantNumber(const spec::FeatureOptions& options, spec::DatePart part, const Cell& cell);

// x becomes (x - shift) * factor, nulls null_value first.
struct NaiveScale {
  long double shift = 0, factor = 1, null_value = 0;
};
// Of the training rows' MeantNumbers, of which one at least is not null.
NaiveScale FitNaively(const spec::FeatureOptions& options, const std::vector<double>& column);

struct NaiveCodes {
  std::vector<std::string> vocabulary;
  int32_t others = -1;  // the code of values that are not in it
};
// Of the training rows' texts, the empty one for null.
NaiveCodes CodesNaively(int64_t min_count, const std::vector<std::string>& column);

}  // namespace espalier::data
