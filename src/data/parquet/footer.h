// Checks the end of a Parquet file before a library parses it. A damaged, hostile or foreign file
// gets a clear error here. No content of a footer can make the parser recurse without limit.
//
// A Parquet file is "PAR1", pages, a footer (FileMetaData in Thrift's compact protocol), the length
// of the footer (4 bytes, little endian) and "PAR1". Format:
// https://parquet.apache.org/docs/file-format/ and the Thrift compact protocol specification.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/storage/file_system.h"

namespace espalier::data {

inline constexpr int64_t kParquetFooterBytesMax = 256 << 20;
// Maximum depth of nested groups. A list of numbers takes three levels.
inline constexpr int kParquetNestingMax = 32;

// Maximum number of column chunks over all row groups. Three bytes per chunk in the file are almost
// a thousand in Arrow's memory.
inline constexpr int64_t kParquetChunksMax = 1'000'000;

struct ParquetFooter {
  std::string bytes;  // FileMetaData only
  int64_t begin = 0;  // offset in the file
};

// Reads the footer with one request, or two if it is long. Checks magic number, length, form and
// nesting. Errors:
//   kBadInput           the footer is invalid; the message says what to do
//   kUnimplemented      the file is encrypted
//   kResourceExhausted  the footer is longer than kParquetFooterBytesMax or has too many chunks
Result<ParquetFooter> ReadParquetFooter(const storage::ReadableFile& file);

// Returns OK if the file starts like a Parquet file.
Status CheckParquetHead(const storage::ReadableFile& file);

// Checks the form of FileMetaData, the nesting of its schema and its codecs. kUnimplemented: a
// codec that the format does not define, which Arrow would treat as no compression. `path`: for the
// message.
Status CheckParquetMetadata(std::string_view bytes, const std::string& path);

// Returns whether the page header at the start of `bytes` has a checksum. Returns false if `bytes`
// are not a page header.
bool PageHasChecksum(std::string_view bytes);

// Returns the error for invalid content of a Parquet file: `why`, followed by advice.
Status DamagedParquet(const std::string& path, const std::string& why);

}  // namespace espalier::data
