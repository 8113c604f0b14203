// One worker's stream, on the coordinator's side. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <string>

#include "src/base/mutex.h"
#include "src/rpc/authorizer.h"
#include "src/rpc/convert.h"
#include "src/rpc/coordinator_handler.h"
#include "src/rpc/open_calls.h"
#include "src/rpc/write_queue.h"

namespace espalier::rpc {

// Reads one message at a time and passes it on, and writes queued messages. It pauses reading while
// too many messages are unhandled, so the worker has to wait. It ends if the worker goes away or
// sends a malformed message, if its queue overflows, or on End. It then finishes the call, and
// OnDone, the last reaction, notifies the handler.
// Thread rule: Send and End from any thread; reactions from gRPC's.
class WorkerSession final : public grpc::ServerGenericBidiReactor,
                            public OpenCall,
                            public std::enable_shared_from_this<WorkerSession> {
 public:
  using DoneCallback = std::function<void(WorkerSession*)>;

  // The session ends on a Hello with a name that is not the caller's or an address that is not
  // reachable for others.
  WorkerSession(cluster::SessionId id, grpc::CallbackServerContext* context, Caller caller,
                CoordinatorHandler* handler, const CoordinatorServerLimits& limits,
                std::shared_ptr<Authorizer> authorizer, DoneCallback on_done);

  cluster::SessionId id() const { return id_; }
  // Starts to read. Call once, after the handler has been notified of the session and when a
  // shared_ptr owns it.
  void Start() { StartRead(&incoming_); }
  // Queues an encoded ToWorker.
  void Send(grpc::ByteBuffer message);
  // Ends after the queued messages have been sent, or after a timeout.
  void End(const Status& why) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void EndLocked(const Status& why, bool flush) REQUIRES(mutex_);
  void FinishLocked() REQUIRES(mutex_);
  void BreakOffSoonLocked() REQUIRES(mutex_);
  void Handled(int64_t bytes);
  bool MayReadLocked() const REQUIRES(mutex_);
  // Returns OK if the name belongs to the caller and others can dial the address.
  Status CheckHello(const cluster::Hello& hello) const;

  const cluster::SessionId id_;
  grpc::CallbackServerContext* const context_;  // valid until done_
  const Caller caller_;
  CoordinatorHandler* const handler_;
  const CoordinatorServerLimits limits_;
  const std::shared_ptr<Authorizer> authorizer_;  // null on a plain server
  const DoneCallback on_done_;
  grpc::ByteBuffer incoming_;

  Mutex mutex_;
  WriteQueue<grpc::ByteBuffer> queue_ GUARDED_BY(mutex_);
  int64_t unhandled_bytes_ GUARDED_BY(mutex_) = 0;
  int64_t unhandled_messages_ GUARDED_BY(mutex_) = 0;
  bool paused_ GUARDED_BY(mutex_) = false;  // no read is in progress
  Status why_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  bool done_ GUARDED_BY(mutex_) = false;
  grpc::Alarm alarm_ GUARDED_BY(mutex_);
  bool alarm_set_ GUARDED_BY(mutex_) = false;
};

}  // namespace espalier::rpc
