#include "src/data/text/compression.h"

#include <algorithm>
#include <array>
#include <string>

#include "src/base/text.h"
#include "src/data/table/advice.h"

namespace espalier::data {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b", kZstdMagic = "\x28\xb5\x2f\xfd";

// Skippable frames of zstd start with 0x184D2A5? (little-endian).
bool StartsZstd(std::string_view bytes) {
  return bytes.starts_with(kZstdMagic) ||
         (bytes.size() >= 4 && (static_cast<uint8_t>(bytes[0]) & 0xF0) == 0x50 &&
          bytes.substr(1, 3) == "\x2a\x4d\x18");
}

// A bzip2 file starts with "BZh" and the block size, then the mark of a block or of the end.
bool StartsBzip2(std::string_view bytes) {
  if (!bytes.starts_with("BZh") || bytes.size() < 10) return false;
  const std::string_view mark = bytes.substr(4, 6);
  return mark == "\x31\x41\x59\x26\x53\x59" || mark == "\x17\x72\x45\x38\x50\x90";
}

bool StartsGzip(std::string_view bytes) { return bytes.starts_with(kGzipMagic); }

bool StartsXz(std::string_view bytes) {
  return bytes.starts_with(std::string_view("\xFD\x37\x7A\x58\x5A\0", 6));
}

bool StartsLz4(std::string_view bytes) { return bytes.starts_with("\x04\x22\x4D\x18"); }

// Codecs whose content has a magic number.
struct Codec {
  Compression compression;
  const char* name;
  const char* extension;
  bool (*starts)(std::string_view bytes);
};
constexpr Codec kCodecs[] = {
    {Compression::kGzip, "gzip", ".gz", StartsGzip},
    {Compression::kZstd, "zstd", ".zst", StartsZstd},
    {Compression::kBzip2, "bzip2", ".bz2", StartsBzip2},
    {Compression::kXz, "xz", ".xz", StartsXz},
    {Compression::kLz4, "lz4", ".lz4", StartsLz4},
};

struct Kind {
  std::string_view magic;
  const char* what;
};

// Other kinds of content that users sometimes give as tables.
constexpr Kind kOthers[] = {
    {std::string_view("\xFF\x06\0\0sNaPpY", 10), "compressed with snappy in its framing format"},
    {std::string_view("\xFF\xFE\0\0", 4), "text in UTF-32"},
    {std::string_view("\0\0\xFE\xFF", 4), "text in UTF-32"},
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

// Returns whether a file of `length` bytes may start with a block of Hadoop's codecs.
bool StartsHadoopBlock(std::string_view bytes, int64_t length) {
  const auto number = [&](size_t at) {
    int64_t value = 0;
    for (const char c : bytes.substr(at, 4)) value = value << 8 | static_cast<uint8_t>(c);
    return value;
  };
  if (bytes.size() < 4) return false;
  if (number(0) == 0) return true;  // an empty block
  const int64_t chunk = bytes.size() < 8 ? 0 : number(4);
  return chunk > 0 && chunk <= std::min(kHadoopChunkBytesMax, length - 8);
}

// Returns whether all bytes may occur in text. The header of a text file may begin with a magic
// number.
bool MayBeText(std::string_view first) {
  return std::none_of(first.begin(), first.end(), [](unsigned char c) {
    return c < ' ' && c != '\t' && c != '\n' && c != '\r';
  });
}

}  // namespace

const char* KindOf(std::string_view first) {
  static constexpr const char* kKinds[] = {"compressed with gzip", "compressed with zstd",
                                           "compressed with bzip2", "compressed with xz",
                                           "compressed with lz4"};
  for (size_t i = 0; i < std::size(kCodecs); ++i) {
    if (kCodecs[i].starts(first)) return kKinds[i];
  }
  return OtherKindOf(first);
}

Result<Compression> CompressionOf(const storage::ReadableFile& file) {
  const std::string& path = file.info().path;
  std::array<char, kKindBytes> first{};
  ESPALIER_ASSIGN_OR_RETURN(const size_t size, file.ReadAt(0, first));
  const std::string_view magic(first.data(), size);
  const bool letters = magic.starts_with("ORC") || magic.starts_with("PAR1");
  const bool header = letters && MayBeText(magic);
  if (const char* other = OtherKindOf(magic); other != nullptr && !header) {
    return Unimplemented(QuotedPath(path) + " is " + other +
                         ", which cannot be read. Give it as plain text, gzip or zstd")
        .At({.file = path, .offset = 0});
  }
  if (magic.starts_with("PAR1") && !header) {
    const bool named = path.ends_with(".parquet");
    return InvalidArgument(QuotedPath(path) + " is a Parquet file" +
                           (named ? advice::kIsNamedParquet : advice::kIsParquet).training)
        .At({.file = path, .offset = 0});
  }
  for (const Codec& codec : kCodecs) {
    if (codec.starts(magic)) return codec.compression;
  }
  if (size == 0) return Compression::kNone;
  const auto wrong = [&](const std::string& promised) {
    return BadInput(QuotedPath(path) +
                    " is not what its name says: its first bytes are not those of " + promised +
                    ". Write the file again, or rename it if it is not compressed")
        .At({.file = path, .offset = 0, .text = Printable(magic)});
  };
  const bool snappy = path.ends_with(".snappy"), lz4 = path.ends_with(".lz4");
  if (snappy || lz4) {
    if (StartsHadoopBlock(magic, file.info().length)) {
      return snappy ? Compression::kHadoopSnappy : Compression::kHadoopLz4;
    }
    return wrong(snappy ? "snappy as Hadoop writes it" : "lz4");
  }
  for (const Codec& codec : kCodecs) {
    if (path.ends_with(codec.extension)) return wrong(std::string(codec.name) + " text");
  }
  return Compression::kNone;
}

}  // namespace espalier::data
