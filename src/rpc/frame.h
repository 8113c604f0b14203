// Conversion of the frames that peer.h describes to and from gRPC's byte buffers. Private to rpc/.
//
// Thread rule: pure functions.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>

#include "src/base/status.h"
#include "src/collective/message.h"

namespace espalier::rpc {

inline constexpr size_t kFrameHeaderBytes = 64;

// Returns a frame that shares the payload with the message. REQUIRES: the payload's length fits
// into 32 bits.
grpc::ByteBuffer ToFrame(const collective::ReduceMessage& message);

// Parses a frame. Errors name what was found. kInvalidArgument: the header is foreign or damaged,
// or its length does not match the frame. kResourceExhausted: the payload exceeds the limit. The
// payload is copied once, to a 64-byte boundary. Memory is reserved only after all checks.
Result<collective::ReduceMessage> FromFrame(const grpc::ByteBuffer& frame,
                                            int64_t payload_bytes_max);

}  // namespace espalier::rpc
