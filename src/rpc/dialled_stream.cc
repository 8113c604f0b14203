#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/client_callback.h>

#include <utility>

#include "src/rpc/call_status.h"
#include "src/rpc/frame_stream.h"
#include "src/rpc/transport.h"

namespace espalier::rpc {

namespace {

constexpr const char* kLinkMethod = "/espalier.v1.Peer/Link";

// Keeps itself alive from Start to OnDone. One read is always in progress until a read fails or a
// frame is malformed. A hold keeps the call open until then for writes from other threads. gRPC
// itself retries to connect until the timeout, because the peer may start its listener later.
class DialledStream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                            public FrameStream,
                            public std::enable_shared_from_this<DialledStream> {
 public:
  DialledStream(const std::string& address, const std::string& name, const PeerOptions& options,
                std::shared_ptr<FrameHandler> handler, std::function<void()> on_done)
      : options_(options), handler_(std::move(handler)), on_done_(std::move(on_done)) {
    TransportSettings settings;
    settings.message_bytes_max =
        options.payload_bytes_max + static_cast<int64_t>(kFrameHeaderBytes);
    settings.keepalive_interval_ms = options.keepalive_interval_ms;
    settings.keepalive_timeout_ms = options.keepalive_timeout_ms;
    settings.connect_timeout_ms = options.connect_timeout_ms;
    settings.retry_ms = options.dial_retry_ms;
    connection_ = MakeChannel(address, settings, options.dialling, name);
    stub_ = std::make_unique<grpc::GenericStub>(connection_.channel);
  }

  void Start(const collective::ReduceMessage& hello) {
    self_ = shared_from_this();
    context_.set_wait_for_ready(true);
    stub_->PrepareBidiStreamingCall(&context_, kLinkMethod, {}, this);
    {
      MutexLock lock(mutex_);
      alarm_.Set(Deadline(options_.connect_timeout_ms), [weak = weak_from_this()](bool expired) {
        const auto self = weak.lock();
        if (expired && self != nullptr) self->TimedOut();
      });
    }
    AddHold();
    StartRead(&incoming_);
    Send(hello);
    StartCall();
  }

  void Send(const collective::ReduceMessage& message) override {
    grpc::ByteBuffer frame = ToFrame(message);
    const auto bytes = static_cast<int64_t>(frame.Length());
    MutexLock lock(mutex_);
    if (closed_ || !why_.ok()) return;
    if (const grpc::ByteBuffer* next = queue_.Push(std::move(frame), bytes)) StartWrite(next);
  }

  Queued queued() override {
    MutexLock lock(mutex_);
    return {queue_.bytes(), queue_.messages()};
  }

  void Break(const Status& why) override {
    MutexLock lock(mutex_);
    BreakLocked(why);
  }

  void OnReadInitialMetadataDone(bool ok) override {
    MutexLock lock(mutex_);
    if (ok) connected_ = true;
    alarm_.Cancel();
    opening_.Cancel();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Closed();
    Result<collective::ReduceMessage> message = FromFrame(incoming_, options_.payload_bytes_max);
    incoming_.Clear();
    const Status taken =
        message.ok() ? handler_->OnFrame(std::move(message).value()) : message.status();
    if (taken.ok()) return StartRead(&incoming_);
    Break(taken);
    Closed();
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mutex_);
    const grpc::ByteBuffer* next = queue_.Written(ok);
    if (next != nullptr && !closed_) StartWrite(next);
  }

  void OnDone(const grpc::Status& status) override {
    Status why;
    {
      MutexLock lock(mutex_);
      alarm_.Cancel();
      opening_.Cancel();
      why = why_.ok() ? Explain(status) : why_;
    }
    if (why.ok()) why = Unavailable("the other side closed the stream");
    std::exchange(handler_, nullptr)->OnClosed(std::move(why));
    const std::shared_ptr<DialledStream> self = std::move(self_);  // may be the last reference
    on_done_();
  }

 private:
  Status Explain(const grpc::Status& status) const {
    Status refused = status.ok() ? Status::Ok() : WhyNotTogether(connection_, status);
    return refused.ok() ? FromGrpc(status, context_) : refused;
  }

  void TimedOut() {
    MutexLock lock(mutex_);
    if (connected_ || closed_) return;
    if (const Status refused = WhyNotTogether(connection_, grpc::Status::OK); !refused.ok()) {
      return BreakLocked(refused);
    }
    if (connection_.channel->GetState(false) != GRPC_CHANNEL_READY) {
      return BreakLocked(DeadlineExceeded(
          "it cannot be reached; is the worker running, and its port open? (waited " +
          std::to_string(options_.connect_timeout_ms) + " ms)"));
    }
    opening_.Set(Deadline(options_.open_timeout_ms), [weak = weak_from_this()](bool expired) {
      const auto self = weak.lock();
      if (!expired || self == nullptr) return;
      MutexLock again(self->mutex_);
      if (self->connected_) return;
      self->BreakLocked(DeadlineExceeded("it was reached but did not open the generation (waited " +
                                         std::to_string(self->options_.open_timeout_ms) + " ms)"));
    });
  }

  void BreakLocked(const Status& why) REQUIRES(mutex_) {
    if (why_.ok()) why_ = why;
    queue_.Drop();
    context_.TryCancel();
  }

  // Ends reads and writes, so that OnDone can follow.
  void Closed() {
    MutexLock lock(mutex_);
    if (std::exchange(closed_, true)) return;
    queue_.Drop();
    RemoveHold();
  }

  const PeerOptions options_;
  std::shared_ptr<FrameHandler> handler_;  // used by the reactions
  const std::function<void()> on_done_;
  Connection connection_;
  std::unique_ptr<grpc::GenericStub> stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;
  std::shared_ptr<DialledStream> self_;

  Mutex mutex_;
  WriteQueue<grpc::ByteBuffer> queue_ GUARDED_BY(mutex_);
  Status why_ GUARDED_BY(mutex_);  // this side's reason for the end
  bool connected_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;  // the hold is removed: no more writes may start
  grpc::Alarm alarm_ GUARDED_BY(mutex_);    // timeout of the connection
  grpc::Alarm opening_ GUARDED_BY(mutex_);  // timeout of the open after the connection
};

}  // namespace

std::shared_ptr<FrameStream> Dial(const std::string& address, const std::string& name,
                                  const PeerOptions& options,
                                  const collective::ReduceMessage& hello,
                                  std::shared_ptr<FrameHandler> handler,
                                  std::function<void()> on_done) {
  auto stream = std::make_shared<DialledStream>(address, name, options, std::move(handler),
                                                std::move(on_done));
  stream->Start(hello);
  return stream;
}

}  // namespace espalier::rpc
