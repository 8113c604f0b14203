#include "src/rpc/connections.h"

#include <fcntl.h>
#include <grpc/support/time.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "src/rpc/call_status.h"
#include "src/rpc/endpoint.h"
#include "src/rpc/read_turns.h"
#include "src/rpc/refusals.h"

namespace espalier::rpc {
namespace {

int64_t NowMs() {
  const gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);
  return now.tv_sec * 1'000 + now.tv_nsec / 1'000'000;
}

}  // namespace

struct Connections::Peer {
  struct Socket {
    int descriptor;
    uint64_t cookie;
  };
  // Calls `what` with the descriptor of each socket. gRPC owns the descriptors and may have closed
  // one. A later file or socket with that number has another cookie.
  template <typename What>
  void ForEachSocket(const What& what) const {
    for (const Socket& socket : sockets) {
      if (CookieOf(socket.descriptor) == socket.cookie) what(socket.descriptor);
    }
  }

  std::string endpoint;
  CallCount calls;
  int64_t large_calls = 0;
  bool paused = false;
  // Connections from this endpoint that this server has not closed. There are two only if the
  // client connects to two addresses of this host from one port.
  std::vector<Socket> sockets;
};

void Connections::OnAccepted(int descriptor) {
  const std::string endpoint = EndpointOfPeer(descriptor);
  if (endpoint.empty()) return;
  MutexLock lock(mutex_);
  std::shared_ptr<Peer>& last = descriptors_[descriptor];
  if (last != nullptr) {
    std::erase_if(last->sockets, [&](const auto& s) { return s.descriptor == descriptor; });
    const auto it = peers_.find(last->endpoint);
    if (last->sockets.empty() && it != peers_.end() && it->second == last) peers_.erase(it);
  }
  std::shared_ptr<Peer>& peer = peers_[endpoint];
  if (peer == nullptr) {
    peer = std::make_shared<Peer>();
    peer->endpoint = endpoint;
  }
  ReadInTurns(descriptor);
  peer->sockets.push_back({descriptor, CookieOf(descriptor)});
  HoldReads(descriptor, peer->paused);
  last = peer;
}

void Connections::ReportCall(const Peer& peer) {
  peer.ForEachSocket([&](int descriptor) { OnCall(descriptor, peer.large_calls > 0); });
}

void Connections::ExpectLargeMessages(const grpc::CallbackServerContext& context) {
  MutexLock lock(mutex_);
  const auto it = calls_.find(&context);
  if (it == calls_.end()) return;
  it->second.large = true;
  ++it->second.peer->large_calls;
  ReportCall(*it->second.peer);
}

bool Connections::Begin(const grpc::CallbackServerContext& context) {
  const std::string endpoint = EndpointOf(context.peer());
  MutexLock lock(mutex_);
  const auto it = peers_.find(endpoint);
  if (it == peers_.end()) return true;
  const std::shared_ptr<Peer> peer = it->second;
  if (peer->sockets.empty()) return false;
  calls_[&context] = {peer, NowMs(), ++last_call_};
  ReportCall(*peer);
  peer->calls.Begin();
  PauseOrResumeLocked(peer.get());
  return peer->calls.open() <= CallCount::kAdmittedMax;
}

void Connections::PauseOrResumeLocked(Peer* peer) {
  const bool crowded = static_cast<int64_t>(calls_.size()) > kOpenMax;
  const bool pause = peer->calls.MustPause(crowded);
  if (std::exchange(peer->paused, pause) == pause) return;
  peer->ForEachSocket([&](int descriptor) { HoldReads(descriptor, pause); });
}

void Connections::End(const grpc::CallbackServerContext& context) {
  const bool cancelled = context.IsCancelled();
  const int64_t now_ms = NowMs();
  MutexLock lock(mutex_);
  const auto call = calls_.extract(&context);
  if (call.empty()) return;
  const Call& ended = call.mapped();
  Peer* const peer = ended.peer.get();
  if (ended.large && --peer->large_calls == 0) ReportCall(*peer);
  const std::string why = peer->calls.End(cancelled, now_ms - ended.began_ms, now_ms);
  if (!why.empty()) CloseLocked(peer, why);
  PauseOrResumeLocked(peer);
}

void Connections::ExpectEnd(const grpc::CallbackServerContext& context) {
  MutexLock lock(mutex_);
  const auto it = calls_.find(&context);
  if (it == calls_.end() || it->second.cancelled != nullptr) return;
  it->second.cancelled = std::make_unique<grpc::Alarm>();
  it->second.cancelled->Set(Deadline(kCancelTimeoutMs), [weak = weak_from_this(), at = &context,
                                                         number = it->second.number](bool expired) {
    const auto self = weak.lock();
    if (expired && self != nullptr) self->CloseIfOpen(at, number);
  });
}

void Connections::CloseIfOpen(const grpc::CallbackServerContext* context, uint64_t number) {
  MutexLock lock(mutex_);
  const auto it = calls_.find(context);
  if (it == calls_.end() || it->second.number != number) return;
  CloseLocked(it->second.peer.get(), "a call was cancelled, and its caller does not read");
}

void Connections::CloseLocked(Peer* peer, const std::string& why) {
  if (peer->sockets.empty()) return;  // already closed
  for (const Peer::Socket& socket : peer->sockets) {
    // gRPC may close the descriptor at any time, and another socket may get its number.
    const int copy = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) continue;
    // Ends the connection with a reset and discards the data that the system has received. After
    // shutdown() gRPC would read that data first.
    const sockaddr none{AF_UNSPEC, {}};
    if (CookieOf(copy) == socket.cookie) connect(copy, &none, sizeof none);
    close(copy);
  }
  peer->sockets.clear();
  LogEndedConnection(peer->endpoint, why);
}

namespace {

// The connections of this process's servers, for CancelCall. A context does not lead to its server.
Mutex servers_mutex;
std::vector<std::weak_ptr<Connections>> servers GUARDED_BY(servers_mutex);

class Contexts final : public grpc::ContextAllocator {
 public:
  explicit Contexts(std::shared_ptr<Connections> connections)
      : connections_(std::move(connections)) {}
  grpc::GenericCallbackServerContext* NewGenericCallbackServerContext() override {
    OnCallRead();
    return new grpc::GenericCallbackServerContext;
  }
  void Release(grpc::CallbackServerContext* context) override {
    connections_->End(*context);
    delete static_cast<grpc::GenericCallbackServerContext*>(context);
  }
  void Release(grpc::GenericCallbackServerContext* context) override {
    Release(static_cast<grpc::CallbackServerContext*>(context));
  }

 private:
  const std::shared_ptr<Connections> connections_;
};

}  // namespace

std::unique_ptr<grpc::ContextAllocator> MakeContexts(std::shared_ptr<Connections> connections) {
  {
    MutexLock lock(servers_mutex);
    std::erase_if(servers, [](const auto& server) { return server.expired(); });
    servers.push_back(connections);
  }
  return std::make_unique<Contexts>(std::move(connections));
}

void CancelCall(grpc::CallbackServerContext* context) {
  context->TryCancel();
  std::vector<std::weak_ptr<Connections>> all;
  {
    MutexLock lock(servers_mutex);
    all = servers;
  }
  for (const auto& server : all) {
    if (const auto connections = server.lock()) connections->ExpectEnd(*context);
  }
}

}  // namespace espalier::rpc
