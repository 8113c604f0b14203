#include "src/base/checksum.h"

#include <nmmintrin.h>
#include <openssl/evp.h>

#include <cstring>

#include "src/base/check.h"

namespace espalier {

uint32_t Crc32c(const void* data, size_t size, uint32_t crc) {
  const auto* p = static_cast<const unsigned char*>(data);
  uint64_t state = crc ^ 0xFFFFFFFFu;
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    state = _mm_crc32_u64(state, word);
  }
  auto narrow = static_cast<uint32_t>(state);
  for (; size > 0; --size, ++p) narrow = _mm_crc32_u8(narrow, *p);
  return narrow ^ 0xFFFFFFFFu;
}

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  ESPALIER_CHECK(impl_->context && EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) == 1,
                 "libcrypto has no SHA-256");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(const void* data, size_t size) {
  ESPALIER_CHECK(EVP_DigestUpdate(impl_->context, data, size) == 1, "SHA-256 update");
}

std::string Sha256::FinishHex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  ESPALIER_CHECK(EVP_DigestFinal_ex(impl_->context, digest, &size) == 1, "SHA-256 end");
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4];
    hex += "0123456789abcdef"[digest[i] & 15];
  }
  return hex;
}

std::string Sha256Hex(std::string_view bytes) {
  Sha256 sha;
  sha.Update(bytes.data(), bytes.size());
  return sha.FinishHex();
}

}  // namespace espalier
