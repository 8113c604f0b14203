#include "src/security/openssl_types.h"

#include <openssl/err.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/security/secret_file.h"

namespace espalier::security {
namespace {

int NoPassphrase(char*, int, int, void*) { return -1; }

}  // namespace

BioPtr ReadOnly(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::vector<CertificatePtr> ReadCertificates(std::string_view pem) {
  std::vector<CertificatePtr> out;
  if (pem.size() > static_cast<size_t>(kPemBytesMax)) return out;
  const BioPtr in = ReadOnly(pem);
  while (out.size() < kChainMax) {
    CertificatePtr next(PEM_read_bio_X509(in.get(), nullptr, &NoPassphrase, nullptr));
    if (next == nullptr) break;
    out.push_back(std::move(next));
  }
  ERR_clear_error();
  return out;
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

}  // namespace espalier::security
