// Bins of positive numbers with about equal relative width. A bin is the exponent of a double and
// the first bits of its fraction.
//
// Thread rule: values and pure functions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace espalier::model {

// `octaves` octaves around 1, from 2^(-octaves / 2) to 2^(octaves / 2), with 2^bits bins each.
// Smaller numbers and 0 are in the first bin, larger numbers in the last one.
struct LogBins {
  int octaves = 0, bits = 0;

  constexpr int64_t size() const { return int64_t{octaves} << bits; }

  // Returns the bin of a number. REQUIRES: not negative, not NaN.
  int64_t Of(double number) const {
    const auto first_bits = static_cast<int64_t>(std::bit_cast<uint64_t>(number) >> Shift());
    return std::clamp(first_bits - Least(), int64_t{0}, size() - 1);
  }
  // Returns the lower end of a bin: 0 for the first bin, and for size() the upper end of the last
  // one.
  double Edge(int64_t bin) const {
    if (bin == 0) return 0;
    return std::bit_cast<double>(static_cast<uint64_t>(Least() + bin) << Shift());
  }

 private:
  int Shift() const { return std::numeric_limits<double>::digits - 1 - bits; }
  // Returns the first bits of the lower end of all bins.
  int64_t Least() const {
    constexpr int64_t kExponentOfOne = std::numeric_limits<double>::max_exponent - 1;
    return (kExponentOfOne - octaves / 2) << bits;
  }
};

}  // namespace espalier::model
