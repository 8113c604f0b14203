// The one place that decides how connections are secured. gRPC does TLS, and this room checks the
// peer's certificate (security/certificate.h), so that every refusal states its reason.
//
// A server accepts every TLS connection and checks each call (gate.h). A caller with a wrong
// certificate then receives the reason, which a failed handshake cannot transmit. A client checks
// the server during the handshake, and sends nothing to a server that it rejects. New connections
// use replaced files, on a server within two seconds. Private to rpc/.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "src/base/mutex.h"
#include "src/rpc/security.h"

namespace espalier::rpc {

// The reason why this side refused a channel's last handshake. Thread rule: any thread.
class Verdict {
 public:
  void Set(Status why) {
    MutexLock lock(mutex_);
    why_ = std::move(why);
  }
  Status Get() const {
    MutexLock lock(mutex_);
    return why_;
  }

 private:
  mutable Mutex mutex_;
  Status why_ GUARDED_BY(mutex_);
};

// The peer that a channel must reach.
struct Expected {
  std::string host;    // host of a coordinator, whose certificate names it
  std::string worker;  // name of a worker on any host; empty: coordinator
};

// `keychain` is null for a server without TLS.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const security::Keychain* keychain);

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const ClientSecurity& security,
                                                                 const Expected& expected,
                                                                 std::shared_ptr<Verdict> verdict);

// Returns credentials for a handshake that only tests whether the other side speaks TLS. If it
// does, `verdict` is set to an error.
std::shared_ptr<grpc::ChannelCredentials> MakeProbeCredentials(std::shared_ptr<Verdict> verdict);

}  // namespace espalier::rpc
