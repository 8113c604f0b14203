#include "src/rpc/api_client.h"

#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "proto/espalier/v1/api.grpc.pb.h"
#include "src/base/mutex.h"
#include "src/base/text.h"
#include "src/base/version.h"
#include "src/config/address.h"
#include "src/rpc/call_status.h"
#include "src/rpc/convert.h"
#include "src/rpc/transport.h"

namespace espalier::rpc {

namespace {

namespace pb = ::espalier::v1;

constexpr auto kStopPollInterval = std::chrono::milliseconds(50);

// Reads one watched stream, a message at a time. It requests the next message after the last was
// consumed. The hold keeps the call open for these requests, which come from the watching thread.
class WatchReader final : public grpc::ClientReadReactor<pb::JobUpdate> {
 public:
  WatchReader(pb::Espalier::Stub* stub, JobId job, const ClientSecurity& security) {
    request_.set_job(job.value);
    rpc::Introduce(&context_, security);
    stub->async()->Watch(&context_, &request_, this);
    AddHold();
    StartRead(&incoming_);
    StartCall();
  }

  // Runs the stream to its end and returns its status.
  Status Run(const std::function<void(spec::JobUpdate)>& on_update, const std::atomic<bool>* stop) {
    while (true) {
      bool arrived = false;
      {
        MutexLock lock(mutex_);
        changed_.WaitFor(mutex_, kStopPollInterval,
                         [this]() REQUIRES(mutex_) { return arrived_ || done_; });
        if (done_) break;
        arrived = std::exchange(arrived_, false);
      }
      if (error_.ok() && stop != nullptr && *stop) Break(Cancelled("stopped watching"));
      if (!arrived) continue;
      Consume(on_update);
      StartRead(&incoming_);
    }
    return error_;
  }

  // REQUIRES: Run has returned.
  grpc::Status grpc_status() const {
    MutexLock lock(mutex_);
    return status_;
  }
  const grpc::ClientContext& context() const { return context_; }

  void OnReadDone(bool ok) override {
    if (!ok) return RemoveHold();
    MutexLock lock(mutex_);
    arrived_ = true;
    changed_.NotifyOne();
  }
  void OnDone(const grpc::Status& status) override {
    MutexLock lock(mutex_);
    status_ = status;
    done_ = true;
    changed_.NotifyOne();
  }

 private:
  void Break(Status why) {
    error_ = std::move(why);
    context_.TryCancel();
  }
  void Consume(const std::function<void(spec::JobUpdate)>& on_update) {
    if (!error_.ok()) return;
    Result<spec::JobUpdate> update = rpc::FromProto(incoming_);
    if (update.ok()) {
      on_update(std::move(update).value());
    } else {
      Break(update.status());
    }
  }

  pb::WatchRequest request_;
  grpc::ClientContext context_;
  pb::JobUpdate incoming_;
  Status error_;  // this side's reason for the end; used by the watching thread
  mutable Mutex mutex_;
  CondVar changed_;
  bool arrived_ GUARDED_BY(mutex_) = false;
  bool done_ GUARDED_BY(mutex_) = false;
  grpc::Status status_ GUARDED_BY(mutex_);
};

// One submission, which can be stopped while it waits for the answer.
class SubmitCall {
 public:
  SubmitCall(pb::Espalier::Stub* stub, const pb::SubmitRequest& request,
             const ClientSecurity& security, int64_t timeout_ms)
      : request_(request) {
    rpc::Introduce(&context_, security);
    context_.set_deadline(rpc::Deadline(timeout_ms));
    stub->async()->Submit(&context_, &request_, &response_, [this](grpc::Status status) {
      MutexLock lock(mutex_);
      status_ = std::move(status);
      ended_.NotifyOne();
    });
  }

  // Returns when the call has ended. Returns kCancelled if `stop` ended it.
  Status Await(const std::function<bool()>& stop) {
    Status why;
    MutexLock lock(mutex_);
    while (!ended_.WaitFor(mutex_, kStopPollInterval,
                           [this]() REQUIRES(mutex_) { return status_.has_value(); })) {
      if (!why.ok() || !stop || !stop()) continue;
      why = Cancelled("stopped before the coordinator answered");
      context_.TryCancel();
    }
    return why;
  }

