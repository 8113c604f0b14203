// The one way into a server. Every call comes here, whatever its method and before any message of
// it is read: its caller is identified, and the table of methods (authorizer.h) says whether they
// may make it. A method that is not in the table, or that no service here has, is nobody's. Private
// to rpc/.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "src/rpc/authorizer.h"

namespace espalier::rpc {

// What takes a call over whose caller may make it.
using MethodHandler =
    std::function<grpc::ServerGenericBidiReactor*(grpc::CallbackServerContext*, const Caller&)>;
using Methods = std::map<std::string, MethodHandler>;  // by path, "/espalier.v1.Espalier/Submit"

// The full names of the services that have these methods.
std::set<std::string> ServicesOf(const Methods& methods);

// Thread rule: any thread.
class Gate final : public grpc::CallbackGenericService {
 public:
  // `authorizer`: null for a plain server, where everybody may call everything. REQUIRES: all
  // methods are in the table.
  Gate(std::shared_ptr<Authorizer> authorizer, Methods methods);

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  const std::shared_ptr<Authorizer> authorizer_;
  const Methods methods_;
};

}  // namespace espalier::rpc
