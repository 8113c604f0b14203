// The stream of updates to one watcher. Private to rpc/.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <optional>

#include "src/rpc/convert.h"
#include "src/rpc/coordinator_server.h"
#include "src/rpc/open_calls.h"

namespace espalier::rpc {

// One write at a time; what comes meanwhile is merged into one waiting update. A watcher
// for whom more than `rows_max` history rows wait does not read, and is dropped; so is one that is
// told more than OpenCalls lets be under way.
// Thread rule: any thread.
class WatchCall final : public grpc::ServerWriteReactor<pb::JobUpdate>,
                        public OpenCall,
                        public std::enable_shared_from_this<WatchCall> {
 public:
  WatchCall(grpc::CallbackServerContext* context, OpenCalls* calls, int64_t rows_max)
      : context_(context), calls_(calls), rows_max_(rows_max) {}

  void Send(JobUpdate update);
  // Ends after what waits has been sent, however long its reader takes for that.
  void Close(const Status& why);
  // Likewise, but within some seconds, whether it reads or not.
  void End(const Status& why) override;
  bool cancelled();

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void StartLocked(const JobUpdate& update);
  void CloseLocked(const Status& why);
  void FinishLocked();

  grpc::CallbackServerContext* const context_;
  OpenCalls* const calls_;
  const int64_t rows_max_;
  std::mutex mutex_;  // guards what follows
  pb::JobUpdate current_;
  std::optional<JobUpdate> waiting_;  // only while writing_
  Status why_;
  bool writing_ = false;
  bool ending_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
  bool done_ = false;
  bool alarm_set_ = false;
  grpc::Alarm alarm_;
};

// What the handler holds of a WatchCall.
std::shared_ptr<WatchSink> MakeWatchSink(std::shared_ptr<WatchCall> call);

}  // namespace espalier::rpc
