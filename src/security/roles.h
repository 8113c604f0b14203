// Who may do what. A role comes from a certificate or from a token:
//
//   coordinator   runs the cluster: workers and clients believe it
//   worker        attaches under its own name and takes part in the jobs it is given
//   admin         ends the jobs of all owners, drains workers; and what an operator may
//   operator      submits jobs and ends its own; and what a reader may
//   reader        status, list, watch, workers, health
//
// A certificate says its role by a subject alternative name of kind URI, espalier://ROLE/NAME, as
// `espalier certs issue` writes it: espalier://worker/node-7. It may hold several, of different
// roles. For those of another authority, which hold none, rules give a role to a name: a worker's
// or client's common name, DNS name or URI. Such a certificate's name is the one that matched.
//
// Thread rule: values and pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/security/certificate.h"

namespace espalier::security {

// How the URI of a role begins.
inline constexpr std::string_view kRoleScheme = "espalier://";

enum class Role { kReader, kOperator, kAdmin, kWorker, kCoordinator };

const char* RoleName(Role role);
Result<Role> ParseRole(std::string_view text);

// Letters, digits, and . _ - @, 1 to 64 of them, a letter or digit first.
Status CheckRoleName(std::string_view name);
// "espalier://worker/node-7".
std::string RoleUri(Role role, std::string_view name);

// A rule for certificates without a URI of ours. `name` is compared whole; a leading "*." stands
// for one or more labels ("*.workers.example.org"). A name of more than 512 bytes matches nothing.
struct RoleRule {
  std::string name;
  Role role = Role::kReader;
  bool operator==(const RoleRule&) const = default;
};

// Who somebody is.
struct Identity {
  std::map<Role, std::string> names;  // in each role that it has

  bool Has(Role role) const { return names.contains(role); }
  // Whether it has the role or one that includes it: an admin is an operator, an operator a reader.
  bool May(Role role) const;
  // "operator 'ann'", "worker 'node-7'".
  std::string ToString() const;
};

// kPermissionDenied when the certificate has no role.
Result<Identity> IdentityOf(const CertificateNames& names, const std::vector<RoleRule>& rules);

// Whether a worker whose certificate says `certificate_name` may call itself `name`: that very
// name, or it and more after a colon, for several workers of one certificate ("node-7:1234").
bool MayCallItself(std::string_view certificate_name, std::string_view name);

// Whether the certificate is that of the worker of that name: by its URI of role worker, or, when
// it has no URI of ours, by any of its names.
bool IsOfWorker(const CertificateNames& names, std::string_view worker_name);

// Whether it may be a coordinator's: its URIs of ours, if any, hold that role.
bool MayBeCoordinator(const CertificateNames& names);

}  // namespace espalier::security
