#include "src/security/certificate.h"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/security/openssl_types.h"

namespace espalier {
namespace {

constexpr size_t kChainMax = 16;
constexpr size_t kNamesMax = 64;

int NoPassphrase(char*, int, int, void*) { return -1; }

BioPtr ReadOnly(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string TimeText(const ASN1_TIME* time) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  return ASN1_TIME_print(out.get(), time) == 1 ? TextOf(out.get()) : "an unreadable time";
}

std::string Text(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<size_t>(ASN1_STRING_length(text))};
}

std::string CommonName(const X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return "";
  return Text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

// "'CN = worker-1' of authority 'CN = Espalier CA'".
std::string Describe(const X509* certificate) {
  return "'" + NameText(X509_get_subject_name(certificate)) + "' of authority '" +
         NameText(X509_get_issuer_name(certificate)) + "'";
}

Result<CertificatePtr> First(std::string_view pem) {
  std::vector<CertificatePtr> chain = ReadCertificates(pem);
  if (chain.empty()) return PermissionDenied("there is no certificate in PEM form");
  return std::move(chain.front());
}

std::string Why(int code, const X509* at, Purpose purpose, const std::string& path) {
  switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "expired on " + TimeText(X509_get0_notAfter(at)) +
             "; put a new one in its place (espalier certs issue), or mend this machine's clock";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "is not valid before " + TimeText(X509_get0_notBefore(at)) +
             "; compare the clocks of both machines";
    case X509_V_ERR_INVALID_PURPOSE:
      return std::string("is not meant for TLS ") +
             (purpose == Purpose::kServer ? "servers" : "clients") +
             "; issue one whose extended key usage allows it";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "is of an authority that is not in the CA file " + QuotedPath(path) +
             " of the side that judged it; both sides need certificates of one authority, or a CA "
             "file with both authorities";
    case X509_V_ERR_CERT_REVOKED:
      return "was revoked, says the CA file " + QuotedPath(path) +
             " of the side that judged it; issue a new one";
    case X509_V_ERR_CRL_HAS_EXPIRED:
      return "cannot be judged: the revocation list of its authority in the CA file " +
             QuotedPath(path) + " is out of date; put a new one in its place";
    default:
      return std::string("is not accepted: ") + X509_verify_cert_error_string(code);
  }
}

// What is of another kind is passed over.
template <typename Pointer, auto Read>
std::vector<Pointer> ReadAll(std::string_view pem) {
  std::vector<Pointer> out;
  if (pem.size() > static_cast<size_t>(kPemBytesMax)) return out;
  const BioPtr in = ReadOnly(pem);
  while (out.size() < kChainMax) {
    Pointer next(Read(in.get(), nullptr, &NoPassphrase, nullptr));
    if (next == nullptr) break;
    out.push_back(std::move(next));
  }
  ERR_clear_error();
  return out;
}

// An authority without a revocation list has revoked nothing.
int HeedLists(int valid, X509_STORE_CTX* context) {
  return valid == 1 || X509_STORE_CTX_get_error(context) == X509_V_ERR_UNABLE_TO_GET_CRL;
}

}  // namespace

std::vector<CertificatePtr> ReadCertificates(std::string_view pem) {
  return ReadAll<CertificatePtr, &PEM_read_bio_X509>(pem);
}

std::vector<RevocationPtr> ReadRevocations(std::string_view pem) {
  return ReadAll<RevocationPtr, &PEM_read_bio_X509_CRL>(pem);
}

KeyPtr ReadKey(std::string_view pem) {
  if (pem.size() > static_cast<size_t>(kPemBytesMax)) return nullptr;
  const BioPtr in = ReadOnly(pem);
  KeyPtr key(PEM_read_bio_PrivateKey(in.get(), nullptr, &NoPassphrase, nullptr));
  ERR_clear_error();
  return key;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(std::max<long>(size, 0))};
}

std::string NameText(const X509_NAME* name) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
  return Printable(TextOf(out.get()), 200);
}

