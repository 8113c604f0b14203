// Contents of a CA file: certificates of authorities and their revocation lists, in PEM, with any
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

// Limit of PEM blocks. A file with more is refused.
inline constexpr size_t kTrustBlocksMax = 4096;

// Parses the complete file. Returns kPermissionDenied if the file is truncated or damaged, or
// contains a block of another kind. A partial file is refused because the missing part may be a
// revocation list. A file without any block is empty. Messages do not name the file.
Result<TrustFile> ReadTrustFile(std::string_view pem);

}  // namespace espalier::security