  // REQUIRES, for all functions below: Await has returned.
  grpc::Status status() const {
    MutexLock lock(mutex_);
    return *status_;
  }
  const grpc::ClientContext& context() const { return context_; }
  // Returns whether the coordinator accepted or refused the job.
  bool answered() const { return status().ok() || rpc::SentError(context_); }
  uint64_t job() const { return response_.job(); }

 private:
  grpc::ClientContext context_;
  const pb::SubmitRequest request_;
  pb::SubmitResponse response_;
  mutable Mutex mutex_;
  CondVar ended_;
  std::optional<grpc::Status> status_ GUARDED_BY(mutex_);
};

class Client final : public ApiClient {
 public:
  Client(const std::string& address, const ApiClientOptions& options)
      : address_(address), options_(options) {
    rpc::TransportSettings settings;
    settings.message_bytes_max = kApiAnswerBytesMax;
    settings.keepalive_interval_ms = options.keepalive_interval_ms;
    settings.keepalive_timeout_ms = options.keepalive_timeout_ms;
    settings.connect_timeout_ms = options.connect_timeout_ms;
    connection_ = rpc::MakeChannel(address, settings, options.security);
    stub_ = pb::Espalier::NewStub(connection_.channel);
  }

  Result<JobId> Submit(spec::SubmitRequest request, bool* known,
                       const std::function<bool()>& stop) override {
    if (request.version.empty()) request.version = kVersion;
    pb::SubmitRequest in;
    rpc::ToProto(request, &in);
    const bool connected = Connect(stop);
    SubmitCall call(stub_.get(), in, options_.security, options_.submit_timeout_ms);
    const Status stopped = call.Await(stop);
    const Status done = stopped.ok() || call.status().ok()
                            ? Explain(call.status(), call.context(), options_.submit_timeout_ms)
                            : stopped;
    if (known != nullptr) {
      *known = call.answered() || Refused(done) || (!connected && stopped.ok());
    }
    ESPALIER_RETURN_IF_ERROR(done);
    return JobId{call.job()};
  }

  Result<std::string> Renewer() override {
    pb::RenewerResponse out;
    ESPALIER_RETURN_IF_ERROR(
        Call(&pb::Espalier::Stub::Renewer, pb::RenewerRequest(), &out, options_.submit_timeout_ms));
    return out.principal();
  }

  Status Withdraw(const std::string& client_request_id) override {
    pb::WithdrawRequest in;
    pb::WithdrawResponse out;
    in.set_client_request_id(client_request_id);
    return Call(&pb::Espalier::Stub::Withdraw, in, &out, options_.withdraw_timeout_ms);
  }

  Result<std::vector<spec::JobSnapshot>> List() override {
    pb::ListJobsResponse out;
    ESPALIER_RETURN_IF_ERROR(Call(&pb::Espalier::Stub::ListJobs, pb::ListJobsRequest(), &out));
    return AllFromProto<spec::JobSnapshot>(out.jobs());
  }

  Result<spec::JobUpdate> Get(JobId job) override {
    pb::GetJobRequest in;
    pb::JobUpdate out;
    in.set_job(job.value);
    ESPALIER_RETURN_IF_ERROR(Call(&pb::Espalier::Stub::GetJob, in, &out));
    return rpc::FromProto(out);
  }

  Status Cancel(JobId job, bool keep) override {
    pb::CancelRequest in;
    pb::CancelResponse out;
    in.set_job(job.value);
    in.set_keep(keep);
    return Call(&pb::Espalier::Stub::Cancel, in, &out);
  }

  Status Drain(WorkerId worker) override {
    pb::DrainRequest in;
    pb::DrainResponse out;
    in.set_worker(worker.value);
    return Call(&pb::Espalier::Stub::Drain, in, &out);
  }

  Result<std::vector<spec::WorkerSnapshot>> Workers() override {
    pb::ListWorkersResponse out;
    ESPALIER_RETURN_IF_ERROR(
        Call(&pb::Espalier::Stub::ListWorkers, pb::ListWorkersRequest(), &out));
    return AllFromProto<spec::WorkerSnapshot>(out.workers());
  }

