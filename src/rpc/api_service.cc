#include "src/rpc/api_service.h"

#include "src/rpc/transport.h"
#include "src/rpc/unary_call.h"
#include "src/rpc/watch_call.h"

namespace espalier::rpc {

namespace {

// A call names its version or, as general tools do, none.
Status CheckCaller(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find(kVersionKey);
  if (it == metadata.end()) return Status::Ok();
  return CheckVersion(std::string(it->second.data(), it->second.size()), "client");
}

Status CheckJob(uint64_t job) {
  return job != 0 ? Status::Ok()
                  : InvalidArgument("the call names no job; expected the number in job-17, say");
}

// Makes the call and answers it at once when its caller or its argument is wrong, else starts it.
template <typename Response, typename Start>
grpc::ServerUnaryReactor* Serve(grpc::CallbackServerContext* context, Response* response,
                                OpenCalls* calls, const Status& argument, const Start& start) {
  auto call = std::make_shared<UnaryCall<Response>>(context, response, calls);
  grpc::ServerUnaryReactor* reactor = call.get();
  calls->Add(call);  // keeps it until it is done
  if (Status caller = CheckCaller(*context); !caller.ok()) {
    call->Answer(caller);
  } else if (!argument.ok()) {
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
  const Status argument = parsed.ok() ? CheckVersion(parsed->version, "client") : parsed.status();
  return Serve(context, response, calls_, argument, [&](auto call) {
    handler_->OnSubmit(std::move(parsed).value(),
                       AnswerTo<JobId>(std::move(call), &FillJob<pb::SubmitResponse>));
  });
}

grpc::ServerWriteReactor<pb::JobUpdate>* ApiService::Watch(grpc::CallbackServerContext* context,
                                                           const pb::WatchRequest* request) {
  auto call = std::make_shared<WatchCall>(context, calls_, watch_rows_max_);
  grpc::ServerWriteReactor<pb::JobUpdate>* reactor = call.get();
  calls_->Add(call);
  Status wrong = CheckCaller(*context);
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
  return Serve(context, response, calls_, Status::Ok(), [&](auto call) {
    handler_->OnList(AnswerTo<std::vector<JobSnapshot>>(std::move(call), &FillJobs));
  });
}

grpc::ServerUnaryReactor* ApiService::GetJob(grpc::CallbackServerContext* context,
                                             const pb::GetJobRequest* request,
                                             pb::JobUpdate* response) {
  return Serve(context, response, calls_, CheckJob(request->job()), [&](auto call) {
    handler_->OnGet({request->job()}, AnswerTo<JobUpdate>(std::move(call), &FillUpdate));
  });
}

grpc::ServerUnaryReactor* ApiService::Cancel(grpc::CallbackServerContext* context,
                                             const pb::CancelRequest* request,
                                             pb::CancelResponse* response) {
  return Serve(context, response, calls_, CheckJob(request->job()), [&](auto call) {
    handler_->OnCancel({request->job()},
                       AnswerTo<JobId>(std::move(call), &FillJob<pb::CancelResponse>));
  });
}

grpc::ServerUnaryReactor* ApiService::Drain(grpc::CallbackServerContext* context,
                                            const pb::DrainRequest* request,
                                            pb::DrainResponse* response) {
  const Status argument =
      request->worker() != 0 ? Status::Ok() : InvalidArgument("the call names no worker");
  return Serve(context, response, calls_, argument, [&](auto call) {
    handler_->OnDrain({request->worker()}, AnswerTo<WorkerId>(std::move(call), &FillWorker));
  });
}

grpc::ServerUnaryReactor* ApiService::ListWorkers(grpc::CallbackServerContext* context,
                                                  const pb::ListWorkersRequest*,
                                                  pb::ListWorkersResponse* response) {
  return Serve(context, response, calls_, Status::Ok(), [&](auto call) {
    handler_->OnWorkers(AnswerTo<std::vector<WorkerSnapshot>>(std::move(call), &FillWorkers));
  });
}

}  // namespace espalier::rpc
