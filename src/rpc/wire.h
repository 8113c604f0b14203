// Messages as the bytes of a call, which the gate's calls read and write. Private to rpc/.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "src/base/status.h"

namespace espalier::rpc {

// Reads a message and clears its bytes. kInvalidArgument: they are none.
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

template <typename Message>
grpc::ByteBuffer WriteMessage(const Message& message) {
  grpc::ByteBuffer out;
  bool own = false;
  const grpc::Status written = grpc::SerializationTraits<Message>::Serialize(message, &out, &own);
  ESPALIER_CHECK(written.ok(), written.error_message());
  return out;
}

}  // namespace espalier::rpc
