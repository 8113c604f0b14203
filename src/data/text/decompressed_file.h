// Compressed text as a file of text:
//   gzip      RFC 1952, also of several members, as pigz, bgzip and `cat a.gz b.gz` make it
//   zstd      RFC 8878, also of several frames and with skippable ones
//   bzip2     also of several streams, as pbzip2 makes it
//   xz        also of several streams and with padding between them
//   lz4       of frames
//   snappy, lz4 as Hadoop's codecs write them (block_stream.cc)
//
// Content decides, not the name; but a name that promises another content than there is is an
// error. Hadoop's blocks have no magic number: there the name decides. A compressed file can only
// be read from its begin and is one shard. Positions and checksums are those of the text, so that a
// file gives the same rows whether compressed or not.
//
// Hostile files. Memory is bounded: 256 KiB of input and what the formats' windows need (128 MiB at
// most, larger ones are refused; gzip 32 KiB). The text is at most kExpansionMax times what was
// read of the file, and 64 MiB. Checks of the format (CRC-32, length; XXH64 of zstd and others
// where the file has them) are made before the end of the text is reported. A file that ends inside
// a member and bytes behind the last one that start no other are errors. All of these are
// kBadInput, with the place in the compressed file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/data/text/compression.h"
#include "src/data/text/decompression_stream.h"
#include "src/storage/file_system.h"

namespace espalier::data {

class DecompressedFile final : public storage::ReadableFile {
 public:
  // The length in info(): the text's end is where ReadAt gives fewer bytes than asked for.
  static constexpr int64_t kLengthUnknown = int64_t{1} << 62;
  static constexpr int64_t kExpansionMax = DecompressionStream::kExpansionMax;

  // REQUIRES: not kNone. `raw` must outlive this.
  DecompressedFile(const storage::ReadableFile& raw, Compression compression);
  ~DecompressedFile() override;

  const storage::FileInfo& info() const override { return info_; }
  // Reading on where the last call ended is fast; further on skips; back starts anew.
  // Unlike other files: one thread.
  Result<size_t> ReadAt(int64_t offset, std::span<char> out) const override;
  void WillRead(int64_t, int64_t) const override {}

 private:
  Result<size_t> ReadOn(std::span<char> out) const;

  const storage::ReadableFile& raw_;
  const Compression compression_;
  storage::FileInfo info_;
  mutable std::unique_ptr<DecompressionStream> stream_;
};

}  // namespace espalier::data
