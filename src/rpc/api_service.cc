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

template <typename Request, typename Response>
using CallOf = std::shared_ptr<UnaryCall<Request, Response>>;

template <typename Call>
CallerGone GoneOf(const std::shared_ptr<Call>& call) {
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

// The version that the caller says, and after it the request.
template <typename Request>
Status CheckCall(const Status& version, const Result<Request>& request) {
  return version.ok() ? request.status() : version;
}

}  // namespace

// `ask` gets the request of a caller that has this version, and answers the call, now or later.
template <typename Request, typename Response, typename Ask>
MethodHandler ApiService::Question(Ask ask) {
  return [this, ask](grpc::CallbackServerContext* context, const Caller& caller) {
    return StartUnary<Request, Response>(
        context, calls_, caller.Key(),
        [ask, version = CheckVersionOf(*context)](CallOf<Request, Response> call,
                                                  Result<Request> request) {
          const Status wrong = CheckCall(version, request);
          if (!wrong.ok()) return call->Answer(wrong);
          ask(std::move(call), *request);
        });
  };
}

// Likewise, and the audit hears who gives the order, what `name_of` calls it, and what comes of it:
// all that is wrong with the request, which `check` says, too, or what the handler makes of it.
template <typename Request, typename Response, typename Name, typename Check, typename Give>
MethodHandler ApiService::Command(const char* verb, Name name_of, Check check, Give give) {
  return [this, verb, name_of, check, give](grpc::CallbackServerContext* context,
                                            const Caller& caller) {
    return StartUnary<Request, Response>(
        context, calls_, caller.Key(),
        [=, version = CheckVersionOf(*context)](CallOf<Request, Response> call,
                                                Result<Request> request) {
          const std::string name = request.ok() ? " " + name_of(*request) : "";
          const Order order(caller, verb + name);
          Status wrong = CheckCall(version, request);
          if (wrong.ok()) wrong = check(*request);
          if (wrong.ok()) return give(std::move(call), *request, order);
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

Methods ApiService::methods() {
  Methods out = Questions();
  out.merge(Orders());
  return out;
}

Methods ApiService::Orders() {
  const auto any = [](const auto&) { return Status::Ok(); };
  const auto submission = [](const auto& request) {
    return Printable(request.client_request_id());
  };
  Methods out;
  out["/espalier.v1.Espalier/Submit"] = Command<pb::SubmitRequest, pb::SubmitResponse>(
      "submit", submission, any, [this](auto call, const auto& request, const Order& order) {
        Result<SubmitRequest> parsed = FromProto(request);
        Status wrong = parsed.ok() ? CheckVersion(parsed->version, "client") : parsed.status();
        if (!wrong.ok()) {
          order.Refused(wrong);
          return call->Answer(wrong);
        }
        CallerGone gone = GoneOf(call);
        handler_->OnSubmit(
            std::move(parsed).value(), std::move(gone),
            order.Tell<JobId>(AnswerTo<JobId>(std::move(call), &FillJob<pb::SubmitResponse>)));
      });
  out["/espalier.v1.Espalier/Withdraw"] = Command<pb::WithdrawRequest, pb::WithdrawResponse>(
      "withdraw", submission,
      [](const auto& request) {
        return request.client_request_id().empty() ? InvalidArgument("the call names no submission")
                                                   : Status::Ok();
      },
      [this](auto call, const auto& request, const Order& order) {
        handler_->OnWithdraw(
            request.client_request_id(),
            order.Tell<JobId>(AnswerTo<JobId>(std::move(call), &FillJob<pb::WithdrawResponse>)));
      });
  out["/espalier.v1.Espalier/Cancel"] = Command<pb::CancelRequest, pb::CancelResponse>(
      "cancel", [](const auto& request) { return ToString(JobId{request.job()}); },
      [](const auto& request) { return CheckJob(request.job()); },
      [this](auto call, const auto& request, const Order& order) {
        handler_->OnCancel({request.job()}, order.Tell<JobId>(AnswerTo<JobId>(
                                                std::move(call), &FillJob<pb::CancelResponse>)));
      });
  out["/espalier.v1.Espalier/Drain"] = Command<pb::DrainRequest, pb::DrainResponse>(
      "drain", [](const auto& request) { return ToString(WorkerId{request.worker()}); },
      [](const auto& request) {
        return request.worker() == 0 ? InvalidArgument("the call names no worker") : Status::Ok();
      },
      [this](auto call, const auto& request, const Order& order) {
        handler_->OnDrain({request.worker()},
                          order.Tell<WorkerId>(AnswerTo<WorkerId>(std::move(call), &FillWorker)));
      });
  return out;
}

Methods ApiService::Questions() {
  Methods out;
  out["/espalier.v1.Espalier/Renewer"] =
      Question<pb::RenewerRequest, pb::RenewerResponse>([this](auto call, const auto&) {
        handler_->OnRenewer(AnswerTo<std::string>(std::move(call), &FillRenewer));
      });
  out["/espalier.v1.Espalier/ListJobs"] =
      Question<pb::ListJobsRequest, pb::ListJobsResponse>([this](auto call, const auto&) {
        CallerGone gone = GoneOf(call);
        handler_->OnList(std::move(gone),
                         AnswerTo<std::vector<JobSnapshot>>(std::move(call), &FillJobs));
      });
  out["/espalier.v1.Espalier/GetJob"] =
      Question<pb::GetJobRequest, pb::JobUpdate>([this](auto call, const auto& request) {
        if (Status wrong = CheckJob(request.job()); !wrong.ok()) return call->Answer(wrong);
        CallerGone gone = GoneOf(call);
        handler_->OnGet({request.job()}, std::move(gone),
                        AnswerTo<JobUpdate>(std::move(call), &FillUpdate));
      });
  out["/espalier.v1.Espalier/ListWorkers"] =
      Question<pb::ListWorkersRequest, pb::ListWorkersResponse>([this](auto call, const auto&) {
        CallerGone gone = GoneOf(call);
        handler_->OnWorkers(std::move(gone),
                            AnswerTo<std::vector<WorkerSnapshot>>(std::move(call), &FillWorkers));
      });
  out["/espalier.v1.Espalier/Watch"] = Watch();
  return out;
}

}  // namespace espalier::rpc
