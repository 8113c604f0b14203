// The pure part of connections.h: rules that decide when a connection floods its server with calls.
// Private to rpc/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace espalier::rpc {

// Counts the calls of one connection. A client that respects the server's settings has at most
// TransportSettings::streams_max open calls and cancels few of them early. gRPC 1.51 enforces that
// number only after the peer has acknowledged it, and does not count resets.
//
// Thread rule: that of the owner.
class CallCount {
 public:
  // Open calls of a client that respects TransportSettings::streams_max.
  static constexpr int64_t kFairMax = 100;
  // Calls that gRPC may hold for one connection before reading pauses. gRPC holds a call for a
  // moment after its caller has the answer, so clients that respect kFairMax may have more.
  static constexpr int64_t kOpenMax = 200;
  // Number of open calls above which calls are refused. These calls were read before the pause. A
  // client that respects kFairMax never has this many.
  static constexpr int64_t kAdmittedMax = 400;
  // Calls that a caller may cancel within kEarlyMs, in addition to kForgottenPerSecond and to one
  // for each answered call.
  static constexpr int64_t kEarlyCancelsMax = 500;
  static constexpr int64_t kForgottenPerSecond = 10;
  static constexpr int64_t kEarlyMs = 1'000;

  void Begin() { ++open_; }
  // Returns whether the connection must not be read now. `crowded`: all connections together have
  // too many open calls.
  bool MustPause(bool crowded) {
    if (open_ > (crowded ? kFairMax : kOpenMax)) paused_ = true;
    if (open_ <= kFairMax) paused_ = false;
    return paused_;
  }
  // Returns the reason why the connection must close, or "". `lasted_ms` is the time since the call
  // began.
  std::string End(bool cancelled, int64_t lasted_ms, int64_t now_ms) {
    --open_;
    const int64_t forgotten = (now_ms - counted_ms_) * kForgottenPerSecond / 1'000;
    if (forgotten > 0) {
      early_cancels_ = std::max<int64_t>(0, early_cancels_ - forgotten);
      counted_ms_ = now_ms;
    }
    if (!cancelled) early_cancels_ = std::max<int64_t>(0, early_cancels_ - 1);
    if (!cancelled || lasted_ms >= kEarlyMs || ++early_cancels_ <= kEarlyCancelsMax) return "";
    return std::to_string(early_cancels_) + " calls were cancelled at once, expected at most " +
           std::to_string(kEarlyCancelsMax);
  }
  int64_t open() const { return open_; }

 private:
  int64_t open_ = 0;
  bool paused_ = false;
  int64_t early_cancels_ = 0;
  int64_t counted_ms_ = 0;  // time up to which early cancels were forgotten
};

}  // namespace espalier::rpc
