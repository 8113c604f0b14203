#include "src/rpc/health.h"

#include "src/rpc/probe_call.h"

namespace espalier::rpc {
namespace {

namespace health = ::grpc::health::v1;

class HealthWatch final : public ProbeCall<grpc::ServerWriteReactor<health::HealthCheckResponse>> {
 public:
  using ProbeCall::ProbeCall;

  void Start(health::HealthCheckResponse::ServingStatus status) {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    response_.set_status(status);
    WriteLocked(&response_);
  }

 private:
  void WrittenLocked() override {}  // it changes no more

  health::HealthCheckResponse response_;
};

}  // namespace

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const health::HealthCheckRequest* request,
                                               health::HealthCheckResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  response->set_status(health::HealthCheckResponse::SERVING);
  reactor->Finish(Has(request->service())
                      ? grpc::Status::OK
                      : grpc::Status(grpc::StatusCode::NOT_FOUND, "no such service is here"));
  return reactor;
}

grpc::ServerWriteReactor<health::HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext* context, const health::HealthCheckRequest* request) {
  const Caller caller = CallerOf(*context, authorizer_.get());
  auto call = std::make_shared<HealthWatch>(context, calls_);
  auto may = MayStay(authorizer_, caller, Access::kAnyRole, "a watch of the health");
  if (calls_->Add(call, caller.Key(), std::move(may)).ok()) {
    call->Start(Has(request->service()) ? health::HealthCheckResponse::SERVING
                                        : health::HealthCheckResponse::SERVICE_UNKNOWN);
  }
  return call.get();
}

}  // namespace espalier::rpc
