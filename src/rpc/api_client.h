// A client of the public service, for the command line: blocking calls, each with its deadline.
//
// Errors: kUnavailable "coordinator at host:port cannot be reached ..." when there is no
// connection; kDeadlineExceeded when it does not answer; kFailedPrecondition when its version is
// another, or only one side speaks TLS; kPermissionDenied when a certificate, the token or the role
// is refused, by either side; else the coordinator's own error, whole (code, causes, position in
// the input).
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
  int64_t call_timeout_ms = 30'000;  // of each call but Watch, Submit and Withdraw
  // The coordinator reads the job's input before it answers, and has its own, shorter patience with
  // storage that is away: its reason is to come before this time is over.
  int64_t submit_timeout_ms = 120'000;
  int64_t withdraw_timeout_ms = 3'000;
  int64_t keepalive_interval_ms = 10'000;
  int64_t keepalive_timeout_ms = 5'000;
  ClientSecurity security;
};

// Thread rule: safe from any thread.
class ApiClient {
 public:
  // Does not connect yet: the first call does. kInvalidArgument for what is no address.
  static Result<std::unique_ptr<ApiClient>> Make(const std::string& address,
                                                 const ApiClientOptions& options = {});
  virtual ~ApiClient() = default;

  // A repeated submission (same client_request_id) is the same job. An empty version is filled in.
  // `known` (may be null): false when the connection broke or the deadline passed during the call,
  // or the call was stopped, so that the job may have been accepted: submit it again with the same
  // id, or withdraw it. kCancelled: `stop`, asked every 50 ms on this thread, became true.
  virtual Result<JobId> Submit(spec::SubmitRequest request, bool* known = nullptr,
                               const std::function<bool()>& stop = {}) = 0;
  // The Kerberos principal that the coordinator renews delegation tokens as. kFailedPrecondition:
  // it has none, and why.
  virtual Result<std::string> Renewer() = 0;
  // After this no job comes of that submission, and one that has come of it is being ended. For
  // when Submit has returned.
  virtual Status Withdraw(const std::string& client_request_id) = 0;
  virtual Result<std::vector<spec::JobSnapshot>> List() = 0;
  // The job with all its history.
  virtual Result<spec::JobUpdate> Get(JobId job) = 0;
  // `keep`: a job that has had an evaluation ends after its next step and saves its weights.
  virtual Status Cancel(JobId job, bool keep) = 0;
  Status Cancel(JobId job) { return Cancel(job, false); }
  virtual Status Drain(WorkerId worker) = 0;
  virtual Result<std::vector<spec::WorkerSnapshot>> Workers() = 0;

  // Calls `on_update`, on this thread, for each update until the stream ends. OK: the job is over
  // and its final state was told. kUnavailable: the coordinator went away; watch again (the first
  // update then has all history). kCancelled: `*stop` became true; it is looked at every 50 ms and
  // may be set by another thread or by a signal handler. `stop` may be null.
  virtual Status Watch(JobId job, const std::function<void(spec::JobUpdate)>& on_update,
                       const std::atomic<bool>* stop = nullptr) = 0;
};

}  // namespace espalier::rpc
