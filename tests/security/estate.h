// Authorities of an estate, made with libcrypto only: of any depth, and with a revocation list if
// it has published one. Those of security/issue.h may not issue further authorities.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

namespace espalier::security {

inline std::string TextAndFree(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string out(data, static_cast<size_t>(size));
  BIO_free(bio);
  return out;
}

// An authority of an estate. Thread rule: one thread.
class EstateAuthority {
 public:
  // Creates a root if `by` is null. Valid for a year from a day before `now_s`.
  EstateAuthority(const std::string& name, const EstateAuthority* by, int64_t now_s)
      : key_(EVP_EC_gen("P-256"), &EVP_PKEY_free),
        certificate_(Make(name, key_.get(), by == nullptr ? this : by, true, now_s)) {}

  std::string pem() const { return Pem(certificate_.get()); }
  // Issues a client certificate.
  std::string IssueLeaf(const std::string& name, int64_t now_s) const {
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    const Certificate made = Make(name, key.get(), this, false, now_s);
    return Pem(made.get());
  }
  // Returns the revocation list with these certificates, valid for a day from `now_s`.
  std::string List(const std::vector<std::string>& revoked, int64_t now_s) const {
    X509_CRL* list = X509_CRL_new();
    X509_CRL_set_version(list, X509_CRL_VERSION_2);
    X509_CRL_set_issuer_name(list, X509_get_subject_name(certificate_.get()));
    ASN1_TIME* begin = ASN1_TIME_set(nullptr, now_s);
    ASN1_TIME* end = ASN1_TIME_set(nullptr, now_s + 86'400);
    X509_CRL_set1_lastUpdate(list, begin);
    X509_CRL_set1_nextUpdate(list, end);
    for (const std::string& pem : revoked) {
      BIO* in = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
      X509* certificate = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
      X509_REVOKED* entry = X509_REVOKED_new();
      X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate));
      X509_REVOKED_set_revocationDate(entry, begin);
      X509_CRL_add0_revoked(list, entry);
      X509_free(certificate);
      BIO_free(in);
    }
    X509_CRL_sort(list);
    REQUIRE(X509_CRL_sign(list, key_.get(), EVP_sha256()) > 0);
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_X509_CRL(out, list);
    ASN1_TIME_free(begin);
    ASN1_TIME_free(end);
    X509_CRL_free(list);
    return TextAndFree(out);
  }

 private:
  using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

  static std::string Pem(X509* certificate) {
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(out, certificate);
    return TextAndFree(out);
  }
  static void Extend(X509* certificate, X509* issuer, int nid, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
    REQUIRE(extension != nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  static Certificate Make(const std::string& name, EVP_PKEY* key, const EstateAuthority* by,
                          bool authority, int64_t now_s) {
    static long serial = 1000;
    Certificate out(X509_new(), &X509_free);
    X509_set_version(out.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(out.get()), ++serial);
    ASN1_TIME_set(X509_getm_notBefore(out.get()), now_s - 86'400);
    ASN1_TIME_set(X509_getm_notAfter(out.get()), now_s + 365 * 86'400);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_pubkey(out.get(), key);
    const bool own = by->certificate_ == nullptr;
    X509* issuer = own ? out.get() : by->certificate_.get();
    X509_set_issuer_name(out.get(), X509_get_subject_name(issuer));
    Extend(out.get(), issuer, NID_basic_constraints, authority ? "critical,CA:TRUE" : "CA:FALSE");
    Extend(out.get(), issuer, NID_key_usage,
           authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
    REQUIRE(X509_sign(out.get(), own ? key : by->key_.get(), EVP_sha256()) > 0);
    return out;
  }

  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  Certificate certificate_{nullptr, &X509_free};
};

}  // namespace espalier::security
