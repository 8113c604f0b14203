// Authentication and authorization of calls, in one place for every method of every service, before
// the call reaches its method. A method that is missing from the table rejects all callers. Private
// to rpc/.
#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"
#include "src/rpc/refusals.h"
#include "src/rpc/security.h"

namespace espalier::rpc {

inline constexpr const char* kTokenKey = "authorization";
inline constexpr std::string_view kTokenPrefix = "Bearer ";

// Access that a method requires.
enum class Access { kAnyRole, kReader, kOperator, kAdmin, kWorker };

// Returns the access for a method path ("/espalier.v1.Espalier/Submit"). Returns nothing if all
// callers are rejected.
std::optional<Access> AccessOf(std::string_view path);

// Credentials that a caller presented.
struct Shown {
  std::string token;  // complete header; empty: none
  std::string chain;  // PEM, leaf certificate first; empty: none
};

struct Caller {
  bool known = false;  // false: plain connection without authentication
  security::Identity identity;
  security::CertificateNames certificate;  // names in the presented certificate, if any
  std::string address;                     // "ipv4:10.0.0.5:41234"
  Shown shown;

  // Returns whether the call came through the Unix socket of a plain server. Only the user of this
  // server can open that socket.
  bool IsThisUser() const;
  // Returns, for example, "operator 'ann' at ipv4:10.0.0.5:41234".
  std::string ToString() const;
  // Returns the key by which calls are counted: the identity, or the address without its port if
  // the caller is not known.
  std::string Key() const;
  // Returns the caller as the coordinator core represents it. On a plain server it has no name, all
  // rights, and its Key as the address.
  cluster::Requester AsRequester() const;
  // Returns whether the caller may attach under this worker name.
  bool MayAttachAs(const std::string& worker_name) const;
  // Returns whether the caller is the worker with this name, which the coordinator provided.
  bool IsWorker(const std::string& worker_name) const;
};

// Identifies callers and decides whether they may make a call. It is not a gRPC
// AuthMetadataProcessor, because gRPC 1.51 renders all headers as text for a processor. Some
// headers, which any client can send, then abort the process.
// Thread rule: any thread.
class Authorizer final {
 public:
  // REQUIRES: the security has a keychain.
  explicit Authorizer(const ServerSecurity& security) : security_(security) {}

  const ServerSecurity& security() const { return security_; }

  // Sets `caller` and returns OK if the caller may call the method at `path`. Otherwise returns the
  // reason and writes it to the audit log.
  grpc::Status Admit(const std::string& path, const grpc::ServerContextBase& context,
                     Caller* caller);
  // Returns the caller with these credentials, or the reason why they are not accepted.
  Result<Caller> Identify(const Shown& shown) const;
  // Returns OK if the owner of these credentials may keep a call with this access open, according
  // to the current files.
  Status StillMay(const Shown& shown, Access access) const;
  // The files that decisions are based on. A replaced file changes the value.
  using Files = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  Files CurrentFiles() const;
  // Writes the audit lines for refused calls that had no line, and logs when the server's own
  // certificate expires. Call it periodically.
  void TellRest();

  // Writes a refused call to the audit log, or counts it (Refusals). `caller` is Caller::Key.
  void Audit(const std::string& caller, const std::string& method, const std::string& why);

 private:
  Result<security::Identity> ByToken(std::string_view header) const;

  const ServerSecurity security_;
  Refusals refusals_;
};

// Returns null for a plain server.
std::shared_ptr<Authorizer> MakeAuthorizer(const ServerSecurity& security);

// Returns the check for OpenCalls::Add that decides whether the caller may keep its call open. The
// check writes a refusal to the audit log. Returns an empty function for a plain server.
std::function<Status()> MayStay(std::shared_ptr<const Authorizer> authorizer, const Caller& caller,
                                Access access, std::string what);

}  // namespace espalier::rpc
