// A small private certificate authority: its own certificate and the certificates that it issues.
// libcrypto generates the ECDSA P-256 keys. Time is an input.
//
// Thread rule: pure functions, except for the randomness of keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/security/roles.h"

namespace espalier::security {

struct KeyAndCertificate {
  std::string key_pem, certificate_pem;
};

// Contents of a certificate to issue.
struct CertificateRequest {
  Role role = Role::kReader;
  std::string name;                // checked by CheckRoleName
  std::vector<std::string> hosts;  // DNS names and IP addresses of the holder
  int64_t days = 397;
};

inline constexpr int64_t kAuthorityDays = 3653, kCertificateDaysMax = 825;

// Creates a self-signed authority, valid for ten years from one hour before `now_s` (clocks
// differ). It cannot issue further authorities.
Result<KeyAndCertificate> MakeAuthority(const std::string& name, int64_t now_s);

// Returns the authority's revocation list in PEM: the entries of its current list, `list_pem`, and
// one more certificate. The list is valid as long as the authority. kAlreadyExists: the certificate
// is on the list. kPermissionDenied: a text is invalid or belongs to another authority.
Result<std::string> Revoke(const KeyAndCertificate& authority, std::string_view list_pem,
                           std::string_view certificate_pem, int64_t now_s);

// Returns a CA file for the authority: its certificate and its current revocation list. `list_pem`
// contains the list and may itself be a CA file. Empty: the authority has revoked nothing.
// kPermissionDenied: the list is incomplete or belongs to another authority.
Result<std::string> TrustOf(const KeyAndCertificate& authority, std::string_view list_pem);

// Issues a certificate with the URI espalier://ROLE/NAME, for TLS clients, and also for servers if
// the role belongs to a daemon. kInvalidArgument names the invalid part of the request.
// kPermissionDenied: the authority's files are not a key and its certificate, or the authority
// expires too soon.
Result<KeyAndCertificate> Issue(const KeyAndCertificate& authority,
                                const CertificateRequest& request, int64_t now_s);

}  // namespace espalier::security
