// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random
// numbers: as easy as 1, 2, 3", SC'11). A number is a pure function of (key, counter). It does not
// depend on the thread or the time of the call. A key consists of the job's seed and the purpose of
// the numbers.
//
// Thread rule: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace espalier {

// The purpose of a stream of numbers. It is part of the key, so that no two purposes share numbers.
enum class RandomUse : uint32_t {
  kInitialWeights = 1,
  kDropout = 2,
  kShuffle = 3,
  kValidation = 4,
  kSweep = 5,
  kSample = 6,
};

struct PhiloxKey {
  uint32_t k0 = 0, k1 = 0;
};

// Maps 128 bits of counter to 128 random bits. This is the raw bijection.
std::array<uint32_t, 4> Philox(PhiloxKey key, std::array<uint32_t, 4> counter);

// Returns the key for `seed` and a purpose.
PhiloxKey MakeKey(uint64_t seed, RandomUse use);

// Returns 64 random bits that depend on all of key, a and b.
uint64_t RandomBits(PhiloxKey key, uint64_t a, uint64_t b);

// Converts 32 random bits to a float in [0, 1), an exact multiple of 2^-24.
inline float UnitFloat(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }
// Converts 64 random bits to a double in [0, 1), an exact multiple of 2^-53.
inline double UnitDouble(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Applies a fixed 64-bit mix (SplitMix64's finalizer). For tables and test seeds, not for keys.
uint64_t Mix64(uint64_t x);

}  // namespace espalier
