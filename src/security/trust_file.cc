#include "src/security/trust_file.h"

#include <openssl/err.h>

#include <algorithm>
#include <string>

#include "src/base/text.h"
#include "src/security/secret_file.h"

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

}  // namespace

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
