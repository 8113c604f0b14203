// The listening socket of a server: accepts connections and hands them to gRPC, but none beyond
// what the process can bear. gRPC 1.51 stops to listen for good when it runs out of descriptors, so
// that whoever opens connections enough could shut everybody out. Private to rpc/.
#pragma once

#include <grpcpp/server_builder.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "src/base/status.h"
#include "src/config/address.h"

namespace espalier::rpc {

// Thread rule: one thread; accepts on one of its own.
class Acceptor {
 public:
  // Binds and listens; errors say why not. Raises the process's soft limit of open files to the
  // hard one: a server needs one for each connection. A connection whose other side does not
  // acknowledge what it is sent for `silence_ms` breaks.
  static Result<std::unique_ptr<Acceptor>> Listen(const Address& address, int64_t silence_ms);
  // Stops accepting and closes the socket.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;

  int port() const { return port_; }
  // Begins to accept, for a server that has started.
  void Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> to);

 private:
  Acceptor(int socket, int wake, int port, int descriptor_max)
      : socket_(socket), wake_(wake), port_(port), descriptor_max_(descriptor_max) {}
  void Run();
  // False: there is nothing to accept now.
  bool AcceptOne();
  void TurnAway(int descriptor);

  const int socket_, wake_, port_;
  const int descriptor_max_;  // a connection with a higher number is closed at once
  int spare_ = -1;            // given up to turn somebody away when there is no other
  int64_t told_s_ = 0;        // when a refusal was last logged
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> to_;
  std::thread thread_;
};

}  // namespace espalier::rpc
