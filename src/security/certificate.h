// X.509 certificates in PEM, as TLS peers show them: what they say of their holder, and whether one
// may believe it (RFC 5280, by libcrypto). Texts are hostile: bounded, and told in messages only as
// Printable.
//
// Thread rule: values and pure functions; a Trust may be shared by threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::security {

inline constexpr int64_t kPemBytesMax = int64_t{1} << 20;

// Whom a certificate names.
struct CertificateNames {
  std::string common_name;
  std::vector<std::string> dns_names;  // subject alternative names, as they stand
  std::vector<std::string> uris;
};

// The names of the first certificate of a chain. kPermissionDenied when the text holds none.
Result<CertificateNames> ReadNames(std::string_view chain_pem);

// When the first certificate of a chain expires, in seconds since 1970.
Result<int64_t> ExpiryOf(std::string_view chain_pem);

// OK when the first certificate of the chain names `host`, a DNS name or an IP address, among its
// subject alternative names (RFC 6125; the common name does not count).
Status CheckHost(std::string_view chain_pem, const std::string& host);

// OK when the private key is that of the chain's first certificate. Messages never show the key.
Status CheckKeyFits(std::string_view chain_pem, std::string_view key_pem);

// What a certificate is shown for.
enum class Purpose { kServer, kClient };

// The authorities one believes.
class Trust {
 public:
  // The certificates of a CA file, at least one, and the revocation lists (X509 CRL) that it may
  // hold as well: of an authority that has one, certificates on it are refused, those of further
  // authorities too, and all when the list is out of date or is not to be judged by. An authority
  // without a list has revoked nothing. `path` is for messages. kPermissionDenied: not all of the
  // file can be read.
  static Result<Trust> Parse(std::string_view ca_pem, const std::string& path);

  // OK when the chain (holder first, then intermediate authorities) leads to one of the
  // authorities, is valid at `now_s` (since 1970) and is meant for the purpose. kPermissionDenied
  // says in words why not and what to do, `whose` ("the coordinator's certificate") first; so does
  // kUnavailable, when it is a matter of dates: a clock that is set right mends that, or a file
  // that is replaced on the other side.
  Status Verify(std::string_view chain_pem, Purpose purpose, int64_t now_s,
                const std::string& whose) const;

 private:
  struct Rep;
  std::shared_ptr<const Rep> rep_;
};

// OK when the CA file `after` may take the place of `before` and nobody gets in again for it: each
// revocation list that `before` has of an authority is there as well, or a later one. Of files that
// have no authority in common none speaks for the other. The paths are for messages.
// kPermissionDenied: a file cannot be read; kFailedPrecondition: it may not.
struct CaFile {
  std::string_view pem;
  std::string path;
};
Status CheckReplaces(const CaFile& before, const CaFile& after);

}  // namespace espalier::security
