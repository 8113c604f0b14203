#include "src/rpc/api_service.h"

#include "src/base/audit.h"
#include "src/base/text.h"
#include "src/rpc/call_metadata.h"
#include "src/rpc/call_status.h"
#include "src/rpc/fields.h"
#include "src/rpc/unary_call.h"
#include "src/rpc/watch_call.h"

namespace espalier::rpc {

namespace {

// Checks the version of a call. General tools send no version.
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

template <typename Request, typename Response>
using CallOf = std::shared_ptr<UnaryCall<Request, Response>>;

template <typename Call>
CallerGone GoneOf(const std::shared_ptr<Call>& call) {
  return [call] { return !call->open(); };
}

// Audit record of a command: the caller, the command and the result.
class Order {
 public:
  Order(const Caller& caller, std::string what)
      : by_(caller.AsRequester()),
        text_("audit: " + caller.ToString() + ": " + std::move(what) + ": ") {}

  const cluster::Requester& by() const { return by_; }

  void Refused(const Status& why) const { LogAudit(text_ + "refused: " + why.ToString()); }
  // Returns a Done that writes the result to the audit log before it answers. If it is dropped, the
  // log states that the command will not be carried out.
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

  cluster::Requester by_;
  std::string text_;
};

template <typename Response>
void FillJob(const JobId& job, Response* out) {
  out->set_job(job.value);
}

void FillRenewer(const std::string& principal, pb::RenewerResponse* out) {
  out->set_principal(Printable(principal, 1024));
}

void FillWorker(const WorkerId& worker, pb::DrainResponse* out) { out->set_worker(worker.value); }

void FillJobs(const std::vector<spec::JobSnapshot>& jobs, pb::ListJobsResponse* out) {
  for (const spec::JobSnapshot& job : jobs) ToProto(job, out->add_jobs());
}

void FillUpdate(const spec::JobUpdate& update, pb::JobUpdate* out) { ToProto(update, out); }

void FillWorkers(const std::vector<spec::WorkerSnapshot>& workers, pb::ListWorkersResponse* out) {
  for (const spec::WorkerSnapshot& worker : workers) ToProto(worker, out->add_workers());
}

// Checks the caller's version first, then the request.
template <typename Request>
Status CheckCall(const Status& version, const Result<Request>& request) {
  return version.ok() ? request.status() : version;
}

}  // namespace

// Makes the handler of a method that only reads. `ask` receives the request of a caller with the
// right version. It either returns an error, which answers the call, or answers the call later.
template <typename Request, typename Response, typename Ask>
MethodHandler ApiService::Question(Ask ask) {
  return [this, ask](grpc::CallbackServerContext* context, const Caller& caller) {
    return StartUnary<Request, Response>(
        context, calls_, caller.Key(),
        [ask, version = CheckVersionOf(*context)](const CallOf<Request, Response>& call,
                                                  const Result<Request>& request) {
          Status wrong = CheckCall(version, request);
          if (wrong.ok()) wrong = ask(call, *request);
          if (!wrong.ok()) call->Answer(wrong);
        });
  };
}

// Makes the handler of a method that changes something. `give` works like `ask` of Question. The
// audit log receives the caller, the command ("submit ID", where `name_of` returns the ID), and the
// result.
template <typename Request, typename Response, typename Name, typename Give>
MethodHandler ApiService::Command(const char* verb, Name name_of, Give give) {
  return [this, verb, name_of, give](grpc::CallbackServerContext* context, const Caller& caller) {
    return StartUnary<Request, Response>(
        context, calls_, caller.Key(),
        [=, version = CheckVersionOf(*context)](const CallOf<Request, Response>& call,
                                                const Result<Request>& request) {
          const Order order(caller, verb + (request.ok() ? " " + name_of(*request) : ""));
          Status wrong = CheckCall(version, request);
          if (wrong.ok()) wrong = give(call, *request, order);
          if (wrong.ok()) return;
          order.Refused(wrong);
          call->Answer(wrong);
        },
        [=](const Status& why) { Order(caller, verb).Refused(why); });
  };
}

MethodHandler ApiService::Watch() {
  return [this](grpc::CallbackServerContext* context, const Caller& caller) {
    const auto may = [this, caller](const std::string& what) {
      return MayStay(authorizer_, caller, Access::kReader, what);
    };
    auto start = [this, may, version = CheckVersionOf(*context)](std::shared_ptr<WatchCall> call,
                                                                 Result<pb::WatchRequest> request) {
      Status wrong = CheckCall(version, request);
      if (wrong.ok()) wrong = CheckJob(request->job());
      if (!wrong.ok()) return call->End(wrong);
      const JobId job{request->job()};
      calls_->SetMay(call.get(), may("watch " + ToString(job)));
      handler_->OnWatch(job, MakeWatchSink(std::move(call)));
    };
    auto call = std::make_shared<WatchCall>(context, calls_, watch_rows_max_, std::move(start));
    if (calls_->Add(call, caller.Key(), may("watch")).ok()) call->Read();
    return call.get();
  };
}

Methods ApiService::MakeMethods() {
  Methods out = Questions();
  out.merge(Orders());
  return out;
}

Methods ApiService::Orders() {
  const auto submission = [](const auto& request) {
    return Printable(request.client_request_id());
  };
  Methods out;
  out["/espalier.v1.Espalier/Submit"] = Command<pb::SubmitRequest, pb::SubmitResponse>(
      "submit", submission,
      [this](const auto& call, const auto& request, const Order& order) -> Status {
        ESPALIER_ASSIGN_OR_RETURN(spec::SubmitRequest parsed, FromProto(request));
        ESPALIER_RETURN_IF_ERROR(CheckVersion(parsed.version, "client"));
        handler_->OnSubmit(order.by(), std::move(parsed), GoneOf(call),
                           order.Tell<JobId>(AnswerTo<JobId>(call, &FillJob<pb::SubmitResponse>)));
        return {};
      });
  out["/espalier.v1.Espalier/Withdraw"] = Command<pb::WithdrawRequest, pb::WithdrawResponse>(
      "withdraw", submission,
      [this](const auto& call, const auto& request, const Order& order) -> Status {
        const std::string& id = request.client_request_id();
        if (id.empty() || id.size() > kClientRequestIdBytesMax) {
          return InvalidArgument("client_request_id: found " + std::to_string(id.size()) +
                                 " bytes, expected 1 to " +
                                 std::to_string(kClientRequestIdBytesMax));
        }
        handler_->OnWithdraw(
            order.by(), id,
            order.Tell<JobId>(AnswerTo<JobId>(call, &FillJob<pb::WithdrawResponse>)));
        return {};
      });
  out["/espalier.v1.Espalier/Cancel"] = Command<pb::CancelRequest, pb::CancelResponse>(
      "cancel", [](const auto& request) { return ToString(JobId{request.job()}); },
      [this](const auto& call, const auto& request, const Order& order) -> Status {
        ESPALIER_RETURN_IF_ERROR(CheckJob(request.job()));
        handler_->OnCancel(order.by(), {request.job()}, request.keep(),
                           order.Tell<JobId>(AnswerTo<JobId>(call, &FillJob<pb::CancelResponse>)));
        return {};
      });
  out["/espalier.v1.Espalier/Drain"] = Command<pb::DrainRequest, pb::DrainResponse>(
      "drain", [](const auto& request) { return ToString(WorkerId{request.worker()}); },
      [this](const auto& call, const auto& request, const Order& order) -> Status {
        if (request.worker() == 0) return InvalidArgument("the call names no worker");
        handler_->OnDrain({request.worker()},
                          order.Tell<WorkerId>(AnswerTo<WorkerId>(call, &FillWorker)));
        return {};
      });
  return out;
}

Methods ApiService::Questions() {
  Methods out;
  out["/espalier.v1.Espalier/Renewer"] = Question<pb::RenewerRequest, pb::RenewerResponse>(
      [this](const auto& call, const auto&) -> Status {
        handler_->OnRenewer(AnswerTo<std::string>(call, &FillRenewer));
        return {};
      });
  out["/espalier.v1.Espalier/ListJobs"] = Question<pb::ListJobsRequest, pb::ListJobsResponse>(
      [this](const auto& call, const auto&) -> Status {
        handler_->OnList(GoneOf(call), AnswerTo<std::vector<spec::JobSnapshot>>(call, &FillJobs));
        return {};
      });
  out["/espalier.v1.Espalier/GetJob"] = Question<pb::GetJobRequest, pb::JobUpdate>(
      [this](const auto& call, const auto& request) -> Status {
        ESPALIER_RETURN_IF_ERROR(CheckJob(request.job()));
        handler_->OnGet({request.job()}, GoneOf(call),
                        AnswerTo<spec::JobUpdate>(call, &FillUpdate));
        return {};
      });
  out["/espalier.v1.Espalier/ListWorkers"] =
      Question<pb::ListWorkersRequest, pb::ListWorkersResponse>(
          [this](const auto& call, const auto&) -> Status {
            handler_->OnWorkers(GoneOf(call),
                                AnswerTo<std::vector<spec::WorkerSnapshot>>(call, &FillWorkers));
            return {};
          });
  out["/espalier.v1.Espalier/Watch"] = Watch();
  return out;
}

}  // namespace espalier::rpc
