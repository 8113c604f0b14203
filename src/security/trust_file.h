// What a CA file holds: certificates of authorities and their revocation lists, in PEM, with any
// text between them. Private to security/.
#pragma once

#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/security/openssl_types.h"

namespace espalier::security {

struct TrustFile {
  std::vector<CertificatePtr> authorities;
  std::vector<RevocationPtr> lists;
};

// A file with more is refused.
inline constexpr size_t kTrustBlocksMax = 4096;

// All of it, or kPermissionDenied: a file that is cut off or damaged, or holds a block of another
// kind, is not taken by halves, as what is lost may be a list of those who must not get in. A file
// without any block is empty. Messages do not name the file.
Result<TrustFile> ReadTrustFile(std::string_view pem);

}  // namespace espalier::security
