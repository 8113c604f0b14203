#include "src/rpc/gate.h"

#include <utility>

#include "src/rpc/read_turns.h"

namespace espalier::rpc {
namespace {

// A call that ends immediately.
class RefusedCall final : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(grpc::Status why) { Finish(std::move(why)); }
  void OnDone() override { delete this; }
};

}  // namespace

std::set<std::string> ServicesOf(const Methods& methods) {
  std::set<std::string> names;
  for (const auto& [path, handler] : methods) names.insert(path.substr(1, path.rfind('/') - 1));
  return names;
}

Gate::Gate(std::shared_ptr<Authorizer> authorizer, Methods methods,
           std::shared_ptr<Connections> connections)
    : authorizer_(std::move(authorizer)),
      methods_(std::move(methods)),
      connections_(std::move(connections)) {
  for (const auto& [path, handler] : methods_) ESPALIER_CHECK(AccessOf(path).has_value(), path);
}

grpc::ServerGenericBidiReactor* Gate::CreateReactor(grpc::GenericCallbackServerContext* context) {
  struct AtGate {
    ~AtGate() { OnCallAtGate(); }
  } after;  // runs after the limits of the connection are set, or on an exception
  return Admit(context);
}

grpc::ServerGenericBidiReactor* Gate::Admit(grpc::GenericCallbackServerContext* context) {
  if (!connections_->Begin(*context)) {
    return new RefusedCall(
        {grpc::StatusCode::RESOURCE_EXHAUSTED, "this connection has too many open calls"});
  }
  Caller caller;
  caller.address = context->peer();
  if (authorizer_ != nullptr) {
    if (grpc::Status why = authorizer_->Admit(context->method(), *context, &caller); !why.ok()) {
      return new RefusedCall(std::move(why));
    }
  }
  const auto method = methods_.find(context->method());
  if (method == methods_.end()) {
    return new RefusedCall(
        {grpc::StatusCode::UNIMPLEMENTED, "this server does not have the method"});
  }
  const auto access = AccessOf(context->method());
  if (access == Access::kOperator || access == Access::kWorker) {
    connections_->ExpectLargeMessages(*context);
  }
  return method->second(context, caller);
}

}  // namespace espalier::rpc
