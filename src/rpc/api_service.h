// The public service: maps its methods to calls of a CoordinatorHandler. Private to rpc/.
#pragma once

#include <memory>
#include <utility>

#include "src/rpc/authorizer.h"
#include "src/rpc/convert.h"
#include "src/rpc/coordinator_handler.h"
#include "src/rpc/gate.h"
#include "src/rpc/open_calls.h"

namespace espalier::rpc {

class ApiService {
 public:
  // `handler` and `calls` must outlive the service. `authorizer` is null on a plain server.
  ApiService(CoordinatorHandler* handler, OpenCalls* calls,
             std::shared_ptr<const Authorizer> authorizer, const CoordinatorServerLimits& limits)
      : handler_(handler),
        calls_(calls),
        authorizer_(std::move(authorizer)),
        watch_rows_max_(limits.watch_rows_max) {}

  // Returns the methods of espalier.v1.Espalier. The service must outlive them.
  Methods MakeMethods();

 private:
  template <typename Request, typename Response, typename Ask>
  MethodHandler Question(Ask ask);
  template <typename Request, typename Response, typename Name, typename Give>
  MethodHandler Command(const char* verb, Name name_of, Give give);
  Methods Questions();
  Methods Orders();
  MethodHandler Watch();

  CoordinatorHandler* const handler_;
  OpenCalls* const calls_;
  const std::shared_ptr<const Authorizer> authorizer_;
  const int64_t watch_rows_max_;
};

}  // namespace espalier::rpc
