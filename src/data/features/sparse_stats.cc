// Statistics of sparse rows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "src/data/features/column_stats.h"

namespace espalier::data {
namespace {

// Calls f(column, value) for each entry, in row order.
template <typename T, typename F>
void ForEntries(const DecodedRows& rows, F f) {
  const T* values = reinterpret_cast<const T*>(rows.features.data());
  for (size_t e = 0; e < rows.columns.size(); ++e)
    f(static_cast<size_t>(rows.columns[e]), values[e]);
}

// Computes the moments of bytes in integers, as for rows with their zeros.
void FitBytes(const DecodedRows& rows, std::vector<spec::ColumnStats>* stats) {
  struct Whole {
    uint64_t sum = 0, squares = 0;
  };
  std::vector<Whole> wholes(stats->size());
  ForEntries<uint8_t>(rows, [&](size_t c, uint8_t v) {
    wholes[c].sum += v;
    wholes[c].squares += static_cast<uint64_t>(v) * v;
  });
  for (size_t c = 0; c < stats->size(); ++c) {
    const auto n = static_cast<uint64_t>(rows.rows);
    const unsigned __int128 spread = static_cast<unsigned __int128>(wholes[c].squares) * n -
                                     static_cast<unsigned __int128>(wholes[c].sum) * wholes[c].sum;
    (*stats)[c].mean = static_cast<double>(wholes[c].sum) / static_cast<double>(n);
    (*stats)[c].m2 = static_cast<double>(spread) / static_cast<double>(n);
  }
}

// Computes the moments of wider numbers: the mean first, then squares with the correction term
// (column_stats.h). The zeros, (*zeros)[c] in column c, are added last, all at once.
template <typename T>
void FitWide(const DecodedRows& rows, const std::vector<int64_t>& zeros,
             std::vector<spec::ColumnStats>* stats) {
  std::vector<double> drift(stats->size());
  ForEntries<T>(rows, [&](size_t c, double v) { (*stats)[c].mean += v == v ? v : 0.0; });
  for (spec::ColumnStats& s : *stats) {
    if (s.count > 0) s.mean /= static_cast<double>(s.count);
  }
  ForEntries<T>(rows, [&](size_t c, double v) {
    const double d = v == v ? v - (*stats)[c].mean : 0.0;
    drift[c] += d;
    (*stats)[c].m2 += d * d;
  });
  for (size_t c = 0; c < stats->size(); ++c) {
    spec::ColumnStats& s = (*stats)[c];
    if (s.count == 0) continue;
    const auto many = static_cast<double>(zeros[c]);
    const double all = drift[c] - many * s.mean;
    s.m2 += many * (s.mean * s.mean);
    s.m2 = std::max(0.0, s.m2 - all * all / static_cast<double>(s.count));
  }
}

}  // namespace

std::vector<spec::ColumnStats> StatsOfSparse(const DecodedRows& rows, int64_t columns) {
  std::vector<spec::ColumnStats> stats(static_cast<size_t>(columns));
  if (rows.rows == 0) return stats;
  std::vector<int64_t> zeros(stats.size(), rows.rows);
  WithStorage(rows.type, [&](auto number) {
    using T = decltype(number);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (spec::ColumnStats& s : stats) s.min = kInfinity, s.max = -kInfinity;
    ForEntries<T>(rows, [&](size_t c, double v) {
      --zeros[c];
      if (v != v) {
        ++stats[c].nulls;
        return;
      }
      stats[c].min = std::min(stats[c].min, v);
      stats[c].max = std::max(stats[c].max, v);
    });
    for (size_t c = 0; c < stats.size(); ++c) {
      spec::ColumnStats& s = stats[c];
      s.count = rows.rows - s.nulls;
      if (zeros[c] > 0) s.min = std::min(s.min, 0.0), s.max = std::max(s.max, 0.0);
      if (s.count == 0) s.min = s.max = 0;
    }
    if constexpr (sizeof(T) == 1) {
      FitBytes(rows, &stats);
    } else {
      FitWide<T>(rows, zeros, &stats);
    }
  });
  return stats;
}

}  // namespace espalier::data
