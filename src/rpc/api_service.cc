#include "src/rpc/api_service.h"

#include "src/base/audit.h"
#include "src/base/text.h"
#include "src/rpc/transport.h"
#include "src/rpc/unary_call.h"
#include "src/rpc/watch_call.h"

namespace espalier::rpc {

namespace {

// A call names its version or, as general tools do, none.
Status CheckVersionOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find(kVersionKey);
  if (it == metadata.end()) return Status::Ok();
  return CheckVersion(std::string(it->second.data(), it->second.size()), "client");
}

Status CheckJob(uint64_t job) {
  return job != 0 ? Status::Ok()
                  : InvalidArgument("the call names no job; expected the number in job-17, say");
}

template <typename Response>
CallerGone GoneOf(const std::shared_ptr<UnaryCall<Response>>& call) {
  return [call] { return !call->open(); };
}

// Who gave which order, and what came of it, for the audit.
class Order {
 public:
  Order(const Caller& caller, std::string what)
      : text_("audit: " + caller.ToString() + ": " + std::move(what) + ": ") {}

  void Refused(const Status& why) const { LogAudit(text_ + "refused: " + why.ToString()); }
  // Tells what came of it before it is answered; also that nobody will carry it out any more.
  template <typename T>
  Done<T> Tell(Done<T> done) const {
    return [order = *this, unanswered = std::make_shared<Unanswered>(text_),
            done = std::move(done)](Result<T> result) {
      unanswered->text.clear();
      if (result.ok()) {
        LogAudit(order.text_ + "done, " + ToString(*result));
      } else {
        order.Refused(result.status());
      }
      done(std::move(result));
    };
  }

 private:
  struct Unanswered {
    explicit Unanswered(std::string order) : text(std::move(order)) {}
    Unanswered(const Unanswered&) = delete;
    ~Unanswered() {
      if (!text.empty()) LogAudit(text + "refused: " + OpenCalls::ShuttingDown().ToString());
    }
    std::string text;
  };

  std::string text_;
};

// Makes the call and answers it at once when its caller or its argument is wrong, else starts it.
// What becomes of an order is told to the audit.
template <typename Response, typename Start>
grpc::ServerUnaryReactor* Serve(grpc::CallbackServerContext* context, Response* response,
                                OpenCalls* calls, const std::string& caller, const Status& argument,
                                const Start& start, const Order* order = nullptr) {
  auto call = std::make_shared<UnaryCall<Response>>(context, response, calls);
  grpc::ServerUnaryReactor* reactor = call.get();
  // Refused, it has answered, and keeps the call until it is done.
  if (const Status added = calls->Add(call, caller); !added.ok()) {
    if (order != nullptr) order->Refused(added);
    return reactor;
  }
  if (!argument.ok()) {
    if (order != nullptr) order->Refused(argument);
    call->Answer(argument);
  } else {
    start(std::move(call));
  }
  return reactor;
}

template <typename Response>
void FillJob(const JobId& job, Response* out) {
  out->set_job(job.value);
}

void FillRenewer(const std::string& principal, pb::RenewerResponse* out) {
  out->set_principal(Printable(principal, 1024));
}

void FillWorker(const WorkerId& worker, pb::DrainResponse* out) { out->set_worker(worker.value); }

void FillJobs(const std::vector<JobSnapshot>& jobs, pb::ListJobsResponse* out) {
  for (const JobSnapshot& job : jobs) ToProto(job, out->add_jobs());
}

void FillUpdate(const JobUpdate& update, pb::JobUpdate* out) { ToProto(update, out); }

void FillWorkers(const std::vector<WorkerSnapshot>& workers, pb::ListWorkersResponse* out) {
  for (const WorkerSnapshot& worker : workers) ToProto(worker, out->add_workers());
}

}  // namespace

grpc::ServerUnaryReactor* ApiService::Submit(grpc::CallbackServerContext* context,
                                             const pb::SubmitRequest* request,
                                             pb::SubmitResponse* response) {
  Result<SubmitRequest> parsed = FromProto(*request);
  Status argument = CheckVersionOf(*context);
  if (argument.ok()) {
    argument = parsed.ok() ? CheckVersion(parsed->version, "client") : parsed.status();
  }
  const Caller caller = Who(*context);
  const Order order(caller,
                    parsed.ok() ? "submit " + Printable(parsed->client_request_id) : "submit");
  return Serve(
      context, response, calls_, caller.Key(), argument,
      [&](auto call) {
        CallerGone gone = GoneOf(call);
        handler_->OnSubmit(
            std::move(parsed).value(), std::move(gone),
            order.Tell<JobId>(AnswerTo<JobId>(std::move(call), &FillJob<pb::SubmitResponse>)));
      },
      &order);
}

grpc::ServerUnaryReactor* ApiService::Renewer(grpc::CallbackServerContext* context,
                                              const pb::RenewerRequest*,
                                              pb::RenewerResponse* response) {
  return Serve(context, response, calls_, Who(*context).Key(), CheckVersionOf(*context),
               [&](auto call) {
                 handler_->OnRenewer(AnswerTo<std::string>(std::move(call), &FillRenewer));
               });
}

