// A server with its listener, and the services for general tools. Private to rpc/.
#pragma once

#include <grpcpp/server.h>

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/config/address.h"
#include "src/rpc/acceptor.h"
#include "src/rpc/authorizer.h"
#include "src/rpc/gate.h"
#include "src/rpc/health.h"
#include "src/rpc/open_calls.h"
#include "src/rpc/reflection.h"
#include "src/rpc/transport.h"

namespace espalier::rpc {

struct RunningServer {
  config::Address address;  // with the port in use
  std::unique_ptr<HealthService> health;
  std::unique_ptr<ReflectionService> reflection;
  std::unique_ptr<Gate> gate;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Acceptor> acceptor;
};

// Starts a server with health and reflection, whose streams are among `calls`. "localhost" listens
// on 127.0.0.1. `calls` and the services that own `methods` must outlive the server. `authorizer`
// is null for a server without TLS.
Result<RunningServer> StartServer(const std::string& listen, Methods methods,
                                  const TransportSettings& settings, OpenCalls* calls,
                                  const std::shared_ptr<Authorizer>& authorizer);

// Accepts no more connections and calls, lets open calls end until the deadline, breaks the others
// and waits for all. Repeated calls have no effect.
void StopServer(RunningServer* running, int64_t deadline_ms);

}  // namespace espalier::rpc
