#include "src/rpc/authorizer.h"

#include <grpc/grpc_security_constants.h>
#include <grpc/support/time.h>

#include <utility>

#include "src/base/audit.h"
#include "src/base/text.h"

namespace espalier::rpc {
namespace {

struct Method {
  std::string_view path;
  Access access;
};

constexpr Method kMethods[] = {
    {"/espalier.v1.Espalier/Submit", Access::kOperator},
    {"/espalier.v1.Espalier/Renewer", Access::kOperator},
    {"/espalier.v1.Espalier/Withdraw", Access::kOperator},
    {"/espalier.v1.Espalier/Cancel", Access::kOperator},
    {"/espalier.v1.Espalier/Drain", Access::kAdmin},
    {"/espalier.v1.Espalier/Watch", Access::kReader},
    {"/espalier.v1.Espalier/ListJobs", Access::kReader},
    {"/espalier.v1.Espalier/GetJob", Access::kReader},
    {"/espalier.v1.Espalier/ListWorkers", Access::kReader},
    {"/espalier.v1.Coordinator/Attach", Access::kWorker},
    {"/espalier.v1.Peer/Link", Access::kWorker},
    {"/espalier.v1.StateTransfer/Fetch", Access::kWorker},
    {"/grpc.health.v1.Health/Check", Access::kAnyRole},
    {"/grpc.health.v1.Health/Watch", Access::kAnyRole},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Access::kReader},
};

constexpr std::string_view kOtherReflection = "/grpc.reflection.v1.";

bool May(const security::Identity& identity, Access access) {
  switch (access) {
    case Access::kAnyRole:
      return true;
    case Access::kReader:
      return identity.May(security::Role::kReader);
    case Access::kOperator:
      return identity.May(security::Role::kOperator);
    case Access::kAdmin:
      return identity.May(security::Role::kAdmin);
    case Access::kWorker:
      return identity.May(security::Role::kWorker);
  }
  return false;
}

const char* NameOf(Access access) {
  switch (access) {
    case Access::kAnyRole:
      return "any role";
    case Access::kReader:
      return "the role reader";
    case Access::kOperator:
      return "the role operator";
    case Access::kAdmin:
      return "the role admin";
    case Access::kWorker:
      return "the role worker";
  }
  return "";
}

std::string Property(const grpc::AuthContext& context, const char* name) {
  const auto values = context.FindPropertyValues(name);
  return values.empty() ? "" : std::string(values[0].data(), values[0].size());
}

// Returns the credentials of a call.
Shown ShownBy(const grpc::ServerContextBase& context) {
  const grpc::AuthContext& peer = *context.auth_context();
  // gRPC provides the peer's certificate and the rest of the chain separately.
  const std::string own = Property(peer, GRPC_X509_PEM_CERT_PROPERTY_NAME);
  const std::string rest =
      own.empty() ? "" : Property(peer, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME);
  const auto token = context.client_metadata().find(kTokenKey);
  if (token == context.client_metadata().end()) return {"", own + rest};
  return {std::string(token->second.data(), token->second.size()), own + rest};
}

int64_t NowS() { return gpr_now(GPR_CLOCK_REALTIME).tv_sec; }

}  // namespace

std::optional<Access> AccessOf(std::string_view path) {
  for (const Method& method : kMethods) {
    if (method.path == path) return method.access;
  }
  return std::nullopt;
}

bool Caller::IsThisUser() const { return !known && address.starts_with("unix:"); }

std::string Caller::ToString() const {
  if (IsThisUser()) return "this user";
  return (known ? identity.ToString() : std::string("unauthenticated caller")) + " at " +
         Printable(address);
}

std::string Caller::Key() const {
  return known ? identity.ToString() : address.substr(0, address.rfind(':'));
}

cluster::Requester Caller::AsRequester() const {
  if (!known) return {.name = {}, .admin = true, .address = Key()};
  const auto named = identity.names.find(security::Role::kOperator);
  const auto admin = identity.names.find(security::Role::kAdmin);
  const bool is_admin = admin != identity.names.end();
  if (named != identity.names.end()) return {named->second, is_admin};
  return {is_admin ? admin->second : std::string(), is_admin};
}

bool Caller::MayAttachAs(const std::string& worker_name) const {
  if (!known) return true;
  const auto it = identity.names.find(security::Role::kWorker);
  return it != identity.names.end() && security::MayCallItself(it->second, worker_name);
}

bool Caller::IsWorker(const std::string& worker_name) const {
  return !known || security::IsOfWorker(certificate, worker_name);
}

