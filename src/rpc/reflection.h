// gRPC's reflection service: lists services and messages for tools without the .proto files. gRPC's
// own implementation holds a thread for each stream. Private to rpc/.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "src/rpc/authorizer.h"
#include "src/rpc/gate.h"
#include "src/rpc/open_calls.h"

namespace espalier::rpc {

// Counts a stream as a call of its caller. Answers requests one after the other.
// Thread rule: any thread.
class ReflectionService {
 public:
  // `names` are the services of this server. `calls` must outlive the service. `authorizer` is null
  // on a plain server.
  ReflectionService(std::set<std::string> names, OpenCalls* calls,
                    std::shared_ptr<const Authorizer> authorizer)
      : names_(std::move(names)), calls_(calls), authorizer_(std::move(authorizer)) {}

  // Returns the methods of grpc.reflection.v1alpha.ServerReflection. The service must outlive them.
  Methods MakeMethods();

 private:
  const std::set<std::string> names_;
  OpenCalls* const calls_;
  const std::shared_ptr<const Authorizer> authorizer_;
};

}  // namespace espalier::rpc