  Status Watch(JobId job, const std::function<void(spec::JobUpdate)>& on_update,
               const std::atomic<bool>* stop) override {
    WatchReader reader(stub_.get(), job, options_.security);
    ESPALIER_RETURN_IF_ERROR(reader.Run(on_update, stop));
    return Explain(reader.grpc_status(), reader.context(), 0);
  }

 private:
  // Returns whether a connection exists or is established in time. Returns false at once if it is
  // refused or stopped.
  bool Connect(const std::function<bool()>& stop) {
    const gpr_timespec deadline = rpc::Deadline(options_.connect_timeout_ms);
    while (!stop || !stop()) {
      const grpc_connectivity_state state = connection_.channel->GetState(true);
      if (state == GRPC_CHANNEL_READY) return true;
      if (state != GRPC_CHANNEL_IDLE && state != GRPC_CHANNEL_CONNECTING) return false;
      const gpr_timespec poll = rpc::Deadline(kStopPollInterval.count());
      const bool last = gpr_time_cmp(poll, deadline) >= 0;
      if (!connection_.channel->WaitForStateChange(state, last ? deadline : poll) && last)
        return false;
    }
    return false;
  }

  // Returns whether a call was refused before it had any effect. The reason is the caller's
  // identity, TLS on only one side, or a method that the coordinator does not know.
  static bool Refused(const Status& error) {
    return error.code() == StatusCode::kPermissionDenied ||
           error.code() == StatusCode::kFailedPrecondition ||
           error.code() == StatusCode::kUnimplemented;
  }

  template <typename Method, typename Request, typename Response>
  Status Call(Method method, const Request& request, Response* response) {
    return Call(method, request, response, options_.call_timeout_ms);
  }
  template <typename Method, typename Request, typename Response>
  Status Call(Method method, const Request& request, Response* response, int64_t timeout_ms) {
    grpc::ClientContext context;
    rpc::Introduce(&context, options_.security);
    context.set_deadline(rpc::Deadline(timeout_ms));
    return Explain((stub_.get()->*method)(&context, request, response), context, timeout_ms);
  }

  template <typename T, typename List>
  static Result<std::vector<T>> AllFromProto(const List& list) {
    std::vector<T> out;
    for (const auto& item : list) {
      ESPALIER_ASSIGN_OR_RETURN(T value, rpc::FromProto(item));
      out.push_back(std::move(value));
    }
    return out;
  }

  bool AnswersTls() const {
    std::promise<bool> answer;
    rpc::AskForTls(address_, [&answer](bool tls) { answer.set_value(tls); });
    return answer.get_future().get();
  }

  Status Explain(const grpc::Status& status, const grpc::ClientContext& context,
                 int64_t timeout_ms) const {
    if (status.ok()) return Status::Ok();
    if (auto sent = rpc::SentError(context)) return *std::move(sent);
    const std::string who = "coordinator at " + address_;
    if (Status refused = rpc::WhyNotTogether(connection_, status); !refused.ok()) {
      return Status(refused.code(), who + ": " + refused.message());
    }
    if (rpc::MayHaveMetTls(connection_, status) && AnswersTls()) {
      const Status why = rpc::OnlyThereTls();
      return Status(why.code(), who + ": " + why.message());
    }
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
      return Unavailable(who + " cannot be reached (" +
                         rpc::ConnectionCause(status.error_message()) +
                         "). Start espalier-coordinator, give --coordinator HOST:PORT, or use "
                         "`espalier train` on this machine.");
    }
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return DeadlineExceeded(who + " did not answer within " + HumanDuration(timeout_ms));
    }
    return rpc::FromGrpc(status, context).Wrap(who + " failed the call");
  }

  const std::string address_;
  const ApiClientOptions options_;
  rpc::Connection connection_;
  std::unique_ptr<pb::Espalier::Stub> stub_;
};

}  // namespace

Result<std::unique_ptr<ApiClient>> ApiClient::Make(const std::string& address,
                                                   const ApiClientOptions& options) {
  ESPALIER_ASSIGN_OR_RETURN(const config::Address parsed, config::ParseAddress(address));
  if (!config::IsDialable(parsed))
    return InvalidArgument("'" + address + "' has port 0; expected a port from 1 to 65535");
  return std::unique_ptr<ApiClient>(std::make_unique<Client>(address, options));
}

}  // namespace espalier::rpc
