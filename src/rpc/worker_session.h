// One worker's stream, on the coordinator's side. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "src/rpc/authorizer.h"
#include "src/rpc/convert.h"
#include "src/rpc/coordinator_server.h"
#include "src/rpc/open_calls.h"
#include "src/rpc/write_queue.h"

namespace espalier::rpc {

// Reads one message at a time and hands it on, but none while too much of what it handed on is not
// handled: the worker then has to wait. Writes what is queued. It ends when the worker goes
// away or sends something malformed, when its queue overflows, or when it is told to; then it
// finishes the call, and OnDone, the last reaction, tells the handler.
// Thread rule: Send and End from any thread; reactions from gRPC's.
class WorkerSession final : public grpc::ServerGenericBidiReactor,
                            public OpenCall,
                            public std::enable_shared_from_this<WorkerSession> {
 public:
  using DoneCallback = std::function<void(WorkerSession*)>;

  // A Hello of a name that is not the caller's, or of an address that nobody can dial, ends it.
  WorkerSession(cluster::SessionId id, grpc::CallbackServerContext* context, Caller caller,
                CoordinatorHandler* handler, const CoordinatorServerLimits& limits,
                std::shared_ptr<Authorizer> authorizer, DoneCallback on_done);

  cluster::SessionId id() const { return id_; }
  // Call once, after the handler has heard of the session and when it is owned by a shared_ptr.
  void Start() { StartRead(&incoming_); }
  // An encoded ToWorker.
  void Send(grpc::ByteBuffer message);
  // Ends after what is queued has been sent, or when that takes too long.
  void End(const Status& why) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void EndLocked(const Status& why, bool flush);
  void FinishLocked();
  void BreakOffSoonLocked();
  void Handled(int64_t bytes);
  bool MayReadLocked() const;
  // Whether that name is the caller's and that address one for others to dial.
  Status CheckHello(const cluster::Hello& hello) const;

  const cluster::SessionId id_;
  grpc::CallbackServerContext* const context_;  // valid until done_
  const Caller caller_;
  CoordinatorHandler* const handler_;
  const CoordinatorServerLimits limits_;
  const std::shared_ptr<Authorizer> authorizer_;  // null on a plain server
  const DoneCallback on_done_;
  grpc::ByteBuffer incoming_;

  std::mutex mutex_;  // guards what follows
  WriteQueue<grpc::ByteBuffer> queue_;
  int64_t unhandled_bytes_ = 0;
  int64_t unhandled_messages_ = 0;
  bool paused_ = false;  // no read is underway
  Status why_;
  bool ending_ = false;
  bool finished_ = false;
  bool done_ = false;
  grpc::Alarm alarm_;
  bool alarm_set_ = false;
};

}  // namespace espalier::rpc
