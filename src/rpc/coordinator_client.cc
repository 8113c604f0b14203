#include "src/rpc/coordinator_client.h"

#include <grpcpp/alarm.h>
#include <grpcpp/support/client_callback.h>

#include <utility>

#include "proto/espalier/v1/cluster.grpc.pb.h"
#include "src/base/mutex.h"
#include "src/base/version.h"
#include "src/rpc/call_status.h"
#include "src/rpc/convert.h"
#include "src/rpc/transport.h"
#include "src/rpc/write_queue.h"

namespace espalier::rpc {

namespace {

namespace pb = ::espalier::v1;

// The stream. It keeps itself alive from Start to OnDone, so it may outlive the link that opened
// it. One read is always in progress until a read fails. A hold keeps the call open until then for
// writes from other threads.
class Session final : public grpc::ClientBidiReactor<pb::FromWorker, pb::ToWorker>,
                      public std::enable_shared_from_this<Session> {
 public:
  Session(const std::string& address, CoordinatorLinkListener* listener,
          const CoordinatorLinkOptions& options)
      : address_(address), options_(options), listener_(listener) {}

  void Start() {
    self_ = shared_from_this();
    rpc::TransportSettings settings;
    settings.message_bytes_max = options_.message_bytes_max;
    settings.keepalive_interval_ms = options_.keepalive_interval_ms;
    settings.keepalive_timeout_ms = options_.keepalive_timeout_ms;
    settings.connect_timeout_ms = options_.connect_timeout_ms;
    connection_ = rpc::MakeChannel(address_, settings, options_.security);
    stub_ = pb::Coordinator::NewStub(connection_.channel);
    rpc::Introduce(&context_, options_.security);
    stub_->async()->Attach(&context_, this);
    {
      MutexLock lock(mutex_);
      alarm_.Set(rpc::Deadline(options_.connect_timeout_ms),
                 [weak = weak_from_this()](bool expired) {
                   const auto self = weak.lock();
                   if (expired && self != nullptr) self->ConnectTimedOut();
                 });
    }
    AddHold();
    StartRead(&incoming_);
    StartCall();
  }

  void Send(const cluster::FromWorker& message) {
    pb::FromWorker out;
    rpc::ToProto(message, &out);
    const auto bytes = static_cast<int64_t>(out.ByteSizeLong());
    MutexLock lock(mutex_);
    if (closed_ || last_sent_) return;
    if (bytes > options_.message_bytes_max || queue_.bytes() + bytes > options_.queue_bytes_max ||
        queue_.messages() >= options_.queue_messages_max) {
      BreakLocked(ResourceExhausted("cannot send " + std::to_string(bytes) +
                                    " bytes to the coordinator at " + address_ + ": " +
                                    std::to_string(queue_.messages()) + " messages of " +
                                    std::to_string(queue_.bytes()) + " bytes wait; at most " +
                                    std::to_string(options_.message_bytes_max) + " a message and " +
                                    std::to_string(options_.queue_messages_max) + " messages of " +
                                    std::to_string(options_.queue_bytes_max) + " together may"));
      return;
    }
    if (const pb::FromWorker* next = queue_.Push(std::move(out), bytes)) StartWrite(next);
  }

  void CloseAfterSending() {
    MutexLock lock(mutex_);
    if (closed_ || std::exchange(last_sent_, true)) return;
    if (!queue_.writing()) StartWritesDone();
  }

  // After it returns, no listener call is in progress or follows, and gRPC has finished with the
  // stream.
  void Detach() {
    {
      MutexLock lock(deliver_);
      listener_ = nullptr;
    }
    MutexLock lock(mutex_);
    BreakLocked(Cancelled("the worker closed its link"));
    while (!done_) ended_.Wait(mutex_);
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (!ok) return;
    {
      MutexLock lock(mutex_);
      connected_ = true;
      alarm_.Cancel();
    }
    MutexLock lock(deliver_);
    TellConnected();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Closed();
    Result<cluster::ToWorker> message = rpc::FromProto(incoming_);
    if (!message.ok()) {
      {
        MutexLock lock(mutex_);
        BreakLocked(message.status().Wrap("the coordinator at " + address_ +
                                          " sent what this worker does not understand"));
      }
      return Closed();
    }
    {
      MutexLock lock(deliver_);
      TellConnected();
      if (listener_ != nullptr) listener_->OnMessage(std::move(message).value());
    }
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mutex_);
    const pb::FromWorker* next = queue_.Written(ok);
    if (closed_ || !ok) return;
    if (next != nullptr) {
      StartWrite(next);
    } else if (last_sent_) {
      StartWritesDone();
    }
  }

