#include "src/yarn/service_principal.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "src/base/text.h"
#include "src/storage/keytab.h"

namespace espalier::yarn {
namespace {

constexpr size_t kPrincipalBytesMax = 256, kShownMax = 3;

struct Parts {
  std::string name, host, realm;
};

// Returns the parts of "name/host@REALM". A missing part is empty.
Parts PartsOf(const std::string& principal) {
  const size_t at = std::min(principal.rfind('@'), principal.size());
  const size_t slash = std::min(principal.find('/'), at);
  Parts out;
  out.name = principal.substr(0, slash);
  if (slash < at) out.host = principal.substr(slash + 1, at - slash - 1);
  if (at < principal.size()) out.realm = principal.substr(at + 1);
  return out;
}

bool IsPlain(const std::string& part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) || c == '.' || c == '_' || c == '-');
  });
}

}  // namespace

Result<bool> HasKerberos(const storage::HadoopConfig& config) {
  ESPALIER_ASSIGN_OR_RETURN(std::string found, config.Get("hadoop.security.authentication"));
  std::transform(found.begin(), found.end(), found.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return found == "kerberos";
}

Status CheckPrincipal(const std::string& principal) {
  const Parts parts = PartsOf(principal);
  if (principal.size() <= kPrincipalBytesMax && IsPlain(parts.name) && IsPlain(parts.host) &&
      IsPlain(parts.realm)) {
    return {};
  }
  const bool no_host = IsPlain(parts.name) && parts.host.empty() && IsPlain(parts.realm);
  return InvalidArgument(
      "--principal: found '" + Printable(principal) + "', expected NAME/HOST@REALM" +
      (no_host ? ": YARN takes no principal without a host for a service. Use a principal with any "
                 "host that the KDC knows, such as '" +
                     Printable(parts.name + "/yarn@" + parts.realm) +
                     "'. YARN replaces _HOST by the name of each node"
               : " of letters, digits and . _ -"));
}

Status CheckKeytab(const YarnIdentity& identity, const std::string& shown) {
  ESPALIER_ASSIGN_OR_RETURN(const auto principals,
                            storage::KeytabPrincipals(identity.keytab, shown));
  const Parts wanted = PartsOf(identity.principal);
  const auto is_ours = [&wanted](const std::string& principal) {
    const Parts parts = PartsOf(principal);
    return parts.name == wanted.name && parts.realm == wanted.realm;
  };
  const bool there =
      std::any_of(principals.begin(), principals.end(), [&](const std::string& principal) {
        return principal == identity.principal ||
               (wanted.host == "_HOST" && is_ours(principal) && !PartsOf(principal).host.empty());
      });
  std::string all;
  for (size_t i = 0; i < std::min(principals.size(), kShownMax); ++i) {
    all += (i == 0 ? "" : ", ") + Printable(principals[i], kPrincipalBytesMax);
  }
  if (principals.size() > kShownMax) all += ", ...";
  if (!there) {
    return InvalidArgument("--principal: found '" + identity.principal +
                           "', expected one that has a key in the keytab " + shown +
                           ", which holds " + all);
  }
  if (is_ours(principals.front())) return {};
  return InvalidArgument("the keytab " + shown + " begins with a key of '" +
                         Printable(principals.front(), kPrincipalBytesMax) +
                         "', which the containers would log in as; expected a key of " +
                         identity.principal + " alone: write it to a separate file (ktutil)");
}

}  // namespace espalier::yarn
