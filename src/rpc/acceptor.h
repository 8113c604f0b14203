// The listening sockets of a server. The acceptor accepts connections and passes them to gRPC,
// within the descriptor limit of the process. gRPC 1.51 stops listening permanently when it runs
// out of descriptors, so a client with many connections could block all others. Private to rpc/.
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

// Thread rule: one thread. The acceptor accepts connections on a separate thread.
class Acceptor {
 public:
  // Binds and listens on every local address that the host name resolves to. Returns the reason if
  // that fails. Raises the soft limit of open files of the process to the hard limit, because a
  // server uses one descriptor for each connection. A connection breaks if the other side does not
  // acknowledge data for `silence_ms`.
  //
  // A Unix socket is accessible to the current user only and is removed at the end. A socket that
  // no process listens on is replaced. Two servers that replace it at the same time are not
  // detected. `silence_ms` has no effect on Unix sockets, where a stopped local program may hold
  // the data written to it.
  static Result<std::unique_ptr<Acceptor>> Listen(const config::Address& address,
                                                  int64_t silence_ms);
  // Stops accepting connections and closes the sockets.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;

  int port() const { return port_; }  // 0 for a Unix socket
  // Starts to accept connections. REQUIRES: the server has started. `connections` is notified of
  // each connection before gRPC receives it.
  void Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> to,
             std::shared_ptr<Connections> connections);

 private:
  Acceptor(int wake, int descriptor_max) : wake_(wake), descriptor_max_(descriptor_max) {}
  // Listens on all addresses. `port` is the requested port. Returns errno if no address works, or
  // if another process uses that port at one of the addresses.
  int ListenOnAll(addrinfo* first, int port, int64_t silence_ms);
  int ListenOnPath(const std::string& path);  // 0 or errno
  void Run();
  enum class Accepted { kOne, kNone, kStuck };  // kStuck: the waiting one cannot be accepted now
  Accepted AcceptOne(int socket);
  void TurnAway(int descriptor);

  const int wake_;
  std::vector<int> sockets_;
  int port_ = 0;              // port of all sockets
  std::string path_;          // path of the Unix socket; empty: none
  ino_t inode_ = 0;           // inode of the socket that this object created at path_
  const int descriptor_max_;  // connections with a higher number are closed at once
  int spare_ = -1;            // released to reject a connection when no other descriptor is free
  int64_t told_s_ = 0;        // time of the last logged rejection
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> to_;
  std::shared_ptr<Connections> connections_;
  std::thread thread_;
};

}  // namespace espalier::rpc
