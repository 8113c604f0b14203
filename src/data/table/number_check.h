// Properties that all numbers of a column share. Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "src/data/table/decoded_rows.h"

namespace espalier::data {

// Returns whether all numbers are finite (with `float32`, also as floats). NaN is not finite.
template <typename T>
bool AllFinite(const T* values, int64_t count, bool float32) {
  if constexpr (std::is_integral_v<T>) return true;
  bool odd = false;
  if (float32) {
    for (int64_t i = 0; i < count; ++i) {
      odd |= !(std::fabs(static_cast<float>(values[i])) <= std::numeric_limits<float>::max());
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      odd |= !(std::fabs(values[i]) <= std::numeric_limits<T>::max());
    }
  }
  return !odd;
}

template <typename T>
bool IsByte(T value) {
  if constexpr (std::is_integral_v<T>) {
    return value >= 0 && static_cast<uint64_t>(value) <= 255;
  } else {
    return value >= 0 && value <= 255 && value == static_cast<T>(static_cast<int32_t>(value));
  }
}

template <typename T>
bool IsFloat(T value) {
  if constexpr (std::is_same_v<T, float> || sizeof(T) <= 2) return true;
  const double wide = static_cast<double>(value);
  return wide != wide || wide == static_cast<double>(static_cast<float>(wide));
}

// Returns the narrowest type of at least `least` that holds all values exactly (see NarrowestType).
template <typename T>
spec::StorageType TypeOf(const T* values, int64_t count, spec::StorageType least) {
  constexpr int64_t kBlock = 1024;
  for (int64_t begin = 0; begin < count && least != spec::StorageType::kFloat64; begin += kBlock) {
    const T* block = values + begin;
    const int64_t size = std::min(kBlock, count - begin);
    bool wide = false;
    if (least == spec::StorageType::kUint8) {
      for (int64_t i = 0; i < size; ++i) wide |= !IsByte(block[i]);
      if (!wide) continue;
      least = spec::StorageType::kFloat32;
      wide = false;
    }
    if constexpr (std::is_same_v<T, float> || sizeof(T) <= 2) return least;
    for (int64_t i = 0; i < size; ++i) wide |= !IsFloat(block[i]);
    if (wide) least = spec::StorageType::kFloat64;
  }
  return least;
}

}  // namespace espalier::data
