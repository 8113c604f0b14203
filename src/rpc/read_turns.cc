#include "src/rpc/read_turns.h"

#include <dlfcn.h>
#include <grpc/support/time.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/rpc/endpoint.h"
#include "src/rpc/leaky_bucket.h"
#include "src/rpc/refusals.h"

namespace espalier::rpc {
namespace {

// A connection that gRPC reads in turns, by its descriptor. The system reuses the descriptor of a
// closed connection for other sockets, for example those of this process's channels. Limits
// therefore apply only while the cookie matches the socket.
struct Limited {
  std::atomic<uint64_t> cookie = 0;    // 0: no limits
  std::atomic<size_t> turn_bytes = 0;  // bytes left in this turn
  std::atomic<bool> held = false;
  std::atomic<bool> ended = false;  // was refused and logged
  LeakyBucket bytes;                // bytes read without a call
  std::atomic<bool> unlimited = false;
};
std::array<Limited, kDescriptorsMax> connections;

std::atomic<int64_t> waiting_calls = 0;
std::atomic<bool> any_paused = false;
Mutex paused_mutex;
std::vector<int> paused GUARDED_BY(paused_mutex);  // descriptors of paused connections

// Returns whether RepeatEvent works. Before Linux 4.18, SO_RCVLOWAT does not report waiting bytes,
// and a connection would stop.
bool CanRepeatEvents() {
  utsname name{};
  if (uname(&name) != 0) return false;
  char* rest = nullptr;
  const long major = std::strtol(name.release, &rest, 10);
  const long minor = *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;
  return major > 4 || (major == 4 && minor >= 18);
}

bool HasWaitingBytes(int descriptor) {
  int bytes = 0;
  return ioctl(descriptor, FIONREAD, &bytes) == 0 && bytes > 0;
}

// Makes epoll report waiting bytes or a waiting end again.
void RepeatEvent(int descriptor) {
  const int one = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof one);
}

int64_t NowS() { return gpr_now(GPR_CLOCK_MONOTONIC).tv_sec; }

size_t TurnOf(const Limited& connection) {
  return connection.unlimited ? kLargeTurnBytes : kTurnBytes;
}

bool IsExcessive(const Limited& connection) {
  return !connection.unlimited && connection.bytes.bytes() > kBytesWithoutCallMax;
}

// Stops reading the connection until the next call is at the gate.
void Pause(int descriptor) {
  {
    MutexLock lock(paused_mutex);
    paused.push_back(descriptor);
    any_paused = true;
  }
  if (waiting_calls == 0) RepeatEvent(descriptor);  // the last call did not see the entry
}

enum class Decision { kRead, kWait, kEnd };

// Decides whether to read. A connection without waiting bytes is read: it may have ended, and gRPC
// waits for an event that is yet to come. After kWait a later event reports the bytes that wait
// now.
Decision Decide(int descriptor, Limited* connection) {
  const int64_t calls = waiting_calls;
  const bool excessive = IsExcessive(*connection), turn_over = connection->turn_bytes == 0;
  if (!connection->held && !excessive && !turn_over && calls <= kWaitingCallsMax) {
    return Decision::kRead;
  }
  if (CookieOf(descriptor) != connection->cookie) {
    connection->cookie = 0;
    return Decision::kRead;
  }
  if (!HasWaitingBytes(descriptor)) {
    connection->turn_bytes = TurnOf(*connection);
    return Decision::kRead;
  }
  if (connection->held) return Decision::kWait;
  connection->turn_bytes = TurnOf(*connection);
  if (calls > kWaitingCallsMax || (excessive && calls > 0)) {
    Pause(descriptor);  // if excessive: a waiting call of this connection may lift the limit
    return Decision::kWait;
  }
  if (excessive && IsExcessive(*connection)) return Decision::kEnd;
  RepeatEvent(descriptor);
  return Decision::kWait;
}

ssize_t ReadFromSystem(int descriptor, msghdr* message, int flags) {
#ifdef __SANITIZE_THREAD__
  // The thread sanitizer would record a write by our code, as it does not see that libgrpc calls
  // recvmsg. It would then report each byte that our code reads, and suppress the reports slowly.
  return syscall(SYS_recvmsg, descriptor, message, flags);
#else
  using Function = ssize_t (*)(int, msghdr*, int);
  static const auto function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "recvmsg"));
  return function(descriptor, message, flags);
#endif
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
  if (at >= kDescriptorsMax || connections[at].cookie == 0) {
    return ReadFromSystem(descriptor, message, flags);
  }
  Limited& connection = connections[at];
  switch (Decide(descriptor, &connection)) {
    case Decision::kRead:
      break;
    case Decision::kWait:
      errno = EAGAIN;
      return -1;
    case Decision::kEnd:
      if (!connection.ended.exchange(true)) {  // gRPC may read once more
        LogEndedConnection(
            EndpointOfPeer(descriptor),
            "more than " + std::to_string(kBytesWithoutCallMax) + " bytes came without a call");
      }
      errno = ECONNRESET;
      return -1;
  }
  if (connection.cookie == 0) return ReadFromSystem(descriptor, message, flags);
  const size_t left = std::min<size_t>(connection.turn_bytes, TurnOf(connection));
  const ssize_t read = ReadUpTo(left, descriptor, message, flags);
  // If no more bytes wait, the turn is over and gRPC waits for the next event.
  const int error = errno;
  connection.turn_bytes = read > 0 ? left - static_cast<size_t>(read) : TurnOf(connection);
  if (read > 0) connection.bytes.Add(read, kBytesWithoutCallPerSecond, NowS());
  errno = error;
  return read;
}

}  // namespace

uint64_t CookieOf(int descriptor) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

void ReadInTurns(int descriptor) {
  static const bool can = CanRepeatEvents();
  const auto at = static_cast<size_t>(descriptor);
  if (!can || at >= kDescriptorsMax) return;
  connections[at].turn_bytes = kTurnBytes;
  connections[at].held = connections[at].ended = false;
  OnCall(descriptor, false);
  connections[at].cookie = CookieOf(descriptor);
}

void OnCall(int descriptor, bool large) {
  const auto at = static_cast<size_t>(descriptor);
  if (at >= kDescriptorsMax) return;
  connections[at].bytes.Reset(NowS());
  connections[at].unlimited = large;
}

void HoldReads(int descriptor, bool hold) {
  const auto at = static_cast<size_t>(descriptor);
  if (at < kDescriptorsMax && connections[at].held.exchange(hold) && !hold) {
    RepeatEvent(descriptor);
  }
}

void OnCallRead() { ++waiting_calls; }

void OnCallAtGate() {
  if (--waiting_calls > kWaitingCallsMax / 2 || !any_paused) return;
  std::vector<int> descriptors;
  {
    MutexLock lock(paused_mutex);
    descriptors.swap(paused);
    any_paused = false;
  }
  for (const int descriptor : descriptors) RepeatEvent(descriptor);
}

}  // namespace espalier::rpc

// Replaces the C library's function, also for libgrpc, which uses only this function to read
// sockets.
extern "C" __attribute__((visibility("default"))) ssize_t recvmsg(int descriptor, msghdr* message,
                                                                  int flags) {
  return espalier::rpc::Read(descriptor, message, flags);
}
