// Kind of a file's content, recognized from its first bytes and its name. Thread rule: pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/status.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Returns the kind of a file that starts with `first`: "a zip archive", "compressed with gzip".
// Returns nullptr if the bytes do not show the kind. `first` has kKindBytes, or all bytes of a
// shorter file.
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

// Maximum size in bytes of a chunk of Hadoop's codecs, compressed or not. Their default is 256 KiB.
inline constexpr int64_t kHadoopChunkBytesMax = 32 << 20;

// Returns the compression that the first bytes of the file show. Errors:
//   kUnimplemented    the content is of a known kind that cannot be read as text
//   kInvalidArgument  the content is Parquet, but the job reads the file as text
//   kBadInput         the name has the extension of a codec, but the content is not of that codec
Result<Compression> CompressionOf(const storage::ReadableFile& file);

}  // namespace espalier::data
