// The entry point of all calls to a server. Before the server reads any message of a call, the gate
// identifies the caller and looks up the method in the table of methods (authorizer.h). It refuses
// methods that are not in the table or that the server does not have. Private to rpc/.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "src/rpc/authorizer.h"
#include "src/rpc/connections.h"

namespace espalier::rpc {

// Handles a call that the gate has admitted.
using MethodHandler =
    std::function<grpc::ServerGenericBidiReactor*(grpc::CallbackServerContext*, const Caller&)>;
// Handlers by the path of their method, such as "/espalier.v1.Espalier/Submit".
using Methods = std::map<std::string, MethodHandler>;

// Returns the full names of the services that these methods belong to.
std::set<std::string> ServicesOf(const Methods& methods);

// Thread rule: any thread.
class Gate final : public grpc::CallbackGenericService {
 public:
  // `authorizer` is null for a server without TLS, which admits all callers to all methods.
  // `connections` counts the calls. The contexts of calls are from MakeContexts. REQUIRES: all
  // methods are in the table of methods.
  Gate(std::shared_ptr<Authorizer> authorizer, Methods methods,
       std::shared_ptr<Connections> connections);

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  grpc::ServerGenericBidiReactor* Admit(grpc::GenericCallbackServerContext* context);

  const std::shared_ptr<Authorizer> authorizer_;
  const Methods methods_;
  const std::shared_ptr<Connections> connections_;
};

}  // namespace espalier::rpc
