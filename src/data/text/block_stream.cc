// Text that Hadoop's SnappyCodec or Lz4Codec wrote (BlockCompressorStream). All lengths are four
// bytes, big-endian:
//
//   block: length of its text | chunk ...      until the chunks have that much text
//   chunk: compressed length | raw snappy or lz4
#include <arrow/util/compression.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/base/text.h"
#include "src/data/text/decompression_stream.h"

namespace espalier::data {
namespace {

// Returns the length at the beginning of raw snappy, in groups of seven bits. -1: no valid length.
int64_t SnappyLength(std::string_view chunk) {
  int64_t length = 0;
  for (size_t i = 0; i < std::min<size_t>(chunk.size(), 5); ++i) {
    const auto byte = static_cast<uint8_t>(chunk[i]);
    length |= int64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80) return length;
  }
  return -1;
}

class BlockStream final : public DecompressionStream {
 public:
  BlockStream(const storage::ReadableFile& raw, bool snappy)
      : DecompressionStream(raw), snappy_(snappy) {
    auto codec =
        arrow::util::Codec::Create(snappy ? arrow::Compression::SNAPPY : arrow::Compression::LZ4);
    if (codec.ok()) codec_ = *std::move(codec);
  }

  Result<size_t> Next(std::span<char> out) override {
    if (codec_ == nullptr) return ResourceExhausted("Arrow's codec could not be set up");
    while (given_ == text_.size()) {
      ESPALIER_ASSIGN_OR_RETURN(const bool more, TakeChunk());
      if (!more) return Count(0);
    }
    const size_t size = std::min(out.size(), text_.size() - given_);
    std::copy_n(text_.data() + given_, size, out.data());
    given_ += size;
    return Count(size);
  }

 private:
  // Decompresses the next chunk into text_. False: the file has ended.
  Result<bool> TakeChunk() {
    given_ = 0;
    text_.clear();
    while (block_left_ == 0) {
      ESPALIER_ASSIGN_OR_RETURN(const bool more, Refill());
      if (!more) return false;
      ESPALIER_ASSIGN_OR_RETURN(block_left_, TakeLength());
    }
    ESPALIER_ASSIGN_OR_RETURN(const int64_t size, TakeLength());
    if (size > kHadoopChunkBytesMax) {
      return Damaged("a chunk has " + HumanBytes(size) + ", at most " +
                     HumanBytes(kHadoopChunkBytesMax) + " are supported");
    }
    ESPALIER_RETURN_IF_ERROR(Take(static_cast<size_t>(size)));
    const int64_t most = std::min(block_left_, kHadoopChunkBytesMax);
    const int64_t length = snappy_ ? SnappyLength(chunk_) : most;
    if (length < 0 || length > most) return Damaged("a chunk is longer than its block");
    text_.resize(static_cast<size_t>(length));
    const auto made = codec_->Decompress(size, reinterpret_cast<const uint8_t*>(chunk_.data()),
                                         length, reinterpret_cast<uint8_t*>(text_.data()));
    if (!made.ok()) return Damaged(made.status().message());
    text_.resize(static_cast<size_t>(*made));
    block_left_ -= *made;
    return true;
  }

  Result<int64_t> TakeLength() {
    ESPALIER_RETURN_IF_ERROR(Take(4));
    int64_t length = 0;
    for (const char c : chunk_) length = length << 8 | static_cast<uint8_t>(c);
    return length;
  }

  // Moves `bytes` bytes of the file to chunk_.
  Status Take(size_t bytes) {
    chunk_.clear();
    while (chunk_.size() < bytes) {
      ESPALIER_ASSIGN_OR_RETURN(const bool more, Refill());
      if (!more) return Truncated();
      const size_t size = std::min(bytes - chunk_.size(), available());
      chunk_.append(input(), size);
      Consume(size);
    }
    return {};
  }

  const bool snappy_;
  std::unique_ptr<arrow::util::Codec> codec_;
  int64_t block_left_ = 0;  // bytes of text left in the block
  std::string chunk_, text_;
  size_t given_ = 0;  // bytes of text_ already returned
};

}  // namespace

std::unique_ptr<DecompressionStream> MakeBlockStream(Compression compression,
                                                     const storage::ReadableFile& raw) {
  return std::make_unique<BlockStream>(raw, compression == Compression::kHadoopSnappy);
}

}  // namespace espalier::data
