// Encoding of messages to workers. Parts that every member of a job receives (the input, the
// profile) are encoded once, and all messages share them. A message is its own small part and a
// reference to the common part. On the wire both form one ordinary StartProfiling or StartTraining.
// Private to rpc/.
//
// Thread rule: one thread at a time. Any thread may use the resulting buffers.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>
#include <vector>

#include "src/cluster/messages.h"

namespace espalier::rpc {

class WorkerEncoder {
 public:
  grpc::ByteBuffer Encode(const cluster::ToWorker& message);

 private:
  // Encoded bytes of a value that is still in use.
  struct Shared {
    std::weak_ptr<const void> value;
    grpc::Slice bytes;
  };
  template <typename Proto, typename T>
  grpc::Slice BytesOf(const std::shared_ptr<const T>& value);

  std::vector<Shared> shared_;
};

}  // namespace espalier::rpc
