// Deadlines of calls, and the errors with which calls end. Private to rpc/.
//
// Thread rule: pure functions.
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "src/base/status.h"

namespace espalier::rpc {

// Largest message of a status of gRPC.
inline constexpr size_t kGrpcMessageBytesMax = 2 << 10;

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
