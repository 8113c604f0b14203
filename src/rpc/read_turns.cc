#include "src/rpc/read_turns.h"

#include <dlfcn.h>
#include <grpc/support/time.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/base/audit.h"
#include "src/rpc/endpoint.h"

namespace espalier::rpc {
namespace {

constexpr size_t kDescriptorsMax = 1 << 20;  // of Acceptor

// Bytes that each connection may read in this turn, plus 1. 0: not limited.
std::array<std::atomic<size_t>, kDescriptorsMax> turns;

std::array<std::atomic<bool>, kDescriptorsMax> held;

// The socket that each limit is about. A later file or socket with that number has another cookie.
std::array<std::atomic<uint64_t>, kDescriptorsMax> cookies;

struct SinceCall {
  std::atomic<int64_t> bytes = 0;
  std::atomic<int64_t> from_s = 0;  // time of the call; kUnlimited: bytes are not limited
};
constexpr int64_t kUnlimited = -1;
std::array<SinceCall, kDescriptorsMax> since_call;

std::atomic<int64_t> waiting_calls = 0;
std::atomic<bool> any_paused = false;
std::mutex paused_mutex;
std::vector<int> paused;  // connections that are not read; guarded by paused_mutex

// Before Linux 4.18 SO_RCVLOWAT reports no waiting bytes, and a connection would stop.
bool CanRepeatEvents() {
  utsname name{};
  if (uname(&name) != 0) return false;
  char* rest = nullptr;
  const long major = std::strtol(name.release, &rest, 10);
  const long minor = *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;
  return major > 4 || (major == 4 && minor >= 18);
}

bool IsTcp(int descriptor) {
  int domain = 0;
  socklen_t size = sizeof domain;
  return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
         (domain == AF_INET || domain == AF_INET6);
}

bool HasWaitingBytes(int descriptor) {
  int bytes = 0;
  return ioctl(descriptor, FIONREAD, &bytes) == 0 && bytes > 0;
}

// Makes epoll report the bytes or the end that wait, although it has reported them before.
void RepeatEvent(int descriptor) {
  const int one = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof one);
}

int64_t NowS() { return gpr_now(GPR_CLOCK_MONOTONIC).tv_sec; }

bool IsExcessive(const SinceCall& since) {
  const int64_t from_s = since.from_s, bytes = since.bytes;
  return bytes > kBytesWithoutCallMax && from_s != kUnlimited &&
         bytes > kBytesWithoutCallMax + (NowS() - from_s) * kBytesWithoutCallPerSecond;
}

// Reads no more of the connection until the next call is at the gate.
void Pause(int descriptor) {
  {
    std::lock_guard lock(paused_mutex);
    paused.push_back(descriptor);
    any_paused = true;
  }
  if (waiting_calls == 0) RepeatEvent(descriptor);  // the last call did not see the entry
}

// Returns whether the connection must not be read now. A later event then reports its bytes.
// Without waiting bytes it must be read: the socket may have ended, and gRPC waits for an event
// that is yet to come.
bool MustPause(int descriptor, bool turn_over, bool excessive) {
  const int64_t calls = waiting_calls;
  const bool crowded = calls > kWaitingCallsMax || (excessive && calls > 0);
  if (!crowded && !turn_over) return false;
  if (!HasWaitingBytes(descriptor) || !IsTcp(descriptor)) return false;
  if (crowded) {
    Pause(descriptor);
  } else {
    RepeatEvent(descriptor);
  }
  return true;
}

// Logs at most one line a second.
void LogExcess(int descriptor) {
  static std::atomic<int64_t> logged_s = 0;
  const int64_t now_s = NowS();
  if (logged_s.exchange(now_s) == now_s) return;
  LogAudit("audit: refused connection of " + EndpointOfPeer(descriptor) + ": more than " +
           std::to_string(kBytesWithoutCallMax) + " bytes came without a call");
}

ssize_t ReadFromSystem(int descriptor, msghdr* message, int flags) {
  using Function = ssize_t (*)(int, msghdr*, int);
  static const auto function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "recvmsg"));
  return function(descriptor, message, flags);
}

