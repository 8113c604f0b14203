// Turns for reading: gRPC reads at most kTurnBytes of a connection, then runs the calls that these
// bytes began. It reads nothing while many calls wait for the gate. gRPC 1.51 otherwise reads as
// long as peers send, and calls wait in memory without bound. Private to rpc/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace espalier::rpc {

inline constexpr size_t kTurnBytes = 16 << 10;
// While a call with large messages is open.
inline constexpr size_t kLargeTurnBytes = 256 << 10;
// Calls of all servers of the process that gRPC has read and the gate has not seen.
inline constexpr int64_t kWaitingCallsMax = 1000;

// Bytes of a connection that may be read without a call that reaches the gate. A call's headers are
// less. A header that never ends is more: gRPC 1.51 copies all of it with each frame
// (CVE-2023-33953). The second number is the rate at which bytes are forgotten, for the
// acknowledgements of a long call.
inline constexpr int64_t kBytesWithoutCallMax = 512 << 10;
inline constexpr int64_t kBytesWithoutCallPerSecond = 1 << 10;

// Descriptors from this number on have no limits; Acceptor takes no such connections.
inline constexpr size_t kDescriptorsMax = 1 << 20;

// Returns the number that identifies a socket for as long as the system runs; 0 if the descriptor
// is not a socket.
uint64_t CookieOf(int descriptor);

// Applies to this TCP connection from now on. Has no effect before Linux 4.18.
void ReadInTurns(int descriptor);

// A call of this connection has reached the gate: its bytes are counted from 0. `large`: not at
// all, until the next OnCall, because a call with large messages is open. Thread rule: any thread.
void OnCall(int descriptor, bool large);

// Stops or resumes the reading of this connection. Thread rule: any thread.
void HoldReads(int descriptor, bool hold);

// gRPC has read the start of a call. Each is followed by one OnCallAtGate. Thread rule: any thread.
void OnCallRead();
void OnCallAtGate();

}  // namespace espalier::rpc
