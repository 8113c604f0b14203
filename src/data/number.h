// Text to number. Exact: the nearest double, as fast_float and strtod give it.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace espalier {

enum class NumberKind : uint8_t {
  kNumber,
  kNull,      // empty, or one of nan NaN NAN NA null NULL
  kInfinite,  // inf, infinity, or too large for a double
  kNotNumber,
};

// Any text; spaces and tabs around it and a leading + are allowed. Stores *value for kNumber only.
NumberKind ParseNumberSlowly(std::string_view text, double* value);

// The same for short plain decimals: at most 8 bytes of digits with at most one point, after at
// most one minus sign. False: use ParseNumberSlowly. The 8 bytes before the text's end must be
// readable, those before its begin are not looked at.
//
// The digits are gathered in one 64-bit word, the last one at the top; the point is squeezed out,
// and eight digits become a number by three multiplications (Langdale and Lemire, "Parsing
// gigabytes of JSON per second"). mantissa / 10^k is exact to the last bit for these sizes (Clinger
// 1990).
inline bool ParseShortDecimal(const char* begin, const char* end, double* value) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  constexpr double kPowers[8] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
  const bool negative = begin < end && *begin == '-';
  begin += negative;
  const uint64_t length = static_cast<uint64_t>(end - begin);
  if (length - 1 > 7) return false;
  uint64_t x;
  std::memcpy(&x, end - 8, 8);
  const int shift = static_cast<int>(64 - 8 * length);
  x = ((x ^ 0x3030303030303030) >> shift) << shift;
  const uint64_t point = x ^ (0x1E * kOnes);  // '.' ^ '0' is 0x1E
  const uint64_t found = (point - kOnes) & ~point & kHighs;
  int decimals = 0;
  if (found != 0) {
    if (length == 1) return false;
    const int bit = __builtin_ctzll(found) & ~7;  // lowest bit of the point's byte
    decimals = (56 - bit) >> 3;
    const uint64_t before = x & ((uint64_t{1} << bit) - 1);
    const uint64_t after = (x >> bit) & ~uint64_t{0xFF};
    x = (after << bit) | (before << 8);
  }
  if (((x + 0x7676767676767676) | x) & kHighs) return false;
  x = x * 10 + (x >> 8);
  x = ((x & 0x000000FF000000FF) * 0x000F424000000064 +
       ((x >> 16) & 0x000000FF000000FF) * 0x0000271000000001) >>
      32;
  const double magnitude = static_cast<double>(static_cast<uint32_t>(x)) / kPowers[decimals];
  *value = negative ? -magnitude : magnitude;
  return true;
}

// REQUIRES: 8 readable bytes before `end`.
inline NumberKind ParseNumber(const char* begin, const char* end, double* value) {
  if (ParseShortDecimal(begin, end, value)) return NumberKind::kNumber;
  return ParseNumberSlowly({begin, static_cast<size_t>(end - begin)}, value);
}

// Without spaces and tabs at both ends.
std::string_view Trimmed(std::string_view text);

}  // namespace espalier
