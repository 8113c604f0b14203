// A small private authority: its own certificate, and those it issues. Keys are ECDSA P-256, made
// by libcrypto; time is an input.
//
// Thread rule: pure functions but for the keys' chance.
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

// What a certificate is to say.
struct CertificateRequest {
  Role role = Role::kReader;
  std::string name;                // IsRoleName
  std::vector<std::string> hosts;  // DNS names and IP addresses its holder is reached by
  int64_t days = 397;
};

inline constexpr int64_t kAuthorityDays = 3653, kCertificateDaysMax = 825;

// A self-signed authority, valid from an hour before `now_s` (clocks differ) for ten years. It may
// issue no further authorities.
Result<KeyAndCertificate> MakeAuthority(const std::string& name, int64_t now_s);

// The authority's revocation list in PEM, with one more certificate on it than `list_pem`, its list
// so far, had; it holds as long as the authority. kAlreadyExists: it is on the list.
// kPermissionDenied: a text is not what it should be, or of another authority.
Result<std::string> Revoke(const KeyAndCertificate& authority, std::string_view list_pem,
                           std::string_view certificate_pem, int64_t now_s);

// What is to be believed of the authority, a CA file: its certificate and the list so far that
// `list_pem` holds, which may be such a file itself; empty: it has revoked nothing.
// kPermissionDenied: the list is not whole, or of another authority.
Result<std::string> TrustOf(const KeyAndCertificate& authority, std::string_view list_pem);

// A certificate with the URI espalier://ROLE/NAME, for TLS clients, and for servers when the role
// is one of a daemon. kInvalidArgument names what the request has wrong; kPermissionDenied: the
// authority's files are not a key and its certificate, or it expires too soon.
Result<KeyAndCertificate> Issue(const KeyAndCertificate& authority,
                                const CertificateRequest& request, int64_t now_s);

}  // namespace espalier::security