// Reads at most `bytes`.
ssize_t ReadUpTo(size_t bytes, int descriptor, msghdr* message, int flags) {
  msghdr limited = *message;
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    iovec& part = message->msg_iov[i];
    if (part.iov_len < bytes) {
      bytes -= part.iov_len;
      continue;
    }
    const size_t whole = std::exchange(part.iov_len, bytes);
    limited.msg_iovlen = i + 1;
    const ssize_t read = ReadFromSystem(descriptor, &limited, flags);
    part.iov_len = whole;
    message->msg_controllen = limited.msg_controllen;
    message->msg_flags = limited.msg_flags;
    return read;
  }
  return ReadFromSystem(descriptor, message, flags);
}

ssize_t Read(int descriptor, msghdr* message, int flags) {
  const auto at = static_cast<size_t>(descriptor);
  if (at >= kDescriptorsMax || turns[at] == 0) {
    return ReadFromSystem(descriptor, message, flags);
  }
  if (CookieOf(descriptor) != cookies[at]) {  // a connection that this process has dialled
    turns[at] = 0;
    return ReadFromSystem(descriptor, message, flags);
  }
  if (held[at] && HasWaitingBytes(descriptor) && IsTcp(descriptor)) {
    errno = EAGAIN;
    return -1;
  }
  size_t left = turns[at] - 1;
  // A call that waits for the gate may be of this connection and lift the limit.
  const bool excessive = IsExcessive(since_call[at]);
  if (MustPause(descriptor, left == 0, excessive)) {
    turns[at] = kTurnBytes + 1;
    errno = EAGAIN;
    return -1;
  }
  if (excessive && waiting_calls == 0 && IsExcessive(since_call[at])) {
    LogExcess(descriptor);
    errno = ECONNRESET;
    return -1;
  }
  if (left == 0) left = kTurnBytes;
  const ssize_t read = ReadUpTo(left, descriptor, message, flags);
  // Without more to read the turn is over, and gRPC waits for the next event.
  const int error = errno;
  turns[at] = (read > 0 ? left - static_cast<size_t>(read) : kTurnBytes) + 1;
  errno = error;
  if (read > 0) since_call[at].bytes += read;
  return read;
}

}  // namespace

void ReadInTurns(int descriptor) {
  static const bool can = CanRepeatEvents();
  if (can && descriptor >= 0 && static_cast<size_t>(descriptor) < kDescriptorsMax) {
    const auto at = static_cast<size_t>(descriptor);
    cookies[at] = CookieOf(descriptor);
    held[at] = false;
    OnCall(descriptor, false);
    turns[at] = kTurnBytes + 1;
  }
}

void OnCall(int descriptor, bool unlimited) {
  const auto at = static_cast<size_t>(descriptor);
  if (at >= kDescriptorsMax) return;
  since_call[at].bytes = 0;
  since_call[at].from_s = unlimited ? kUnlimited : NowS();
}

void HoldReads(int descriptor, bool hold) {
  const auto at = static_cast<size_t>(descriptor);
  if (at < kDescriptorsMax && held[at].exchange(hold) && !hold) RepeatEvent(descriptor);
}

void OnCallRead() { ++waiting_calls; }

void OnCallAtGate() {
  if (--waiting_calls > kWaitingCallsMax / 2 || !any_paused) return;
  std::vector<int> descriptors;
  {
    std::lock_guard lock(paused_mutex);
    descriptors.swap(paused);
    any_paused = false;
  }
  for (const int descriptor : descriptors) RepeatEvent(descriptor);
}

}  // namespace espalier::rpc

// Takes the place of the C library's function, also for libgrpc, which reads sockets with it alone.
extern "C" __attribute__((visibility("default"))) ssize_t recvmsg(int descriptor, msghdr* message,
                                                                  int flags) {
  return espalier::rpc::Read(descriptor, message, flags);
}
