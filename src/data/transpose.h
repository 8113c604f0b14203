// From columns to rows. Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace espalier {

// Row r of a lane is [data + r * stride, + count), and goes to [slot, slot + count) of its row.
template <typename T>
struct Lane {
  const T* data = nullptr;
  int64_t stride = 1;
  int32_t slot = 0, count = 1;
};

// Copies the rows `rows` of all lanes; row rows[i] goes to targets[i]. Walks tiles of rows, so that
// the lines of memory that a tile writes stay in the cache; row by row over all lanes was slower,
// for bytes and for floats.
template <typename T>
void Transpose(std::span<const Lane<T>> lanes, std::span<const int64_t> rows, T* const* targets) {
  constexpr size_t kTileRows = 64;
  for (size_t begin = 0; begin < rows.size(); begin += kTileRows) {
    const size_t end = std::min(begin + kTileRows, rows.size());
    for (const Lane<T>& lane : lanes) {
      if (lane.count == 1) {
        for (size_t i = begin; i < end; ++i) {
          targets[i][lane.slot] = lane.data[rows[i] * lane.stride];
        }
        continue;
      }
      for (size_t i = begin; i < end; ++i) {
        std::memcpy(targets[i] + lane.slot, lane.data + rows[i] * lane.stride,
                    sizeof(T) * lane.count);
      }
    }
  }
}

}  // namespace espalier