Result<CertificateNames> ReadNames(std::string_view chain_pem) {
  ESPALIER_ASSIGN_OR_RETURN(const CertificatePtr certificate, First(chain_pem));
  CertificateNames names;
  names.common_name = CommonName(certificate.get());
  auto* all = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all, i);
    if (names.dns_names.size() + names.uris.size() >= kNamesMax) break;
    if (name->type == GEN_DNS) names.dns_names.push_back(Text(name->d.dNSName));
    if (name->type == GEN_URI) names.uris.push_back(Text(name->d.uniformResourceIdentifier));
  }
  GENERAL_NAMES_free(all);
  ERR_clear_error();
  return names;
}

Status CheckHost(std::string_view chain_pem, const std::string& host) {
  ESPALIER_ASSIGN_OR_RETURN(const CertificatePtr certificate, First(chain_pem));
  unsigned char address[16];
  const bool numeric = inet_pton(AF_INET, host.c_str(), address) == 1 ||
                       inet_pton(AF_INET6, host.c_str(), address) == 1;
  const int named = numeric ? X509_check_ip_asc(certificate.get(), host.c_str(), 0)
                            : X509_check_host(certificate.get(), host.data(), host.size(),
                                              X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr);
  ERR_clear_error();
  if (named == 1) return Status::Ok();
  return PermissionDenied("the certificate " + Describe(certificate.get()) + " does not name '" +
                          Printable(host) + "'; issue one that does (espalier certs issue " +
                          "--host), or use a name or an address that it holds");
}

Status CheckKeyFits(std::string_view chain_pem, std::string_view key_pem) {
  ESPALIER_ASSIGN_OR_RETURN(const CertificatePtr certificate, First(chain_pem));
  const KeyPtr key = ReadKey(key_pem);
  if (key == nullptr) {
    return PermissionDenied("there is no private key in PEM form without a passphrase");
  }
  const bool fits = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (fits) return Status::Ok();
  return PermissionDenied("the key is not that of the certificate " + Describe(certificate.get()));
}

struct Trust::Rep {
  std::string path;
  StorePtr store;
};

Result<Trust> Trust::Parse(std::string_view ca_pem, const std::string& path) {
  auto rep = std::make_shared<Rep>();
  rep->path = path;
  rep->store.reset(X509_STORE_new());
  const std::vector<CertificatePtr> authorities = ReadCertificates(ca_pem);
  if (authorities.empty()) {
    return PermissionDenied(QuotedPath(path) + " holds no certificate in PEM form");
  }
  for (const CertificatePtr& authority : authorities) {
    X509_STORE_add_cert(rep->store.get(), authority.get());
  }
  const std::vector<RevocationPtr> lists = ReadRevocations(ca_pem);
  for (const RevocationPtr& list : lists) X509_STORE_add_crl(rep->store.get(), list.get());
  X509_STORE_set_flags(rep->store.get(),
                       X509_V_FLAG_PARTIAL_CHAIN | (lists.empty() ? 0 : X509_V_FLAG_CRL_CHECK));
  X509_STORE_set_verify_cb(rep->store.get(), &HeedLists);
  X509_STORE_set_depth(rep->store.get(), static_cast<int>(kChainMax));
  Trust trust;
  trust.rep_ = std::move(rep);
  return trust;
}

Status Trust::Verify(std::string_view chain_pem, Purpose purpose, int64_t now_s,
                     const std::string& whose) const {
  const std::vector<CertificatePtr> chain = ReadCertificates(chain_pem);
  if (chain.empty()) return PermissionDenied(whose + " is missing");
  STACK_OF(X509)* rest = sk_X509_new_null();
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(rest, chain[i].get());
  const StoreContextPtr context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), rep_->store.get(), chain.front().get(), rest);
  X509_STORE_CTX_set_purpose(context.get(), purpose == Purpose::kServer ? X509_PURPOSE_SSL_SERVER
                                                                        : X509_PURPOSE_SSL_CLIENT);
  X509_STORE_CTX_set_time(context.get(), 0, static_cast<time_t>(now_s));
  const bool valid = X509_verify_cert(context.get()) == 1;
  Status out;
  if (!valid) {
    const X509* at = X509_STORE_CTX_get_current_cert(context.get());
    if (at == nullptr) at = chain.front().get();
    out = PermissionDenied(whose + " " + Describe(at) + " " +
                           Why(X509_STORE_CTX_get_error(context.get()), at, purpose, rep_->path));
  }
  sk_X509_free(rest);
  ERR_clear_error();
  return out;
}

}  // namespace espalier
