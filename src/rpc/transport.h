// Settings that servers and channels share, and channels with the metadata of their calls. Private
// to rpc/.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/rpc/credentials.h"
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

// ---- for channels and servers ----------------------------------------------------------------

// Sets up gRPC for this process, once.
void PrepareGrpc();
// Calls `set` with each of gRPC's arguments for these settings that both ends have.
void SetArguments(const TransportSettings& settings,
                  const std::function<void(const char*, int)>& set);

}  // namespace espalier::rpc
