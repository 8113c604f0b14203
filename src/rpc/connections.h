// The TCP connections of a server with the calls that gRPC holds for each. Closes a connection that
// floods the server, because gRPC 1.51 bounds neither reset calls nor calls of a peer that does not
// acknowledge the settings. What gRPC reads before it calls the gate is bounded by read_turns.h.
// Private to rpc/.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_context.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/rpc/call_count.h"

namespace espalier::rpc {

// Connections over Unix sockets are not counted: only the server's own user can open one.
// Thread rule: any thread.
class Connections {
 public:
  Connections() = default;
  // Follows the last End, which may run on a thread of gRPC.
  ~Connections() { std::lock_guard lock(mutex_); }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Calls that gRPC may hold for all connections together. Beyond it, the reading of connections
  // with more than CallCount::kFairMax pauses.
  static constexpr int64_t kOpenMax = 5'000;

  // Notes a connection before gRPC receives it.
  void OnAccepted(int descriptor);

  // Counts the call of this context until End. Returns false if the call must be refused, because
  // the connection has too many or was closed here. REQUIRES: the context is from MakeContexts.
  bool Begin(const grpc::CallbackServerContext& context);
  // Lifts the limit of bytes without a call (read_turns.h) from its connection until End.
  void ExpectLargeMessages(const grpc::CallbackServerContext& context);
  // Has no effect if the call is not counted.
  void End(const grpc::CallbackServerContext& context);

 private:
  struct Peer;
  struct Call {
    std::shared_ptr<Peer> peer;
    int64_t began_ms = 0;
    bool large = false;
  };
  void ReportCall(const Peer& peer);
  void PauseOrResumeLocked(Peer* peer);
  void CloseLocked(Peer* peer, const std::string& why);

  std::mutex mutex_;                                    // guards what follows
  std::map<std::string, std::shared_ptr<Peer>> peers_;  // by endpoint
  // The peer that had each descriptor last. A descriptor that the system gives out again replaces
  // its entry, so the descriptor limit bounds both maps.
  std::map<int, std::shared_ptr<Peer>> descriptors_;
  std::unordered_map<const grpc::CallbackServerContext*, Call> calls_;
};

// Makes the contexts of a server's calls, and ends the count of a call when gRPC releases it.
std::unique_ptr<grpc::ContextAllocator> MakeContexts(std::shared_ptr<Connections> connections);

}  // namespace espalier::rpc
