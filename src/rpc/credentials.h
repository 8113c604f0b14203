// The one place that decides how connections are secured: TLS by gRPC, the peer's certificate
// judged here (security/certificate.h), so that every refusal has words.
//
// A server takes every TLS connection and judges each call (gate.h): a caller whose
// certificate is wrong is then told why, which the end of a handshake cannot say. A client judges
// the server in the handshake: nothing is sent to one that it does not believe. Replaced files are
// used for new connections, by a server within two seconds. Private to rpc/.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <mutex>
#include <string>

#include "src/rpc/security.h"

namespace espalier::rpc {

// Why a channel's last handshake was refused by this side. Thread rule: any thread.
class Verdict {
 public:
  void Set(Status why) {
    std::lock_guard lock(mutex_);
    why_ = std::move(why);
  }
  Status Get() const {
    std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  Status why_;
};

// Whom a channel is meant to reach.
struct Expected {
  std::string host;    // a coordinator there; its certificate names the host
  std::string worker;  // or the worker of this name, wherever it is; "": a coordinator
};

// `keychain` is null for a server without TLS.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const security::Keychain* keychain);

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const ClientSecurity& security,
                                                                 const Expected& expected,
                                                                 std::shared_ptr<Verdict> verdict);

// For a handshake that only asks whether the other side speaks TLS: if so, the verdict is an error.
std::shared_ptr<grpc::ChannelCredentials> MakeProbeCredentials(std::shared_ptr<Verdict> verdict);

}  // namespace espalier::rpc
