// Sums over an array in double, in an order that depends only on the size: tiles of 4096 elements,
// each in 16 lanes, which compilers turn into wide instructions. Internal to model/.
//
// Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier::model {

// Returns the sum of term(i) for 0 <= i < size. `term` returns a double.
template <typename Term>
double TileSum(int64_t size, Term&& term) {
  constexpr int64_t kLanes = 16, kTile = 4096;
  double total = 0;
  for (int64_t begin = 0; begin < size; begin += kTile) {
    const int64_t end = std::min(begin + kTile, size);
    double sums[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) sums[j] += term(i + j);
    }
    for (int64_t j = 0; i < end; ++i, ++j) sums[j] += term(i);
    double tile = 0;
    for (double sum : sums) tile += sum;
    total += tile;
  }
  return total;
}

}  // namespace espalier::model
