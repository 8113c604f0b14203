// How predictions of a regression lie to what is true, as counts of rows in a grid.
//
// A cell is `width()` wide and high, a power of two: it begins tiny, and when a value lies outside
// the grid, cells are joined two by two until it fits. So the counts follow from the values alone,
// whatever their order and in however many parts they were counted.
//
// Thread rule: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace espalier::scoring {

// Of 1e300, and of what nothing but 0 needs.
inline constexpr int kResidualExponentMin = -960, kResidualExponentMax = 990;

class ResidualGrid {
 public:
  static constexpr int64_t kCells = 256;  // to each side of the grid, half of them below 0
  static constexpr size_t kSize = size_t{kCells} * kCells;

  ResidualGrid();
  // One that has counted already, as exponent() and counts() of it were. REQUIRES: kSize counts, 0
  // or more; kResidualExponentMin <= exponent <= kResidualExponentMax.
  ResidualGrid(int exponent, std::vector<int64_t> counts);

  // Counts a row. Numbers that are not finite, or beyond 1e300, are not counted.
  void Add(double truth, double prediction);
  void Add(const ResidualGrid& other);

  double width() const;
  int exponent() const { return exponent_; }
  std::span<const int64_t> counts() const { return counts_; }
  int64_t rows() const { return rows_; }
  // Rows whose truth lies in [x, x + 1) * width() and their prediction in [y, y + 1) * width();
  // -kCells / 2 <= x, y < kCells / 2.
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

// The same of differences, prediction - truth, in one dimension.
class ResidualBins {
 public:
  static constexpr int64_t kBins = 256;
  static constexpr size_t kSize = size_t{kBins};

  ResidualBins();
  ResidualBins(int exponent, std::vector<int64_t> counts);  // as above
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
