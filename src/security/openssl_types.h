// Owning pointers for libcrypto objects, and shared helpers of the files that use them. Private to
// security/.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstddef>
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

// Largest number of certificates in a chain.
inline constexpr size_t kChainMax = 16;

// Reads a chain, as a peer presents it: all certificates in the text, at most kChainMax, up to the
// first invalid one. Leaves no error in libcrypto's queue.
std::vector<CertificatePtr> ReadCertificates(std::string_view pem);
// Returns null if the text is not a private key or has a passphrase.
KeyPtr ReadKey(std::string_view pem);
// Returns a BIO that reads the text. The text must outlive it.
BioPtr ReadOnly(std::string_view text);
// Returns the text written to a memory BIO.
std::string TextOf(BIO* bio);
// Returns a printable name, for example "CN = worker-1".
std::string NameText(const X509_NAME* name);

}  // namespace espalier::security
