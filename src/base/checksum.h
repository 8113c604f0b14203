// Checksums. Crc32c (Castagnoli) detects changed bytes in a shard or a message. Sha256 identifies
// content (weights, specs).
//
// Thread rule: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace espalier {

// Returns the CRC-32C of `size` bytes, continuing from `crc` (0 to start). Uses the processor's
// instruction.
uint32_t Crc32c(const void* data, size_t size, uint32_t crc = 0);

// SHA-256 of data that arrives in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void Update(const void* data, size_t size);
  // Returns 64 lower-case hexadecimal digits. REQUIRES: called once, last.
  std::string FinishHex();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string Sha256Hex(std::string_view bytes);

}  // namespace espalier
