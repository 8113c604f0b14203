#include "src/security/issue.h"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <algorithm>
#include <cctype>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/security/certificate.h"
#include "src/security/openssl_types.h"
#include "src/security/trust_file.h"

namespace espalier::security {
namespace {

constexpr int64_t kDayS = 86'400, kClockSlackS = 3'600;
constexpr size_t kHostsMax = 32;

Status Failed(const std::string& what) {
  ERR_clear_error();
  return Internal("libcrypto could not " + what);
}

std::string PemOf(X509* certificate) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), certificate);
  return TextOf(out.get());
}

std::string PemOf(EVP_PKEY* key) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(out.get());
}

// Sets the hash of the key as serial number. The key is new, so the number is unique.
bool SetSerial(X509* certificate, EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return false;
  const std::string hex =
      Sha256Hex({reinterpret_cast<const char*>(der), static_cast<size_t>(size)});
  OPENSSL_free(der);
  BIGNUM* number = nullptr;
  const bool set = BN_hex2bn(&number, ("1" + hex.substr(0, 30)).c_str()) > 0 &&
                   BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return set;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetTimes(X509* certificate, int64_t now_s, int64_t days) {
  const int64_t begin = now_s - kClockSlackS;
  return ASN1_TIME_set(X509_getm_notBefore(certificate), static_cast<time_t>(begin)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate),
                       static_cast<time_t>(now_s + days * kDayS)) != nullptr;
}

// Returns a certificate without extensions and signature.
CertificatePtr Begin(const std::string& name, EVP_PKEY* key, int64_t now_s, int64_t days) {
  CertificatePtr out(X509_new());
  const bool made =
      X509_set_version(out.get(), X509_VERSION_3) == 1 && SetSerial(out.get(), key) &&
      SetTimes(out.get(), now_s, days) &&
      X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(name.data()),
                                 static_cast<int>(name.size()), -1, 0) == 1 &&
      X509_set_pubkey(out.get(), key) == 1;
  return made ? std::move(out) : nullptr;
}

bool IsAddress(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

bool IsHost(const std::string& host) {
  return IsAddress(host) ||
         (!host.empty() && host.size() <= 253 && host[0] != '-' && host[0] != '.' &&
          std::all_of(host.begin(), host.end(), [](unsigned char c) {
            return c < 0x80 && (std::isalnum(c) || c == '-' || c == '.');
          }));
}

Status Check(const CertificateRequest& request) {
  ESPALIER_RETURN_IF_ERROR(CheckRoleName(request.name));
  if (request.hosts.size() > kHostsMax) {
    return InvalidArgument("found " + std::to_string(request.hosts.size()) +
                           " hosts, expected at most " + std::to_string(kHostsMax));
  }
  for (const std::string& host : request.hosts) {
    if (IsHost(host)) continue;
    return InvalidArgument("found '" + Printable(host) +
                           "', expected a host name or an IP address, without port and brackets");
  }
  if (request.role == Role::kCoordinator && request.hosts.empty()) {
    return InvalidArgument(
        "a coordinator's certificate needs the host names or addresses by "
        "which workers and clients reach it; none is given");
  }
  if (request.days >= 1 && request.days <= kCertificateDaysMax) return Status::Ok();
  return InvalidArgument("found " + std::to_string(request.days) + " days, expected 1 to " +
                         std::to_string(kCertificateDaysMax));
}

std::string AlternativeNames(const CertificateRequest& request) {
  std::string out = "URI:" + RoleUri(request.role, request.name);
  for (const std::string& host : request.hosts) {
    out += std::string(IsAddress(host) ? ",IP:" : ",DNS:") + host;
  }
  return out;
}

bool AddRevoked(X509_CRL* list, X509* certificate, const ASN1_TIME* when) {
  X509_REVOKED* entry = X509_REVOKED_new();
  const bool made = entry != nullptr &&
                    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate)) == 1 &&
                    X509_REVOKED_set_revocationDate(entry, const_cast<ASN1_TIME*>(when)) == 1 &&
                    X509_CRL_add0_revoked(list, entry) == 1;
  if (!made) X509_REVOKED_free(entry);
  return made;
}

// Returns the current list of the authority, or an empty one.
Result<RevocationPtr> ListOf(X509* ca, EVP_PKEY* ca_key, std::string_view list_pem) {
  if (list_pem.empty()) {
    RevocationPtr out(X509_CRL_new());
    const bool made = X509_CRL_set_version(out.get(), X509_CRL_VERSION_2) == 1 &&
                      X509_CRL_set_issuer_name(out.get(), X509_get_subject_name(ca)) == 1 &&
                      X509_CRL_set1_nextUpdate(out.get(), X509_get0_notAfter(ca)) == 1;
    if (!made) return Failed("make a revocation list");
    return out;
  }
  const std::string wrong = "the revocation list so far is not one of the authority '" +
                            NameText(X509_get_subject_name(ca)) + "'";
  Result<TrustFile> file = ReadTrustFile(list_pem);
  if (!file.ok()) return PermissionDenied(wrong + ": " + file.status().message());
  if (file->lists.size() == 1 && X509_CRL_verify(file->lists.front().get(), ca_key) == 1) {
    return std::move(file->lists.front());
  }
  ERR_clear_error();
  return PermissionDenied(wrong);
}

}  // namespace

