#include "src/data/text/decompression_stream.h"

#include <arrow/util/compression.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/base/text.h"

namespace espalier::data {
namespace {

constexpr size_t kInputBytes = 256 << 10;
constexpr int64_t kTextBytesFree = 64 << 20;
constexpr int kWindowLogMax = 27;

}  // namespace

DecompressionStream::DecompressionStream(const storage::ReadableFile& raw)
    : raw_(raw), buffer_(kInputBytes) {}

Result<bool> DecompressionStream::Refill() {
  if (begin_ < end_) return true;
  const int64_t length = raw_.info().length;
  const size_t wanted = static_cast<size_t>(std::clamp<int64_t>(length - read_, 0, kInputBytes));
  ESPALIER_ASSIGN_OR_RETURN(const size_t size, raw_.ReadAt(read_, {buffer_.data(), wanted}));
  if (size < wanted) {
    return DataLoss(QuotedPath(raw_.info().path) + " ends at byte " + std::to_string(read_ + size) +
                    " although it had " + std::to_string(length) +
                    " bytes when it was listed; it changed during the job");
  }
  begin_ = 0;
  end_ = size;
  read_ += static_cast<int64_t>(size);
  return size > 0;
}

Status DecompressionStream::Broken(const std::string& what) const {
  return BadInput(QuotedPath(raw_.info().path) + " " + what + " (at byte " +
                  std::to_string(place()) + " of its " + std::to_string(raw_.info().length) +
                  " compressed bytes)")
      .At({.file = raw_.info().path});
}

Status DecompressionStream::Damaged(const std::string& why) const {
  return Broken("is damaged: " + why + ". Write the file again");
}

Status DecompressionStream::Truncated() const {
  return Broken("ends in the middle of its compressed text; was it copied or written to the end?");
}

Status DecompressionStream::TrailingGarbage(const char* format) const {
  return Broken(std::string("continues after the end of its ") + format +
                " text with bytes of another kind. Remove them or write the file again");
}

Status DecompressionStream::NeedsMuchMemory(const char* advice) const {
  return Broken(std::string("needs more than 128 MiB of memory to decompress; ") + advice);
}

Result<size_t> DecompressionStream::Count(size_t bytes) {
  text_position_ += static_cast<int64_t>(bytes);
  if (text_position_ - kTextBytesFree > kExpansionMax * place()) {
    return Broken("holds more than " + HumanBytes(text_position_ - bytes) +
                  " of text, which is taken for a decompression bomb (at most " +
                  std::to_string(kExpansionMax) + " times the compressed size and " +
                  HumanBytes(kTextBytesFree) + "). Give it uncompressed or in parts");
  }
  return bytes;
}

namespace {

class GzipStream final : public DecompressionStream {
 public:
  using DecompressionStream::DecompressionStream;
  ~GzipStream() override {
    if (ready_) inflateEnd(&z_);
  }

  Result<size_t> Next(std::span<char> out) override {
    for (;;) {
      ESPALIER_ASSIGN_OR_RETURN(const bool more, Refill());
      if (!in_member_) {
        if (!more) return Count(0);
        ESPALIER_RETURN_IF_ERROR(StartMember());
      } else if (!more) {
        return Truncated();
      }
      z_.next_in = reinterpret_cast<Bytef*>(input());
      z_.avail_in = static_cast<uInt>(available());
      z_.next_out = reinterpret_cast<Bytef*>(out.data());
      z_.avail_out = static_cast<uInt>(std::min<size_t>(out.size(), 1u << 30));
      const uInt room = z_.avail_out;
      const int done = inflate(&z_, Z_NO_FLUSH);
      Consume(available() - z_.avail_in);
      if (done == Z_STREAM_END) {
        in_member_ = false;
        first_ = false;
      } else if (done != Z_OK && done != Z_BUF_ERROR) {
        return Damaged(z_.msg != nullptr ? z_.msg : "zlib says " + std::to_string(done));
      }
      const size_t made = room - z_.avail_out;
      if (made > 0) return Count(made);
    }
  }

 private:
  // A member starts with its magic number. The two bytes may be in two refills.
  Status StartMember() {
    if (!first_ && static_cast<uint8_t>(*input()) != 0x1f) return TrailingGarbage("gzip");
    const int made = ready_ ? inflateReset(&z_) : inflateInit2(&z_, 15 + 16);
    if (made != Z_OK) return ResourceExhausted("zlib could not be set up; is memory used up?");
    ready_ = in_member_ = true;
    return {};
  }

  z_stream z_{};
  bool ready_ = false, in_member_ = false, first_ = true;
};

class ZstdStream final : public DecompressionStream {
 public:
  explicit ZstdStream(const storage::ReadableFile& raw)
      : DecompressionStream(raw), stream_(ZSTD_createDStream()) {
    if (stream_ != nullptr) {
      ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kWindowLogMax);
    }
  }
  ~ZstdStream() override { ZSTD_freeDStream(stream_); }

  Result<size_t> Next(std::span<char> out) override {
    if (stream_ == nullptr) {
      return ResourceExhausted("zstd could not be set up; is memory used up?");
    }
    for (;;) {
      ESPALIER_ASSIGN_OR_RETURN(const bool more, Refill());
      if (!more && !in_frame_) return Count(0);
      ZSTD_inBuffer in{input(), available(), 0};
      ZSTD_outBuffer to{out.data(), out.size(), 0};
      const size_t left = ZSTD_decompressStream(stream_, &to, &in);
      Consume(in.pos);
      if (ZSTD_isError(left)) return Error(left);
      const bool stuck = in.pos == 0 && to.pos == 0;
      in_frame_ = left != 0;
      first_ = first_ && in_frame_;
      if (to.pos > 0) return Count(to.pos);
      if (!more && stuck) return Truncated();
    }
  }

