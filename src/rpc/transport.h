// Settings, start, deadlines, errors and metadata that all servers and channels share. Private to
// rpc/.
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/server.h>
#include <grpcpp/server_context.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/config/address.h"
#include "src/rpc/acceptor.h"
#include "src/rpc/authorizer.h"
#include "src/rpc/call_metadata.h"
#include "src/rpc/credentials.h"
#include "src/rpc/gate.h"
#include "src/rpc/health.h"
#include "src/rpc/open_calls.h"
#include "src/rpc/reflection.h"
#include "src/rpc/security.h"

namespace espalier::rpc {

struct TransportSettings {
  int64_t message_bytes_max = 0;
  int64_t keepalive_interval_ms = 0;
  int64_t keepalive_timeout_ms = 0;
  // Channels: timeout of a connection attempt, and pause between attempts.
  int64_t connect_timeout_ms = 5'000;
  int64_t retry_ms = 100;
  // Servers: open calls of one connection, lifetime of a connection without calls, and memory for
  // the data that all connections read (0: no limit).
  int streams_max = 100;
  int64_t idle_timeout_ms = 60'000;
  int64_t memory_bytes_max = 0;
};

struct Connection {
  std::shared_ptr<grpc::Channel> channel;
  std::shared_ptr<Verdict> verdict;
  bool secured = false;
};

// Returns a separate channel, which shares no connection with other channels and connects at its
// first call. Proxy settings in the environment are ignored. `worker` is the worker that the
// channel must reach; empty: a coordinator.
Connection MakeChannel(const std::string& address, const TransportSettings& settings,
                       const ClientSecurity& security = {}, const std::string& worker = "");

// Returns the permanent reason why the two sides cannot communicate. kPermissionDenied: one side
// refused a certificate, token or role. kFailedPrecondition: only one side uses TLS. OK: none of
// these. `status` is the status of a call that failed on this connection.
Status WhyNotTogether(const Connection& connection, const grpc::Status& status);

// Returns whether a call with this failure may have reached a TLS server in plain text.
bool MayHaveMetTls(const Connection& connection, const grpc::Status& status);
// Tests, with a handshake that is not completed, whether a TLS server answers at the address.
// `told` is called once, within about a second, on one of gRPC's threads.
void AskForTls(const std::string& address, std::function<void(bool)> told);
// Returns the error for a server that uses TLS when this side does not.
Status OnlyThereTls();

// Adds the metadata of each client call: the version and, if the client has one, the token.
void Introduce(grpc::ClientContext* context, const ClientSecurity& security);

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

// Returns the time `ms` milliseconds from now.
gpr_timespec Deadline(int64_t ms);

// Returns the status that ends a call with our error: gRPC's nearest code, and the complete error
// in trailing metadata.
grpc::Status ToGrpc(const Status& status, grpc::ServerContextBase* context);
// Returns the complete error from the trailing metadata, if it contains one.
std::optional<Status> SentError(const grpc::ClientContext& context);
// Returns the cause in gRPC's message about a connection that failed, without gRPC's own words:
// "connection refused", "no answer in time", "the name cannot be resolved".
std::string ConnectionCause(const std::string& message);
// Returns the error with which a call ended: the complete error if it was sent, otherwise gRPC's.
Status FromGrpc(const grpc::Status& status, const grpc::ClientContext& context);

// Returns OK, or kFailedPrecondition with both versions. `peer` is, for example, "client".
Status CheckVersion(const std::string& version, const char* peer);

}  // namespace espalier::rpc
