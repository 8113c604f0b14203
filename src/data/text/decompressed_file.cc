#include "src/data/text/decompressed_file.h"

#include <algorithm>
#include <vector>

namespace espalier::data {
namespace {

constexpr size_t kSkippedBytes = 256 << 10;

}  // namespace

DecompressedFile::DecompressedFile(const storage::ReadableFile& raw, Compression compression)
    : raw_(raw), compression_(compression), info_(raw.info()) {
  info_.length = kLengthUnknown;
}

DecompressedFile::~DecompressedFile() = default;

// Fills `out` from the stream's position. Returns fewer bytes only at the end of the text.
Result<size_t> DecompressedFile::ReadOn(std::span<char> out) const {
  size_t filled = 0;
  while (filled < out.size()) {
    ESPALIER_ASSIGN_OR_RETURN(const size_t made, stream_->Next(out.subspan(filled)));
    if (made == 0) break;
    filled += made;
  }
  return filled;
}

Result<size_t> DecompressedFile::ReadAt(int64_t offset, std::span<char> out) const {
  if (stream_ == nullptr || offset < stream_->text_position()) {
    stream_ = MakeStream(compression_, raw_);
  }
  if (offset > stream_->text_position()) {
    std::vector<char> skipped(kSkippedBytes);
    while (stream_->text_position() < offset) {
      const size_t wanted =
          static_cast<size_t>(std::min<int64_t>(offset - stream_->text_position(), kSkippedBytes));
      ESPALIER_ASSIGN_OR_RETURN(const size_t made, ReadOn({skipped.data(), wanted}));
      if (made < wanted) return size_t{0};
    }
  }
  return ReadOn(out);
}

}  // namespace espalier::data
