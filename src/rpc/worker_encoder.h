// Messages to workers as bytes. What goes to every member of a job (the input, the profile)
// is encoded once and shared by all their messages: a message is its own small part and a reference
// to the common one, which on the wire are one StartProfiling or StartTraining as any other.
// Private to rpc/.
//
// Thread rule: one thread at a time; the buffers it makes may be used anywhere.
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
  // Encoded bytes of a value that is still in use somewhere.
  struct Shared {
    std::weak_ptr<const void> value;
    grpc::Slice bytes;
  };
  template <typename Proto, typename T>
  grpc::Slice BytesOf(const std::shared_ptr<const T>& value);

  std::vector<Shared> shared_;
};

}  // namespace espalier::rpc