 private:
  Status Error(size_t code) const {
    switch (ZSTD_getErrorCode(code)) {
      case ZSTD_error_prefix_unknown:
        if (!first_) return TrailingGarbage("zstd");
        break;
      case ZSTD_error_frameParameter_windowTooLarge:
        return NeedsMuchMemory("compress it without --long");
      default:
        break;
    }
    return Damaged(ZSTD_getErrorName(code));
  }

  ZSTD_DStream* const stream_;
  bool in_frame_ = false, first_ = true;
};

// Stream for xz. liblzma handles further streams and padding itself.
class XzStream final : public DecompressionStream {
 public:
  explicit XzStream(const storage::ReadableFile& raw) : DecompressionStream(raw) {
    ready_ = lzma_stream_decoder(&z_, uint64_t{1} << kWindowLogMax, LZMA_CONCATENATED) == LZMA_OK;
  }
  ~XzStream() override { lzma_end(&z_); }

  Result<size_t> Next(std::span<char> out) override {
    if (!ready_) return ResourceExhausted("liblzma could not be set up; is memory used up?");
    while (!done_) {
      ESPALIER_ASSIGN_OR_RETURN(const bool more, Refill());
      z_.next_in = reinterpret_cast<const uint8_t*>(input());
      z_.avail_in = available();
      z_.next_out = reinterpret_cast<uint8_t*>(out.data());
      z_.avail_out = out.size();
      const lzma_ret how = lzma_code(&z_, more ? LZMA_RUN : LZMA_FINISH);
      Consume(available() - z_.avail_in);
      done_ = how == LZMA_STREAM_END;
      if (!done_ && how != LZMA_OK && (how != LZMA_BUF_ERROR || !more)) return Error(how);
      const size_t made = out.size() - z_.avail_out;
      if (made > 0) return Count(made);
    }
    return Count(0);
  }

 private:
  Status Error(lzma_ret how) const {
    switch (how) {
      case LZMA_BUF_ERROR:
        return Truncated();
      case LZMA_DATA_ERROR:
        return Damaged("its data is corrupt, or bytes that are not xz follow it");
      case LZMA_MEMLIMIT_ERROR:
        return NeedsMuchMemory("compress it with at most xz -9");
      case LZMA_OPTIONS_ERROR:
        return Damaged("it has a filter or a check that liblzma does not know");
      default:
        return Damaged("liblzma says " + std::to_string(how));
    }
  }

  lzma_stream z_ = LZMA_STREAM_INIT;
  bool ready_ = false, done_ = false;
};

// Stream for bzip2 and for frames of lz4, through Arrow.
class ArrowStream final : public DecompressionStream {
 public:
  ArrowStream(const storage::ReadableFile& raw, arrow::Compression::type type, const char* name)
      : DecompressionStream(raw), name_(name) {
    auto codec = arrow::util::Codec::Create(type);
    if (!codec.ok()) return;
    codec_ = *std::move(codec);
    auto stream = codec_->MakeDecompressor();
    if (stream.ok()) stream_ = *std::move(stream);
  }

  Result<size_t> Next(std::span<char> out) override {
    if (stream_ == nullptr) return ResourceExhausted("Arrow's codec could not be set up");
    for (;;) {
      ESPALIER_ASSIGN_OR_RETURN(const bool more, Refill());
      if (!more && !in_member_) return Count(0);
      if (!in_member_ && !first_ && !stream_->Reset().ok()) {
        return ResourceExhausted("Arrow's codec could not be set up; is memory used up?");
      }
      const bool starts = !in_member_;
      in_member_ = true;
      const auto done = stream_->Decompress(
          static_cast<int64_t>(available()), reinterpret_cast<const uint8_t*>(input()),
          static_cast<int64_t>(out.size()), reinterpret_cast<uint8_t*>(out.data()));
      if (!done.ok() && starts && !first_) return TrailingGarbage(name_);
      if (!done.ok()) return Damaged(done.status().message());
      Consume(static_cast<size_t>(done->bytes_read));
      in_member_ = !stream_->IsFinished();
      first_ = first_ && in_member_;
      if (done->bytes_written > 0) return Count(static_cast<size_t>(done->bytes_written));
      if (!more && in_member_) return Truncated();
    }
  }

 private:
  const char* const name_;
  std::unique_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::util::Decompressor> stream_;
  bool in_member_ = false, first_ = true;
};

}  // namespace

std::unique_ptr<DecompressionStream> MakeStream(Compression compression,
                                                const storage::ReadableFile& raw) {
  switch (compression) {
    case Compression::kGzip:
      return std::make_unique<GzipStream>(raw);
    case Compression::kXz:
      return std::make_unique<XzStream>(raw);
    case Compression::kBzip2:
      return std::make_unique<ArrowStream>(raw, arrow::Compression::BZ2, "bzip2");
    case Compression::kLz4:
      return std::make_unique<ArrowStream>(raw, arrow::Compression::LZ4_FRAME, "lz4");
    case Compression::kHadoopLz4:
    case Compression::kHadoopSnappy:
      return MakeBlockStream(compression, raw);
    default:
      return std::make_unique<ZstdStream>(raw);
  }
}

}  // namespace espalier::data
