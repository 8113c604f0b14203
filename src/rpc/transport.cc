#include "src/rpc/transport.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <future>
#include <mutex>
#include <set>

#include "src/base/log.h"
#include "src/base/version.h"
#include "src/rpc/convert.h"
#include "src/rpc/credentials.h"
#include "src/rpc/fields.h"

namespace espalier::rpc {

namespace {

constexpr size_t kErrorBytesMax = 96 << 10;
constexpr size_t kGrpcMessageBytesMax = 2 << 10;
constexpr int64_t kProbeTimeoutMs = 1'000;
// Time after which a connection is closed if its handshake has not finished.
constexpr int kHandshakeTimeoutMs = 10'000;

// Writes gRPC's log lines to the debug log. They are for developers, and relevant failures arrive
// as errors. Failed assertions, gRPC's last lines before it aborts, are logged as errors.
void LogFromGrpc(gpr_log_func_args* args) {
  const std::string line = "grpc: " + std::string(args->message) + " (" + args->file + ":" +
                           std::to_string(args->line) + ")";
  if (line.find("assertion failed") != std::string::npos) {
    LogError(line);
  } else {
    LogDebug(line);
  }
}

void LogFromProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  LogDebug("protobuf: " + message);
}

// Keeps gRPC's reaction threads running. gRPC 1.51 shares these threads among all channels and
// servers and stops them with the last one. It sometimes aborts in doing so
// (grpc_cq_internal_unref, "prior > 0"). One call on a channel that is never released keeps the
// threads running. The call has no destination and ends at once.
void KeepReactionThreads() {
  static const auto* const channel =
      new std::shared_ptr<grpc::Channel>(grpc::CreateChannel("kept", nullptr));
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(*channel);
  grpc::ClientContext context;
  const grpc::Slice empty;
  const grpc::ByteBuffer nothing(&empty, 1);
  grpc::ByteBuffer response;
  std::promise<void> ended;
  stub.UnaryCall(&context, "/kept", {}, &nothing, &response,
                 [&ended](const grpc::Status&) { ended.set_value(); });
  ended.get_future().wait();
}

void PrepareOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function(&LogFromGrpc);
    google::protobuf::SetLogHandler(&LogFromProtobuf);
    KeepReactionThreads();
  });
}

void SetArguments(const TransportSettings& settings,
                  const std::function<void(const char*, int)>& set) {
  set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(settings.message_bytes_max));
  set(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  set(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(settings.keepalive_interval_ms));
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(settings.keepalive_timeout_ms));
  set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // gRPC inflates a message before it checks the size limit, so a small message could use a
  // thousand times its size. Espalier does not compress messages and refuses compressed ones.
  set(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  set(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

// Returns the address in the form that gRPC must dial. gRPC interprets "xds:7700" as a URI of its
// scheme xds and runs that resolver, even if xds is a host name.
std::string Target(const std::string& address) {
  const Result<config::Address> parsed = config::ParseAddress(address);
  const bool named = parsed.ok() && parsed->path.empty() && !address.starts_with('[');
  return named ? "dns:///" + address : address;
}

grpc::StatusCode CodeToGrpc(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return grpc::StatusCode::OK;
    case StatusCode::kInvalidArgument:
    case StatusCode::kBadInput:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case StatusCode::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case StatusCode::kAlreadyExists:
      return grpc::StatusCode::ALREADY_EXISTS;
    case StatusCode::kPermissionDenied:
      return grpc::StatusCode::PERMISSION_DENIED;
    case StatusCode::kDataLoss:
      return grpc::StatusCode::DATA_LOSS;
    case StatusCode::kResourceExhausted:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case StatusCode::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    case StatusCode::kDeadlineExceeded:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case StatusCode::kFailedPrecondition:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case StatusCode::kCancelled:
      return grpc::StatusCode::CANCELLED;
    case StatusCode::kAborted:
      return grpc::StatusCode::ABORTED;
    case StatusCode::kUnimplemented:
      return grpc::StatusCode::UNIMPLEMENTED;
    case StatusCode::kInternal:
      return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::UNKNOWN;
}

StatusCode CodeFromGrpc(grpc::StatusCode code) {
  for (int i = 1; i <= static_cast<int>(StatusCode::kInternal); ++i) {
    const auto ours = static_cast<StatusCode>(i);
    if (ours != StatusCode::kBadInput && CodeToGrpc(ours) == code) return ours;
  }
  if (code == grpc::StatusCode::OUT_OF_RANGE) return StatusCode::kInvalidArgument;
  if (code == grpc::StatusCode::UNAUTHENTICATED) return StatusCode::kPermissionDenied;
  return StatusCode::kInternal;
}

}  // namespace

Connection MakeChannel(const std::string& address, const TransportSettings& settings,
                       const ClientSecurity& security, const std::string& worker) {
  PrepareOnce();
  grpc::ChannelArguments args;
  SetArguments(settings, [&args](const char* key, int value) { args.SetInt(key, value); });
  args.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  args.SetInt(GRPC_ARG_DNS_ARES_QUERY_TIMEOUT_MS, static_cast<int>(settings.connect_timeout_ms));
  // The "least backoff" is also the timeout of one connection attempt.
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(settings.connect_timeout_ms));
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, static_cast<int>(settings.retry_ms));
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, static_cast<int>(4 * settings.retry_ms));
  Connection out;
  out.verdict = std::make_shared<Verdict>();
  out.secured = security.keychain != nullptr;
  const Result<config::Address> parsed = config::ParseAddress(address);
  Expected expected{parsed.ok() ? parsed->host : address, worker};
  if (out.secured && !security.keychain->files().server_name.empty()) {
    expected.host = security.keychain->files().server_name;
  }
  out.channel = grpc::CreateCustomChannel(
      Target(address), MakeChannelCredentials(security, expected, out.verdict), args);
  return out;
}

