#include "src/data/text/decompressed_file.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "src/base/text.h"

namespace espalier::data {
namespace {

constexpr size_t kInputBytes = 256 << 10;
constexpr int64_t kTextBytesFree = 64 << 20;
constexpr int kZstdWindowLogMax = 27;
constexpr std::string_view kGzipMagic = "\x1f\x8b", kZstdMagic = "\x28\xb5\x2f\xfd";

// zstd's skippable frames start with 0x184D2A5? (little-endian).
bool StartsZstd(std::string_view bytes) {
  return bytes.starts_with(kZstdMagic) ||
         (bytes.size() >= 4 && (static_cast<uint8_t>(bytes[0]) & 0xF0) == 0x50 &&
          bytes.substr(1, 3) == "\x2a\x4d\x18");
}

struct Kind {
  std::string_view magic;
  const char* what;
};

// Kinds of content that are taken for tables now and then.
constexpr Kind kOthers[] = {
    {"BZh", "compressed with bzip2"},
    {std::string_view("\xFD"
                      "7zXZ\0",
                      6),
     "compressed with xz"},
    {"\x04\x22\x4D\x18", "compressed with lz4"},
    {std::string_view("\xFF\x06\0\0sNaPpY", 10), "compressed with snappy"},
    {"PK\x03\x04", "a zip archive"},
    {"ORC", "an ORC file"},
    {std::string_view("Obj\x01", 4), "an Avro file"},
    {"SEQ\x06", "a Hadoop SequenceFile"},
};

const char* OtherKindOf(std::string_view first) {
  for (const Kind& kind : kOthers) {
    if (first.starts_with(kind.magic)) return kind.what;
  }
  return nullptr;
}

// Whether none of these bytes is one that text does not have: a header may begin with a magic.
bool MayBeText(std::string_view first) {
  return std::none_of(first.begin(), first.end(), [](unsigned char c) {
    return c < ' ' && c != '\t' && c != '\n' && c != '\r';
  });
}

}  // namespace

const char* KindOf(std::string_view first) {
  if (first.starts_with(kGzipMagic)) return "compressed with gzip";
  if (StartsZstd(first)) return "compressed with zstd";
  return OtherKindOf(first);
}

Result<Compression> CompressionOf(const storage::ReadableFile& file) {
  const std::string& path = file.info().path;
  std::array<char, kKindBytes> first{};
  ESPALIER_ASSIGN_OR_RETURN(const size_t size, file.ReadAt(0, first));
  const std::string_view magic(first.data(), size);
  const bool gzip = magic.starts_with(kGzipMagic), zstd = StartsZstd(magic);
  const bool letters = magic.starts_with("ORC") || magic.starts_with("PAR1");
  const bool header = letters && MayBeText(magic);
  if (const char* other = OtherKindOf(magic); other != nullptr && !header) {
    return Unimplemented(QuotedPath(path) + " is " + other +
                         ", which cannot be read; give it as plain text, gzip or zstd")
        .At({.file = path, .offset = 0});
  }
  if (magic.starts_with("PAR1") && !header) {
    const bool named = path.ends_with(".parquet");
    return InvalidArgument(QuotedPath(path) + " is a Parquet file" +
                           (named ? ", but data.format says that it is not; leave data.format out"
                                  : "; set data.format: parquet, or name it with .parquet at the "
                                    "end"))
        .At({.file = path, .offset = 0});
  }
  const char* promised = path.ends_with(".gz") ? "gzip" : path.ends_with(".zst") ? "zstd" : nullptr;
  if (promised != nullptr && size > 0 && !(path.ends_with(".gz") ? gzip : zstd)) {
    return BadInput(QuotedPath(path) + " is not what its name says: " + promised +
                    " text starts with the bytes " +
                    (path.ends_with(".gz") ? "1f 8b" : "28 b5 2f fd") +
                    "; write the file again, or rename it if it is not compressed")
        .At({.file = path, .offset = 0, .text = Printable(magic)});
  }
  for (const char* codec : {".bz2", ".xz", ".lz4", ".snappy"}) {  // Hadoop's have no magic number
    if (!path.ends_with(codec)) continue;
    return Unimplemented(QuotedPath(path) + " is compressed, as " + codec +
                         " in its name says, which cannot be read; give it as plain text, gzip or "
                         "zstd")
        .At({.file = path, .offset = 0});
  }
  return gzip ? Compression::kGzip : zstd ? Compression::kZstd : Compression::kNone;
}

// One pass over the compressed bytes.
class DecompressedFile::Stream {
 public:
  explicit Stream(const storage::ReadableFile& raw) : raw_(raw), buffer_(kInputBytes) {}
  virtual ~Stream() = default;

