// A unary call that is answered once: by the handler, by its cancellation, by a shutdown, or by the
// loss of the Done that should have answered it. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <mutex>

#include "src/rpc/open_calls.h"
#include "src/rpc/transport.h"

namespace espalier::rpc {

// An answer that is not read in time is dropped, and the call with it.
// Thread rule: any thread.
template <typename Response>
class UnaryCall final : public grpc::ServerUnaryReactor,
                        public OpenCall,
                        public std::enable_shared_from_this<UnaryCall<Response>> {
 public:
  UnaryCall(grpc::CallbackServerContext* context, Response* response, OpenCalls* calls)
      : context_(context), response_(response), calls_(calls) {}

  // Only the first answer counts. `fill` is called for an OK status.
  void Answer(const Status& status, const std::function<void(Response*)>& fill = {}) {
    std::lock_guard lock(mutex_);
    if (answered_) return;
    answered_ = true;
    Status told = status;
    if (told.ok() && fill) {
      fill(response_);
      told = calls_->Hold(this, static_cast<int64_t>(response_->ByteSizeLong()));
      if (!told.ok()) response_->Clear();
    }
    Finish(ToGrpc(told, context_));
    alarm_.Set(Deadline(calls_->limits().read_timeout_ms),
               [weak = this->weak_from_this()](bool expired) {
                 const auto self = weak.lock();
                 if (!expired || self == nullptr) return;
                 std::lock_guard done_lock(self->mutex_);
                 if (!self->done_) self->context_->TryCancel();
               });
  }
  // False when it was answered, or its caller has gone away.
  bool open() {
    std::lock_guard lock(mutex_);
    return !answered_;
  }
  void End(const Status& why) override { Answer(why); }
  void OnCancel() override { Answer(Cancelled("the caller went away")); }
  void OnDone() override {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
      alarm_.Cancel();
    }
    calls_->Remove(this);  // may destroy this
  }

 private:
  grpc::CallbackServerContext* const context_;
  Response* const response_;
  OpenCalls* const calls_;
  std::mutex mutex_;  // guards what follows
  bool answered_ = false;
  bool done_ = false;
  grpc::Alarm alarm_;
};

// A std::function that answers `call` with what `fill` makes of a T, or with kUnavailable when the
// last copy of it is dropped.
template <typename T, typename Response>
std::function<void(Result<T>)> AnswerTo(std::shared_ptr<UnaryCall<Response>> call,
                                        void (*fill)(const T&, Response*)) {
  std::shared_ptr<UnaryCall<Response>> guard(
      call.get(), [call](UnaryCall<Response>*) { call->End(OpenCalls::ShuttingDown()); });
  return [guard = std::move(guard), fill](Result<T> result) {
    if (!result.ok()) return guard->Answer(result.status());
    guard->Answer(Status::Ok(), [&](Response* out) { fill(result.value(), out); });
  };
}

}  // namespace espalier::rpc