Result<security::Identity> Authorizer::ByToken(std::string_view header) const {
  if (security_.tokens == nullptr) {
    return PermissionDenied(
        "the call has a token, but this server accepts none: the coordinator's "
        "configuration names no file of `tokens`");
  }
  if (header.starts_with(kTokenPrefix)) {
    const auto tokens = security_.tokens->Current();
    if (const security::Token* token =
            security::FindToken(*tokens, header.substr(kTokenPrefix.size()))) {
      return security::Identity{{{token->role, token->name}}};
    }
  }
  return PermissionDenied(
      "the token that was shown is not among the coordinator's `tokens`; it is "
      "mistyped, or was taken back");
}

Status Authorizer::StillMay(const Shown& shown, Access access) const {
  const Result<Caller> caller = Identify(shown);
  if (!caller.ok()) return caller.status();
  if (May(caller->identity, access)) return Status::Ok();
  return PermissionDenied(caller->identity.ToString() + " no longer has " + NameOf(access));
}

Authorizer::Files Authorizer::CurrentFiles() const {
  return {security_.keychain->Current(),
          security_.tokens == nullptr ? nullptr : security_.tokens->Current()};
}

Result<Caller> Authorizer::Identify(const Shown& shown) const {
  Caller out;
  out.known = true;
  out.shown = shown;
  if (!shown.token.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(out.identity, ByToken(shown.token));
    return out;
  }
  if (shown.chain.empty()) {
    return PermissionDenied(
        "neither a certificate nor a token was shown; clients give "
        "--tls-certificate and --tls-key, or --token-file");
  }
  ESPALIER_RETURN_IF_ERROR(security_.keychain->Current()->trust.Verify(
      shown.chain, security::Purpose::kClient, NowS(), "the caller's certificate"));
  ESPALIER_ASSIGN_OR_RETURN(out.certificate, security::ReadNames(shown.chain));
  Result<security::Identity> identity = security::IdentityOf(out.certificate, security_.roles);
  if (!identity.ok() && security_.workers_without_role) {
    identity = security::Identity{{{security::Role::kWorker, out.certificate.common_name}}};
  }
  ESPALIER_ASSIGN_OR_RETURN(out.identity, std::move(identity));
  return out;
}

grpc::Status Authorizer::Admit(const std::string& path, const grpc::ServerContextBase& context,
                               Caller* caller) {
  Result<Caller> found = Identify(ShownBy(context));
  if (!found.ok()) {
    Audit("", path, found.status().message());
    return {grpc::StatusCode::UNAUTHENTICATED, found.status().message()};
  }
  *caller = *std::move(found);
  caller->address = context.peer();
  const std::optional<Access> needed = AccessOf(path);
  // Clients request the newer reflection service first. With this answer they fall back to the one
  // that this server has.
  if (path.starts_with(kOtherReflection)) {
    return {grpc::StatusCode::UNIMPLEMENTED, "grpc.reflection.v1alpha is what this server has"};
  }
  if (needed && May(caller->identity, *needed)) return grpc::Status::OK;
  const std::string why = caller->identity.ToString() + " may not call " + Printable(path) + ", " +
                          (needed ? std::string("for which ") + NameOf(*needed) + " is needed"
                                  : "which no role may call");
  Audit(caller->Key(), path, why);
  return {grpc::StatusCode::PERMISSION_DENIED, why};
}

void Authorizer::Audit(const std::string& caller, const std::string& method,
                       const std::string& why) {
  for (const std::string& line : refusals_.Tell(caller, Printable(method) + ": " + why, NowS())) {
    LogAudit(line);
  }
}

void Authorizer::TellRest() {
  for (const std::string& line : refusals_.Rest(NowS())) LogAudit(line);
  security_.keychain->TellExpiry(NowS());
}

std::shared_ptr<Authorizer> MakeAuthorizer(const ServerSecurity& security) {
  if (security.keychain == nullptr) return nullptr;
  return std::make_shared<Authorizer>(security);
}

std::function<Status()> MayStay(std::shared_ptr<const Authorizer> authorizer, const Caller& caller,
                                Access access, std::string what) {
  if (authorizer == nullptr) return {};
  return [authorizer = std::move(authorizer), who = caller.ToString(), shown = caller.shown, access,
          what = std::move(what)]() -> Status {
    const Status may = authorizer->StillMay(shown, access);
    if (may.ok()) return may;
    LogAudit("audit: ended " + what + " of " + who + ": " + may.message());
    return PermissionDenied("this was ended: " + may.message());
  };
}

}  // namespace espalier::rpc
