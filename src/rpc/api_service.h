// The public service: turns calls into calls of a CoordinatorHandler. Private to rpc/.
#pragma once

#include <memory>
#include <utility>

#include "proto/espalier/v1/api.grpc.pb.h"
#include "src/rpc/authorizer.h"
#include "src/rpc/convert.h"
#include "src/rpc/coordinator_server.h"
#include "src/rpc/open_calls.h"

namespace espalier::rpc {

class ApiService final : public pb::Espalier::CallbackService {
 public:
  // `handler` and `calls` outlive the service; `authorizer` is null on a plain server.
  ApiService(CoordinatorHandler* handler, OpenCalls* calls,
             std::shared_ptr<const Authorizer> authorizer, const CoordinatorServerLimits& limits)
      : handler_(handler),
        calls_(calls),
        authorizer_(std::move(authorizer)),
        watch_rows_max_(limits.watch_rows_max) {}

  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext* context,
                                   const pb::SubmitRequest* request,
                                   pb::SubmitResponse* response) override;
  grpc::ServerUnaryReactor* Renewer(grpc::CallbackServerContext* context,
                                    const pb::RenewerRequest* request,
                                    pb::RenewerResponse* response) override;
  grpc::ServerUnaryReactor* Withdraw(grpc::CallbackServerContext* context,
                                     const pb::WithdrawRequest* request,
                                     pb::WithdrawResponse* response) override;
  grpc::ServerWriteReactor<pb::JobUpdate>* Watch(grpc::CallbackServerContext* context,
                                                 const pb::WatchRequest* request) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const pb::ListJobsRequest* request,
                                     pb::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const pb::GetJobRequest* request,
                                   pb::JobUpdate* response) override;
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* context,
                                   const pb::CancelRequest* request,
                                   pb::CancelResponse* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const pb::DrainRequest* request,
                                  pb::DrainResponse* response) override;
  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const pb::ListWorkersRequest* request,
                                        pb::ListWorkersResponse* response) override;

 private:
  Caller Who(const grpc::CallbackServerContext& context) const {
    return CallerOf(context, authorizer_.get());
  }

  CoordinatorHandler* const handler_;
  OpenCalls* const calls_;
  const std::shared_ptr<const Authorizer> authorizer_;
  const int64_t watch_rows_max_;
};

}  // namespace espalier::rpc
