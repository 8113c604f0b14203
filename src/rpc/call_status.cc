#include "src/rpc/call_status.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "src/base/version.h"
#include "src/rpc/call_metadata.h"
#include "src/rpc/convert.h"
#include "src/rpc/fields.h"

namespace espalier::rpc {
namespace {

constexpr size_t kErrorBytesMax = 96 << 10;

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
