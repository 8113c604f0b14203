// Scales of tests with seeds. Each of these tests multiplies its number of seeds by one of them.
// `tools/test long` sets the first one. `tools/test fuzz`, which runs under the address sanitizer,
// sets the second one: without a sanitizer, more hostile inputs would find little.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace espalier {

inline uint64_t ScaleFrom(const char* variable) {
  const char* text = std::getenv(variable);
  const int scale = text == nullptr ? 1 : std::atoi(text);
  return scale < 1 ? 1 : static_cast<uint64_t>(scale);
}

// Scale of property tests and of the simulation.
inline uint64_t TestScale() { return ScaleFrom("ESPALIER_TEST_SCALE"); }

// Scale of tests with hostile input.
inline uint64_t FuzzScale() { return ScaleFrom("ESPALIER_FUZZ_SCALE"); }

}  // namespace espalier
