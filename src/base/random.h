// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random
// numbers: as easy as 1, 2, 3", SC'11). A number is a pure function of (key, counter), so it does
// not matter who draws it or when. Keys are made from the job's seed and what the numbers are for.
//
// Thread rule: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace espalier {

// What a stream of numbers is for; part of the key, so that no two uses share numbers.
enum class RandomUse : uint32_t {
  kInitialWeights = 1,
  kDropout = 2,
  kShuffle = 3,
  kValidation = 4,
  kSample = 5,
};

struct PhiloxKey {
  uint32_t k0 = 0, k1 = 0;
};

// The raw bijection: 128 bits of counter to 128 random bits.
std::array<uint32_t, 4> Philox(PhiloxKey key, std::array<uint32_t, 4> counter);

// A key for `seed` and a use.
PhiloxKey MakeKey(uint64_t seed, RandomUse use);

// 64 random bits that depend on all of key, a and b.
uint64_t RandomBits(PhiloxKey key, uint64_t a, uint64_t b);

// 32 random bits to a float in [0, 1), exact multiples of 2^-24.
inline float UnitFloat(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }
// 64 random bits to a double in [0, 1), exact multiples of 2^-53.
inline double UnitDouble(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// A fixed 64-bit mix (SplitMix64's finaliser); for tables and test seeds, not for keys.
uint64_t Mix64(uint64_t x);

}  // namespace espalier
