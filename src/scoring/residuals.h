// Predictions of a regression compared with the true values, as counts of rows in a grid.
//
// A cell is `width()` wide and high, a power of two. The width starts at the minimum. If a value is
// outside the grid, pairs of cells are joined until it fits. The counts therefore depend only on
// the values, not on their order or on the parts in which they were counted.
//
// Thread rule: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace espalier::scoring {

// Exponents of the width: the maximum is enough for 1e300, and the minimum is used if only 0 was
// counted.
inline constexpr int kResidualExponentMin = -960, kResidualExponentMax = 990;

class ResidualGrid {
 public:
  static constexpr int64_t kCells = 256;  // cells on each side of the grid, half of them below 0
  static constexpr size_t kSize = size_t{kCells} * kCells;

  ResidualGrid();
  // Restores a grid from the exponent() and counts() of an earlier one. REQUIRES: kSize counts, 0
  // or more; kResidualExponentMin <= exponent <= kResidualExponentMax.
  ResidualGrid(int exponent, std::vector<int64_t> counts);

  // Counts a row. Ignores numbers that are not finite or are beyond 1e300.
  void Add(double truth, double prediction);
  void Add(const ResidualGrid& other);

  double width() const;
  int exponent() const { return exponent_; }
  std::span<const int64_t> counts() const { return counts_; }
  int64_t rows() const { return rows_; }
  // Returns the rows with a true value in [x, x + 1) * width() and a prediction in [y, y + 1) *
  // width(). REQUIRES: -kCells / 2 <= x, y < kCells / 2.
  int64_t at(int64_t x, int64_t y) const { return counts_[Index(x, y)]; }

  bool operator==(const ResidualGrid&) const = default;

 private:
  static size_t Index(int64_t x, int64_t y) {
    return static_cast<size_t>((y + kCells / 2) * kCells + x + kCells / 2);
  }
  void WidenTo(int exponent);

  int exponent_;  // width() == 2^exponent_
  int64_t rows_ = 0;
  std::vector<int64_t> counts_;
};

// The same in one dimension, for the differences prediction - truth.
class ResidualBins {
 public:
  static constexpr int64_t kBins = 256;
  static constexpr size_t kSize = size_t{kBins};

  ResidualBins();
  ResidualBins(int exponent, std::vector<int64_t> counts);  // like ResidualGrid
  void Add(double residual);
  void Add(const ResidualBins& other);
  double width() const;
  int exponent() const { return exponent_; }
  std::span<const int64_t> counts() const { return counts_; }
  int64_t rows() const { return rows_; }
  int64_t at(int64_t bin) const { return counts_[static_cast<size_t>(bin + kBins / 2)]; }
  bool operator==(const ResidualBins&) const = default;

 private:
  void WidenTo(int exponent);
  int exponent_;
  int64_t rows_ = 0;
  std::vector<int64_t> counts_;
};

}  // namespace espalier::scoring
