// The frames that peer.h describes, to and from gRPC's byte buffers. Private to rpc/.
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

// Shares the payload with the message. REQUIRES: the payload's length fits into 32 bits.
grpc::ByteBuffer ToFrame(const collective::ReduceMessage& message);

// kInvalidArgument with what was found: not our header, a damaged one, or a length that is not that
// of the frame; kResourceExhausted: a payload above the limit. The payload is copied once, to a
// 64-byte boundary; nothing is reserved for it before all of this has been checked.
Result<collective::ReduceMessage> FromFrame(const grpc::ByteBuffer& frame,
                                            int64_t payload_bytes_max);

}  // namespace espalier::rpc
