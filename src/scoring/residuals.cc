#include "src/scoring/residuals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace espalier::scoring {
namespace {

constexpr double kMost = 1e300;

bool Counts(double value) { return std::fabs(value) <= kMost; }

// Finds the place of a value among `cells` cells of 2^exponent, half of them below 0. Returns false
// if it is outside.
bool Place(double value, int exponent, int64_t cells, int64_t* place) {
  const double at = std::floor(std::ldexp(value, -exponent));
  const auto half = static_cast<double>(cells / 2);
  if (!(at >= -half && at < half)) return false;
  *place = static_cast<int64_t>(at);
  return true;
}

// Returns the smallest exponent, at least `least`, for which the value has a place.
int ExponentFor(double value, int least, int64_t cells) {
  int64_t place = 0;
  // Starts close to the result. The value is outside of 2^8 cells with a width of 2^-9 of its power
  // of two.
  int power = 0;
  std::frexp(value, &power);
  const int near = value == 0 ? least : power - 9;
  for (least = std::max(least, near); !Place(value, least, cells, &place);) ++least;
  return least;
}

// Returns floor(place / 2^shift).
int64_t Joined(int64_t place, int shift) {
  return shift > 62 ? (place < 0 ? -1 : 0) : place >> shift;
}

}  // namespace

ResidualGrid::ResidualGrid() : exponent_(kResidualExponentMin), counts_(kSize) {}

ResidualGrid::ResidualGrid(int exponent, std::vector<int64_t> counts)
    : exponent_(exponent),
      rows_(std::accumulate(counts.begin(), counts.end(), int64_t{0})),
      counts_(std::move(counts)) {}

double ResidualGrid::width() const { return std::ldexp(1.0, exponent_); }

void ResidualGrid::WidenTo(int exponent) {
  if (exponent <= exponent_) return;
  const int shift = exponent - exponent_;
  exponent_ = exponent;
  if (rows_ == 0) return;
  std::vector<int64_t> joined(counts_.size());
  for (int64_t y = -kCells / 2; y < kCells / 2; ++y) {
    for (int64_t x = -kCells / 2; x < kCells / 2; ++x) {
      joined[Index(Joined(x, shift), Joined(y, shift))] += at(x, y);
    }
  }
  counts_ = std::move(joined);
}

void ResidualGrid::Add(double truth, double prediction) {
  if (!Counts(truth) || !Counts(prediction)) return;
  WidenTo(
      std::max(ExponentFor(truth, exponent_, kCells), ExponentFor(prediction, exponent_, kCells)));
  int64_t x = 0, y = 0;
  Place(truth, exponent_, kCells, &x);
  Place(prediction, exponent_, kCells, &y);
  ++counts_[Index(x, y)];
  ++rows_;
}

void ResidualGrid::Add(const ResidualGrid& other) {
  if (other.rows_ == 0) return;
  WidenTo(other.exponent_);
  const int shift = exponent_ - other.exponent_;
  for (int64_t y = -kCells / 2; y < kCells / 2; ++y) {
    for (int64_t x = -kCells / 2; x < kCells / 2; ++x) {
      counts_[Index(Joined(x, shift), Joined(y, shift))] += other.at(x, y);
    }
  }
  rows_ += other.rows_;
}

ResidualBins::ResidualBins() : exponent_(kResidualExponentMin), counts_(kSize) {}

ResidualBins::ResidualBins(int exponent, std::vector<int64_t> counts)
    : exponent_(exponent),
      rows_(std::accumulate(counts.begin(), counts.end(), int64_t{0})),
      counts_(std::move(counts)) {}

double ResidualBins::width() const { return std::ldexp(1.0, exponent_); }

void ResidualBins::WidenTo(int exponent) {
  if (exponent <= exponent_) return;
  const int shift = exponent - exponent_;
  exponent_ = exponent;
  std::vector<int64_t> joined(counts_.size());
  for (int64_t bin = -kBins / 2; bin < kBins / 2; ++bin) {
    joined[static_cast<size_t>(Joined(bin, shift) + kBins / 2)] += at(bin);
  }
  counts_ = std::move(joined);
}

void ResidualBins::Add(double residual) {
  if (!Counts(residual)) return;
  WidenTo(ExponentFor(residual, exponent_, kBins));
  int64_t bin = 0;
  Place(residual, exponent_, kBins, &bin);
  ++counts_[static_cast<size_t>(bin + kBins / 2)];
  ++rows_;
}

void ResidualBins::Add(const ResidualBins& other) {
  if (other.rows_ == 0) return;
  WidenTo(other.exponent_);
  const int shift = exponent_ - other.exponent_;
  for (int64_t bin = -kBins / 2; bin < kBins / 2; ++bin) {
    counts_[static_cast<size_t>(Joined(bin, shift) + kBins / 2)] += other.at(bin);
  }
  rows_ += other.rows_;
}

}  // namespace espalier::scoring