  void OnDone(const grpc::Status& status) override {
    Status why;
    bool ask;
    {
      MutexLock lock(mutex_);
      alarm_.Cancel();
      ask = why_.ok() && !connected_ && rpc::MayHaveMetTls(connection_, status);
      why = why_.ok() ? Explain(status) : why_;
    }
    if (!ask) return End(std::move(why));
    rpc::AskForTls(address_, [self = shared_from_this(), why](bool tls) {
      const Status mixed = rpc::OnlyThereTls();
      self->End(tls ? Status(mixed.code(), self->Who() + ": " + mixed.message()) : why);
    });
  }

 private:
  std::string Who() const { return "coordinator at " + address_; }

  // Makes the last listener call.
  void End(Status why) {
    {
      MutexLock lock(deliver_);
      if (listener_ != nullptr) std::exchange(listener_, nullptr)->OnClosed(std::move(why));
    }
    const std::shared_ptr<Session> self = std::move(self_);  // may be the last reference
    MutexLock lock(mutex_);
    done_ = true;
    ended_.NotifyAll();
  }

  // Calls OnConnected once. The first message may arrive before the metadata that announce the
  // connection.
  void TellConnected() REQUIRES(deliver_) {
    if (listener_ != nullptr && !std::exchange(told_connected_, true)) listener_->OnConnected();
  }

  void ConnectTimedOut() {
    MutexLock lock(mutex_);
    if (connected_ || closed_) return;
    BreakLocked(DeadlineExceeded("coordinator at " + address_ + " did not answer within " +
                                 std::to_string(options_.connect_timeout_ms) +
                                 " ms; is it overloaded, or does a firewall swallow packets?"));
  }

  void BreakLocked(const Status& why) REQUIRES(mutex_) {
    if (why_.ok()) why_ = why;
    queue_.Drop();
    last_sent_ = true;
    context_.TryCancel();
  }

  // Ends the reads, so that OnDone can follow.
  void Closed() {
    MutexLock lock(mutex_);
    if (std::exchange(closed_, true)) return;
    queue_.Drop();
    RemoveHold();
  }

  Status Explain(const grpc::Status& status) const REQUIRES(mutex_) {
    if (auto sent = rpc::SentError(context_)) return *std::move(sent);
    // An error of this side's certificate check is not a refusal by the coordinator.
    if (const Status judged = connection_.verdict->Get(); !judged.ok()) {
      const std::string text = Who() + ": " + judged.message();
      return judged.code() == StatusCode::kUnavailable ? Unavailable(text)
                                                       : FailedPrecondition(text);
    }
    if (Status refused = rpc::WhyNotTogether(connection_, status); !refused.ok()) {
      return Status(refused.code(), Who() + ": " + refused.message());
    }
    Status error = rpc::FromGrpc(status, context_);
    if (error.code() != StatusCode::kUnavailable) return error;
    return error.Wrap(connected_ ? "the connection to the coordinator at " + address_ + " broke"
                                 : "coordinator at " + address_ + " cannot be reached");
  }

  const std::string address_;
  const CoordinatorLinkOptions options_;
  rpc::Connection connection_;
  std::unique_ptr<pb::Coordinator::Stub> stub_;
  grpc::ClientContext context_;
  pb::ToWorker incoming_;
  std::shared_ptr<Session> self_;  // set until OnDone

  Mutex deliver_;  // held while the listener is called
  CoordinatorLinkListener* listener_ GUARDED_BY(deliver_);
  bool told_connected_ GUARDED_BY(deliver_) = false;

  Mutex mutex_;
  rpc::WriteQueue<pb::FromWorker> queue_ GUARDED_BY(mutex_);
  Status why_ GUARDED_BY(mutex_);
  bool connected_ GUARDED_BY(mutex_) = false;
  bool last_sent_ GUARDED_BY(mutex_) = false;  // no more messages will be queued
  bool closed_ GUARDED_BY(mutex_) = false;     // the hold is removed: no more writes may start
  bool done_ GUARDED_BY(mutex_) = false;       // no more reactions follow
  CondVar ended_;
  grpc::Alarm alarm_ GUARDED_BY(mutex_);
};

class Link final : public CoordinatorLink {
 public:
  explicit Link(std::shared_ptr<Session> session) : session_(std::move(session)) {
    session_->Start();
  }
  ~Link() override { session_->Detach(); }
  void Send(cluster::FromWorker message) override { session_->Send(message); }
  void CloseAfterSending() override { session_->CloseAfterSending(); }

 private:
  const std::shared_ptr<Session> session_;
};

}  // namespace

std::unique_ptr<CoordinatorLink> CoordinatorLink::Open(const std::string& address,
                                                       CoordinatorLinkListener* listener,
                                                       const CoordinatorLinkOptions& options) {
  return std::make_unique<Link>(std::make_shared<Session>(address, listener, options));
}

}  // namespace espalier::rpc
