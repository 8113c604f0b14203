// LeakyBucket: a byte counter that decreases at a fixed rate. Private to rpc/.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace espalier::rpc {

// Thread rule: any thread. Only one thread at a time may add.
class LeakyBucket {
 public:
  // Resets the count to 0.
  void Reset(int64_t now_s) {
    bytes_ = 0;
    at_s_ = now_s;
  }
  void Add(int64_t bytes, int64_t leak_per_second, int64_t now_s) {
    const int64_t leaked = (now_s - at_s_) * leak_per_second;
    bytes_ = std::max<int64_t>(0, bytes_ - leaked) + bytes;
    at_s_ = now_s;
  }
  // Returns the count at the time of the last Add or Reset.
  int64_t bytes() const { return bytes_; }

 private:
  std::atomic<int64_t> bytes_ = 0;
  std::atomic<int64_t> at_s_ = 0;  // time at which `bytes_` was current
};

}  // namespace espalier::rpc
