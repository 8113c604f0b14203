// A stream of the services that general tools ask (health, reflection). Private to rpc/.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <mutex>

#include "src/rpc/open_calls.h"
#include "src/rpc/transport.h"

namespace espalier::rpc {

// One write at a time. It ends at once when it is told to: what is being written then is a few
// kilobytes, and who does not even read those is broken off without a word.
// Thread rule: any thread.
template <typename Reactor>
class ProbeCall : public Reactor, public OpenCall {
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

  template <typename Message>
  void WriteLocked(const Message* message) {
    writing_ = true;
    Reactor::StartWrite(message);
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

 private:
  void FinishLocked() { Reactor::Finish(ToGrpc(why_, context_)); }

  grpc::CallbackServerContext* const context_;
  OpenCalls* const calls_;
  bool writing_ = false;
  Status why_;
};

}  // namespace espalier::rpc
