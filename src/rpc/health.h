// gRPC's health service, for probes. gRPC's own implementation keeps an unlimited number of
// watchers, of any caller, for any time. Private to rpc/.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "src/rpc/authorizer.h"
#include "src/rpc/gate.h"
#include "src/rpc/open_calls.h"

namespace espalier::rpc {

// Reports a healthy status as long as the server answers. A Check is answered at once and is not
// counted. A Watch counts as a call of its caller and stays open until the server ends or the
// caller loses its access.
// Thread rule: any thread.
class HealthService {
 public:
  // `names` are the services of this server. `calls` must outlive the service. `authorizer` is null
  // on a plain server.
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
