#include "src/base/random.h"

namespace espalier {

std::array<uint32_t, 4> Philox(PhiloxKey key, std::array<uint32_t, 4> c) {
  uint32_t k0 = key.k0, k1 = key.k1;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

PhiloxKey MakeKey(uint64_t seed, RandomUse use) {
  // One block of the bijection separates the uses of one seed.
  const auto bits = Philox({static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
                           {static_cast<uint32_t>(use), 0x65737061, 0x6c696572, 0});
  return {bits[0], bits[1]};
}

uint64_t RandomBits(PhiloxKey key, uint64_t a, uint64_t b) {
  const auto bits = Philox(key, {static_cast<uint32_t>(a), static_cast<uint32_t>(a >> 32),
                                 static_cast<uint32_t>(b), static_cast<uint32_t>(b >> 32)});
  return uint64_t{bits[0]} | uint64_t{bits[1]} << 32;
}

uint64_t Mix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace espalier
