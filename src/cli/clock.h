// The monotonic clock of the command line.
//
// Thread rule: any thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace espalier::cli {

// Returns milliseconds of a monotonic clock with an unspecified start.
inline int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace espalier::cli
