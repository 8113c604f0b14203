// TCP connections of a server and the calls that gRPC holds for each of them. Closes a connection
// that floods the server, or that keeps a cancelled call open. gRPC 1.51 limits neither reset calls
// nor the calls of a peer that does not acknowledge the settings. read_turns.h limits the bytes
// that gRPC reads before it calls the gate. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_context.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/base/mutex.h"
#include "src/rpc/call_count.h"

namespace espalier::rpc {

// Does not count connections through Unix sockets, because only the server's own user can open one.
// Thread rule: any thread.
class Connections : public std::enable_shared_from_this<Connections> {
 public:
  Connections() = default;
  // Waits for the last End, which may run on a gRPC thread.
  ~Connections() { MutexLock lock(mutex_); }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Calls that gRPC may hold for all connections together. Above this limit, reading pauses for
  // connections with more than CallCount::kFairMax calls.
  static constexpr int64_t kOpenMax = 5'000;
  // Time for a cancelled call to end before its connection is closed.
  static constexpr int64_t kCancelTimeoutMs = 2'000;

  // Registers a connection before gRPC receives it.
  void OnAccepted(int descriptor);

  // Counts the call of this context until End. Returns false if the call must be refused because
  // its connection has too many calls or was closed here. REQUIRES: the context is from
  // MakeContexts.
  bool Begin(const grpc::CallbackServerContext& context);
  // Lifts the limit of bytes without a call (read_turns.h) for the connection of this call until
  // End.
  void ExpectLargeMessages(const grpc::CallbackServerContext& context);
  // Closes the connection of a cancelled call if the call does not end in kCancelTimeoutMs. Has no
  // effect if the call is not counted.
  void ExpectEnd(const grpc::CallbackServerContext& context);
  // Stops counting the call. Has no effect if the call is not counted.
  void End(const grpc::CallbackServerContext& context);

 private:
  struct Peer;
  struct Call {
    std::shared_ptr<Peer> peer;
    int64_t began_ms = 0;
    uint64_t number = 0;  // unlike a context's address, not used again
    bool large = false;
    std::unique_ptr<grpc::Alarm> cancelled;  // set by ExpectEnd
  };
  void ReportCall(const Peer& peer);
  void PauseOrResumeLocked(Peer* peer) REQUIRES(mutex_);
  void CloseIfOpen(const grpc::CallbackServerContext* context, uint64_t number);
  void CloseLocked(Peer* peer, const std::string& why) REQUIRES(mutex_);

  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Peer>> peers_ GUARDED_BY(mutex_);  // by endpoint
  // Latest peer of each descriptor. When the system reuses a descriptor, its entry is replaced, so
  // the descriptor limit bounds both maps.
  std::map<int, std::shared_ptr<Peer>> descriptors_ GUARDED_BY(mutex_);
  std::unordered_map<const grpc::CallbackServerContext*, Call> calls_ GUARDED_BY(mutex_);
  uint64_t last_call_ GUARDED_BY(mutex_) = 0;  // number of the latest call
};

// Returns the allocator for the contexts of a server's calls. It ends the count of a call when gRPC
// releases the context.
std::unique_ptr<grpc::ContextAllocator> MakeContexts(std::shared_ptr<Connections> connections);

// Cancels the call, and closes its connection if the call does not end (ExpectEnd). gRPC keeps a
// call until it has sent the bytes that it has begun to send, so a caller that does not read its
// socket would keep the call open. REQUIRES: the call is not done.
void CancelCall(grpc::CallbackServerContext* context);

}  // namespace espalier::rpc
