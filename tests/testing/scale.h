// The scale of property tests. `tools/test --all` sets ESPALIER_TEST_SCALE. Each property test
// multiplies its number of seeds by TestScale().
#pragma once

#include <cstdint>
#include <cstdlib>

namespace espalier {

inline uint64_t TestScale() {
  const char* text = std::getenv("ESPALIER_TEST_SCALE");
  const int scale = text == nullptr ? 1 : std::atoi(text);
  return scale < 1 ? 1 : static_cast<uint64_t>(scale);
}

}  // namespace espalier
