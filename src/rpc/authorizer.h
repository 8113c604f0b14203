// Who makes a call, and whether they may: decided once for every method of every service, before
// the call reaches it. A method without an entry in the table is nobody's. Private to rpc/.
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

// What a method needs.
enum class Access { kAnyRole, kReader, kOperator, kAdmin, kWorker };

// Of a method's path ("/espalier.v1.Espalier/Submit"); none: nobody may call it.
std::optional<Access> AccessOf(std::string_view path);

// What somebody showed to say who they are.
struct Shown {
  std::string token;  // the whole header; empty: none
  std::string chain;  // PEM, the own certificate first; empty: none
};

struct Caller {
  bool known = false;  // false: a plain connection, where nobody says who they are
  security::Identity identity;
  security::CertificateNames certificate;  // what it showed, if it did
  std::string address;                     // "ipv4:10.0.0.5:41234"
  Shown shown;

  // Whether it came by the Unix socket of a plain server, which is for this server's user alone.
  bool IsThisUser() const;
  // "operator 'ann' at ipv4:10.0.0.5:41234".
  std::string ToString() const;
  // What calls are counted by: the identity, or else the address without its port.
  std::string Key() const;
  // Returns the caller as the core knows it. On a plain server it has no name and may do all.
  cluster::Requester AsRequester() const;
  // Whether it may attach under that name.
  bool MayAttachAs(const std::string& worker_name) const;
  // Whether it is the worker of that name, which the coordinator told.
  bool IsWorker(const std::string& worker_name) const;
};

// Identifies callers and decides whether they may make a call. It is not a gRPC
// AuthMetadataProcessor: for a processor gRPC 1.51 renders all headers as text, and some of them,
// which any client can send, abort the process.
// Thread rule: any thread.
class Authorizer final {
 public:
  // REQUIRES: the security has a keychain.
  explicit Authorizer(const ServerSecurity& security) : security_(security) {}

  const ServerSecurity& security() const { return security_; }

  // Sets `caller` and returns OK if the caller may call the method at `path`. Otherwise returns the
  // reason, and writes it to the audit log.
  grpc::Status Admit(const std::string& path, const grpc::ServerContextBase& context,
                     Caller* caller);
  // Returns the caller with these credentials, or the reason why they are not accepted.
  Result<Caller> Identify(const Shown& shown) const;
  // Whether who showed this may still have such a call open, by the files as they are now.
  Status StillMay(const Shown& shown, Access access) const;
  // The files that judgements rest on: others than before, when they were replaced.
  using Files = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  Files CurrentFiles() const;
  // Now and then: tells the audit of refused calls that had no line of their own, and the log of
  // the own certificate when it expires.
  void TellRest();

  // Tells the audit of a call that was refused, or counts it (Refusals). `caller`: Caller::Key.
  void Audit(const std::string& caller, const std::string& method, const std::string& why);

 private:
  Result<security::Identity> ByToken(std::string_view header) const;

  const ServerSecurity security_;
  Refusals refusals_;
};

// Null for a plain server.
std::shared_ptr<Authorizer> MakeAuthorizer(const ServerSecurity& security);

// For OpenCalls::Add: whether the caller may keep open what it has; tells the audit when not. None
// for a plain server.
std::function<Status()> MayStay(std::shared_ptr<const Authorizer> authorizer, const Caller& caller,
                                Access access, std::string what);

}  // namespace espalier::rpc