Result<std::string> Revoke(const KeyAndCertificate& authority, std::string_view list_pem,
                           std::string_view certificate_pem, int64_t now_s) {
  ESPALIER_RETURN_IF_ERROR(CheckKeyFits(authority.certificate_pem, authority.key_pem));
  const std::vector<CertificatePtr> authorities = ReadCertificates(authority.certificate_pem);
  X509* ca = authorities.front().get();
  const KeyPtr key = ReadKey(authority.key_pem);
  const std::vector<CertificatePtr> revoked = ReadCertificates(certificate_pem);
  if (revoked.empty() || X509_verify(revoked.front().get(), key.get()) != 1) {
    ERR_clear_error();
    return PermissionDenied("found no certificate of the authority '" +
                            NameText(X509_get_subject_name(ca)) + "' to revoke");
  }
  if (X509_cmp(revoked.front().get(), ca) == 0) {
    return InvalidArgument(
        "'" + NameText(X509_get_subject_name(ca)) +
        "' is the authority itself, and all certificates depend on it; specify the "
        "certificate of a host or a person, or create a new authority");
  }
  ESPALIER_ASSIGN_OR_RETURN(const RevocationPtr list, ListOf(ca, key.get(), list_pem));
  X509_REVOKED* known = nullptr;
  if (X509_CRL_get0_by_cert(list.get(), &known, revoked.front().get()) != 0) {
    return AlreadyExists("'" + NameText(X509_get_subject_name(revoked.front().get())) +
                         "' is on the revocation list already");
  }
  const TimePtr now(ASN1_TIME_set(nullptr, static_cast<time_t>(now_s - kClockSlackS)));
  const BioPtr out(BIO_new(BIO_s_mem()));
  const bool made = now != nullptr && X509_CRL_set1_lastUpdate(list.get(), now.get()) == 1 &&
                    AddRevoked(list.get(), revoked.front().get(), now.get()) &&
                    X509_CRL_sort(list.get()) == 1 &&
                    X509_CRL_sign(list.get(), key.get(), EVP_sha256()) > 0 &&
                    PEM_write_bio_X509_CRL(out.get(), list.get()) == 1;
  if (!made) return Failed("make the revocation list");
  return TextOf(out.get());
}

Result<std::string> TrustOf(const KeyAndCertificate& authority, std::string_view list_pem) {
  if (list_pem.empty()) return authority.certificate_pem;
  ESPALIER_RETURN_IF_ERROR(CheckKeyFits(authority.certificate_pem, authority.key_pem));
  const std::vector<CertificatePtr> authorities = ReadCertificates(authority.certificate_pem);
  const KeyPtr key = ReadKey(authority.key_pem);
  ESPALIER_ASSIGN_OR_RETURN(const RevocationPtr list,
                            ListOf(authorities.front().get(), key.get(), list_pem));
  const BioPtr out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509_CRL(out.get(), list.get()) != 1) return Failed("write the list");
  return authority.certificate_pem + TextOf(out.get());
}

Result<KeyAndCertificate> MakeAuthority(const std::string& name, int64_t now_s) {
  if (name.empty() || name.size() > 64 || Printable(name) != name) {
    return InvalidArgument("found the name '" + Printable(name) +
                           "', expected 1 to 64 bytes without control characters");
  }
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("make a key");
  const CertificatePtr ca = Begin(name, key.get(), now_s, kAuthorityDays);
  const bool made =
      ca != nullptr && X509_set_issuer_name(ca.get(), X509_get_subject_name(ca.get())) == 1 &&
      AddExtension(ca.get(), ca.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      AddExtension(ca.get(), ca.get(), NID_key_usage, "critical,keyCertSign,cRLSign") &&
      AddExtension(ca.get(), ca.get(), NID_subject_key_identifier, "hash") &&
      X509_sign(ca.get(), key.get(), EVP_sha256()) > 0;
  if (!made) return Failed("make the authority's certificate");
  return KeyAndCertificate{PemOf(key.get()), PemOf(ca.get())};
}

Result<KeyAndCertificate> Issue(const KeyAndCertificate& authority,
                                const CertificateRequest& request, int64_t now_s) {
  ESPALIER_RETURN_IF_ERROR(Check(request));
  ESPALIER_RETURN_IF_ERROR(CheckKeyFits(authority.certificate_pem, authority.key_pem));
  const std::vector<CertificatePtr> authorities = ReadCertificates(authority.certificate_pem);
  X509* ca = authorities.front().get();
  const KeyPtr ca_key = ReadKey(authority.key_pem);
  time_t end = static_cast<time_t>(now_s + request.days * kDayS);
  if (X509_cmp_time(X509_get0_notAfter(ca), &end) < 0) {
    return PermissionDenied("the authority '" + NameText(X509_get_subject_name(ca)) +
                            "' expires before the certificate would; ask for fewer days, or make "
                            "a new authority (espalier certs init)");
  }
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("make a key");
  const CertificatePtr out = Begin(request.name, key.get(), now_s, request.days);
  const bool daemon = request.role == Role::kCoordinator || request.role == Role::kWorker;
  const bool made = out != nullptr &&
                    X509_set_issuer_name(out.get(), X509_get_subject_name(ca)) == 1 &&
                    AddExtension(out.get(), ca, NID_basic_constraints, "critical,CA:FALSE") &&
                    AddExtension(out.get(), ca, NID_key_usage, "critical,digitalSignature") &&
                    AddExtension(out.get(), ca, NID_ext_key_usage,
                                 daemon ? "serverAuth,clientAuth" : "clientAuth") &&
                    AddExtension(out.get(), ca, NID_subject_key_identifier, "hash") &&
                    AddExtension(out.get(), ca, NID_authority_key_identifier, "keyid:always") &&
                    AddExtension(out.get(), ca, NID_subject_alt_name, AlternativeNames(request)) &&
                    X509_sign(out.get(), ca_key.get(), EVP_sha256()) > 0;
  if (!made) return Failed("make the certificate");
  return KeyAndCertificate{PemOf(key.get()), PemOf(out.get())};
}

}  // namespace espalier::security
