// Compressed text as a file of text: gzip (RFC 1952, also of several members, as pigz, bgzip and
// `cat a.gz b.gz` make it) and zstd (RFC 8878, also of several frames and with skippable ones).
//
// Content decides, not the name; but a name that promises another content than there is is an
// error. A compressed file can only be read from its begin and is one shard. Positions and
// checksums are those of the text, so that a file gives the same rows whether compressed or not.
//
// Hostile files. Memory is bounded: 256 KiB of input and what the formats' windows need (32 KiB;
// zstd at most 128 MiB, larger ones are refused). The text is at most kExpansionMax times what was
// read of the file, and 64 MiB. Checks of the format (CRC-32, length; zstd's XXH64
// where the file has it) are made before the end of the text is reported. A file that ends inside a
// member and bytes behind the last one that start no other are errors. All of these are kBadInput,
// with the place in the compressed file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// What a file that starts with `first` (kKindBytes of it, if it has as many) is, if that is told by
// its first bytes: "a zip archive", "compressed with gzip"; else nullptr.
inline constexpr size_t kKindBytes = 16;
const char* KindOf(std::string_view first);

enum class Compression : uint8_t { kNone, kGzip, kZstd };

// By the first bytes of the file. kUnimplemented: the content is of a known kind that cannot be
// read as text here; kBadInput: the name ends in .gz or .zst and the content does not fit.
Result<Compression> CompressionOf(const storage::ReadableFile& file);

class DecompressedFile final : public storage::ReadableFile {
 public:
  // The length in info(): the text's end is where ReadAt gives fewer bytes than asked for.
  static constexpr int64_t kLengthUnknown = int64_t{1} << 62;
  static constexpr int64_t kExpansionMax = 2000;

  // REQUIRES: not kNone. `raw` must outlive this.
  DecompressedFile(const storage::ReadableFile& raw, Compression compression);
  ~DecompressedFile() override;

  const storage::FileInfo& info() const override { return info_; }
  // Reading on where the last call ended is fast; further on skips; back starts anew.
  // Unlike other files: one thread.
  Result<size_t> ReadAt(int64_t offset, std::span<char> out) const override;
  void WillRead(int64_t, int64_t) const override {}

 private:
  class Stream;
  class GzipStream;
  class ZstdStream;
  Result<size_t> ReadOn(std::span<char> out) const;

  const storage::ReadableFile& raw_;
  const Compression compression_;
  storage::FileInfo info_;
  mutable std::unique_ptr<Stream> stream_;
};

}  // namespace espalier::data
