#include "src/security/roles.h"

#include <algorithm>
#include <cctype>

#include "src/base/text.h"

namespace espalier::security {
namespace {

constexpr Role kRoles[] = {Role::kReader, Role::kOperator, Role::kAdmin, Role::kWorker,
                           Role::kCoordinator};
constexpr size_t kMatchedBytesMax = 512;  // longest matched name of another authority's certificate

// Returns the roles from espalier:// URIs. A malformed URI gives none.
std::map<Role, std::string> OurRoles(const CertificateNames& names) {
  std::map<Role, std::string> out;
  for (const std::string& uri : names.uris) {
    if (!uri.starts_with(kRoleScheme)) continue;
    const std::string_view rest = std::string_view(uri).substr(kRoleScheme.size());
    const size_t slash = rest.find('/');
    if (slash == std::string_view::npos) continue;
    const Result<Role> role = ParseRole(rest.substr(0, slash));
    const std::string_view name = rest.substr(slash + 1);
    if (role.ok() && CheckRoleName(name).ok()) out.emplace(*role, name);
  }
  return out;
}

bool HasUriOfOurs(const CertificateNames& names) {
  return std::any_of(names.uris.begin(), names.uris.end(),
                     [](const std::string& uri) { return uri.starts_with(kRoleScheme); });
}

std::vector<std::string> AllNames(const CertificateNames& names) {
  std::vector<std::string> out = names.dns_names;
  out.insert(out.end(), names.uris.begin(), names.uris.end());
  if (!names.common_name.empty()) out.push_back(names.common_name);
  return out;
}

bool Matches(std::string_view pattern, std::string_view name) {
  if (name.size() > kMatchedBytesMax) return false;
  if (!pattern.starts_with("*.")) return pattern == name;
  const std::string_view end = pattern.substr(1);
  return name.size() > end.size() && name.ends_with(end);
}

}  // namespace

const char* RoleName(Role role) {
  switch (role) {
    case Role::kReader:
      return "reader";
    case Role::kOperator:
      return "operator";
    case Role::kAdmin:
      return "admin";
    case Role::kWorker:
      return "worker";
    case Role::kCoordinator:
      return "coordinator";
  }
  return "";
}

Result<Role> ParseRole(std::string_view text) {
  for (Role role : kRoles) {
    if (text == RoleName(role)) return role;
  }
  return InvalidArgument("found role '" + Printable(text) +
                         "', expected coordinator, worker, admin, operator or reader");
}

Status CheckRoleName(std::string_view name) {
  const auto plain = [](unsigned char c) { return c < 0x80 && std::isalnum(c); };
  const bool valid = !name.empty() && name.size() <= 64 &&
                     plain(static_cast<unsigned char>(name[0])) &&
                     std::all_of(name.begin(), name.end(), [plain](unsigned char c) {
                       return plain(c) || c == '.' || c == '_' || c == '-' || c == '@';
                     });
  if (valid) return Status::Ok();
  return InvalidArgument("found name '" + Printable(name) +
                         "', expected 1 to 64 letters, digits and . _ - @, a letter or digit "
                         "first");
}

std::string RoleUri(Role role, std::string_view name) {
  return std::string(kRoleScheme) + RoleName(role) + "/" + std::string(name);
}

bool Identity::May(Role role) const {
  if (Has(role)) return true;
  if (role == Role::kReader) return Has(Role::kOperator) || Has(Role::kAdmin);
  return role == Role::kOperator && Has(Role::kAdmin);
}

std::string Identity::ToString() const {
  std::string out;
  for (const auto& [role, name] : names) {
    out += (out.empty() ? "" : ", ") + std::string(RoleName(role)) + " '" + Printable(name) + "'";
  }
  return out;
}

Result<Identity> IdentityOf(const CertificateNames& names, const std::vector<RoleRule>& rules) {
  Identity out{OurRoles(names)};
  if (!HasUriOfOurs(names)) {
    const std::vector<std::string> all = AllNames(names);
    for (const RoleRule& rule : rules) {
      const auto found = std::find_if(all.begin(), all.end(), [&rule](const std::string& name) {
        return Matches(rule.name, name);
      });
      if (found != all.end()) out.names.emplace(rule.role, *found);
    }
  }
  if (!out.names.empty()) return out;
  return PermissionDenied("the certificate of '" + Printable(names.common_name) +
                          "' has no role here: it holds no name such as espalier://operator/ann "
                          "(espalier certs issue makes one), and no entry of `roles` in the "
                          "coordinator's configuration fits its names");
}

bool MayCallItself(std::string_view certificate_name, std::string_view name) {
  return !certificate_name.empty() && name.starts_with(certificate_name) &&
         (name.size() == certificate_name.size() || name[certificate_name.size()] == ':');
}

bool IsOfWorker(const CertificateNames& names, std::string_view worker_name) {
  if (HasUriOfOurs(names)) {
    const auto ours = OurRoles(names);
    const auto it = ours.find(Role::kWorker);
    return it != ours.end() && MayCallItself(it->second, worker_name);
  }
  const std::vector<std::string> all = AllNames(names);
  return std::any_of(all.begin(), all.end(), [worker_name](const std::string& name) {
    return MayCallItself(name, worker_name);
  });
}

bool MayBeCoordinator(const CertificateNames& names) {
  return !HasUriOfOurs(names) || OurRoles(names).contains(Role::kCoordinator);
}

}  // namespace espalier::security