grpc::ServerUnaryReactor* ApiService::Withdraw(grpc::CallbackServerContext* context,
                                               const pb::WithdrawRequest* request,
                                               pb::WithdrawResponse* response) {
  Status argument = CheckVersionOf(*context);
  if (argument.ok() && request->client_request_id().empty()) {
    argument = InvalidArgument("the call names no submission");
  }
  const Caller caller = Who(*context);
  const Order order(caller, "withdraw " + Printable(request->client_request_id()));
  return Serve(
      context, response, calls_, caller.Key(), argument,
      [&](auto call) {
        handler_->OnWithdraw(
            request->client_request_id(),
            order.Tell<JobId>(AnswerTo<JobId>(std::move(call), &FillJob<pb::WithdrawResponse>)));
      },
      &order);
}

grpc::ServerWriteReactor<pb::JobUpdate>* ApiService::Watch(grpc::CallbackServerContext* context,
                                                           const pb::WatchRequest* request) {
  auto call = std::make_shared<WatchCall>(context, calls_, watch_rows_max_);
  grpc::ServerWriteReactor<pb::JobUpdate>* reactor = call.get();
  const Caller caller = Who(*context);
  auto may =
      MayStay(authorizer_, caller, Access::kReader, "watch " + ToString(JobId{request->job()}));
  if (!calls_->Add(call, caller.Key(), std::move(may)).ok()) return reactor;
  Status wrong = CheckVersionOf(*context);
  if (wrong.ok()) wrong = CheckJob(request->job());
  if (wrong.ok()) {
    handler_->OnWatch({request->job()}, MakeWatchSink(std::move(call)));
  } else {
    call->End(wrong);
  }
  return reactor;
}

grpc::ServerUnaryReactor* ApiService::ListJobs(grpc::CallbackServerContext* context,
                                               const pb::ListJobsRequest*,
                                               pb::ListJobsResponse* response) {
  return Serve(context, response, calls_, Who(*context).Key(), CheckVersionOf(*context),
               [&](auto call) {
                 CallerGone gone = GoneOf(call);
                 handler_->OnList(std::move(gone),
                                  AnswerTo<std::vector<JobSnapshot>>(std::move(call), &FillJobs));
               });
}

grpc::ServerUnaryReactor* ApiService::GetJob(grpc::CallbackServerContext* context,
                                             const pb::GetJobRequest* request,
                                             pb::JobUpdate* response) {
  Status argument = CheckVersionOf(*context);
  if (argument.ok()) argument = CheckJob(request->job());
  return Serve(context, response, calls_, Who(*context).Key(), argument, [&](auto call) {
    CallerGone gone = GoneOf(call);
    handler_->OnGet({request->job()}, std::move(gone),
                    AnswerTo<JobUpdate>(std::move(call), &FillUpdate));
  });
}

grpc::ServerUnaryReactor* ApiService::Cancel(grpc::CallbackServerContext* context,
                                             const pb::CancelRequest* request,
                                             pb::CancelResponse* response) {
  Status argument = CheckVersionOf(*context);
  if (argument.ok()) argument = CheckJob(request->job());
  const Caller caller = Who(*context);
  const Order order(caller, "cancel " + ToString(JobId{request->job()}));
  return Serve(
      context, response, calls_, caller.Key(), argument,
      [&](auto call) {
        handler_->OnCancel({request->job()}, order.Tell<JobId>(AnswerTo<JobId>(
                                                 std::move(call), &FillJob<pb::CancelResponse>)));
      },
      &order);
}

grpc::ServerUnaryReactor* ApiService::Drain(grpc::CallbackServerContext* context,
                                            const pb::DrainRequest* request,
                                            pb::DrainResponse* response) {
  Status argument = CheckVersionOf(*context);
  if (argument.ok() && request->worker() == 0) {
    argument = InvalidArgument("the call names no worker");
  }
  const Caller caller = Who(*context);
  const Order order(caller, "drain " + ToString(WorkerId{request->worker()}));
  return Serve(
      context, response, calls_, caller.Key(), argument,
      [&](auto call) {
        handler_->OnDrain({request->worker()},
                          order.Tell<WorkerId>(AnswerTo<WorkerId>(std::move(call), &FillWorker)));
      },
      &order);
}

grpc::ServerUnaryReactor* ApiService::ListWorkers(grpc::CallbackServerContext* context,
                                                  const pb::ListWorkersRequest*,
                                                  pb::ListWorkersResponse* response) {
  return Serve(
      context, response, calls_, Who(*context).Key(), CheckVersionOf(*context), [&](auto call) {
        CallerGone gone = GoneOf(call);
        handler_->OnWorkers(std::move(gone),
                            AnswerTo<std::vector<WorkerSnapshot>>(std::move(call), &FillWorkers));
      });
}

}  // namespace espalier::rpc
