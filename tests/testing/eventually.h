// A wait with a deadline for tests whose threads offer no event to wait for.
#pragma once

#include <chrono>
#include <thread>

namespace espalier {

// Waits until `done` returns true. Returns false if that takes longer than `patience`. The default
// is generous, because a machine may be busy.
template <typename Condition>
[[nodiscard]] bool Eventually(const Condition& done,
                              std::chrono::seconds patience = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // between two polls
  }
  return true;
}

}  // namespace espalier
