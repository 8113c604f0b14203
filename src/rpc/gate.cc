#include "src/rpc/gate.h"

#include <utility>

namespace espalier::rpc {
namespace {

// A call that ends at once.
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

Gate::Gate(std::shared_ptr<Authorizer> authorizer, Methods methods)
    : authorizer_(std::move(authorizer)), methods_(std::move(methods)) {
  for (const auto& [path, handler] : methods_) ESPALIER_CHECK(AccessOf(path).has_value(), path);
}

grpc::ServerGenericBidiReactor* Gate::CreateReactor(grpc::GenericCallbackServerContext* context) {
  Caller caller;
  caller.address = context->peer();
  if (authorizer_ != nullptr) {
    if (grpc::Status why = authorizer_->Admit(context->method(), *context, &caller); !why.ok()) {
      return new RefusedCall(std::move(why));
    }
  }
  const auto method = methods_.find(context->method());
  if (method == methods_.end()) {
    return new RefusedCall({grpc::StatusCode::UNIMPLEMENTED, "this server has no such method"});
  }
  return method->second(context, caller);
}

}  // namespace espalier::rpc
