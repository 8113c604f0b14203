// Turns for reading. gRPC reads at most kTurnBytes of a connection, then runs the calls that these
// bytes began. It reads nothing while many calls wait for the gate. Otherwise gRPC 1.51 reads as
// long as peers send, and the number of calls waiting in memory is unlimited. Private to rpc/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace espalier::rpc {

inline constexpr size_t kTurnBytes = 16 << 10;
// Bytes of a turn while a call with large messages is open.
inline constexpr size_t kLargeTurnBytes = 256 << 10;
// Limit of the calls, of all servers of the process, that gRPC has read but that have not reached
// the gate.
inline constexpr int64_t kWaitingCallsMax = 1000;

// Bytes of a connection that may be read without a call that reaches the gate. The headers of a
// call are smaller. A header that never ends is larger, and gRPC 1.51 copies all of it with each
// frame (CVE-2023-33953). The second constant is the rate at which bytes are subtracted, for the
// acknowledgements of a long call.
inline constexpr int64_t kBytesWithoutCallMax = 512 << 10;
inline constexpr int64_t kBytesWithoutCallPerSecond = 1 << 10;

// Number of descriptors with limits. Acceptor takes no connections with higher numbers.
inline constexpr size_t kDescriptorsMax = 1 << 20;

// Returns a number that identifies a socket until the system restarts, or 0 if the descriptor is
// not a socket.
uint64_t CookieOf(int descriptor);

// Applies the turns to this TCP connection from now on. Has no effect before Linux 4.18.
void ReadInTurns(int descriptor);

// Reports that a call of this connection has reached the gate. Its bytes are counted from 0 again.
// `large`: its bytes are not counted until the next OnCall, because a call with large messages is
// open. Thread rule: any thread.
void OnCall(int descriptor, bool large);

// Stops or resumes the reading of this connection. Thread rule: any thread.
void HoldReads(int descriptor, bool hold);

// Reports that gRPC has read the start of a call. One OnCallAtGate follows each OnCallRead. Thread
// rule: any thread.
void OnCallRead();
void OnCallAtGate();

}  // namespace espalier::rpc
