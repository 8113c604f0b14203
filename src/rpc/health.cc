#include "src/rpc/health.h"

#include <grpcpp/alarm.h>

#include <functional>
#include <memory>

#include "proto/grpc/health/v1/health.pb.h"
#include "src/rpc/probe_call.h"
#include "src/rpc/unary_call.h"

namespace espalier::rpc {
namespace {

namespace health = ::grpc::health::v1;

using health::HealthCheckRequest;
using health::HealthCheckResponse;

class HealthWatch final : public ProbeCall, public std::enable_shared_from_this<HealthWatch> {
 public:
  HealthWatch(grpc::CallbackServerContext* context, OpenCalls* calls,
              std::function<bool(const std::string&)> has)
      : ProbeCall(context, calls),
        timeout_ms_(calls->limits().read_timeout_ms),
        has_(std::move(has)) {}

  void Start() {
    MutexLock lock(mutex_);
    request_alarm_.Set(Deadline(timeout_ms_), [weak = weak_from_this()](bool expired) {
      const auto self = weak.lock();
      if (!expired || self == nullptr) return;
      MutexLock lock(self->mutex_);
      if (!self->requested_) self->EndLocked(DeadlineExceeded("no request arrived in time"));
    });
    ReadLocked();
  }
  void OnReadDone(bool ok) override {
    MutexLock lock(mutex_);
    requested_ = true;
    request_alarm_.Cancel();
    if (ended_) return;
    if (!ok) return EndLocked(InvalidArgument("the call ended without a request"));
    const auto request = ReadMessage<HealthCheckRequest>(&incoming_);
    if (!request.ok()) return EndLocked(request.status());
    HealthCheckResponse response;
    response.set_status(has_(request->service()) ? HealthCheckResponse::SERVING
                                                 : HealthCheckResponse::SERVICE_UNKNOWN);
    WriteLocked(response);
  }

 private:
  void WrittenLocked() override {}  // the status does not change

  const int64_t timeout_ms_;
  grpc::Alarm request_alarm_;
  bool requested_ = false;  // the request has arrived
  const std::function<bool(const std::string&)> has_;
};

}  // namespace

Methods HealthService::MakeMethods() {
  const auto has = [this](const std::string& name) {
    return name.empty() || names_.contains(name);
  };
  Methods out;
  out["/grpc.health.v1.Health/Check"] = [this, has](grpc::CallbackServerContext* context,
                                                    const Caller&) {
    using Call = UnaryCall<HealthCheckRequest, HealthCheckResponse>;
    return StartUnary<HealthCheckRequest, HealthCheckResponse>(
        context, calls_, "",
        [has](const std::shared_ptr<Call>& call, const Result<HealthCheckRequest>& request) {
          if (!request.ok()) return call->Answer(request.status());
          if (!has(request->service()))
            return call->Answer(NotFound("this server does not have the service"));
          call->Answer(Status::Ok(), [](HealthCheckResponse* response) {
            response->set_status(HealthCheckResponse::SERVING);
          });
        });
  };
  out["/grpc.health.v1.Health/Watch"] = [this, has](grpc::CallbackServerContext* context,
                                                    const Caller& caller) {
    auto call = std::make_shared<HealthWatch>(context, calls_, has);
    auto may = MayStay(authorizer_, caller, Access::kAnyRole, "a watch of the health");
    if (calls_->Add(call, caller.Key(), std::move(may)).ok()) call->Start();
    return call.get();
  };
  return out;
}

}  // namespace espalier::rpc
