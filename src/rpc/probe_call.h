// A stream of the services that general tools use (health, reflection). Private to rpc/.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include "src/base/mutex.h"
#include "src/rpc/call_status.h"
#include "src/rpc/connections.h"
#include "src/rpc/open_calls.h"
#include "src/rpc/wire.h"

namespace espalier::rpc {

// Writes one message at a time. End takes effect at once. A message being written at that time has
// only a few kilobytes. A caller that does not read even those is disconnected without a status.
// Thread rule: any thread.
class ProbeCall : public grpc::ServerGenericBidiReactor, public OpenCall {
 public:
  ProbeCall(grpc::CallbackServerContext* context, OpenCalls* calls)
      : context_(context), calls_(calls) {}

  void End(const Status& why) override {
    MutexLock lock(mutex_);
    EndLocked(why);
  }
  void OnCancel() override { End(Cancelled("the caller disconnected")); }
  void OnDone() override { calls_->Remove(this); }  // may destroy this
  void OnWriteDone(bool ok) override {
    MutexLock lock(mutex_);
    writing_ = false;
    if (ended_) return FinishLocked();
    if (!ok) return EndLocked(Cancelled("the caller disconnected"));
    WrittenLocked();
  }

 protected:
  // Continues after a write.
  virtual void WrittenLocked() REQUIRES(mutex_) = 0;

  void ReadLocked() REQUIRES(mutex_) {
    if (!ended_) StartRead(&incoming_);
  }
  template <typename Message>
  void WriteLocked(const Message& message) REQUIRES(mutex_) {
    writing_ = true;
    outgoing_ = WriteMessage(message);
    StartWrite(&outgoing_);
  }
  // Ends the call. Only the first call has an effect.
  void EndLocked(const Status& why) REQUIRES(mutex_) {
    if (ended_) return;
    ended_ = true;
    why_ = why;
    if (!writing_) return FinishLocked();
    CancelCall(context_);  // the write then ends
  }

  Mutex mutex_;
  bool ended_ GUARDED_BY(mutex_) = false;
  grpc::ByteBuffer incoming_ GUARDED_BY(mutex_);

 private:
  void FinishLocked() REQUIRES(mutex_) { Finish(ToGrpc(why_, context_)); }

  grpc::CallbackServerContext* const context_;
  OpenCalls* const calls_;
  bool writing_ GUARDED_BY(mutex_) = false;
  grpc::ByteBuffer outgoing_ GUARDED_BY(mutex_);
  Status why_ GUARDED_BY(mutex_);
};

}  // namespace espalier::rpc
