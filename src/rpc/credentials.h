// The one place that decides how connections are secured. There is no TLS yet: both are insecure,
// and daemons refuse to listen beyond loopback unless told otherwise (CheckListen in
// config/address.h). Private to rpc/.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

namespace espalier::rpc {

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials();
std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials();

}  // namespace espalier::rpc
