// Owners of libcrypto's objects, and what the files that use them need. Private to security/.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::security {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* p) const {
    Free(p);
  }
};
using BioPtr = std::unique_ptr<BIO, Freed<&BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<&EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Freed<&X509_free>>;
using RevocationPtr = std::unique_ptr<X509_CRL, Freed<&X509_CRL_free>>;
using StorePtr = std::unique_ptr<X509_STORE, Freed<&X509_STORE_free>>;
using TimePtr = std::unique_ptr<ASN1_TIME, Freed<&ASN1_TIME_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, Freed<&X509_STORE_CTX_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Freed<&X509_EXTENSION_free>>;

// A chain, as a peer shows it: all certificates in the text, at most 16; what is not one ends it.
// Leaves no error behind.
std::vector<CertificatePtr> ReadCertificates(std::string_view pem);
// Null when the text is no private key, or one with a passphrase.
KeyPtr ReadKey(std::string_view pem);
// To read the text, which must outlive it.
BioPtr ReadOnly(std::string_view text);
// What was written to a memory BIO.
std::string TextOf(BIO* bio);
// "CN = worker-1" and so on, printable.
std::string NameText(const X509_NAME* name);

}  // namespace espalier::security
