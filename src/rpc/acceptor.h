// Listening sockets of a server. Accepts connections and hands them to gRPC, within the process's
// limit of descriptors. gRPC 1.51 stops listening for good when it runs out of descriptors, so a
// client with many connections could block all others. Private to rpc/.
#pragma once

#include <grpcpp/server_builder.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/base/status.h"
#include "src/config/address.h"
#include "src/rpc/connections.h"

struct addrinfo;

namespace espalier::rpc {

// Thread rule: one thread; accepts on one of its own.
class Acceptor {
 public:
  // Binds and listens, on all addresses of a name that are this host's; errors say why not. Raises
  // the process's soft limit of open files to the hard one: a server needs one for each connection.
  // A connection whose other side does not acknowledge what it is sent for `silence_ms` breaks.
  // A Unix socket is made for this user alone and removed at the end; one that nobody listens on
  // any more is replaced (two that do so at once are not kept apart). `silence_ms` means nothing
  // there: a stopped program of this machine may hold what is written to it.
  static Result<std::unique_ptr<Acceptor>> Listen(const config::Address& address,
                                                  int64_t silence_ms);
  // Stops accepting and closes the sockets.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;

  int port() const { return port_; }  // 0 for a Unix socket
  // Begins to accept, for a server that has started. `connections` learns of each connection first.
  void Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> to,
             std::shared_ptr<Connections> connections);

 private:
  Acceptor(int wake, int descriptor_max) : wake_(wake), descriptor_max_(descriptor_max) {}
  // `port`: the one that was asked for. Returns errno when it listens nowhere, or somebody else has
  // that port at one of the addresses.
  int ListenOnAll(addrinfo* first, int port, int64_t silence_ms);
  int ListenOnPath(const std::string& path);  // likewise
  void Run();
  enum class Accepted { kOne, kNone, kStuck };  // kStuck: one waits that cannot be accepted now
  Accepted AcceptOne(int socket);
  void TurnAway(int descriptor);

  const int wake_;
  std::vector<int> sockets_;
  int port_ = 0;              // of all of them
  std::string path_;          // of the Unix socket; empty: none
  ino_t inode_ = 0;           // of path_ as we made it
  const int descriptor_max_;  // a connection with a higher number is closed at once
  int spare_ = -1;            // given up to turn somebody away when there is no other
  int64_t told_s_ = 0;        // when a refusal was last logged
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> to_;
  std::shared_ptr<Connections> connections_;
  std::thread thread_;
};

}  // namespace espalier::rpc
