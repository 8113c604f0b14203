#include "src/rpc/transport.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <functional>
#include <future>
#include <mutex>
#include <utility>

#include "src/base/log.h"
#include "src/base/version.h"
#include "src/config/address.h"
#include "src/rpc/authorizer.h"
#include "src/rpc/call_metadata.h"
#include "src/rpc/call_status.h"
#include "src/rpc/credentials.h"
#include "src/rpc/fields.h"

namespace espalier::rpc {

namespace {

constexpr int64_t kProbeTimeoutMs = 1'000;

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

// Returns the address in the form that gRPC must dial. gRPC interprets "xds:7700" as a URI of its
// scheme xds and runs that resolver, even if xds is a host name.
std::string Target(const std::string& address) {
  const Result<config::Address> parsed = config::ParseAddress(address);
  const bool named = parsed.ok() && parsed->path.empty() && !address.starts_with('[');
  return named ? "dns:///" + address : address;
}

}  // namespace

void PrepareGrpc() {
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

Connection MakeChannel(const std::string& address, const TransportSettings& settings,
                       const ClientSecurity& security, const std::string& worker) {
  PrepareGrpc();
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

}  // namespace espalier::rpc
