#include <utility>

#include "src/rpc/call_status.h"
#include "src/rpc/connections.h"
#include "src/rpc/frame_stream.h"

namespace espalier::rpc {

AcceptedStream::AcceptedStream(grpc::CallbackServerContext* context, Caller caller,
                               const PeerOptions& options, Callbacks callbacks)
    : context_(context),
      caller_(std::move(caller)),
      options_(options),
      callbacks_(std::move(callbacks)) {}

void AcceptedStream::Start() {
  self_ = shared_from_this();
  {
    MutexLock lock(mutex_);
    alarm_.Set(Deadline(options_.hello_timeout_ms), [weak = weak_from_this()](bool expired) {
      const auto self = weak.lock();
      if (!expired || self == nullptr) return;
      MutexLock lock(self->mutex_);
      if (self->greeted_) return;
      self->BreakLocked(DeadlineExceeded("no hello came within " +
                                         std::to_string(self->options_.hello_timeout_ms) + " ms"));
    });
  }
  StartRead(&incoming_);
}

// Starts the open timeout, which begins with the hello.
void AcceptedStream::Hold() {
  MutexLock lock(mutex_);
  greeted_ = true;
  if (ending_) return;
  alarm_.Cancel();
  opening_.Set(Deadline(options_.open_timeout_ms), [weak = weak_from_this()](bool expired) {
    const auto self = weak.lock();
    if (!expired || self == nullptr) return;
    MutexLock again(self->mutex_);
    if (self->handler_ != nullptr) return;
    self->BreakLocked(DeadlineExceeded("this member did not open the generation within " +
                                       std::to_string(self->options_.open_timeout_ms) + " ms"));
  });
}

bool AcceptedStream::Accept(std::shared_ptr<FrameHandler> handler) {
  MutexLock lock(mutex_);
  if (ending_) return false;
  handler_ = std::move(handler);
  opening_.Cancel();
  StartSendInitialMetadata();  // tells the dialler that it is connected
  StartRead(&incoming_);
  return true;
}

void AcceptedStream::Send(const collective::ReduceMessage& message) {
  grpc::ByteBuffer frame = ToFrame(message);
  const auto bytes = static_cast<int64_t>(frame.Length());
  MutexLock lock(mutex_);
  if (ending_) return;
  if (const grpc::ByteBuffer* next = queue_.Push(std::move(frame), bytes)) StartWrite(next);
}

FrameStream::Queued AcceptedStream::queued() {
  MutexLock lock(mutex_);
  return {queue_.bytes(), queue_.messages()};
}

void AcceptedStream::Break(const Status& why) {
  MutexLock lock(mutex_);
  BreakLocked(why);
}

void AcceptedStream::BreakLocked(const Status& why) {
  if (!ending_) why_ = why;
  ending_ = true;
  queue_.Drop();
  if (!queue_.writing()) {
    FinishLocked();
  } else if (!done_) {
    CancelCall(context_);  // ends the write in progress
  }
}

void AcceptedStream::FinishLocked() {
  if (std::exchange(finished_, true)) return;
  alarm_.Cancel();
  opening_.Cancel();
  Finish(ToGrpc(why_, context_));
}

void AcceptedStream::OnReadDone(bool ok) {
  if (!ok) return Break(Unavailable("the other side closed the stream"));
  Result<collective::ReduceMessage> message = FromFrame(incoming_, options_.payload_bytes_max);
  incoming_.Clear();
  if (!message.ok()) return Break(message.status());
  bool greeted;
  std::shared_ptr<FrameHandler> handler;
  {
    MutexLock lock(mutex_);
    greeted = greeted_;
    if (greeted && ending_) return;
    handler = handler_;
  }
  if (!greeted) {
    if (message->kind != collective::MessageKind::kHello) {
      return Break(InvalidArgument("the first frame of a stream is not a hello"));
    }
    if (message->payload.size > 0) {  // the frame may have to be held
      return Break(InvalidArgument("the hello of a stream has a payload"));
    }
    Hold();
    return callbacks_.on_hello(shared_from_this(), message.value());  // Accept continues to read
  }
  if (Status taken = handler->OnFrame(std::move(message).value()); !taken.ok()) {
    return Break(taken);
  }
  StartRead(&incoming_);
}

void AcceptedStream::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  const grpc::ByteBuffer* next = queue_.Written(ok);
  if (next != nullptr) {
    StartWrite(next);
  } else if (ending_) {
    FinishLocked();
  } else if (!ok) {
    BreakLocked(Unavailable("the connection broke"));
  }
}

void AcceptedStream::OnCancel() { Break(Unavailable("the other side is gone")); }

void AcceptedStream::OnDone() {
  std::shared_ptr<FrameHandler> handler;
  Status why;
  {
    MutexLock lock(mutex_);
    done_ = true;
    handler = std::move(handler_);
    why = why_;
    alarm_.Cancel();
    opening_.Cancel();
  }
  if (handler != nullptr) handler->OnClosed(std::move(why));
  callbacks_.on_done(this);
  const std::shared_ptr<AcceptedStream> self = std::move(self_);  // may be the last reference
}

}  // namespace espalier::rpc
