// From the counted values of a categorical column to its codes. Thread rule: pure functions, values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/spec/input.h"

namespace espalier {

// The vocabulary of a column whose training rows hold `counts`: values that at least min_count rows
// have, as whole numbers when all are such (then "3.0" is "3"), else bytewise; null, the empty text,
// is a value like others. `feature` gets its codes and texts.
void FitVocabulary(std::map<std::string, int64_t> counts, int64_t min_count,
                   FittedFeature* feature);

// Finds codes by text.
class Vocabulary {
 public:
  // REQUIRES: a feature with a vocabulary.
  explicit Vocabulary(const FittedFeature& feature);
  // The code of a value; feature.codes for one without.
  int32_t CodeOf(const std::string& text) const;

 private:
  std::vector<std::pair<std::string, int32_t>> codes_;  // sorted by text
  int32_t other_ = 0;
};

}  // namespace espalier
