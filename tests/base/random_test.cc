#include "src/base/random.h"

#include <catch2/catch.hpp>
#include <set>

namespace espalier {
namespace {

TEST_CASE("Philox gives the published known answers") {
  // From kat_vectors of Random123: philox4x32 with 10 rounds.
  CHECK(Philox({0, 0}, {0, 0, 0, 0}) ==
        std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(Philox({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(Philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random numbers differ by use and by counter") {
  std::set<uint64_t> seen;
  for (auto use : {RandomUse::kInitialWeights, RandomUse::kDropout, RandomUse::kShuffle}) {
    for (uint64_t a = 0; a < 50; ++a) {
      for (uint64_t b = 0; b < 50; ++b) seen.insert(RandomBits(MakeKey(7, use), a, b));
    }
  }
  CHECK(seen.size() == 3 * 50 * 50);
}

TEST_CASE("unit numbers lie in [0, 1)") {
  CHECK(UnitFloat(0) == 0.0f);
  CHECK(UnitFloat(0xffffffff) < 1.0f);
  CHECK(UnitDouble(~uint64_t{0}) < 1.0);
}

}  // namespace
}  // namespace espalier
