// The worker's clocks, which never go back. Their zero is an arbitrary time of the machine.
//
// Thread rule: safe from any thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace espalier::worker {

inline int64_t NowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline int64_t NowMs() { return NowUs() / 1000; }

}  // namespace espalier::worker
