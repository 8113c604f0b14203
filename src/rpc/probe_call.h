// A stream of the services that general tools ask (health, reflection). Private to rpc/.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <mutex>

#include "src/rpc/open_calls.h"
#include "src/rpc/transport.h"
#include "src/rpc/wire.h"

namespace espalier::rpc {

// One write at a time. It ends at once when it is told to: what is being written then is a few
// kilobytes, and who does not even read those is broken off without a word.
// Thread rule: any thread.
class ProbeCall : public grpc::ServerGenericBidiReactor, public OpenCall {
 public:
  ProbeCall(grpc::CallbackServerContext* context, OpenCalls* calls)
      : context_(context), calls_(calls) {}

  void End(const Status& why) override {
    std::lock_guard lock(mutex_);
    EndLocked(why);
  }
  void OnCancel() override { End(Cancelled("the caller went away")); }
  void OnDone() override { calls_->Remove(this); }  // may destroy this
  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (ended_) return FinishLocked();
    if (!ok) return EndLocked(Cancelled("the caller went away"));
    WrittenLocked();
  }

 protected:
  // What comes after a write.
  virtual void WrittenLocked() = 0;

  void ReadLocked() {
    if (!ended_) StartRead(&incoming_);
  }
  template <typename Message>
  void WriteLocked(const Message& message) {
    writing_ = true;
    outgoing_ = WriteMessage(message);
    StartWrite(&outgoing_);
  }
  // The first one counts.
  void EndLocked(const Status& why) {
    if (ended_) return;
    ended_ = true;
    why_ = why;
    if (!writing_) return FinishLocked();
    context_->TryCancel();  // the write then ends
  }

  std::mutex mutex_;  // guards all that is not const, and is held in what ends with Locked
  bool ended_ = false;
  grpc::ByteBuffer incoming_;

 private:
  void FinishLocked() { Finish(ToGrpc(why_, context_)); }

  grpc::CallbackServerContext* const context_;
  OpenCalls* const calls_;
  bool writing_ = false;
  grpc::ByteBuffer outgoing_;
  Status why_;
};

}  // namespace espalier::rpc
