#include "src/rpc/worker_session.h"

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/version.h"
#include "src/config/address.h"
#include "src/rpc/call_status.h"
#include "src/rpc/connections.h"
#include "src/rpc/wire.h"

namespace espalier::rpc {

namespace {

// Time for a stream that ends to send the queued messages.
constexpr int64_t kSessionFlushTimeoutMs = 5'000;

Result<cluster::FromWorker> Parse(grpc::ByteBuffer* buffer) {
  ESPALIER_ASSIGN_OR_RETURN(const pb::FromWorker proto, ReadMessage<pb::FromWorker>(buffer));
  return FromProto(proto);
}

std::string Bytes(int64_t n) { return std::to_string(n) + " bytes"; }

}  // namespace

WorkerSession::WorkerSession(cluster::SessionId id, grpc::CallbackServerContext* context,
                             Caller caller, CoordinatorHandler* handler,
                             const CoordinatorServerLimits& limits,
                             std::shared_ptr<Authorizer> authorizer, DoneCallback on_done)
    : id_(id),
      context_(context),
      caller_(std::move(caller)),
      handler_(handler),
      limits_(limits),
      authorizer_(std::move(authorizer)),
      on_done_(std::move(on_done)) {
  StartSendInitialMetadata();  // tells the worker that it is connected
}

void WorkerSession::Send(grpc::ByteBuffer message) {
  const auto bytes = static_cast<int64_t>(message.Length());
  MutexLock lock(mutex_);
  if (ending_) return;
  if (bytes > limits_.message_bytes_max) {
    EndLocked(ResourceExhausted("a message of " + Bytes(bytes) +
                                " for the worker is too large, expected at most " +
                                Bytes(limits_.message_bytes_max) +
                                "; use fewer, larger shards (data.shard_bytes)"),
              true);
    return;
  }
  if (queue_.bytes() + bytes > limits_.session_queue_bytes_max ||
      queue_.messages() >= limits_.session_queue_messages_max) {
    EndLocked(ResourceExhausted("the worker does not read: " + std::to_string(queue_.messages()) +
                                " messages of " + Bytes(queue_.bytes()) + " wait for it"),
              false);
    CancelCall(context_);
    return;
  }
  if (const auto* next = queue_.Push(std::move(message), bytes)) StartWrite(next);
}

void WorkerSession::End(const Status& why) {
  MutexLock lock(mutex_);
  EndLocked(why, true);
}

void WorkerSession::EndLocked(const Status& why, bool flush) {
  if (!ending_) why_ = why;
  ending_ = true;
  if (!flush) queue_.Drop();
  if (queue_.writing()) {
    BreakOffSoonLocked();
  } else {
    FinishLocked();
  }
}

void WorkerSession::FinishLocked() {
  if (finished_) return;
  finished_ = true;
  alarm_.Cancel();
  Finish(ToGrpc(why_, context_));
}

void WorkerSession::BreakOffSoonLocked() {
  if (alarm_set_) return;
  alarm_set_ = true;
  alarm_.Set(Deadline(kSessionFlushTimeoutMs), [weak = weak_from_this()](bool expired) {
    const auto self = weak.lock();
    if (!expired || self == nullptr) return;
    MutexLock lock(self->mutex_);
    if (!self->done_) CancelCall(self->context_);
  });
}

void WorkerSession::OnReadDone(bool ok) {
  if (!ok) {
    const bool broken = context_->IsCancelled();
    MutexLock lock(mutex_);
    EndLocked(broken ? Unavailable("the connection to the worker broke") : Status::Ok(), !broken);
    return;
  }
  const auto bytes = static_cast<int64_t>(incoming_.Length());
  Result<cluster::FromWorker> message = Parse(&incoming_);
  if (message.ok()) {
    const auto* hello = std::get_if<cluster::Hello>(&*message);
    if (hello != nullptr) {
      if (const Status wrong = CheckHello(*hello); !wrong.ok()) message = wrong;
    }
  }
  if (!message.ok()) {
    MutexLock lock(mutex_);
    EndLocked(message.status(), false);
    return;
  }
  {
    MutexLock lock(mutex_);
    if (ending_) return;
    unhandled_bytes_ += bytes;
    ++unhandled_messages_;
  }
  handler_->OnWorkerMessage(
      id_, std::move(message).value(),
      MessageHold(nullptr, [self = shared_from_this(), bytes](void*) { self->Handled(bytes); }));
  MutexLock lock(mutex_);
  paused_ = !MayReadLocked();
  if (!paused_ && !finished_) StartRead(&incoming_);
}

Status WorkerSession::CheckHello(const cluster::Hello& hello) const {
  if (!caller_.MayAttachAs(hello.name)) {
    const Status why = PermissionDenied("the worker calls itself '" + Printable(hello.name) +
                                        "', but its certificate is that of " + caller_.ToString() +
                                        "; start it with the --name that its certificate says");
    authorizer_->Audit(caller_.Key(), "attach", why.message());
    return why;
  }
  if (hello.version != kVersion) return {};  // the handler checks the version first
  // Other workers dial this address. Only workers on the same machine can use a path on it.
  const Result<config::Address> address = config::ParseAddress(hello.address);
  if (address.ok() && config::IsDialable(*address) &&
      (address->path.empty() || caller_.IsThisUser())) {
    return {};
  }
  const Status why =
      InvalidArgument("the address of the worker: found '" + Printable(hello.address) +
                      "', expected host:port, by which other workers reach it (or unix:/PATH, "
                      "if the coordinator has a unix: address too). Set --listen or --advertise "
                      "of the worker.");
  LogWarning("refused worker '" + Printable(hello.name) + "': " + why.message());
  return why;
}

bool WorkerSession::MayReadLocked() const {
  return unhandled_bytes_ < limits_.session_unhandled_bytes_max &&
         unhandled_messages_ < limits_.session_unhandled_messages_max;
}

void WorkerSession::Handled(int64_t bytes) {
  MutexLock lock(mutex_);
  unhandled_bytes_ -= bytes;
  --unhandled_messages_;
  if (!paused_ || !MayReadLocked()) return;
  paused_ = false;
  if (!finished_) StartRead(&incoming_);
}

void WorkerSession::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  const grpc::ByteBuffer* next = queue_.Written(ok);
  if (!ok) {
    EndLocked(Unavailable("the connection to the worker broke"), false);
  } else if (next != nullptr) {
    StartWrite(next);
  } else if (ending_) {
    FinishLocked();
  }
}

void WorkerSession::OnCancel() {
  MutexLock lock(mutex_);
  EndLocked(Unavailable("the connection to the worker broke"), false);
}

void WorkerSession::OnDone() {
  Status why;
  {
    MutexLock lock(mutex_);
    done_ = true;
    alarm_.Cancel();
    why = why_;
  }
  handler_->OnWorkerClosed(id_, std::move(why));
  on_done_(this);  // may destroy this
}

}  // namespace espalier::rpc
