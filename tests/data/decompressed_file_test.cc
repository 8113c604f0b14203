#include "src/data/text/decompressed_file.h"

#include <random>

#include "src/data/text/csv_reader.h"
#include "tests/data/compress.h"
#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

constexpr arrow::Compression::type kSnappy = arrow::Compression::SNAPPY;

struct Whole {
  Status status;
  std::string text;
};

// Reads a file in pieces of `piece` bytes. Returns its text and the first error.
Whole TextOf(const DataFixture& f, const std::string& path, size_t piece = 100'000) {
  const auto raw = f.files->Open(path);
  REQUIRE(raw.ok());
  const auto compression = CompressionOf(**raw);
  if (!compression.ok()) return {compression.status(), ""};
  REQUIRE(*compression != Compression::kNone);
  const DecompressedFile file(**raw, *compression);
  Whole whole;
  for (;;) {
    std::string part(piece, '\0');
    const auto size = file.ReadAt(static_cast<int64_t>(whole.text.size()), part);
    if (!size.ok()) return {size.status(), whole.text};
    whole.text.append(part, 0, *size);
    if (*size < piece) return whole;
  }
}

std::string Numbers(int rows) {
  std::mt19937_64 random(1);
  std::string text;
  for (int i = 0; i < rows; ++i) {
    text += std::to_string(random() % 1000) + "," + std::to_string(i) + "\n";
  }
  return text;
}

