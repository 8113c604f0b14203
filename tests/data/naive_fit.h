// Expected preprocessing of a column, from the meaning of its values and the words of the spec.
// Computes plainly in long double, with the library's calendar and logarithm. Thread rule: pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/spec/job_spec.h"
#include "tests/data/random_table.h"

namespace espalier::data {

// Returns a number, a boolean or a part of a date before its scale; NaN for null.
double MeantNumber(const spec::FeatureOptions& options, spec::DatePart part, const Cell& cell);

// Scale: null becomes null_value, and then x becomes (x - shift) * factor.
struct NaiveScale {
  long double shift = 0, factor = 1, null_value = 0;
};
// Fits a scale to the MeantNumbers of the training rows. At least one is not null.
NaiveScale FitNaively(const spec::FeatureOptions& options, const std::vector<double>& column);

struct NaiveCodes {
  std::vector<std::string> vocabulary;
  int32_t others = -1;  // code of values outside the vocabulary
};
// Fits a vocabulary to the texts of the training rows; the empty text is null.
NaiveCodes CodesNaively(int64_t min_count, const std::vector<std::string>& column);

}  // namespace espalier::data
