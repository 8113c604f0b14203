// The worker's clocks, which never go back. They count from some moment of the machine's.
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
