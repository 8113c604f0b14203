#include "src/data/features/column_stats.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace espalier::data {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Pointers, because checked operators of std::vector keep the compiler from vectorising the loops.
void AddBytes(const uint8_t* row, int64_t columns, uint32_t* sums, uint32_t* squares) {
  for (int64_t c = 0; c < columns; ++c) {
    const uint32_t v = row[c];
    sums[c] += v;
    squares[c] += v * v;
  }
}
void AddEnds(const uint8_t* row, int64_t columns, uint8_t* low, uint8_t* high) {
  for (int64_t c = 0; c < columns; ++c) {
    low[c] = std::min(low[c], row[c]);
    high[c] = std::max(high[c], row[c]);
  }
}

// Sums of bytes and of their squares are exact in 64 bits, and in 32 bits for a block of rows.
std::vector<spec::ColumnStats> StatsOfBytes(const uint8_t* data, int64_t rows, int64_t columns) {
  constexpr int64_t kBlockRows = 65536;  // 65536 * 255^2 < 2^32
  std::vector<uint64_t> sums(columns), squares(columns);
  std::vector<uint32_t> block_sums(columns), block_squares(columns);
  std::vector<uint8_t> low(columns, 255), high(columns, 0);
  for (int64_t begin = 0; begin < rows; begin += kBlockRows) {
    std::fill(block_sums.begin(), block_sums.end(), 0);
    std::fill(block_squares.begin(), block_squares.end(), 0);
    for (int64_t r = begin; r < std::min(begin + kBlockRows, rows); ++r) {
      AddBytes(data + r * columns, columns, block_sums.data(), block_squares.data());
      AddEnds(data + r * columns, columns, low.data(), high.data());
    }
    for (int64_t c = 0; c < columns; ++c) {
      sums[c] += block_sums[c];
      squares[c] += block_squares[c];
    }
  }
  std::vector<spec::ColumnStats> stats(columns);
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

// ---- floats: sums of adjacent columns in registers ----

typedef double Four __attribute__((vector_size(32)));
typedef int64_t FourWhole __attribute__((vector_size(32)));

template <typename T>
Four Load(const T* from) {
  typedef T Raw __attribute__((vector_size(4 * sizeof(T))));
  Raw raw;
  std::memcpy(&raw, from, sizeof(raw));
  return __builtin_convertvector(raw, Four);
}

// Sums of all columns over the rows so far.
struct Sums {
  explicit Sums(int64_t columns)
      : sums(columns), low(columns, kInfinity), high(columns, -kInfinity), nulls(columns) {}
  std::vector<double> sums, low, high;
  std::vector<int64_t> nulls;
};

struct Squares {
  explicit Squares(int64_t columns) : drift(columns), squares(columns) {}
  std::vector<double> drift, squares;
};

// Adds `rows` rows of one column.
template <typename T>
void AddColumn(const T* data, int64_t rows, int64_t columns, int64_t c, Sums* to) {
  double sum = to->sums[c], low = to->low[c], high = to->high[c];
  for (int64_t r = 0; r < rows; ++r) {
    const double v = data[r * columns + c];
    const bool there = v == v;
    sum += there ? v : 0.0;
    to->nulls[c] += !there;
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  to->sums[c] = sum;
  to->low[c] = low;
  to->high[c] = high;
}

// Adds `rows` rows of the columns [c, c + 4 * kFours). Each sum is in row order, as in AddColumn. A
// sum that is NaN shows nulls (or sums beyond double). The rows are then added once more, with
// checks.
template <int kFours, bool kNulls = false, typename T>
void AddColumns(const T* data, int64_t rows, int64_t columns, int64_t c, Sums* to) {
  Four sum[kFours], low[kFours], high[kFours];
  FourWhole nulls[kFours] = {};
  for (int i = 0; i < kFours; ++i) {
    sum[i] = Load(to->sums.data() + c + 4 * i);
    low[i] = Load(to->low.data() + c + 4 * i);
    high[i] = Load(to->high.data() + c + 4 * i);
  }
  const T* row = data + c;
  for (int64_t r = 0; r < rows; ++r, row += columns) {
    for (int i = 0; i < kFours; ++i) {
      const Four v = Load(row + 4 * i);
      if constexpr (kNulls) {
        sum[i] += v == v ? v : Four{};
        nulls[i] -= v != v;  // the comparison is -1 if true
      } else {
        sum[i] += v;
      }
      low[i] = v < low[i] ? v : low[i];
      high[i] = v > high[i] ? v : high[i];
    }
  }
  if constexpr (!kNulls) {
    bool odd = false;
    for (int i = 0; i < 4 * kFours; ++i) odd |= sum[i / 4][i % 4] != sum[i / 4][i % 4];
    if (odd) return AddColumns<kFours, true>(data, rows, columns, c, to);
  }
  for (int i = 0; i < 4 * kFours; ++i) {
    to->sums[c + i] = sum[i / 4][i % 4];
    to->low[c + i] = low[i / 4][i % 4];
    to->high[c + i] = high[i / 4][i % 4];
    to->nulls[c + i] += nulls[i / 4][i % 4];
  }
}

template <typename T>
void AddColumn(const T* data, int64_t rows, int64_t columns, int64_t c,
               const std::vector<double>& means, Squares* to) {
  double drift = to->drift[c], squares = to->squares[c];
  for (int64_t r = 0; r < rows; ++r) {
    const double v = data[r * columns + c];
    const double d = v == v ? v - means[c] : 0.0;
    drift += d;
    squares += d * d;
  }
  to->drift[c] = drift;
  to->squares[c] = squares;
}

template <int kFours, typename T>
void AddColumns(const T* data, int64_t rows, int64_t columns, int64_t c,
                const std::vector<double>& means, Squares* to) {
  Four drift[kFours], squares[kFours], mean[kFours];
  for (int i = 0; i < kFours; ++i) {
    drift[i] = Load(to->drift.data() + c + 4 * i);
    squares[i] = Load(to->squares.data() + c + 4 * i);
    mean[i] = Load(means.data() + c + 4 * i);
  }
  const T* row = data + c;
  for (int64_t r = 0; r < rows; ++r, row += columns) {
    for (int i = 0; i < kFours; ++i) {
      const Four v = Load(row + 4 * i);
      const Four d = v == v ? v - mean[i] : Four{};
      drift[i] += d;
      squares[i] += d * d;
    }
  }
  for (int i = 0; i < 4 * kFours; ++i) {
    to->drift[c + i] = drift[i / 4][i % 4];
    to->squares[c + i] = squares[i / 4][i % 4];
  }
}

// Adds all rows, one tile at a time, so that a tile stays in the cache.
template <typename T, typename... To>
void AddRows(const T* data, int64_t rows, int64_t columns, To&&... to) {
  constexpr int64_t kTileBytes = 256 << 10, kTileRowsMin = 16;
  const int64_t tile = std::max<int64_t>(
      kTileRowsMin, kTileBytes / std::max<int64_t>(1, columns * static_cast<int64_t>(sizeof(T))));
  for (int64_t begin = 0; begin < rows; begin += tile) {
    const T* first = data + begin * columns;
    const int64_t n = std::min(tile, rows - begin);
    int64_t c = 0;
    for (; c + 16 <= columns; c += 16) AddColumns<4>(first, n, columns, c, to...);
    for (; c + 4 <= columns; c += 4) AddColumns<1>(first, n, columns, c, to...);
    for (; c < columns; ++c) AddColumn(first, n, columns, c, to...);
  }
}

template <typename T>
std::vector<spec::ColumnStats> StatsOfFloats(const T* data, int64_t rows, int64_t columns) {
  Sums first(columns);
  AddRows(data, rows, columns, &first);
  std::vector<spec::ColumnStats> stats(columns);
  std::vector<double> means(columns);
  for (int64_t c = 0; c < columns; ++c) {
    stats[c].nulls = first.nulls[c];
    stats[c].count = rows - first.nulls[c];
    if (stats[c].count > 0) means[c] = first.sums[c] / static_cast<double>(stats[c].count);
  }
  Squares second(columns);
  AddRows(data, rows, columns, means, &second);
  for (int64_t c = 0; c < columns; ++c) {
    if (stats[c].count == 0) continue;
    const double n = static_cast<double>(stats[c].count);
    stats[c].mean = means[c];
    stats[c].m2 = std::max(0.0, second.squares[c] - second.drift[c] * second.drift[c] / n);
    stats[c].min = first.low[c];
    stats[c].max = first.high[c];
  }
  return stats;
}

}  // namespace

std::vector<spec::ColumnStats> StatsOf(spec::StorageType type, const void* data, int64_t rows,
                                       int64_t columns) {
  switch (type) {
    case spec::StorageType::kUint8:
      return StatsOfBytes(static_cast<const uint8_t*>(data), rows, columns);
    case spec::StorageType::kFloat32:
      return StatsOfFloats(static_cast<const float*>(data), rows, columns);
    case spec::StorageType::kFloat64:
      break;
  }
  return StatsOfFloats(static_cast<const double*>(data), rows, columns);
}

spec::ColumnStats Merged(const spec::ColumnStats& a, const spec::ColumnStats& b) {
  spec::ColumnStats m = a.count >= b.count ? a : b;
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

}  // namespace espalier::data
