// X.509 certificates in PEM, as TLS peers present them: the names they contain, and verification
// (RFC 5280, by libcrypto). Texts in certificates are hostile. They are bounded, and messages show
// them only as Printable.
//
// Thread rule: values and pure functions. Threads may share a Trust.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::security {

// The names in a certificate.
struct CertificateNames {
  std::string common_name;
  std::vector<std::string> dns_names;  // subject alternative names, unchanged
  std::vector<std::string> uris;
};

// Returns the names of the first certificate of a chain. Returns kPermissionDenied if the text
// contains none.
Result<CertificateNames> ReadNames(std::string_view chain_pem);

// Returns the expiry time of the first certificate of a chain, in seconds since 1970.
Result<int64_t> ExpiryOf(std::string_view chain_pem);

// Checks that the first certificate of the chain names `host`, a DNS name or an IP address, among
// its subject alternative names (RFC 6125). The common name is ignored.
Status CheckHost(std::string_view chain_pem, const std::string& host);

// Checks that the private key belongs to the chain's first certificate. Messages never show the
// key.
Status CheckKeyFits(std::string_view chain_pem, std::string_view key_pem);

// The TLS role for which a certificate is presented.
enum class Purpose { kServer, kClient };

// The trusted certificate authorities.
class Trust {
 public:
  // Parses a CA file, which contains at least one certificate and may contain revocation lists
  // (X509 CRL). Certificates on the list of an authority are refused, including certificates of
  // further authorities. All certificates of an authority are refused if its list is out of date or
  // unusable. An authority without a list has revoked nothing. `path` is for messages. Returns
  // kPermissionDenied if any part of the file is unreadable.
  static Result<Trust> Parse(std::string_view ca_pem, const std::string& path);

  // Verifies a chain: the leaf first, then intermediate authorities. It must lead to one of the
  // trusted authorities, be valid at `now_s` (seconds since 1970) and allow the purpose.
  // kPermissionDenied states the reason and the fix. The message starts with `whose` ("the
  // coordinator's certificate"). kUnavailable does the same for wrong dates, which a corrected
  // clock or a replaced file on the other side fixes.
  Status Verify(std::string_view chain_pem, Purpose purpose, int64_t now_s,
                const std::string& whose) const;

 private:
  struct Rep;
  std::shared_ptr<const Rep> rep_;
};

}  // namespace espalier::security
