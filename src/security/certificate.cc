#include "src/security/certificate.h"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <ctime>

#include "src/base/text.h"
#include "src/security/openssl_types.h"
#include "src/security/trust_file.h"

namespace espalier::security {
namespace {

constexpr size_t kNamesMax = 64;

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

// Returns, for example, "'CN = worker-1' of authority 'CN = Espalier CA'".
std::string Describe(const X509* certificate) {
  return "'" + NameText(X509_get_subject_name(certificate)) + "' of authority '" +
         NameText(X509_get_issuer_name(certificate)) + "'";
}

Result<CertificatePtr> First(std::string_view pem) {
  std::vector<CertificatePtr> chain = ReadCertificates(pem);
  if (chain.empty()) return PermissionDenied("found no certificate in PEM form");
  return std::move(chain.front());
}

std::string Why(int code, const X509* at, Purpose purpose, const std::string& path) {
  switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "expired on " + TimeText(X509_get0_notAfter(at)) +
             "; put a new one in its place (espalier certs issue), or correct this machine's clock";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "is not valid before " + TimeText(X509_get0_notBefore(at)) +
             "; compare the clocks of both machines";
    case X509_V_ERR_INVALID_PURPOSE:
      return std::string("is not meant for TLS ") +
             (purpose == Purpose::kServer ? "servers" : "clients") +
             "; issue one with an extended key usage that allows it";
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
    case X509_V_ERR_CRL_NOT_YET_VALID:
      return "cannot be judged: the revocation list of its authority in the CA file " +
             QuotedPath(path) + " is of a later time than this; compare the clocks";
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
      return "cannot be judged: the revocation list of its authority in the CA file " +
             QuotedPath(path) +
             " does not fit that authority; the file needs the authority's own certificate and a "
             "list that it signed";
    default:
      return std::string("is not accepted: ") + X509_verify_cert_error_string(code);
  }
}

// Returns whether the cause is a wrong date or a wrong clock.
bool IsOfTime(int code) {
  return code == X509_V_ERR_CERT_HAS_EXPIRED || code == X509_V_ERR_CERT_NOT_YET_VALID ||
         code == X509_V_ERR_CRL_HAS_EXPIRED || code == X509_V_ERR_CRL_NOT_YET_VALID;
}

// Returns whether the available authorities do not lead to a self-signed one.
bool IsWithoutRoot(int code) {
  return code == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT ||
         code == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
         code == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE ||
         code == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
         code == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN;
}

// Accepts an issuer without a revocation list. libcrypto requires a list of each issuer, but an
// authority that published none has revoked nothing. A list that exists but is unusable stays an
// error.
int HeedLists(int valid, X509_STORE_CTX* context) {
  if (valid == 1) return 1;
  if (X509_STORE_CTX_get_error(context) != X509_V_ERR_UNABLE_TO_GET_CRL) return 0;
  const X509* at = X509_STORE_CTX_get_current_cert(context);
  STACK_OF(X509_CRL)* lists = X509_STORE_CTX_get1_crls(context, X509_get_issuer_name(at));
  const bool none = sk_X509_CRL_num(lists) <= 0;
  sk_X509_CRL_pop_free(lists, &X509_CRL_free);
  return none ? 1 : 0;
}

}  // namespace

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

Result<int64_t> ExpiryOf(std::string_view chain_pem) {
  ESPALIER_ASSIGN_OR_RETURN(const CertificatePtr certificate, First(chain_pem));
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) {
    ERR_clear_error();
    return PermissionDenied("the certificate " + Describe(certificate.get()) +
                            " does not say legibly until when it is valid");
  }
  return static_cast<int64_t>(timegm(&end));
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
    return PermissionDenied("found no private key in PEM form without a passphrase");
  }
  const bool fits = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (fits) return Status::Ok();
  return PermissionDenied("the key is not that of the certificate " + Describe(certificate.get()));
}

struct Trust::Rep {
  // X509_V_OK or the error, and the certificate it concerns, from the chain or the store.
  struct Finding {
    int code = X509_V_OK;
    const X509* at = nullptr;
  };
  Finding Judge(const std::vector<CertificatePtr>& chain, Purpose purpose, int64_t now_s) const;
  Finding Try(const std::vector<CertificatePtr>& chain, Purpose purpose, int64_t now_s,
              unsigned long flags) const;

