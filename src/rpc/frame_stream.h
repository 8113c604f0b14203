// A stream of frames between two members, dialled or accepted. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <memory>

#include "src/base/mutex.h"
#include "src/collective/message.h"
#include "src/rpc/authorizer.h"
#include "src/rpc/frame.h"
#include "src/rpc/peer_options.h"
#include "src/rpc/write_queue.h"

namespace espalier::rpc {

// Receives the events of a stream. gRPC's threads call OnFrame and OnClosed, one at a time.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  // Handles a frame. An error breaks the stream with that error.
  virtual Status OnFrame(collective::ReduceMessage message) = 0;
  // Last call, exactly once.
  virtual void OnClosed(Status why) = 0;
};

// Thread rule: any thread. Never blocks. Has no effect after the stream is closed.
class FrameStream {
 public:
  virtual ~FrameStream() = default;
  virtual void Send(const collective::ReduceMessage& message) = 0;
  // Messages that were sent but not yet written.
  struct Queued {
    int64_t bytes = 0, messages = 0;
  };
  virtual Queued queued() = 0;
  // Ends the stream for both sides. The handler's OnClosed receives `why`. The other side also
  // receives it if the call can still transmit it.
  virtual void Break(const Status& why) = 0;
};

// Opens a stream to the peer with this name and sends the hello at once. The stream closes with
// kDeadlineExceeded if the peer is not reached within the connect timeout or does not accept the
// stream within the open timeout. `on_done` is called when gRPC has finished with the stream.
std::shared_ptr<FrameStream> Dial(const std::string& address, const std::string& name,
                                  const PeerOptions& options,
                                  const collective::ReduceMessage& hello,
                                  std::shared_ptr<FrameHandler> handler,
                                  std::function<void()> on_done);

// A stream that a peer opened. It reads the hello, calls `on_hello`, and continues to read after
// Accept. Without Accept it closes after the hello timeout or the open timeout. Until then its
// owner may call Break.
class AcceptedStream final : public grpc::ServerGenericBidiReactor,
                             public FrameStream,
                             public std::enable_shared_from_this<AcceptedStream> {
 public:
  // Each is called once, from gRPC's threads. on_done is the last reaction.
  struct Callbacks {
    std::function<void(const std::shared_ptr<AcceptedStream>&,
                       const collective::ReduceMessage& hello)>
        on_hello;
    std::function<void(AcceptedStream*)> on_done;
  };
  AcceptedStream(grpc::CallbackServerContext* context, Caller caller, const PeerOptions& options,
                 Callbacks callbacks);

  // Returns the caller that opened the stream.
  const Caller& caller() const { return caller_; }

  // Starts to read. Call once, when a shared_ptr owns the stream. The stream keeps itself alive
  // until on_done.
  void Start();
  // Passes all further frames to the handler. Returns false if the stream has already ended. The
  // handler is not called then.
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
  void BreakLocked(const Status& why) REQUIRES(mutex_);
  void FinishLocked() REQUIRES(mutex_);

  grpc::CallbackServerContext* const context_;  // valid until done_
  const Caller caller_;
  const PeerOptions options_;
  const Callbacks callbacks_;
  grpc::ByteBuffer incoming_;
  std::shared_ptr<AcceptedStream> self_;

  Mutex mutex_;
  std::shared_ptr<FrameHandler> handler_ GUARDED_BY(mutex_);
  WriteQueue<grpc::ByteBuffer> queue_ GUARDED_BY(mutex_);
  Status why_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  bool done_ GUARDED_BY(mutex_) = false;
  bool greeted_ GUARDED_BY(mutex_) = false;
  grpc::Alarm alarm_ GUARDED_BY(mutex_);    // timeout of the hello
  grpc::Alarm opening_ GUARDED_BY(mutex_);  // timeout of the open after the hello
};

}  // namespace espalier::rpc
