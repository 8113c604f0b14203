// The end of a Parquet file, looked at before a library parses it: a damaged, hostile or foreign
// file gets a clear answer here, and nothing in a footer can make the parser recurse without bound.
//
// A Parquet file is "PAR1", pages, a footer (FileMetaData in Thrift's compact protocol), the
// footer's length (4 bytes, little endian) and "PAR1". Format:
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
// Groups within groups: a list of numbers takes three.
inline constexpr int kParquetNestingMax = 32;

// Column chunks of all row groups: three bytes each here are near a thousand in Arrow's hands.
inline constexpr int64_t kParquetChunksMax = 1'000'000;

struct ParquetFooter {
  std::string bytes;  // FileMetaData alone
  int64_t begin = 0;  // in the file
};

// Reads the footer with one request, or two when it is long, and checks magic, length, form and
// nesting. kBadInput says what is wrong and what to do; kUnimplemented: the file is encrypted;
// kResourceExhausted: the footer is longer than kParquetFooterBytesMax, or has too many chunks.
Result<ParquetFooter> ReadParquetFooter(const storage::ReadableFile& file);

// OK when the file starts as a Parquet file does.
Status CheckParquetHead(const storage::ReadableFile& file);

// The form of FileMetaData, the nesting of its schema and its codecs (kUnimplemented: one that the
// format does not know; Arrow would take it for none). `path` is for the message.
Status CheckParquetMetadata(std::string_view bytes, const std::string& path);

// Whether the page header at the start of `bytes` carries a checksum; false too when it is none.
bool PageHasChecksum(std::string_view bytes);

// An error that the content of a Parquet file is not what it should be: `why`, then what to do.
Status DamagedParquet(const std::string& path, const std::string& why);

}  // namespace espalier::data
