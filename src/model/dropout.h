// Dropout masks. Each decision is a pure function of (seed, step, leaf, layer, row, column), drawn
// from Philox4x32-10, eight blocks at a time. Internal to model/ except for DropoutKey.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "src/base/random.h"
#include "src/model/vector_math.h"

namespace espalier::model {

struct DropoutKey {
  uint64_t seed = 0;
  uint64_t step = 0;  // counted over the whole job
  uint64_t leaf = 0;  // below 2^32
};

// The masks of one layer in one leaf batch.
class DropoutMask {
 public:
  // REQUIRES: 0 <= probability < 1, layer < 256.
  DropoutMask(const DropoutKey& key, int64_t layer, double probability);

  // Scales the kept values among the `size` values of `row` by 1 / (1 - probability) and zeroes the
  // others. Treats `also` (may be null) in the same way. REQUIRES: size a multiple of kPadding, row
  // < 2^24.
  template <typename T>
  void Apply(int64_t row, T* values, T* also, int64_t size) const;

  double scale() const { return scale_; }

 private:
  void Block(int64_t row, int64_t block, int32_t keep[kPadding]) const;

  PhiloxKey key_;
  uint32_t layer_, leaf_, step_;
  int32_t threshold_;  // out of 31 bits
  double scale_;
};

}  // namespace espalier::model
