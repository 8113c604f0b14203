// Client of the public service, for the command line. Every call blocks and has a deadline.
//
// Errors:
//   kUnavailable         "coordinator at host:port cannot be reached ...": there is no connection
//   kDeadlineExceeded    the coordinator does not answer
//   kFailedPrecondition  the versions differ, or only one side uses TLS
//   kPermissionDenied    one side rejects the other's certificate, token or role
//   other                the coordinator's error, complete (code, causes, position in the input)
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/rpc/security.h"

namespace espalier::rpc {

inline constexpr int64_t kApiAnswerBytesMax = int64_t{256} << 20;

struct ApiClientOptions {
  int64_t connect_timeout_ms = 5'000;
  int64_t call_timeout_ms = 30'000;  // each call except Watch, Submit and Withdraw
  // Exceeds the coordinator's own timeout for unreachable storage. The coordinator reads the job's
  // input before it answers, and its reason must arrive before this timeout.
  int64_t submit_timeout_ms = 120'000;
  int64_t withdraw_timeout_ms = 3'000;
  int64_t keepalive_interval_ms = 10'000;
  int64_t keepalive_timeout_ms = 5'000;
  ClientSecurity security;
};

// Thread rule: safe from any thread.
class ApiClient {
 public:
  // Creates a client. The first call connects. Returns kInvalidArgument if `address` is not an
  // address.
  static Result<std::unique_ptr<ApiClient>> Make(const std::string& address,
                                                 const ApiClientOptions& options = {});
  virtual ~ApiClient() = default;

  // Submits a job. A repeated submission (same client_request_id) returns the same job. An empty
  // version is filled in. `known` may be null. It is set to false if the connection broke, the
  // deadline passed or the call was stopped. The job may then have been accepted: submit it again
  // with the same id, or withdraw it. Returns kCancelled if `stop`, which is called every 50 ms on
  // this thread, returned true.
  virtual Result<JobId> Submit(spec::SubmitRequest request, bool* known = nullptr,
                               const std::function<bool()>& stop = {}) = 0;
  // Returns the Kerberos principal with which the coordinator renews delegation tokens. Returns
  // kFailedPrecondition, with the reason, if it has none.
  virtual Result<std::string> Renewer() = 0;
  // Prevents any job from this submission, and ends a job that it has already started. For use
  // after Submit has returned.
  virtual Status Withdraw(const std::string& client_request_id) = 0;
  virtual Result<std::vector<spec::JobSnapshot>> List() = 0;
  // Returns the job with its complete history.
  virtual Result<spec::JobUpdate> Get(JobId job) = 0;
  // Cancels a job. With `keep`, a job that has had an evaluation ends after its next step and saves
  // its weights.
  virtual Status Cancel(JobId job, bool keep) = 0;
  Status Cancel(JobId job) { return Cancel(job, false); }
  virtual Status Drain(WorkerId worker) = 0;
  virtual Result<std::vector<spec::WorkerSnapshot>> Workers() = 0;

  // Calls `on_update`, on this thread, for each update until the stream ends. Returns:
  //   OK            the job is over and `on_update` received its final state
  //   kUnavailable  the coordinator went away; watch again (the first update then has all history)
  //   kCancelled    `*stop` became true
  //
  // `stop` may be null. It is checked every 50 ms. Another thread or a signal handler may set it.
  virtual Status Watch(JobId job, const std::function<void(spec::JobUpdate)>& on_update,
                       const std::atomic<bool>* stop = nullptr) = 0;
};

}  // namespace espalier::rpc
