#include "src/model/dropout.h"

#include <immintrin.h>

namespace espalier::model {
namespace {

// High and low halves of eight 32 x 32 -> 64 bit products, lane by lane.
struct Product {
  __m256i high, low;
};

inline Product MultiplyLanes(__m256i a, __m256i factor) {
  const __m256i even = _mm256_mul_epu32(a, factor);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), factor);
  return {_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA),
          _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA)};
}

struct Lanes {
  __m256i c[4];
};

// Computes Philox (src/base/random.h) on eight counters at once.
inline Lanes PhiloxLanes(PhiloxKey key, Lanes x) {
  const __m256i m0 = _mm256_set1_epi32(static_cast<int>(0xD2511F53));
  const __m256i m1 = _mm256_set1_epi32(static_cast<int>(0xCD9E8D57));
  uint32_t k0 = key.k0, k1 = key.k1;
  for (int round = 0; round < 10; ++round) {
    const Product p0 = MultiplyLanes(x.c[0], m0), p1 = MultiplyLanes(x.c[2], m1);
    const __m256i key0 = _mm256_set1_epi32(static_cast<int>(k0));
    const __m256i key1 = _mm256_set1_epi32(static_cast<int>(k1));
    x = {{_mm256_xor_si256(_mm256_xor_si256(p1.high, x.c[1]), key0), p1.low,
          _mm256_xor_si256(_mm256_xor_si256(p0.high, x.c[3]), key1), p0.low}};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

}  // namespace

DropoutMask::DropoutMask(const DropoutKey& key, int64_t layer, double probability)
    : key_(MakeKey(key.seed, RandomUse::kDropout)),
      layer_(static_cast<uint32_t>(layer)),
      leaf_(static_cast<uint32_t>(key.leaf)),
      step_(static_cast<uint32_t>(key.step)),
      threshold_(static_cast<int32_t>(probability * 0x1p31)),
      scale_(1 / (1 - probability)) {
  key_.k1 ^= static_cast<uint32_t>(key.step >> 32);
}

// Computes block b of a row. The counters are (8 b + lane, layer and row, leaf, step). Word v of
// lane i decides on column 32 b + 8 v + i.
void DropoutMask::Block(int64_t row, int64_t block, int32_t keep[kPadding]) const {
  static_assert(kPadding == 32);
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const auto all = [](uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); };
  const Lanes bits =
      PhiloxLanes(key_, {{_mm256_add_epi32(all(static_cast<uint32_t>(block) * 8), lane),
                          all(layer_ << 24 | static_cast<uint32_t>(row)), all(leaf_), all(step_)}});
  const __m256i last_dropped = _mm256_set1_epi32(threshold_ - 1);
  for (int v = 0; v < 4; ++v) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(keep + 8 * v),
                       _mm256_cmpgt_epi32(_mm256_srli_epi32(bits.c[v], 1), last_dropped));
  }
}

template <typename T>
void DropoutMask::Apply(int64_t row, T* values, T* also, int64_t size) const {
  const T scale = static_cast<T>(scale_);
  alignas(32) int32_t keep[kPadding];
  for (int64_t i = 0; i < size; i += kPadding) {
    Block(row, i / kPadding, keep);
    for (int64_t j = 0; j < kPadding; ++j) {
      const T scaled = values[i + j] * scale;
      values[i + j] = keep[j] ? scaled : T{0};
    }
    if (also == nullptr) continue;
    for (int64_t j = 0; j < kPadding; ++j) {
      const T scaled = also[i + j] * scale;
      also[i + j] = keep[j] ? scaled : T{0};
    }
  }
}

template void DropoutMask::Apply<float>(int64_t, float*, float*, int64_t) const;
template void DropoutMask::Apply<double>(int64_t, double*, double*, int64_t) const;

}  // namespace espalier::model