  std::string path;
  StorePtr store;
  bool lists = false;  // whether the file has revocation lists
};

Result<Trust> Trust::Parse(std::string_view ca_pem, const std::string& path) {
  auto rep = std::make_shared<Rep>();
  rep->path = path;
  rep->store.reset(X509_STORE_new());
  const Result<TrustFile> file = ReadTrustFile(ca_pem);
  if (!file.ok()) return PermissionDenied(QuotedPath(path) + ": " + file.status().message());
  if (file->authorities.empty()) {
    return PermissionDenied(QuotedPath(path) + " holds no certificate in PEM form");
  }
  bool added = true;
  for (const CertificatePtr& authority : file->authorities) {
    added = added && X509_STORE_add_cert(rep->store.get(), authority.get()) == 1;
  }
  for (const RevocationPtr& list : file->lists) {
    added = added && X509_STORE_add_crl(rep->store.get(), list.get()) == 1;
  }
  if (!added) return Internal("libcrypto could not take all of " + QuotedPath(path));
  rep->lists = !file->lists.empty();
  X509_STORE_set_verify_cb(rep->store.get(), &HeedLists);
  X509_STORE_set_depth(rep->store.get(), static_cast<int>(kChainMax));
  Trust trust;
  trust.rep_ = std::move(rep);
  return trust;
}

Trust::Rep::Finding Trust::Rep::Try(const std::vector<CertificatePtr>& chain, Purpose purpose,
                                    int64_t now_s, unsigned long flags) const {
  STACK_OF(X509)* rest = sk_X509_new_null();
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(rest, chain[i].get());
  const StoreContextPtr context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), rest);
  X509_STORE_CTX_set_purpose(context.get(), purpose == Purpose::kServer ? X509_PURPOSE_SSL_SERVER
                                                                        : X509_PURPOSE_SSL_CLIENT);
  X509_STORE_CTX_set_time(context.get(), 0, static_cast<time_t>(now_s));
  X509_STORE_CTX_set_flags(context.get(), flags);
  Finding out;
  if (X509_verify_cert(context.get()) != 1) {
    out.code = X509_STORE_CTX_get_error(context.get());
    if (out.code == X509_V_OK) out.code = X509_V_ERR_UNSPECIFIED;
    out.at = X509_STORE_CTX_get_current_cert(context.get());
    if (out.at == nullptr) out.at = chain.front().get();
  }
  sk_X509_free(rest);
  ERR_clear_error();
  return out;
}

// Any authority of the file is enough, not only a root (X509_V_FLAG_PARTIAL_CHAIN). But the chain
// then ends at the first authority, and a list that revokes this authority belongs to the next one.
// With lists, the chain is therefore followed to the root if the file contains it.
Trust::Rep::Finding Trust::Rep::Judge(const std::vector<CertificatePtr>& chain, Purpose purpose,
                                      int64_t now_s) const {
  if (!lists) return Try(chain, purpose, now_s, X509_V_FLAG_PARTIAL_CHAIN);
  constexpr unsigned long kAll = X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL;
  const Finding whole = Try(chain, purpose, now_s, kAll);
  if (!IsWithoutRoot(whole.code)) return whole;
  return Try(chain, purpose, now_s, kAll | X509_V_FLAG_PARTIAL_CHAIN);
}

Status Trust::Verify(std::string_view chain_pem, Purpose purpose, int64_t now_s,
                     const std::string& whose) const {
  const std::vector<CertificatePtr> chain = ReadCertificates(chain_pem);
  if (chain.empty()) return PermissionDenied(whose + " is missing");
  const Rep::Finding found = rep_->Judge(chain, purpose, now_s);
  if (found.code == X509_V_OK) return Status::Ok();
  return {IsOfTime(found.code) ? StatusCode::kUnavailable : StatusCode::kPermissionDenied,
          whose + " " + Describe(found.at) + " " + Why(found.code, found.at, purpose, rep_->path)};
}

}  // namespace espalier::security