TEST_CASE("compressed text is read unchanged in pieces of any size", "[one thread]") {
  DataFixture f;
  const std::string text = Numbers(100'000);
  const std::string half = text.substr(0, text.size() / 2), rest = text.substr(text.size() / 2);
  const std::string skippable("\x53\x2A\x4D\x18\x03\0\0\0abc", 11);
  const std::map<std::string, std::string> contents = {
      {"a.gz", Gzip(text)},
      {"stored.gz", Gzip(text, 0)},
      {"members.gz", Gzip(half) + Gzip("") + Gzip(rest) + Gzip("")},
      {"no_name", Gzip(text)},
      {"a.zst", Zstd(text)},
      {"a.csv.bz2", Bzip2(text)},
      {"no_name_of_bzip2", Bzip2(text)},
      {"streams.bz2", Bzip2(half) + Bzip2("") + Bzip2(rest)},
      {"a.xz", Xz(text)},
      {"streams.xz", Xz(half) + Xz("") + std::string(8, '\0') + Xz(rest)},
      {"a.lz4", Lz4(text)},
      {"frames.lz4", Lz4(half) + Lz4("") + Lz4(rest)},
      {"a.snappy", HadoopBlocks(kSnappy, text, 256 << 10, 256 << 10)},
      {"many.snappy", HadoopBlocks(kSnappy, text, 100'000, 777)},
      {"ends.snappy", HadoopBlocks(kSnappy, text, 1 << 20, 256 << 10) + std::string(4, '\0')},
      {"hadoop.lz4", HadoopBlocks(arrow::Compression::LZ4, text, 256 << 10, 100'000)},
      {"frames.zst", skippable + Zstd(half) + Zstd("") + skippable + Zstd(rest) + skippable},
  };
  for (const auto& [name, content] : contents) {
    const std::string path = f.dir.Put(name, content);
    for (const size_t piece : {7u, 4096u, 10'000'000u}) {
      INFO(name << " in pieces of " << piece);
      const Whole whole = TextOf(f, path, piece);
      CHECK(whole.status.ToString() == "OK");
      CHECK((whole.text == text));
    }
  }
}

TEST_CASE("going back in compressed text reads it again from the start") {
  DataFixture f;
  const std::string text = Numbers(100'000);
  for (const std::string& content : {Gzip(text), Zstd(text), Bzip2(text), Xz(text), Lz4(text),
                                     HadoopBlocks(kSnappy, text, 1 << 20, 1 << 18)}) {
    const auto raw = f.files->Open(f.dir.Put("x.snappy", content));
    const DecompressedFile file(**raw, *CompressionOf(**raw));
    for (const size_t offset : {500'000u, 3u, 900'000u, 0u}) {
      std::string part(100, '\0');
      REQUIRE(file.ReadAt(static_cast<int64_t>(offset), part).value() == 100);
      CHECK(part == text.substr(offset, 100));
    }
    std::string part(100, '\0');
    CHECK(file.ReadAt(static_cast<int64_t>(text.size()) - 40, part).value() == 40);
    CHECK(file.ReadAt(static_cast<int64_t>(text.size()), part).value() == 0);
    CHECK(file.ReadAt(static_cast<int64_t>(text.size()) + 1000, part).value() == 0);
  }
}

TEST_CASE("a compressed file that is cut anywhere is an error", "[one thread]") {
  DataFixture f;
  const std::string text = Numbers(300);
  for (const std::string& whole : {Gzip(text), Zstd(text), Bzip2(text), Xz(text), Lz4(text),
                                   HadoopBlocks(kSnappy, text, 1 << 20, 1000)}) {
    const bool hadoop = whole[0] == '\0';
    for (size_t size = hadoop ? 1100 : 10; size < whole.size(); ++size) {
      INFO(size << " of " << whole.size() << " bytes");
      const std::string name = hadoop ? "x.snappy" : "x.bin";
      const Whole cut = TextOf(f, f.dir.Put(name, whole.substr(0, size)));
      REQUIRE(cut.status.code() == StatusCode::kBadInput);
      REQUIRE(cut.status.message().find("ends in the middle") != std::string::npos);
      REQUIRE(text.starts_with(cut.text));
    }
  }
}

TEST_CASE("a flipped bit never gives other text", "[one thread]") {
  DataFixture f;
  const std::string text = Numbers(200);
  for (const std::string& whole : {Gzip(text), Zstd(text), Bzip2(text), Xz(text)}) {
    int noticed = 0;
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string flipped = whole;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
      const auto raw = f.files->Open(f.dir.Put("x.bin", flipped));
      const auto compression = CompressionOf(**raw);
      if (!compression.ok() || *compression == Compression::kNone) continue;
      const Whole read = TextOf(f, f.dir / "x.bin");
      INFO("byte " << i);
      noticed += !read.status.ok();
      REQUIRE((!read.status.ok() || read.text == text));
      if (!read.status.ok()) REQUIRE(read.status.code() == StatusCode::kBadInput);
    }
    CHECK(noticed > static_cast<int>(whole.size()) * 9 / 10);
  }
}

TEST_CASE("each defect of a compressed file has its message") {
  struct Row {
    std::string name, content;
    StatusCode code;
    std::string message;  // part of the message
  };
  DataFixture f;
  std::string wrong_crc = Gzip("1,2\n");
  wrong_crc[wrong_crc.size() - 6] ^= 1;
  const std::string window_of_256_mib("\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00", 9);
  const Row rows[] = {
      {"a.csv.gz", "1,2\n3,4\n", StatusCode::kBadInput, "are not those of gzip text"},
      {"a.csv.zst", "1,2\n", StatusCode::kBadInput, "are not those of zstd text"},
      {"a.csv.bz2", "BZh91AY", StatusCode::kBadInput, "are not those of bzip2 text"},
      {"a.csv.lz4", "1,2\n3,4\n", StatusCode::kBadInput, "are not those of lz4"},
      {"a.csv.snappy", "1,2\n3,4\n", StatusCode::kBadInput,
       "are not those of snappy as Hadoop writes it"},
      {"a.snappy", std::string("\xFF\x06\0\0sNaPpY", 10), StatusCode::kUnimplemented,
       "snappy in its framing format"},
      {"a.csv", std::string("\xFF\xFE\0\0a\0\0\0", 8), StatusCode::kUnimplemented,
       "is text in UTF-32"},
      {"a.zip", "PK\x03\x04....", StatusCode::kUnimplemented, "is a zip archive"},
      {"a.xz", "1,2\n", StatusCode::kBadInput, "are not those of xz text"},
      {"a.xz", Xz("1,2\n") + "garbage, garbage, garbage", StatusCode::kBadInput,
       "bytes that are not xz"},
      {"a.bz2", Bzip2("1,2\n") + "garbage", StatusCode::kBadInput,
       "after the end of its bzip2 text"},
      {"a.lz4", Lz4("1,2\n") + "garbage", StatusCode::kBadInput, "after the end of its lz4 text"},
      {"a.snappy", HadoopBlocks(kSnappy, "1,2\n", 9, 9) + "garbage, garbage", StatusCode::kBadInput,
       "is damaged: a chunk has"},
      {"a.snappy", std::string("\0\0\0\x02\0\0\0\x03\x05\0a", 11), StatusCode::kBadInput,
       "is damaged: a chunk is longer"},
      {"a.gz", Gzip("1,2\n") + "garbage", StatusCode::kBadInput, "after the end of its gzip text"},
      {"a.gz", Gzip("1,2\n") + std::string(512, '\0'), StatusCode::kBadInput, "continues after"},
      {"a.zst", Zstd("1,2\n") + "garbage", StatusCode::kBadInput, "after the end of its zstd text"},
      {"a.gz", wrong_crc, StatusCode::kBadInput, "is damaged: incorrect data check"},
      {"a.zst", window_of_256_mib, StatusCode::kBadInput, "needs more than 128 MiB"},
  };
  for (const Row& row : rows) {
    const std::string path = f.dir.Put(row.name, row.content);
    const Status status = TextOf(f, path).status;
    INFO(row.name << ": " << status.ToString());
    CHECK(status.code() == row.code);
    CHECK(status.message().find(row.message) != std::string::npos);
    REQUIRE(status.position().has_value());
    CHECK(status.position()->file == path);
  }
}

TEST_CASE("a header like the start of another file kind is text") {
  DataFixture f;
  for (const std::string text : {"ORCID,x,y\n0000-1,2,3\n", "PAR1,PAR2\r\n1,2\r\n", "ORC,y\n"}) {
    const auto file = f.files->Open(f.dir.Put("authors.csv", text));
    REQUIRE(file.ok());
    const auto found = CompressionOf(**file);
    INFO(text << found.status().ToString());
    CHECK((found.ok() && *found == Compression::kNone));
  }
}

TEST_CASE("a decompression bomb is stopped") {
  DataFixture f;
  // Few, long records are quick to read.
  const std::string line = "0,0," + std::string(100'000, 'x') + "\n";
  std::string text;
  while (text.size() < (200 << 20)) text += line;
  f.job.data.csv.header = false;
  f.job.data.label = {int64_t{0}};
  f.job.data.features.columns = {int64_t{1}};
  const std::map<std::string, std::string> bombs = {{"bomb.csv.zst", Zstd(text)},
                                                    {"bomb.csv.xz", Xz(text.substr(0, 150 << 20))}};
  for (const auto& [name, content] : bombs) {
    f.Train(content, name);
    const auto profile = f.Profile();
    INFO(name << ": " << profile.status().ToString());
    CHECK(profile.status().code() == StatusCode::kBadInput);
    CHECK(profile.status().message().find("decompression bomb (at most 2000 times") !=
          std::string::npos);
  }
  // The record limit stops a record without an end much earlier.
  f.Train(Gzip("0,0," + std::string(40 << 20, '7')), "long.csv.gz");
  const Status endless = f.Profile().status();
  INFO(endless.ToString());
  CHECK(endless.message().find("a record is longer than 16.0 MiB") != std::string::npos);
}

}  // namespace
}  // namespace espalier::data
