// A unary call of the callback API, and functions that start and answer one. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "src/base/mutex.h"
#include "src/rpc/call_status.h"
#include "src/rpc/connections.h"
#include "src/rpc/open_calls.h"
#include "src/rpc/wire.h"

namespace espalier::rpc {

// Reads one request and sends one answer. The answer comes from the handler, a cancellation, a
// shutdown, or the loss of the Done callback that had to answer. The call ends if the request does
// not arrive, or the caller does not read the answer, within OpenCallLimits::read_timeout_ms.
// Thread rule: any thread.
template <typename Request, typename Response>
class UnaryCall final : public grpc::ServerGenericBidiReactor,
                        public OpenCall,
                        public std::enable_shared_from_this<UnaryCall<Request, Response>> {
 public:
  // Handles the request, or the error if the request did not arrive or is malformed.
  using Start = std::function<void(std::shared_ptr<UnaryCall>, Result<Request>)>;

  UnaryCall(grpc::CallbackServerContext* context, OpenCalls* calls, Start start)
      : context_(context), calls_(calls), start_(std::move(start)) {}

  // Starts to read the request. Call once, after OpenCalls::Add.
  void Read() {
    MutexLock lock(mutex_);
    if (answered_) return;
    LimitLocked([](UnaryCall* call) REQUIRES(call->mutex_) {
      if (!call->requested_) call->AnswerLocked(DeadlineExceeded("no request arrived in time"), {});
    });
    StartRead(&incoming_);
  }
  // Sends the answer. Later calls have no effect. `fill` creates the response if the status is OK.
  void Answer(const Status& status, const std::function<void(Response*)>& fill = {}) {
    MutexLock lock(mutex_);
    AnswerLocked(status, fill);
  }
  // Returns false once the call is answered or cancelled.
  bool open() {
    MutexLock lock(mutex_);
    return !answered_;
  }
  void End(const Status& why) override { Answer(why); }
  void OnReadDone(bool ok) override {
    {
      MutexLock lock(mutex_);
      if (answered_) return;
      requested_ = true;
      alarm_.reset();
    }
    start_(this->shared_from_this(), ok ? ReadMessage<Request>(&incoming_)
                                        : InvalidArgument("the call ended without a request"));
  }
  void OnCancel() override { Answer(Cancelled("the caller disconnected")); }
  void OnDone() override {
    {
      MutexLock lock(mutex_);
      done_ = true;
      alarm_.reset();
    }
    calls_->Remove(this);  // may destroy this
  }

 private:
  void AnswerLocked(Status status, const std::function<void(Response*)>& fill) REQUIRES(mutex_) {
    if (answered_) return;
    answered_ = true;
    if (status.ok()) {
      Response response;
      if (fill) fill(&response);
      status = calls_->Hold(this, static_cast<int64_t>(response.ByteSizeLong()));
      if (status.ok()) outgoing_ = WriteMessage(response);
    }
    if (status.ok()) {
      StartWriteAndFinish(&outgoing_, {}, grpc::Status::OK);
    } else {
      Finish(ToGrpc(status, context_));
    }
    LimitLocked([](UnaryCall* call) { CancelCall(call->context_); });
  }
  // Calls `expired`, with the mutex held, after the timeout. Replaces an earlier limit.
  void LimitLocked(void (*expired)(UnaryCall*)) REQUIRES(mutex_) {
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(Deadline(calls_->limits().read_timeout_ms),
                [weak = this->weak_from_this(), expired](bool rang) {
                  const auto self = weak.lock();
                  if (!rang || self == nullptr) return;
                  MutexLock lock(self->mutex_);
                  if (!self->done_) expired(self.get());
                });
  }

  grpc::CallbackServerContext* const context_;  // valid until done_
  OpenCalls* const calls_;
  const Start start_;
  grpc::ByteBuffer incoming_, outgoing_;
  Mutex mutex_;
  bool requested_ GUARDED_BY(mutex_) = false;  // the request has arrived
  bool answered_ GUARDED_BY(mutex_) = false;
  bool done_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Alarm> alarm_ GUARDED_BY(mutex_);
};

// Adds a call to `calls`, counted for `caller` (empty: not counted), and reads its request. If the
// call is not added, for example because the caller has too many, it ends with that error and
// `refused` receives it.
template <typename Request, typename Response>
grpc::ServerGenericBidiReactor* StartUnary(grpc::CallbackServerContext* context, OpenCalls* calls,
                                           const std::string& caller,
                                           typename UnaryCall<Request, Response>::Start start,
                                           const std::function<void(const Status&)>& refused = {}) {
  auto call = std::make_shared<UnaryCall<Request, Response>>(context, calls, std::move(start));
  // A call that is not added is answered. OpenCalls keeps it until it is done.
  if (const Status added = calls->Add(call, caller); added.ok()) {
    call->Read();
  } else if (refused) {
    refused(added);
  }
  return call.get();
}

// Returns a std::function that answers `call` with the response that `fill` creates from a T. If
// the last copy is dropped without a call, the answer is kUnavailable.
template <typename T, typename Request, typename Response>
std::function<void(Result<T>)> AnswerTo(std::shared_ptr<UnaryCall<Request, Response>> call,
                                        void (*fill)(const T&, Response*)) {
  using Call = UnaryCall<Request, Response>;
  std::shared_ptr<Call> guard(call.get(), [call](Call*) { call->End(OpenCalls::ShuttingDown()); });
  return [guard = std::move(guard), fill](Result<T> result) {
    if (!result.ok()) return guard->Answer(result.status());
    guard->Answer(Status::Ok(), [&](Response* out) { fill(result.value(), out); });
  };
}

}  // namespace espalier::rpc
