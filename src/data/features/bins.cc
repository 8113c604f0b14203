#include "src/data/features/bins.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "src/base/check.h"

namespace espalier::data {
namespace {

struct Value {
  double value = 0;
  int64_t rows = 0;
  bool heavy = false;
};

std::vector<Value> CountValues(std::span<const double> ascending) {
  std::vector<Value> values;
  for (const double x : ascending) {
    if (values.empty() || x != values.back().value) values.push_back({x == 0 ? 0.0 : x});
    ++values.back().rows;
  }
  return values;
}

// Marks the heavy values: those with more rows than the rest has for each remaining bin. Each mark
// leaves fewer bins and rows, so other values may become heavy. Returns the number of marked
// values.
int64_t MarkHeavy(std::vector<Value>& values, int64_t bins) {
  int64_t marked = 0;
  while (true) {
    int64_t rest = 0;
    for (const Value& v : values) rest += v.heavy ? 0 : v.rows;
    std::vector<Value*> more;
    for (Value& v : values) {
      if (!v.heavy && v.rows * (bins - marked) > rest) more.push_back(&v);
    }
    const auto count = static_cast<int64_t>(more.size());
    if (count == 0 || marked + count > bins / 2) return marked;
    for (Value* v : more) v->heavy = true;
    marked += count;
  }
}

}  // namespace

std::vector<double> BinEdges(std::span<const double> ascending, int64_t bins) {
  ESPALIER_CHECK(!ascending.empty() && bins >= 2, std::to_string(bins));
  std::vector<Value> values = CountValues(ascending);
  std::vector<double> edges;
  if (static_cast<int64_t>(values.size()) <= bins + 1) {
    for (const Value& v : values) edges.push_back(v.value);
    return edges;
  }
  const int64_t cuts = bins - MarkHeavy(values, bins);
  int64_t rest = 0, seen = 0, k = 0;
  for (const Value& v : values) rest += v.heavy ? 0 : v.rows;
  for (const Value& v : values) {
    bool edge = v.heavy;
    seen += v.heavy ? 0 : v.rows;
    // Cut k is the first value up to which the rest has k / cuts of its rows.
    for (; !v.heavy && k <= cuts && seen * cuts >= k * rest; ++k) edge = true;
    if (edge) edges.push_back(v.value);
  }
  return edges;
}

double PlaceAmong(std::span<const double> edges, double x) {
  if (edges.size() < 2 || !(x > edges.front())) return 0;
  if (x >= edges.back()) return static_cast<double>(edges.size() - 1);
  const auto above = std::upper_bound(edges.begin(), edges.end(), x);
  const double low = *(above - 1), high = *above;
  // The difference of halves does not overflow.
  const double share = (x / 2 - low / 2) / (high / 2 - low / 2);
  return static_cast<double>(above - edges.begin() - 1) + std::min(share, 1.0);
}

double SmoothClip(double z) {
  const double third = z / 3;
  if (std::fabs(third) > 1e100) return z > 0 ? 3 : -3;  // the square might overflow
  return z / std::sqrt(1 + third * third);
}

}  // namespace espalier::data
