// What all our servers and channels have in common: settings, start, deadlines, errors, metadata.
// Private to rpc/.
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
  // Channels: a connection attempt, and the pause between attempts.
  int64_t connect_timeout_ms = 5'000;
  int64_t retry_ms = 100;
  // Servers: open calls of one connection; how long one without calls stays; memory for what all
  // of them read (0: no limit).
  int streams_max = 100;
  int64_t idle_timeout_ms = 60'000;
  int64_t memory_bytes_max = 0;
};

struct Connection {
  std::shared_ptr<grpc::Channel> channel;
  std::shared_ptr<Verdict> verdict;
  bool secured = false;
};

// A channel of its own (no connection is shared with other channels) that connects at its first
// call. Proxies named in the environment are not used. `worker`: that the channel is meant to
// reach; empty: a coordinator.
Connection MakeChannel(const std::string& address, const TransportSettings& settings,
                       const ClientSecurity& security = {}, const std::string& worker = "");

// What keeps the two sides of a connection from each other, however often it is tried: a
// certificate, token or role that one of them refused (kPermissionDenied), or TLS on one side alone
// (kFailedPrecondition). OK when it is none of these. `status` is that of a call that failed there.
Status WhyNotTogether(const Connection& connection, const grpc::Status& status);

// Whether a call that failed so may have met a TLS server with plain text.
bool MayHaveMetTls(const Connection& connection, const grpc::Status& status);
// Whether a TLS server answers at the address: asked by a handshake that leads nowhere. `told` is
// called once, within about a second, on one of gRPC's threads.
void AskForTls(const std::string& address, std::function<void(bool)> told);
// What to say then.
Status OnlyThereTls();

// What each call of a client says: its version and, if it has one, its token.
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

// Takes no more connections and calls, lets open calls end until the deadline, breaks the others
// and waits for all. Repeating it does nothing.
void StopServer(RunningServer* running, int64_t deadline_ms);

// `ms` from now.
gpr_timespec Deadline(int64_t ms);

// Ends a call with our error: coarsely in gRPC's words, whole in trailing metadata.
grpc::Status ToGrpc(const Status& status, grpc::ServerContextBase* context);
// The error that came whole in trailing metadata, if one did.
std::optional<Status> SentError(const grpc::ClientContext& context);
// The error a call ended with: whole when it was sent so, else in gRPC's words.
Status FromGrpc(const grpc::Status& status, const grpc::ClientContext& context);

// OK, or kFailedPrecondition with both versions named. `peer`: "client" and so on.
Status CheckVersion(const std::string& version, const char* peer);

}  // namespace espalier::rpc
