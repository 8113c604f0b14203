#include "src/rpc/watch_call.h"

#include <utility>

#include "src/rpc/call_status.h"
#include "src/rpc/connections.h"
#include "src/rpc/wire.h"

namespace espalier::rpc {

namespace {

// Time for a call that must end to send the waiting updates.
constexpr int64_t kWatchFlushTimeoutMs = 5'000;

}  // namespace

void WatchCall::Send(spec::JobUpdate update) {
  MutexLock lock(mutex_);
  if (ending_) return;
  if (!writing_) return StartLocked(update);
  if (!waiting_) {
    waiting_ = std::move(update);
    return;
  }
  waiting_->snapshot = std::move(update.snapshot);
  for (spec::HistoryRow& row : update.history) waiting_->history.push_back(std::move(row));
  const auto rows = static_cast<int64_t>(waiting_->history.size());
  if (rows <= rows_max_) return;
  waiting_.reset();
  ending_ = cancelled_ = true;
  why_ = ResourceExhausted("the watcher does not read: " + std::to_string(rows) +
                           " evaluations wait for it; watch again");
  CancelCall(context_);  // ends the write in progress
}

void WatchCall::StartLocked(const spec::JobUpdate& update) {
  pb::JobUpdate message;
  ToProto(update, &message);
  const Status may = calls_->Hold(this, static_cast<int64_t>(message.ByteSizeLong()));
  if (!may.ok()) {
    why_ = may;  // applies also to a call that was ending with OK: it is now incomplete
    ending_ = cancelled_ = true;
    return FinishLocked();
  }
  writing_ = true;
  outgoing_ = WriteMessage(message);
  StartWrite(&outgoing_);
}

void WatchCall::CloseLocked(const Status& why) {
  if (!ending_) why_ = why;
  ending_ = cancelled_ = true;  // the handler may drop it, whichever side ended it
  if (!writing_) FinishLocked();
}

void WatchCall::Close(const Status& why) {
  MutexLock lock(mutex_);
  CloseLocked(why);
}

void WatchCall::End(const Status& why) {
  MutexLock lock(mutex_);
  CloseLocked(why);
  if (finished_ || std::exchange(alarm_set_, true)) return;
  alarm_.Set(Deadline(kWatchFlushTimeoutMs), [weak = weak_from_this()](bool expired) {
    const auto self = weak.lock();
    if (!expired || self == nullptr) return;
    MutexLock lock(self->mutex_);
    if (!self->done_) CancelCall(self->context_);  // ends the write in progress
  });
}

bool WatchCall::cancelled() {
  MutexLock lock(mutex_);
  return cancelled_;
}

void WatchCall::FinishLocked() {
  if (std::exchange(finished_, true)) return;
  alarm_.Cancel();
  Finish(ToGrpc(why_, context_));
}

void WatchCall::Read() {
  MutexLock lock(mutex_);
  if (ending_) return;
  request_alarm_.Set(Deadline(calls_->limits().read_timeout_ms),
                     [weak = weak_from_this()](bool expired) {
                       const auto self = weak.lock();
                       if (!expired || self == nullptr) return;
                       MutexLock lock(self->mutex_);
                       if (self->requested_ || self->done_) return;
                       self->CloseLocked(DeadlineExceeded("no request arrived in time"));
                     });
  StartRead(&incoming_);
}

void WatchCall::OnReadDone(bool ok) {
  {
    MutexLock lock(mutex_);
    requested_ = true;
    request_alarm_.Cancel();
    if (ending_) return;
  }
  start_(shared_from_this(), ok ? ReadMessage<pb::WatchRequest>(&incoming_)
                                : InvalidArgument("the call ended without a request"));
}

void WatchCall::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  (void)calls_->Hold(this, 0);  // a Hold of 0 bytes always succeeds
  if (!ok) {
    ending_ = cancelled_ = true;
    waiting_.reset();
  }
  if (waiting_) {
    StartLocked(*std::exchange(waiting_, std::nullopt));
  } else if (ending_) {
    FinishLocked();
  }
}

void WatchCall::OnCancel() {
  MutexLock lock(mutex_);
  if (!ending_) why_ = Cancelled("the watcher disconnected");
  ending_ = cancelled_ = true;
  waiting_.reset();
  if (!writing_) FinishLocked();
}

void WatchCall::OnDone() {
  {
    MutexLock lock(mutex_);
    done_ = true;
    alarm_.Cancel();
    request_alarm_.Cancel();
  }
  calls_->Remove(this);  // may destroy this
}

namespace {

class Sink final : public WatchSink {
 public:
  explicit Sink(std::shared_ptr<WatchCall> call) : call_(std::move(call)) {}
  ~Sink() override { call_->Close(OpenCalls::ShuttingDown()); }
  void Send(spec::JobUpdate update) override { call_->Send(std::move(update)); }
  void Close(Status status) override { call_->Close(status); }
  bool cancelled() const override { return call_->cancelled(); }

 private:
  const std::shared_ptr<WatchCall> call_;
};

}  // namespace

std::shared_ptr<WatchSink> MakeWatchSink(std::shared_ptr<WatchCall> call) {
  return std::make_shared<Sink>(std::move(call));
}

}  // namespace espalier::rpc
