// What the first bytes and the name of a file say of its content. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/status.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// What a file that starts with `first` (kKindBytes of it, if it has as many) is, if that is told by
// its first bytes: "a zip archive", "compressed with gzip"; else nullptr.
inline constexpr size_t kKindBytes = 16;
const char* KindOf(std::string_view first);

enum class Compression : uint8_t {
  kNone,
  kGzip,
  kZstd,
  kBzip2,
  kXz,
  kLz4,
  kHadoopLz4,
  kHadoopSnappy
};

// A chunk of Hadoop's codecs, compressed or not, has at most this many bytes; by default 256 KiB.
inline constexpr int64_t kHadoopChunkBytesMax = 32 << 20;

// By the first bytes of the file. kUnimplemented: the content is of a known kind that cannot be
// read as text here; kBadInput: the name has the extension of a codec and the content does not fit.
Result<Compression> CompressionOf(const storage::ReadableFile& file);

}  // namespace espalier::data
