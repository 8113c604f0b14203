// Random tables under random rules: what a value means is drawn first, and then how a file writes
// it, so that a test knows what must become of each without reading any. The same for the same
// seed. Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/random.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// The numbers of one seed, one after the other.
class Draw {
 public:
  explicit Draw(uint64_t seed)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32) ^ 0x7461626c} {}
  uint64_t Below(uint64_t n) { return RandomBits(key_, count_++, 0) % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  double Unit() { return UnitDouble(RandomBits(key_, count_++, 0)); }
  template <typename List>
  auto Of(const List& list) {
    return *(std::begin(list) + Below(std::size(list)));
  }

 private:
  const PhiloxKey key_;
  uint64_t count_ = 0;
};

struct Cell {
  bool null = false;
  double number = 0;  // of numbers, booleans (0 or 1) and dates (seconds since 1970)
  std::string text;   // of categories: what they are called in a vocabulary
  std::string written;
};

struct RandomColumn {
  std::string name;
  spec::FeatureOptions options;  // with scale and nulls, wherever the job says them
  std::vector<Cell> cells;       // one a row
};

struct RandomTable {
  spec::JobSpec job;  // valid but for data.train and output
  std::vector<RandomColumn> columns;
  std::vector<bool> validation;              // one a row
  std::vector<std::string> labels;           // of classification
  std::vector<std::vector<double>> targets;  // of regression and multilabel: [row][target]
  std::vector<double> weights;               // empty: no such column

  size_t rows() const { return validation.size(); }
  // Whether a null says that the row is left out.
  bool Dropped(size_t row) const;
  std::string Text() const;
  std::string Line(size_t row) const;
};

// The first rows are training rows of each class and one of validation, without nulls.
RandomTable DrawTable(uint64_t seed);

}  // namespace espalier::data
