#include "src/security/trust_replacement.h"

#include <openssl/err.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/security/openssl_types.h"
#include "src/security/trust_file.h"

namespace espalier::security {
namespace {

Result<TrustFile> Read(const CaFile& file) {
  Result<TrustFile> out = ReadTrustFile(file.pem);
  if (out.ok()) return out;
  return PermissionDenied(QuotedPath(file.path) + ": " + out.status().message());
}

// Returns whether the file contains the authority. A renewed authority is the same one, because its
// lists and their entries refer to its key and name.
bool Holds(const TrustFile& file, const X509* authority) {
  return std::any_of(file.authorities.begin(), file.authorities.end(), [&](const auto& a) {
    return X509_NAME_cmp(X509_get_subject_name(a.get()), X509_get_subject_name(authority)) == 0 &&
           EVP_PKEY_eq(X509_get0_pubkey(a.get()), X509_get0_pubkey(authority)) == 1;
  });
}

// Returns whether an authority of the file is on the list.
bool Lists(X509_CRL* list, const TrustFile& file) {
  return std::any_of(file.authorities.begin(), file.authorities.end(), [&](const auto& a) {
    X509_REVOKED* entry = nullptr;
    return X509_CRL_get0_by_cert(list, &entry, a.get()) == 1;
  });
}

// Returns the authority of the file that signed the list, or null.
X509* SignerOf(X509_CRL* list, const TrustFile& file) {
  for (const CertificatePtr& authority : file.authorities) {
    const bool named =
        X509_NAME_cmp(X509_CRL_get_issuer(list), X509_get_subject_name(authority.get())) == 0;
    if (named && X509_CRL_verify(list, X509_get0_pubkey(authority.get())) == 1) {
      return authority.get();
    }
  }
  return nullptr;
}

// Returns whether `next` is a list of the same authority and at least as new. Lists of the same
// second are compared by length, because only a newly made list is shorter.
bool Follows(X509_CRL* next, X509_CRL* list, X509* signer) {
  if (X509_NAME_cmp(X509_CRL_get_issuer(next), X509_CRL_get_issuer(list)) != 0) return false;
  if (signer != nullptr && X509_CRL_verify(next, X509_get0_pubkey(signer)) != 1) return false;
  const int later =
      ASN1_TIME_compare(X509_CRL_get0_lastUpdate(next), X509_CRL_get0_lastUpdate(list));
  const auto entries = [](X509_CRL* of) { return sk_X509_REVOKED_num(X509_CRL_get_REVOKED(of)); };
  return later == 1 || (later == 0 && entries(next) >= entries(list));
}

}  // namespace

Status CheckReplaces(const CaFile& before, const CaFile& after) {
  ESPALIER_ASSIGN_OR_RETURN(const TrustFile old, Read(before));
  ESPALIER_ASSIGN_OR_RETURN(const TrustFile next, Read(after));
  const bool related =
      std::any_of(old.authorities.begin(), old.authorities.end(),
                  [&](const CertificatePtr& authority) { return Holds(next, authority.get()); });
  Status out;
  for (const RevocationPtr& list : old.lists) {
    X509* signer = SignerOf(list.get(), old);
    // Without trust in its signer, the list is not needed: the certificates it revokes are refused
    // anyway.
    const bool believed = related && (signer == nullptr || Holds(next, signer));
    if (!believed && !Lists(list.get(), next)) continue;
    const bool kept = std::any_of(next.lists.begin(), next.lists.end(), [&](const auto& other) {
      return Follows(other.get(), list.get(), signer);
    });
    if (kept) continue;
    out = FailedPrecondition(
        QuotedPath(after.path) + " would admit certificates that " + QuotedPath(before.path) +
        " refuses: it contains neither that revocation list of '" +
        NameText(X509_CRL_get_issuer(list.get())) +
        "' nor a later one; use the authority's newest file, which `espalier certs revoke` "
        "wrote as trust.pem");
    break;
  }
  ERR_clear_error();
  return out;
}

}  // namespace espalier::security
