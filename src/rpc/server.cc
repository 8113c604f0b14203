#include "src/rpc/server.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/rpc/call_status.h"
#include "src/rpc/connections.h"
#include "src/rpc/credentials.h"

namespace espalier::rpc {
namespace {

// Time after which a connection is closed if its handshake has not finished.
constexpr int kHandshakeTimeoutMs = 10'000;

}  // namespace

Result<RunningServer> StartServer(const std::string& listen, Methods methods,
                                  const TransportSettings& settings, OpenCalls* calls,
                                  const std::shared_ptr<Authorizer>& authorizer) {
  PrepareGrpc();
  RunningServer out;
  ESPALIER_ASSIGN_OR_RETURN(out.address, config::ParseAddress(listen));
  ESPALIER_ASSIGN_OR_RETURN(out.acceptor,
                            Acceptor::Listen(out.address, settings.keepalive_timeout_ms));
  out.address.port = out.acceptor->port();
  grpc::ServerBuilder builder;
  SetArguments(settings,
               [&](const char* key, int value) { builder.AddChannelArgument(key, value); });
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(settings.idle_timeout_ms));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, settings.streams_max);
  grpc::ResourceQuota quota("espalier");
  if (settings.memory_bytes_max > 0) quota.Resize(static_cast<size_t>(settings.memory_bytes_max));
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  auto connections = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      MakeServerCredentials(authorizer == nullptr ? nullptr
                                                  : authorizer->security().keychain.get()));
  std::set<std::string> names = ServicesOf(methods);
  names.insert({"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"});
  out.health = std::make_unique<HealthService>(names, calls, authorizer);
  out.reflection = std::make_unique<ReflectionService>(names, calls, authorizer);
  methods.merge(out.health->MakeMethods());
  methods.merge(out.reflection->MakeMethods());
  const auto counted = std::make_shared<Connections>();
  out.gate = std::make_unique<Gate>(authorizer, std::move(methods), counted);
  builder.SetContextAllocator(MakeContexts(counted));
  builder.RegisterCallbackGenericService(out.gate.get());
  out.server = builder.BuildAndStart();
  if (out.server == nullptr) {
    return Unavailable("gRPC could not start a server on " + config::ToString(out.address));
  }
  out.acceptor->Start(std::move(connections), counted);
  return out;
}

void StopServer(RunningServer* running, int64_t deadline_ms) {
  if (running->server == nullptr) return;
  running->acceptor.reset();
  running->server->Shutdown(Deadline(std::max<int64_t>(deadline_ms, 0)));
  running->server->Wait();
}

}  // namespace espalier::rpc
