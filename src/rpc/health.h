// Whether this server is well, for probes: gRPC's health service. gRPC's own implementation keeps
// as many watchers as come, whoever they are, for as long as they like. Private to rpc/.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "src/rpc/authorizer.h"
#include "src/rpc/gate.h"
#include "src/rpc/open_calls.h"

namespace espalier::rpc {

// It is well while it answers. A Check is answered at once and counts for nobody; a Watch is a call
// of its caller that stays open until the server ends or the caller may not have it any more.
// Thread rule: any thread.
class HealthService {
 public:
  // `names`: of the services here. `calls` outlives the service; `authorizer` is null on a plain
  // server.
  HealthService(std::set<std::string> names, OpenCalls* calls,
                std::shared_ptr<const Authorizer> authorizer)
      : names_(std::move(names)), calls_(calls), authorizer_(std::move(authorizer)) {}

  // Returns the methods of grpc.health.v1.Health. The service must outlive them.
  Methods MakeMethods();

 private:
  const std::set<std::string> names_;
  OpenCalls* const calls_;
  const std::shared_ptr<const Authorizer> authorizer_;
};

}  // namespace espalier::rpc