Status WhyNotTogether(const Connection& connection, const grpc::Status& status) {
  if (const Status refused = connection.verdict->Get(); !refused.ok()) {
    return PermissionDenied(refused.message());
  }
  const std::string& message = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
      status.error_code() == grpc::StatusCode::PERMISSION_DENIED) {
    return PermissionDenied("the call was refused: " + Utf8(message, kGrpcMessageBytesMax));
  }
  const auto says = [&message](const char* text) {
    return message.find(text) != std::string::npos;
  };
  if (connection.secured && (says("WRONG_VERSION_NUMBER") || says("wrong version number"))) {
    return FailedPrecondition(
        "this side speaks TLS and the other one plain text: give that one certificates, or this "
        "one none");
  }
  return Status::Ok();
}

bool MayHaveMetTls(const Connection& connection, const grpc::Status& status) {
  if (connection.secured || status.error_code() != grpc::StatusCode::UNAVAILABLE) return false;
  const std::string& message = status.error_message();
  for (const char* text : {"Socket closed", "reset by peer", "Broken pipe"}) {
    if (message.find(text) != std::string::npos) return true;
  }
  return false;
}

void AskForTls(const std::string& address, std::function<void(bool)> told) {
  struct Question {
    std::shared_ptr<Verdict> verdict = std::make_shared<Verdict>();
    std::unique_ptr<grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>> stub;
    grpc::ClientContext context;
    grpc::Slice empty;
    grpc::ByteBuffer request{&empty, 1}, response;
  };
  const auto question = std::make_shared<Question>();
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  question->stub = std::make_unique<grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>>(
      grpc::CreateCustomChannel(Target(address), MakeProbeCredentials(question->verdict), args));
  question->context.set_deadline(Deadline(kProbeTimeoutMs));
  question->stub->UnaryCall(&question->context, "/probe", {}, &question->request,
                            &question->response,
                            [question, told = std::move(told)](const grpc::Status&) {
                              told(!question->verdict->Get().ok());
                            });
}

Status OnlyThereTls() {
  return FailedPrecondition(
      "this side speaks plain text and the other one TLS: give --tls-ca, --tls-certificate and "
      "--tls-key");
}

void Introduce(grpc::ClientContext* context, const ClientSecurity& security) {
  context->AddMetadata(kVersionKey, kVersion);
  if (!security.token.empty()) {
    context->AddMetadata(kTokenKey, std::string(kTokenPrefix) + security.token);
  }
}

Result<RunningServer> StartServer(const std::string& listen, Methods methods,
                                  const TransportSettings& settings, OpenCalls* calls,
                                  const std::shared_ptr<Authorizer>& authorizer) {
  PrepareOnce();
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

gpr_timespec Deadline(int64_t ms) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(ms, GPR_TIMESPAN));
}

grpc::Status ToGrpc(const Status& status, grpc::ServerContextBase* context) {
  if (status.ok()) return grpc::Status::OK;
  pb::ErrorDetail detail;
  ToProto(status, &detail);
  // If the causes are too long, the outermost ones are kept.
  while (detail.ByteSizeLong() > kErrorBytesMax && detail.messages_size() > 1) {
    detail.mutable_messages()->RemoveLast();
  }
  context->AddTrailingMetadata(kErrorKey, detail.SerializeAsString());
  return {CodeToGrpc(status.code()), Utf8(status.ToString(), kGrpcMessageBytesMax)};
}

std::optional<Status> SentError(const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto it = metadata.find(kErrorKey);
  if (it == metadata.end()) return std::nullopt;
  pb::ErrorDetail detail;
  Status error;
  if (!detail.ParseFromArray(it->second.data(), static_cast<int>(it->second.size())) ||
      !ErrorFromProto(detail, &error).ok() || error.ok()) {
    return std::nullopt;
  }
  return error;
}

std::string ConnectionCause(const std::string& message) {
  const auto says = [&message](const char* text) { return message.find(text) != message.npos; };
  if (message.empty()) return "no message";
  if (says("DNS resolution failed")) return "the name cannot be resolved";
  // gRPC closes the descriptor of a connection that takes too long.
  if (says("timed out") || says("FD Shutdown")) return "no answer in time";
  // "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:7700: Failed to
  // connect to remote host: Connection refused"
  const size_t colon = message.rfind(": ");
  std::string cause =
      Utf8(colon == message.npos ? message : message.substr(colon + 2), kGrpcMessageBytesMax);
  const bool word = cause.size() > 1 && std::islower(static_cast<unsigned char>(cause[1])) != 0;
  if (word) cause[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(cause[0])));
  return says("andshake failed") ? "the TLS handshake failed: " + cause : cause;
}

Status FromGrpc(const grpc::Status& status, const grpc::ClientContext& context) {
  if (status.ok()) return Status::Ok();
  if (auto sent = SentError(context)) return *std::move(sent);
  const std::string& message = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    return Unavailable(ConnectionCause(message));
  }
  return Status(CodeFromGrpc(status.error_code()), message.empty() ? "no message" : message);
}

Status CheckVersion(const std::string& version, const char* peer) {
  if (version == kVersion) return Status::Ok();
  return FailedPrecondition("this coordinator is of version " + std::string(kVersion) +
                            " and the " + peer + " of version " +
                            (version.empty() ? "unknown" : Utf8(version, 64)) +
                            "; install the same version on both");
}

}  // namespace espalier::rpc
