// Compressors for tests.
#pragma once

#include <arrow/util/compression.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

namespace espalier::data {

// Returns one gzip member.
inline std::string Gzip(const std::string& text, int level = 6) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// Returns one zstd frame with a content checksum.
inline std::string Zstd(const std::string& text, int level = 3) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  REQUIRE_FALSE(ZSTD_isError(size));
  out.resize(size);
  return out;
}

// Returns one xz stream with a CRC-64.
inline std::string Xz(const std::string& text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  size_t size = 0;
  REQUIRE(lzma_easy_buffer_encode(
              6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(text.data()),
              text.size(), reinterpret_cast<uint8_t*>(out.data()), &size, out.size()) == LZMA_OK);
  out.resize(size);
  return out;
}

// Returns one stream or frame of one of Arrow's codecs.
inline std::string ByArrow(arrow::Compression::type type, const std::string& text) {
  const auto codec = arrow::util::Codec::Create(type);
  REQUIRE(codec.ok());
  const auto compressor = (*codec)->MakeCompressor();
  REQUIRE(compressor.ok());
  std::string out(2 * text.size() + (8 << 20), '\0');
  size_t given = 0, made = 0;
  const auto* data = reinterpret_cast<const uint8_t*>(text.data());
  auto* to = reinterpret_cast<uint8_t*>(out.data());
  while (given < text.size()) {
    const auto done = (*compressor)
                          ->Compress(static_cast<int64_t>(text.size() - given), data + given,
                                     static_cast<int64_t>(out.size() - made), to + made);
    REQUIRE(done.ok());
    given += static_cast<size_t>(done->bytes_read);
    made += static_cast<size_t>(done->bytes_written);
  }
  const auto end = (*compressor)->End(static_cast<int64_t>(out.size() - made), to + made);
  REQUIRE((end.ok() && !end->should_retry));
  out.resize(made + static_cast<size_t>(end->bytes_written));
  return out;
}
inline std::string Bzip2(const std::string& text) { return ByArrow(arrow::Compression::BZ2, text); }
inline std::string Lz4(const std::string& text) {
  return ByArrow(arrow::Compression::LZ4_FRAME, text);
}

// Returns blocks of `block` bytes in chunks of `chunk`, as Hadoop's snappy and lz4 codecs write
// them.
inline std::string HadoopBlocks(arrow::Compression::type type, const std::string& text,
                                size_t block, size_t chunk) {
  const auto codec = arrow::util::Codec::Create(type);
  REQUIRE(codec.ok());
  const auto number = [](size_t n) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(n >> shift));
    return bytes;
  };
  std::string out;
  for (size_t at = 0; at < text.size(); at += block) {
    const std::string part = text.substr(at, block);
    out += number(part.size());
    for (size_t begin = 0; begin < part.size(); begin += chunk) {
      const std::string piece = part.substr(begin, chunk);
      const auto* data = reinterpret_cast<const uint8_t*>(piece.data());
      const auto size = static_cast<int64_t>(piece.size());
      std::string packed(static_cast<size_t>((*codec)->MaxCompressedLen(size, data)), '\0');
      const auto made = (*codec)->Compress(size, data, static_cast<int64_t>(packed.size()),
                                           reinterpret_cast<uint8_t*>(packed.data()));
      REQUIRE(made.ok());
      out += number(static_cast<size_t>(*made)) + packed.substr(0, static_cast<size_t>(*made));
    }
  }
  return out;
}

}  // namespace espalier::data
