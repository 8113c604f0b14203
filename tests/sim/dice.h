// A random number generator with a seed.
#pragma once

#include <cstdint>

#include "src/base/random.h"

namespace espalier::sim {

class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(Mix64(seed)) {}
  uint64_t Bits() { return Mix64(seed_ + ++drawn_ * 0x9e3779b97f4a7c15u); }
  // REQUIRES: n > 0.
  int64_t Below(int64_t n) { return static_cast<int64_t>(Bits() % static_cast<uint64_t>(n)); }
  int64_t Between(int64_t first, int64_t last) { return first + Below(last - first + 1); }
  bool Once(int64_t in) { return Below(in) == 0; }

 private:
  uint64_t seed_;
  uint64_t drawn_ = 0;
};

}  // namespace espalier::sim
