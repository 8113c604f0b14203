// The coordinator's side of gRPC: the public service `Espalier` for clients and the service
// `Coordinator` for workers, with health and reflection. The server converts calls to plain structs
// and passes them to a CoordinatorHandler. Answers return through callbacks, from any thread, at
// any time.
//
// Version skew: a client sends its version in metadata ("espalier-version"). A call from another
// version is refused with kFailedPrecondition, and the error names both versions. A call without a
// version, for example from grpcurl, may read. Submit requires a version. A worker sends its
// version in its Hello, and the handler checks it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"
#include "src/cluster/messages.h"
#include "src/rpc/coordinator_handler.h"
#include "src/rpc/security.h"

namespace espalier::rpc {

// Thread rule: all methods are safe from any thread, but not from the handler's destructor.
class CoordinatorServer {
 public:
  // Returns whether Make could listen on this address, by listening for a moment.
  static Status CheckCanListen(const std::string& listen);
  // Listens on "host:port". With port 0 the system chooses the port. If the port is in use, returns
  // kAlreadyExists and names the port. `handler` must outlive the server.
  static Result<std::unique_ptr<CoordinatorServer>> Make(const std::string& listen,
                                                         CoordinatorHandler* handler,
                                                         const CoordinatorServerLimits& limits = {},
                                                         const ServerSecurity& security = {});
  // Calls Shutdown with a deadline of 0.
  virtual ~CoordinatorServer() = default;

  virtual int port() const = 0;
  // Returns "host:port" as given, with the port in use.
  virtual std::string address() const = 0;

  // Queues a message for a worker without blocking. A separate thread encodes it. Parts that many
  // workers receive (StartProfiling::input, StartTraining::profile) are encoded once. Has no effect
  // if the session has ended (OnWorkerClosed was or will be called). If the queue overflows, the
  // session closes.
  virtual void Send(cluster::SessionId session, cluster::ToWorker message) = 0;
  // Ends the stream after the queued messages have been sent, for example a Refused or a Dismiss.
  // The worker receives `why`. OnWorkerClosed follows.
  virtual void Close(cluster::SessionId session, Status why) = 0;

  // Accepts no more calls, lets open calls end until the deadline and breaks the others. Returns
  // when no more handler calls can occur. Repeated calls have no effect.
  virtual void Shutdown(int64_t deadline_ms) = 0;
};

}  // namespace espalier::rpc
