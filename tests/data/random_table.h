// Random tables under random rules. The meaning of a value is drawn first and then its spelling in
// the file. A test therefore knows the expected results without a parser. A seed always gives the
// same table. Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/random.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Random numbers of one seed, in sequence.
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
  double number = 0;  // numbers, booleans (0 or 1) and dates (seconds since 1970)
  std::string text;   // categories: text in the vocabulary
  std::string written;
};

struct RandomColumn {
  std::string name;
  spec::FeatureOptions options;  // with the effective scale and nulls
  std::vector<Cell> cells;       // one for each row
};

struct RandomTable {
  spec::JobSpec job;  // valid except for data.train and output
  std::vector<RandomColumn> columns;
  std::vector<bool> validation;              // one for each row
  std::vector<std::string> labels;           // classification
  std::vector<std::vector<double>> targets;  // regression and multilabel: [row][target]
  std::vector<double> weights;               // empty without a weight column

  size_t rows() const { return validation.size(); }
  // Returns whether a null drops the row.
  bool Dropped(size_t row) const;
  std::string Text() const;
  std::string Line(size_t row) const;
};

// Draws a table. Its first rows, without nulls, are training rows of each class and one validation
// row.
RandomTable DrawTable(uint64_t seed);

}  // namespace espalier::data
