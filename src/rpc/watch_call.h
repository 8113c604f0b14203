// The stream of updates to one watcher. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

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
  void StartLocked(const spec::JobUpdate& update);
  void CloseLocked(const Status& why);
  void FinishLocked();

  grpc::CallbackServerContext* const context_;
  OpenCalls* const calls_;
  const int64_t rows_max_;
  const Start start_;
  grpc::ByteBuffer incoming_;
  std::mutex mutex_;  // guards all members below
  grpc::ByteBuffer outgoing_;
  std::optional<spec::JobUpdate> waiting_;  // set only while writing_
  Status why_;
  bool requested_ = false;  // the request has arrived
  bool writing_ = false;
  bool ending_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
  bool done_ = false;
  bool alarm_set_ = false;
  grpc::Alarm alarm_;          // timeout of End
  grpc::Alarm request_alarm_;  // timeout of Read
};

// Returns the handler's reference to a WatchCall.
std::shared_ptr<WatchSink> MakeWatchSink(std::shared_ptr<WatchCall> call);

}  // namespace espalier::rpc
