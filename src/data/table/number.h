// Converts text to numbers. The result is exact: the nearest double, as from fast_float and strtod.
//
// Thread rule: pure functions.
#pragma once

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace espalier::data {

// Words that usually mean null, for a number, a date, a truth value or the label of a class.
inline constexpr std::array<std::string_view, 28> kNullWords = {
    "nan",    "NaN",     "NAN",      "NA",     "null",    "NULL", "\\N",      "Nan", "-nan", "-NaN",
    "na",     "n/a",     "N/A",      "#N/A",   "#NA",     "<NA>", "#N/A N/A", "NaT", "None", "Null",
    "(null)", "1.#QNAN", "-1.#QNAN", "1.#IND", "-1.#IND", "?",    "-",        "."};
bool IsNullWord(std::string_view text);

enum class NumberKind : uint8_t {
  kNumber,
  kNull,      // empty, or one of kNullWords
  kInfinite,  // inf, infinity, or too large for a double
  kNotNumber,
};

// Parses any text. Allows spaces, tabs and carriage returns around it and a leading +. Stores
// *value only for kNumber.
NumberKind ParseNumberSlowly(std::string_view text, double* value);

// Tables of ParseDecimal for each position of the decimal point and each number of digits.
struct DecimalTables {
  // Shuffles that remove the byte `place` from 16 and move the bytes before it up by one. Place 16
  // removes nothing.
  alignas(16) std::array<std::array<uint8_t, 16>, 17> squeeze{};
  std::array<double, 17> divisor{};  // by place: 10^(digits after the point)
  std::array<uint8_t, 32> last{};    // 16 bytes from here + n: ones in the last n
  static constexpr DecimalTables Make() {
    DecimalTables t;
    for (int place = 0; place <= 16; ++place) {
      for (int i = 0; i < 16; ++i) {
        t.squeeze[place][i] = static_cast<uint8_t>(i > place || place == 16 ? i
                                                   : i == 0                 ? 0x80
                                                                            : i - 1);
      }
      t.divisor[place] = 1;
      for (int i = place + 1; i < 16; ++i) t.divisor[place] *= 10;  // exact up to 1e22
    }
    for (int i = 16; i < 32; ++i) t.last[i] = 0xFF;
    return t;
  }
};
inline constexpr DecimalTables kDecimalTables = DecimalTables::Make();

// Parses a plain decimal: at most 16 bytes of digits with at most one point, after at most one
// minus sign. False: use ParseNumberSlowly. The 16 bytes before the end of the text and the one at
// its beginning must be readable. The content of bytes before the beginning does not matter.
//
// One vector holds the digits, the last one in its highest byte. A shuffle removes the point, and
// three rows of multiplications turn 16 digits into a number (Mula, "SIMD-ized parsing of numbers";
// Langdale and Lemire, "Parsing gigabytes of JSON per second"). Up to 2^53, the number and the
// power of ten are exact, so their quotient is the nearest double (Clinger 1990). No branch depends
// on the sign, the length or the position of the point, because these vary from field to field.
inline bool ParseDecimal(const char* begin, const char* end, double* value) {
  constexpr const DecimalTables& t = kDecimalTables;
  // Pointers, because checked indexing would cost a tenth. `place` is at most 16 by computation.
  constexpr const std::array<uint8_t, 16>* kSqueeze = t.squeeze.data();
  constexpr const double* kDivisor = t.divisor.data();
  const uint64_t negative = *begin == '-';
  const uint64_t length = static_cast<uint64_t>(end - begin) - negative;
  if (length - 1 > 15) return false;
  const auto load = [](const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); };
  const __m128i raw = _mm_xor_si128(load(end - 16), _mm_set1_epi8('0'));
  const __m128i points =
      _mm_and_si128(_mm_cmpeq_epi8(raw, _mm_set1_epi8('.' ^ '0')), load(t.last.data() + length));
  const uint32_t place = _tzcnt_u32(static_cast<uint32_t>(_mm_movemask_epi8(points)) | 0x10000);
  const uint64_t digits = length - (place < 16);
  const __m128i x = _mm_and_si128(_mm_shuffle_epi8(raw, load(kSqueeze[place].data())),
                                  load(t.last.data() + digits));
  const __m128i over = _mm_subs_epu8(x, _mm_set1_epi8(9));
  if (digits == 0 || !_mm_testz_si128(over, over)) return false;
  const __m128i twos = _mm_maddubs_epi16(x, _mm_set1_epi16(0x010A));       // 10, 1
  const __m128i fours = _mm_madd_epi16(twos, _mm_set1_epi32(0x00010064));  // 100, 1
  const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours),
                                        _mm_set1_epi32(0x00012710));  // 10000, 1
  const uint64_t both = static_cast<uint64_t>(_mm_cvtsi128_si64(eights));
  const uint64_t mantissa = (both & 0xFFFFFFFF) * 100'000'000 + (both >> 32);
  if (mantissa > uint64_t{1} << 53) return false;
  const double magnitude = static_cast<double>(static_cast<int64_t>(mantissa)) / kDivisor[place];
  *value = std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) | negative << 63);
  return true;
}

// Parses any text, plain decimals first. REQUIRES: 16 readable bytes before `end`, and one at
// `begin`.
inline NumberKind ParseNumber(const char* begin, const char* end, double* value) {
  if (ParseDecimal(begin, end, value)) return NumberKind::kNumber;
  return ParseNumberSlowly({begin, static_cast<size_t>(end - begin)}, value);
}

// Returns the text without spaces, tabs and carriage returns at both ends.
std::string_view Trimmed(std::string_view text);

}  // namespace espalier::data