  // Appends text at `out`; returns how many bytes, 0 at the end of the text only.
  virtual Result<size_t> Next(std::span<char> out) = 0;

  int64_t text_position() const { return text_position_; }

 protected:
  // Makes sure that there is input unless the file is over. False: it is over.
  Result<bool> Refill() {
    if (begin_ < end_) return true;
    const int64_t length = raw_.info().length;
    const size_t wanted = static_cast<size_t>(std::clamp<int64_t>(length - read_, 0, kInputBytes));
    ESPALIER_ASSIGN_OR_RETURN(const size_t size, raw_.ReadAt(read_, {buffer_.data(), wanted}));
    if (size < wanted) {
      return DataLoss(QuotedPath(raw_.info().path) + " ends at byte " +
                      std::to_string(read_ + size) + " although it had " + std::to_string(length) +
                      " bytes when it was listed; it changed during the job");
    }
    begin_ = 0;
    end_ = size;
    read_ += static_cast<int64_t>(size);
    return size > 0;
  }

  char* input() { return buffer_.data() + begin_; }
  size_t available() const { return end_ - begin_; }
  void Consume(size_t bytes) { begin_ += bytes; }
  int64_t place() const { return read_ - static_cast<int64_t>(available()); }

  Status Broken(const std::string& what) const {
    return BadInput(QuotedPath(raw_.info().path) + " " + what + " (at byte " +
                    std::to_string(place()) + " of its " + std::to_string(raw_.info().length) +
                    " compressed bytes)")
        .At({.file = raw_.info().path});
  }
  Status Damaged(const std::string& why) const {
    return Broken("is damaged: " + why + "; write the file again");
  }
  Status Truncated() const {
    return Broken(
        "ends in the middle of its compressed text; was it copied or written to the end?");
  }
  Status TrailingGarbage(const char* format) const {
    return Broken(std::string("goes on after the end of its ") + format +
                  " text with bytes that are none; cut them off or write the file again");
  }

  // Counts text and stops bombs.
  Result<size_t> Count(size_t bytes) {
    text_position_ += static_cast<int64_t>(bytes);
    if (text_position_ - kTextBytesFree > kExpansionMax * place()) {
      return Broken("holds more than " + HumanBytes(text_position_ - bytes) +
                    " of text, which is taken for a decompression bomb (at most " +
                    std::to_string(kExpansionMax) + " times the compressed size and " +
                    HumanBytes(kTextBytesFree) + "); give it uncompressed or in parts");
    }
    return bytes;
  }

 private:
  const storage::ReadableFile& raw_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // of the input that is not consumed
  int64_t read_ = 0;            // bytes of the file
  int64_t text_position_ = 0;
};

class DecompressedFile::GzipStream final : public Stream {
 public:
  using Stream::Stream;
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
  // A member starts with its magic; the two bytes may lie in two refills.
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

class DecompressedFile::ZstdStream final : public Stream {
 public:
  explicit ZstdStream(const storage::ReadableFile& raw)
      : Stream(raw), stream_(ZSTD_createDStream()) {
    if (stream_ != nullptr) {
      ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kZstdWindowLogMax);
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
        return Broken(
            "needs more than 128 MiB of memory to decompress; compress it without --long");
      default:
        break;
    }
    return Damaged(ZSTD_getErrorName(code));
  }

  ZSTD_DStream* const stream_;
  bool in_frame_ = false, first_ = true;
};

DecompressedFile::DecompressedFile(const storage::ReadableFile& raw, Compression compression)
    : raw_(raw), compression_(compression), info_(raw.info()) {
  info_.length = kLengthUnknown;
}

DecompressedFile::~DecompressedFile() = default;

// Fills `out` from where the stream is; fewer bytes at the end of the text only.
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
    if (compression_ == Compression::kGzip) {
      stream_ = std::make_unique<GzipStream>(raw_);
    } else {
      stream_ = std::make_unique<ZstdStream>(raw_);
    }
  }
  if (offset > stream_->text_position()) {
    std::vector<char> skipped(kInputBytes);
    while (stream_->text_position() < offset) {
      const size_t wanted =
          static_cast<size_t>(std::min<int64_t>(offset - stream_->text_position(), kInputBytes));
      ESPALIER_ASSIGN_OR_RETURN(const size_t made, ReadOn({skipped.data(), wanted}));
      if (made < wanted) return size_t{0};
    }
  }
  return ReadOn(out);
}

}  // namespace espalier::data
