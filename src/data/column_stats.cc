#include "src/data/column_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace espalier {
namespace {

// Sums of bytes and of their squares are exact in 64 bits (and in 32 for a block of rows).
std::vector<ColumnStats> StatsOfBytes(const uint8_t* data, int64_t rows, int64_t columns) {
  constexpr int64_t kBlockRows = 65536;  // 65536 * 255^2 < 2^32
  std::vector<uint64_t> sums(columns), squares(columns);
  std::vector<uint32_t> block_sums(columns), block_squares(columns);
  std::vector<uint8_t> low(columns, 255), high(columns, 0);
  for (int64_t begin = 0; begin < rows; begin += kBlockRows) {
    std::fill(block_sums.begin(), block_sums.end(), 0);
    std::fill(block_squares.begin(), block_squares.end(), 0);
    for (int64_t r = begin; r < std::min(begin + kBlockRows, rows); ++r) {
      const uint8_t* row = data + r * columns;
      for (int64_t c = 0; c < columns; ++c) {
        const uint32_t v = row[c];
        block_sums[c] += v;
        block_squares[c] += v * v;
      }
      for (int64_t c = 0; c < columns; ++c) {
        low[c] = std::min(low[c], row[c]);
        high[c] = std::max(high[c], row[c]);
      }
    }
    for (int64_t c = 0; c < columns; ++c) {
      sums[c] += block_sums[c];
      squares[c] += block_squares[c];
    }
  }
  std::vector<ColumnStats> stats(columns);
  for (int64_t c = 0; rows > 0 && c < columns; ++c) {
    const unsigned __int128 spread = static_cast<unsigned __int128>(squares[c]) * rows -
                                     static_cast<unsigned __int128>(sums[c]) * sums[c];
    stats[c] = {.count = rows,
                .mean = static_cast<double>(sums[c]) / static_cast<double>(rows),
                .m2 = static_cast<double>(spread) / static_cast<double>(rows),
                .min = static_cast<double>(low[c]),
                .max = static_cast<double>(high[c])};
  }
  return stats;
}

template <typename T>
std::vector<ColumnStats> StatsOfFloats(const T* data, int64_t rows, int64_t columns) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> sums(columns), counts(columns), drift(columns), squares(columns);
  std::vector<double> low(columns, kInfinity), high(columns, -kInfinity);
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = data + r * columns;
    for (int64_t c = 0; c < columns; ++c) {
      const double v = row[c];
      const bool there = v == v;
      sums[c] += there ? v : 0.0;
      counts[c] += there ? 1.0 : 0.0;
      low[c] = v < low[c] ? v : low[c];
      high[c] = v > high[c] ? v : high[c];
    }
  }
  std::vector<double> means(columns);
  for (int64_t c = 0; c < columns; ++c) means[c] = counts[c] > 0 ? sums[c] / counts[c] : 0;
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = data + r * columns;
    for (int64_t c = 0; c < columns; ++c) {
      const double v = row[c];
      const double d = v == v ? v - means[c] : 0.0;
      drift[c] += d;
      squares[c] += d * d;
    }
  }
  std::vector<ColumnStats> stats(columns);
  for (int64_t c = 0; c < columns; ++c) {
    const int64_t count = static_cast<int64_t>(counts[c]);
    stats[c].nulls = rows - count;
    if (count == 0) continue;
    stats[c].count = count;
    stats[c].mean = means[c];
    stats[c].m2 = std::max(0.0, squares[c] - drift[c] * drift[c] / counts[c]);
    stats[c].min = low[c];
    stats[c].max = high[c];
  }
  return stats;
}

}  // namespace

std::vector<ColumnStats> StatsOf(StorageType type, const void* data, int64_t rows,
                                 int64_t columns) {
  switch (type) {
    case StorageType::kUint8:
      return StatsOfBytes(static_cast<const uint8_t*>(data), rows, columns);
    case StorageType::kFloat32:
      return StatsOfFloats(static_cast<const float*>(data), rows, columns);
    case StorageType::kFloat64:
      break;
  }
  return StatsOfFloats(static_cast<const double*>(data), rows, columns);
}

ColumnStats Merged(const ColumnStats& a, const ColumnStats& b) {
  ColumnStats m = a.count >= b.count ? a : b;
  m.nulls = a.nulls + b.nulls;
  if (a.count == 0 || b.count == 0) return m;
  const double na = static_cast<double>(a.count), nb = static_cast<double>(b.count), n = na + nb;
  const double delta = b.mean - a.mean;
  m.count = a.count + b.count;
  m.mean = a.mean + delta * (nb / n);
  m.m2 = a.m2 + b.m2 + delta * delta * (na * nb / n);
  m.min = std::min(a.min, b.min);
  m.max = std::max(a.max, b.max);
  return m;
}

}  // namespace espalier
