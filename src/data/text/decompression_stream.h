// One pass over the bytes of a compressed file. Thread rule: one thread per stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/text/compression.h"
#include "src/storage/file_system.h"

namespace espalier::data {

class DecompressionStream {
 public:
  static constexpr int64_t kExpansionMax = 2000;

  // `raw` must outlive this.
  explicit DecompressionStream(const storage::ReadableFile& raw);
  virtual ~DecompressionStream() = default;

  // Writes text to `out` and returns the number of bytes, which is 0 only at the end of the text.
  // REQUIRES: `out` is not empty. Errors: as in decompressed_file.h.
  virtual Result<size_t> Next(std::span<char> out) = 0;

  int64_t text_position() const { return text_position_; }

 protected:
  // Reads input if none is left. False: the file has ended.
  Result<bool> Refill();

  char* input() { return buffer_.data() + begin_; }
  size_t available() const { return end_ - begin_; }
  void Consume(size_t bytes) { begin_ += bytes; }
  int64_t place() const { return read_ - static_cast<int64_t>(available()); }

  Status Broken(const std::string& what) const;
  Status Damaged(const std::string& why) const;
  Status Truncated() const;
  Status TrailingGarbage(const char* format) const;
  Status NeedsMuchMemory(const char* advice) const;

  // Counts bytes of text and returns an error for a decompression bomb.
  Result<size_t> Count(size_t bytes);

 private:
  const storage::ReadableFile& raw_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // range of the input that is not consumed
  int64_t read_ = 0;            // bytes read from the file
  int64_t text_position_ = 0;
};

// Creates the stream for a codec. REQUIRES: `compression` is not kNone. `raw` must outlive the
// stream.
std::unique_ptr<DecompressionStream> MakeStream(Compression compression,
                                                const storage::ReadableFile& raw);
// Creates the stream for one of Hadoop's codecs (block_stream.cc).
std::unique_ptr<DecompressionStream> MakeBlockStream(Compression compression,
                                                     const storage::ReadableFile& raw);

}  // namespace espalier::data
