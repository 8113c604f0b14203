#include "src/security/trust_file.h"

#include <openssl/err.h>

#include <algorithm>
#include <string>

#include "src/base/text.h"
#include "src/security/certificate.h"

namespace espalier::security {
namespace {

constexpr std::string_view kBegin = "-----BEGIN";

size_t CountOf(std::string_view what, std::string_view text) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// Returns whether the text ends within a line that begins a block, where the reader sees no block.
bool EndsInABegin(std::string_view text) {
  const size_t line = text.rfind('\n');
  const std::string_view last = line == text.npos ? text : text.substr(line + 1);
  return !last.empty() && kBegin.starts_with(last);
}

struct Block {
  std::string kind;  // "X509 CRL"
  std::string der;
};

// Reads the next block. Returns false at the end, or if no complete block follows.
bool ReadBlock(BIO* in, Block* out) {
  char *kind = nullptr, *header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  const bool read = PEM_read_bio(in, &kind, &header, &data, &size) == 1;
  if (read) {
    out->kind = kind;
    out->der.assign(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
  }
  OPENSSL_free(kind);
  OPENSSL_free(header);
  OPENSSL_free(data);
  return read;
}

// Returns whether the block is valid for its kind.
bool Take(const Block& block, TrustFile* out) {
  const auto* der = reinterpret_cast<const unsigned char*>(block.der.data());
  const auto size = static_cast<long>(block.der.size());
  if (block.kind == PEM_STRING_X509_CRL) {
    return out->lists.emplace_back(d2i_X509_CRL(nullptr, &der, size)) != nullptr;
  }
  return out->authorities.emplace_back(d2i_X509(nullptr, &der, size)) != nullptr;
}

bool IsOurs(const std::string& kind) {
  return kind == PEM_STRING_X509_CRL || kind == PEM_STRING_X509 || kind == PEM_STRING_X509_OLD;
}

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
    // A signer that is no longer trusted admits no certificates.
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

Result<TrustFile> ReadTrustFile(std::string_view pem) {
  const size_t begun = CountOf(kBegin, pem);
  if (pem.size() > static_cast<size_t>(kPemBytesMax) || begun > kTrustBlocksMax) {
    return PermissionDenied("found " + std::to_string(begun) + " PEM blocks in " +
                            HumanBytes(pem.size()) + ", expected at most " +
                            std::to_string(kTrustBlocksMax) + " in " +
                            HumanBytes(static_cast<uint64_t>(kPemBytesMax)));
  }
  TrustFile out;
  const BioPtr in = ReadOnly(pem);
  Block block;
  size_t read = 0;
  while (read < begun && ReadBlock(in.get(), &block)) {
    if (!IsOurs(block.kind)) {
      return PermissionDenied("found the PEM block '" + Printable(block.kind, 40) +
                              "', expected CERTIFICATE and X509 CRL alone; take it out");
    }
    if (!Take(block, &out)) break;
    ++read;
  }
  ERR_clear_error();
  if (read == begun && !EndsInABegin(pem)) return out;
  return PermissionDenied("PEM block " + std::to_string(read + 1) + " of " +
                          std::to_string(std::max(begun, read + 1)) +
                          " cannot be read: the file is cut off or damaged; put the whole one in "
                          "its place, all at once by a rename (mv)");
}

}  // namespace espalier::security
