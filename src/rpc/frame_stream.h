// A stream of frames between two members, dialled or accepted. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <memory>
#include <mutex>

#include "src/collective/message.h"
#include "src/rpc/authorizer.h"
#include "src/rpc/frame.h"
#include "src/rpc/peer.h"
#include "src/rpc/write_queue.h"

namespace espalier::rpc {

// What becomes of a stream. Called from gRPC's threads; OnFrame and OnClosed one at a time.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  // An error breaks the stream with it.
  virtual Status OnFrame(collective::ReduceMessage message) = 0;
  // Last call, once.
  virtual void OnClosed(Status why) = 0;
};

// Thread rule: any thread; never blocks; does nothing once the stream is closed.
class FrameStream {
 public:
  virtual ~FrameStream() = default;
  virtual void Send(const collective::ReduceMessage& message) = 0;
  // What was sent and is not written yet.
  struct Queued {
    int64_t bytes = 0, messages = 0;
  };
  virtual Queued queued() = 0;
  // Ends the stream for both sides; the handler's OnClosed gets `why`, and, if the call can still
  // carry it, the other side as well.
  virtual void Break(const Status& why) = 0;
};

// Opens a stream to the peer of that name and sends the hello at once. When the peer is not
// reached within the connect timeout, or does not take it within the open timeout, it closes with
// kDeadlineExceeded. `on_done` is called when gRPC is done with
// it.
std::shared_ptr<FrameStream> Dial(const std::string& address, const std::string& name,
                                  const PeerOptions& options,
                                  const collective::ReduceMessage& hello,
                                  std::shared_ptr<FrameHandler> handler,
                                  std::function<void()> on_done);

// A stream that a peer opened. It reads the hello, tells `on_hello`, and reads on once it is
// accepted; without that it closes after the hello timeout or the open timeout. Until then its
// owner may Break it.
class AcceptedStream final : public grpc::ServerGenericBidiReactor,
                             public FrameStream,
                             public std::enable_shared_from_this<AcceptedStream> {
 public:
  // Called once each, from gRPC's threads; on_done is the last reaction.
  struct Callbacks {
    std::function<void(const std::shared_ptr<AcceptedStream>&,
                       const collective::ReduceMessage& hello)>
        on_hello;
    std::function<void(AcceptedStream*)> on_done;
  };
  AcceptedStream(grpc::CallbackServerContext* context, Caller caller, const PeerOptions& options,
                 Callbacks callbacks);

  // Who opened it.
  const Caller& caller() const { return caller_; }

  // Call once, when it is owned by a shared_ptr; it keeps itself alive until on_done.
  void Start();
  // From now on frames go to the handler. False when the stream has ended already; the handler is
  // not called then.
  bool Accept(std::shared_ptr<FrameHandler> handler);

  void Send(const collective::ReduceMessage& message) override;
  Queued queued() override;
  void Break(const Status& why) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void Hold();
  void BreakLocked(const Status& why);
  void FinishLocked();

  grpc::CallbackServerContext* const context_;  // valid until done_
  const Caller caller_;
  const PeerOptions options_;
  const Callbacks callbacks_;
  grpc::ByteBuffer incoming_;
  std::shared_ptr<AcceptedStream> self_;

  std::mutex mutex_;  // guards what follows
  std::shared_ptr<FrameHandler> handler_;
  WriteQueue<grpc::ByteBuffer> queue_;
  Status why_;
  bool ending_ = false;
  bool finished_ = false;
  bool done_ = false;
  bool greeted_ = false;
  grpc::Alarm alarm_;    // of the hello
  grpc::Alarm opening_;  // of what comes after it
};

}  // namespace espalier::rpc
