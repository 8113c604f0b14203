#include "src/data/features/column_stats.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace espalier::data {
namespace {

// Returns the statistics of one column by their definition.
spec::ColumnStats Naive(const std::vector<float>& data, int64_t columns, int64_t c) {
  spec::ColumnStats stats;
  double sum = 0, low = std::numeric_limits<double>::infinity(), high = -low;
  const int64_t rows = static_cast<int64_t>(data.size()) / columns;
  for (int64_t r = 0; r < rows; ++r) {
    const double v = data[r * columns + c];
    if (std::isnan(v)) {
      ++stats.nulls;
      continue;
    }
    ++stats.count;
    sum += v;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  if (stats.count == 0) return stats;
  const double n = static_cast<double>(stats.count);
  double drift = 0, squares = 0;
  stats.mean = sum / n;
  for (int64_t r = 0; r < rows; ++r) {
    const double v = data[r * columns + c];
    if (std::isnan(v)) continue;
    drift += v - stats.mean;
    squares += (v - stats.mean) * (v - stats.mean);
  }
  stats.m2 = std::max(0.0, squares - drift * drift / n);
  stats.min = low;
  stats.max = high;
  return stats;
}

}  // namespace

TEST_CASE("sums of several columns at once have the bits of single sums") {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(2, 5);
  for (const int64_t columns : {1, 3, 4, 7, 16, 37, 200}) {
    for (const int nulls : {0, 1, 40, 100}) {
      std::vector<float> data(1111 * columns);
      for (float& v : data) {
        v = static_cast<int>(random() % 100) < nulls ? std::numeric_limits<float>::quiet_NaN()
                                                     : normal(random);
      }
      const auto stats = StatsOf(spec::StorageType::kFloat32, data.data(), 1111, columns);
      REQUIRE(static_cast<int64_t>(stats.size()) == columns);
      for (int64_t c = 0; c < columns; ++c) CHECK(stats[c] == Naive(data, columns, c));
    }
  }
}

}  // namespace espalier::data
