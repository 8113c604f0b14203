// Roles and their rights. A role comes from a certificate or from a token:
//
//   coordinator   runs the cluster: workers and clients trust it
//   worker        attaches under its own name and takes part in the jobs assigned to it
//   admin         ends the jobs of all owners, drains workers; includes operator
//   operator      submits jobs and ends its own; includes reader
//   reader        status, list, watch, workers, health
//
// A certificate states its role in a subject alternative name of kind URI, espalier://ROLE/NAME, as
// `espalier certs issue` writes it: espalier://worker/node-7. It may contain several URIs with
// different roles. Certificates of another authority have no such URI. For them, rules assign a
// role to a name: a worker's or client's common name, DNS name or URI. The identity's name is then
// the name that matched.
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

// Prefix of a role URI.
inline constexpr std::string_view kRoleScheme = "espalier://";

enum class Role { kReader, kOperator, kAdmin, kWorker, kCoordinator };

const char* RoleName(Role role);
Result<Role> ParseRole(std::string_view text);

// Checks for 1 to 64 letters, digits and . _ - @, starting with a letter or digit.
Status CheckRoleName(std::string_view name);
// Returns, for example, "espalier://worker/node-7".
std::string RoleUri(Role role, std::string_view name);

// A rule for certificates without an espalier:// URI. `name` must match completely. A leading "*."
// matches one or more labels ("*.workers.example.org"). A name of more than 512 bytes matches
// nothing.
struct RoleRule {
  std::string name;
  Role role = Role::kReader;
  bool operator==(const RoleRule&) const = default;
};

// The roles and names of a caller.
struct Identity {
  std::map<Role, std::string> names;  // name in each of its roles

  bool Has(Role role) const { return names.contains(role); }
  // Returns whether the identity has the role or one that includes it. An admin includes an
  // operator, an operator includes a reader.
  bool May(Role role) const;
  // Returns, for example, "operator 'ann'" or "worker 'node-7'".
  std::string ToString() const;
};

// Returns the identity, or kPermissionDenied if the certificate has no role.
Result<Identity> IdentityOf(const CertificateNames& names, const std::vector<RoleRule>& rules);

// Returns whether a worker with `certificate_name` in its certificate may use `name`. Both must be
// equal, except for a suffix after a colon, which several workers with one certificate use
// ("node-7:1234").
bool MayCallItself(std::string_view certificate_name, std::string_view name);

// Returns whether the certificate belongs to the worker with this name. The URI of role worker
// decides, or any name if the certificate has no espalier:// URI.
bool IsOfWorker(const CertificateNames& names, std::string_view worker_name);

// Returns whether the certificate may be a coordinator's: its espalier:// URIs, if any, include
// that role.
bool MayBeCoordinator(const CertificateNames& names);

}  // namespace espalier::security
