// Conversion between protocol buffers and the byte buffers of a call. Private to rpc/.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "src/base/status.h"

namespace espalier::rpc {

// Parses a message and clears `bytes`. Returns kInvalidArgument if they are malformed.
template <typename Message>
Result<Message> ReadMessage(grpc::ByteBuffer* bytes) {
  Message out;
  const bool read = grpc::SerializationTraits<Message>::Deserialize(bytes, &out).ok();
  bytes->Clear();
  if (!read) {
    return InvalidArgument("malformed " + Message::descriptor()->name() +
                           ": these bytes are not a protocol buffer of that kind");
  }
  return out;
}

// Serializes a message. REQUIRES: it is smaller than 2 GiB.
template <typename Message>
grpc::ByteBuffer WriteMessage(const Message& message) {
  grpc::ByteBuffer out;
  bool own = false;
  const grpc::Status written = grpc::SerializationTraits<Message>::Serialize(message, &out, &own);
  ESPALIER_CHECK(written.ok(), written.error_message());
  return out;
}

}  // namespace espalier::rpc
