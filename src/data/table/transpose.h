// Copies columns to rows. Thread rule: pure functions.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace espalier::data {

// Row r of a lane is [data + r * stride, + count). It is copied to [slot, slot + count) of its row.
template <typename T>
struct Lane {
  const T* data = nullptr;
  int64_t stride = 1;
  int32_t slot = 0, count = 1;
};

// Elements in 16 bytes. Blocks of this many lanes and rows are transposed in registers.
template <typename T>
inline constexpr size_t kTurned = 16 / sizeof(T);

// Interleaves the elements of two registers, from their first halves (kLow) or from their second
// ones.
template <typename T, bool kLow>
__m128i Interleaved(__m128i a, __m128i b) {
  if constexpr (sizeof(T) == 1) return kLow ? _mm_unpacklo_epi8(a, b) : _mm_unpackhi_epi8(a, b);
  if constexpr (sizeof(T) == 4) return kLow ? _mm_unpacklo_epi32(a, b) : _mm_unpackhi_epi32(a, b);
  static_assert(sizeof(T) == 1 || sizeof(T) == 4 || sizeof(T) == 8);
  return kLow ? _mm_unpacklo_epi64(a, b) : _mm_unpackhi_epi64(a, b);
}

// Transposes kTurned lanes from row `row` on, one block of kTurned rows. Interleaving the first
// half of the registers with the second half, log2(kTurned) times, is a transposition.
template <typename T>
void TurnBlock(const Lane<T>* lanes, int64_t row, T* const* targets) {
  constexpr size_t n = kTurned<T>;
  __m128i x[n], y[n];
  for (size_t i = 0; i < n; ++i) {
    x[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lanes[i].data + row));
  }
  for (size_t stage = 1; stage < n; stage *= 2) {
    for (size_t i = 0; i < n / 2; ++i) {
      y[2 * i] = Interleaved<T, true>(x[i], x[i + n / 2]);
      y[2 * i + 1] = Interleaved<T, false>(x[i], x[i + n / 2]);
    }
    std::copy(y, y + n, x);
  }
  for (size_t i = 0; i < n; ++i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(targets[i] + lanes[0].slot), x[i]);
  }
}

// Returns whether the first kTurned lanes are whole columns with consecutive slots.
template <typename T>
bool CanTurn(std::span<const Lane<T>> lanes) {
  if (lanes.size() < kTurned<T>) return false;
  for (size_t i = 0; i < kTurned<T>; ++i) {
    const Lane<T>& lane = lanes[i];
    if (lane.count != 1 || lane.stride != 1) return false;
    if (lane.slot != lanes[0].slot + static_cast<int32_t>(i)) return false;
  }
  return true;
}

// Copies rows [begin, end) of a lane one by one.
template <typename T>
void CopyLane(const Lane<T>& lane, std::span<const int64_t> rows, size_t begin, size_t end,
              T* const* targets) {
  if (lane.count == 1) {
    for (size_t i = begin; i < end; ++i) {
      targets[i][lane.slot] = lane.data[rows[i] * lane.stride];
    }
    return;
  }
  for (size_t i = begin; i < end; ++i) {
    std::memcpy(targets[i] + lane.slot, lane.data + rows[i] * lane.stride, sizeof(T) * lane.count);
  }
}

// Copies the rows `rows` (ascending) of all lanes. Row rows[i] goes to targets[i]. The loop runs
// over tiles of rows, so that the cache lines that a tile writes stay in the cache. Copying row by
// row over all lanes was slower, for bytes and for floats.
template <typename T>
void Transpose(std::span<const Lane<T>> lanes, std::span<const int64_t> rows, T* const* targets) {
  constexpr size_t kTileRows = 64;
  for (size_t begin = 0; begin < rows.size(); begin += kTileRows) {
    const size_t end = std::min(begin + kTileRows, rows.size());
    const bool whole = rows[end - 1] - rows[begin] == static_cast<int64_t>(end - 1 - begin);
    const size_t turned = whole ? begin + (end - begin) / kTurned<T> * kTurned<T> : begin;
    for (size_t l = 0; l < lanes.size();) {
      if (turned == begin || !CanTurn(lanes.subspan(l))) {
        CopyLane(lanes[l++], rows, begin, end, targets);
        continue;
      }
      for (size_t i = begin; i < turned; i += kTurned<T>) {
        TurnBlock(&lanes[l], rows[i], targets + i);
      }
      for (size_t i = 0; i < kTurned<T>; ++i) CopyLane(lanes[l++], rows, turned, end, targets);
    }
  }
}

}  // namespace espalier::data
