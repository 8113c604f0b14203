// The stream of updates to one watcher. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "src/base/mutex.h"
#include "src/rpc/convert.h"
#include "src/rpc/coordinator_handler.h"
#include "src/rpc/open_calls.h"

namespace espalier::rpc {

// Writes one update at a time. Updates that arrive during a write are merged into one waiting
// update. The call ends if more than `rows_max` history rows wait, because the watcher does not
// read. It also ends if the updates in transit exceed the limits of OpenCalls.
// Thread rule: any thread.
class WatchCall final : public grpc::ServerGenericBidiReactor,
                        public OpenCall,
                        public std::enable_shared_from_this<WatchCall> {
 public:
  // Handles the request, or the error if the request did not arrive or is malformed.
  using Start = std::function<void(std::shared_ptr<WatchCall>, Result<pb::WatchRequest>)>;

  WatchCall(grpc::CallbackServerContext* context, OpenCalls* calls, int64_t rows_max, Start start)
      : context_(context), calls_(calls), rows_max_(rows_max), start_(std::move(start)) {}

  // Starts to read the request. Call once, after OpenCalls::Add.
  void Read();
  void Send(spec::JobUpdate update);
  // Ends after the waiting updates have been sent, without a time limit for the reader.
  void Close(const Status& why);
  // Does the same within a few seconds, whether the watcher reads or not.
  void End(const Status& why) override;
  bool cancelled();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void StartLocked(const spec::JobUpdate& update) REQUIRES(mutex_);
  void CloseLocked(const Status& why) REQUIRES(mutex_);
  void FinishLocked() REQUIRES(mutex_);

  grpc::CallbackServerContext* const context_;
  OpenCalls* const calls_;
  const int64_t rows_max_;
  const Start start_;
  grpc::ByteBuffer incoming_;
  Mutex mutex_;
  grpc::ByteBuffer outgoing_ GUARDED_BY(mutex_);
  std::optional<spec::JobUpdate> waiting_ GUARDED_BY(mutex_);  // set only while writing_
  Status why_ GUARDED_BY(mutex_);
  bool requested_ GUARDED_BY(mutex_) = false;  // the request has arrived
  bool writing_ GUARDED_BY(mutex_) = false;
  bool ending_ GUARDED_BY(mutex_) = false;
  bool cancelled_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  bool done_ GUARDED_BY(mutex_) = false;
  bool alarm_set_ GUARDED_BY(mutex_) = false;
  grpc::Alarm alarm_ GUARDED_BY(mutex_);          // timeout of End
  grpc::Alarm request_alarm_ GUARDED_BY(mutex_);  // timeout of Read
};

// Returns the handler's reference to a WatchCall.
std::shared_ptr<WatchSink> MakeWatchSink(std::shared_ptr<WatchCall> call);

}  // namespace espalier::rpc
