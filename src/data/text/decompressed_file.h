// Compressed text, presented as a file of text:
//   gzip      RFC 1952, also with several members, as pigz, bgzip and `cat a.gz b.gz` write them
//   zstd      RFC 8878, also with several frames and with skippable frames
//   bzip2     also with several streams, as pbzip2 writes them
//   xz        also with several streams and padding between them
//   lz4       frames
//   snappy, lz4 as Hadoop's codecs write them (block_stream.cc)
//
// The content decides the format, not the name. A name that promises other content is an error.
// Hadoop's blocks have no magic number, so their format is decided by the name. A compressed file
// can only be read from its beginning and is one shard. Positions and checksums refer to the text,
// so a file returns the same rows whether it is compressed or not.
//
// Hostile files: memory is limited to 256 KiB of input and the windows of the formats. A window has
// at most 128 MiB (gzip: 32 KiB), and the stream rejects larger ones. The text is at most
// kExpansionMax times the bytes read of the file, plus 64 MiB. The checks of the format (CRC-32,
// length, XXH64 of zstd and others, if the file has them) run before the end of the text is
// reported. A file that ends inside a member is an error. Bytes after the last member that do not
// start another one are an error too. All these errors are kBadInput, with the position in the
// compressed file.
//
// Ownership: the compressed file must outlive this one. Thread rule: one thread.
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
  // Length in info(). The end of the text is where ReadAt returns fewer bytes than requested.
  static constexpr int64_t kLengthUnknown = int64_t{1} << 62;
  static constexpr int64_t kExpansionMax = DecompressionStream::kExpansionMax;

  // REQUIRES: `compression` is not kNone. `raw` must outlive this.
  DecompressedFile(const storage::ReadableFile& raw, Compression compression);
  ~DecompressedFile() override;

  const storage::FileInfo& info() const override { return info_; }
  // Returns text from `offset`. A read that continues where the last call ended is fast. A read
  // further ahead decompresses the text in between, and a read further back starts again at the
  // beginning. Unlike other files, this one allows only one thread.
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
