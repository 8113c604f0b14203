#include "src/base/base64.h"

#include <openssl/evp.h>

#include <algorithm>

namespace espalier {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_";

unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string Base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL adds a NUL
  EVP_EncodeBlock(Bytes(text), Bytes(bytes), static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

std::string Base64Url(std::string_view bytes) {
  std::string text = Base64(bytes);
  text.erase(text.find_last_not_of('=') + 1);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  // OpenSSL itself skips white space and requires padding.
  std::string digits(text.substr(0, text.find_last_not_of('=') + 1));
  if (digits.size() % 4 == 1 || digits.find_first_not_of(kDigits) != std::string::npos) {
    return std::nullopt;
  }
  std::replace(digits.begin(), digits.end(), '-', '+');
  std::replace(digits.begin(), digits.end(), '_', '/');
  const size_t size = digits.size() * 3 / 4;
  digits.resize((digits.size() + 3) / 4 * 4, '=');
  std::string bytes(digits.size() / 4 * 3, '\0');
  EVP_DecodeBlock(Bytes(bytes), Bytes(digits), static_cast<int>(digits.size()));
  bytes.resize(size);
  return bytes;
}

}  // namespace espalier
