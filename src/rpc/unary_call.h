// A unary call: one request, and one answer, by the handler, by its cancellation, by a shutdown, or
// by the loss of the Done that should have answered it. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "src/rpc/open_calls.h"
#include "src/rpc/transport.h"
#include "src/rpc/wire.h"

namespace espalier::rpc {

// A request that does not come in time, or an answer that is not read in time, ends the call.
// Thread rule: any thread.
template <typename Request, typename Response>
class UnaryCall final : public grpc::ServerGenericBidiReactor,
                        public OpenCall,
                        public std::enable_shared_from_this<UnaryCall<Request, Response>> {
 public:
  // What becomes of the request, or of bytes that are none.
  using Start = std::function<void(std::shared_ptr<UnaryCall>, Result<Request>)>;

  UnaryCall(grpc::CallbackServerContext* context, OpenCalls* calls, Start start)
      : context_(context), calls_(calls), start_(std::move(start)) {}

  // Call once, when it is among the open calls.
  void Read() {
    std::lock_guard lock(mutex_);
    if (answered_) return;
    LimitLocked();
    StartRead(&incoming_);
  }
  // Only the first answer counts. `fill` is called for an OK status.
  void Answer(const Status& status, const std::function<void(Response*)>& fill = {}) {
    std::lock_guard lock(mutex_);
    if (answered_) return;
    answered_ = true;
    Status told = status;
    if (told.ok()) {
      Response response;
      if (fill) fill(&response);
      told = calls_->Hold(this, static_cast<int64_t>(response.ByteSizeLong()));
      if (told.ok()) outgoing_ = WriteMessage(response);
    }
    if (told.ok()) {
      StartWriteAndFinish(&outgoing_, {}, grpc::Status::OK);
    } else {
      Finish(ToGrpc(told, context_));
    }
    LimitLocked();
  }
  // False when it was answered, or its caller has gone away.
  bool open() {
    std::lock_guard lock(mutex_);
    return !answered_;
  }
  void End(const Status& why) override { Answer(why); }
  void OnReadDone(bool ok) override {
    {
      std::lock_guard lock(mutex_);
      if (answered_) return;
      alarm_.reset();
    }
    start_(this->shared_from_this(), ok ? ReadMessage<Request>(&incoming_)
                                        : InvalidArgument("the call ended before its request"));
  }
  void OnCancel() override { Answer(Cancelled("the caller went away")); }
  void OnDone() override {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
      alarm_.reset();
    }
    calls_->Remove(this);  // may destroy this
  }

 private:
  // What is under way may take so long from now.
  void LimitLocked() {
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(Deadline(calls_->limits().read_timeout_ms),
                [weak = this->weak_from_this()](bool expired) {
                  const auto self = weak.lock();
                  if (!expired || self == nullptr) return;
                  std::lock_guard lock(self->mutex_);
                  if (!self->done_) self->context_->TryCancel();
                });
  }

  grpc::CallbackServerContext* const context_;  // valid until done_
  OpenCalls* const calls_;
  const Start start_;
  grpc::ByteBuffer incoming_, outgoing_;
  std::mutex mutex_;  // guards what follows
  bool answered_ = false;
  bool done_ = false;
  std::unique_ptr<grpc::Alarm> alarm_;
};

// Makes the call, which is counted by `caller` (empty: by nobody), and reads its request. `refused`
// hears why the call is ended at once instead, as when that caller has too many.
template <typename Request, typename Response>
grpc::ServerGenericBidiReactor* StartUnary(grpc::CallbackServerContext* context, OpenCalls* calls,
                                           const std::string& caller,
                                           typename UnaryCall<Request, Response>::Start start,
                                           const std::function<void(const Status&)>& refused = {}) {
  auto call = std::make_shared<UnaryCall<Request, Response>>(context, calls, std::move(start));
  // Refused, it has answered, and keeps itself until it is done.
  if (const Status added = calls->Add(call, caller); added.ok()) {
    call->Read();
  } else if (refused) {
    refused(added);
  }
  return call.get();
}

// A std::function that answers `call` with what `fill` makes of a T, or with kUnavailable when the
// last copy of it is dropped.
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
