// Cases of damaged Parquet files and their errors.
#include <cstring>
#include <filesystem>

#include "tests/data/bad_parquet.h"
#include "tests/data/compress.h"

namespace espalier::data {
namespace {

using arrow::Compression;

// Returns a file with two row groups of 50 rows.
std::string Good(const ParquetOptions& options = {}) {
  std::string a = "[", b = "[", y = "[";
  for (int i = 0; i < 100; ++i) {
    const std::string comma = i ? "," : "";
    a += comma + std::to_string(i * 37 % 101) + ".5";
    b += comma + std::to_string(i * i % 23);
    y += comma + std::to_string(i % 7);
  }
  ParquetOptions all = options;
  all.group_rows = 50;
  return ParquetText({Json("a", arrow::float64(), a + "]"), Json("b", arrow::int32(), b + "]"),
                      Json("y", arrow::int64(), y + "]")},
                     all);
}

std::string Plain(Compression::type codec = Compression::UNCOMPRESSED, bool checksums = true) {
  return Good({.codec = codec, .checksums = checksums, .dictionary = false});
}

size_t FooterBegin(const std::string& file) { return file.size() - 8 - FooterBytes(file); }

std::string WithFooterBytes(std::string file, uint32_t size) {
  std::memcpy(file.data() + file.size() - 8, &size, sizeof(size));
  return file;
}

std::string Put(std::string file, size_t at, const std::string& bytes) {
  return file.replace(at, bytes.size(), bytes);
}

std::string Flipped(std::string file, size_t at) {
  file[at] = static_cast<char>(file[at] ^ 0x41);
  return file;
}

std::string Zeros(size_t count) { return std::string(count, '\0'); }

std::vector<BadCase> Cut() {
  const std::string good = Good();
  return {
      NotWhole("no byte", "", "it has 0 bytes ... all files"),
      NotWhole("zero bytes all the way", Zeros(1000),
               "it starts with '\\x00\\x00\\x00\\x00', expected 'PAR1'"),
      NotWhole("four bytes", "PAR1", "it has 4 bytes, expected at least 13"),
      NotWhole("no footer", "PAR1" + Zeros(4) + "PAR1", "it has 12 bytes, expected at least 13"),
      NotWhole("cut short by three bytes", good.substr(0, good.size() - 3),
               "it ends in '\\x04\\x00\\x00P', expected 'PAR1' ... cut short"),
      NotWhole("cut in half", good.substr(0, good.size() / 2),
               "it ends in '\\x00\\x00\\x00\\x00', expected 'PAR1' ... cut short"),
      NotWhole("the begin cut off", good.substr(100),
               "it starts with '\\x00\\x00\\x00\\x80', expected 'PAR1'"),
      NotWhole("zeros at the end, as after a power cut", good + Zeros(4096),
               "it ends in '\\x00\\x00\\x00\\x00', expected 'PAR1' ... cut short"),
      NotWhole("a line break at the end", good + "\n",
               "it ends in 'AR1\\x0a', expected 'PAR1' ... cut short"),
      NotWhole("another start", "XXXX" + good.substr(4), "it starts with 'XXXX', expected 'PAR1'"),
      NotWhole("another end", good.substr(0, good.size() - 4) + "PAR2",
               "it ends in 'PAR2', expected 'PAR1' ... cut short"),
      NotWhole("bytes moved by copying as text", "PAR1" + std::string(9, 'x') + good.substr(4),
               "row group 0 (rows 1 to 50) cannot be read (Couldn't deserialize thrift: "
               "TProtocolException: Invalid data)",
               "a"),
  };
}

std::vector<BadCase> Footers() {
  const std::string good = Good();
  const size_t begin = FooterBegin(good);
  const uint32_t footer = FooterBytes(good);
  return {
      NotWhole("a footer of 2 GiB", WithFooterBytes(good, 0x7FFFFFFF),
               "... footer has 2147483647 bytes, expected 1 to 2840"),
      NotWhole("a footer of 4 GiB", WithFooterBytes(good, 0xFFFFFFFF),
               "... footer has 4294967295 bytes, expected 1 to 2840"),
      NotWhole("a footer of nothing", WithFooterBytes(good, 0),
               "... footer has 0 bytes, expected 1 to 2840"),
      NotWhole("a footer that is said to be shorter", WithFooterBytes(good, footer / 2),
               "its footer is damaged"),
      NotWhole("a footer that is said to be longer", WithFooterBytes(good, footer + 20),
               "its footer is damaged"),
      NotWhole("a hole in the footer", Put(good, begin + 40, Zeros(60)),
               "its footer cannot be read (Couldn't deserialize thrift: TProtocolException: "
               "Invalid data)"),
      NotWhole("a flipped byte at the footer's begin", Flipped(good, begin),
               "its footer is damaged"),
      NotWhole("a flipped byte in the footer's schema", Flipped(good, begin + 3),
               "the schema is damaged"),
      NotWhole("a footer that is text", WithFooter("PAR1", "not a footer"),
               "its footer is damaged"),
      {"an encrypted file", Parquet(Put(good, good.size() - 4, "PARE")), StatusCode::kUnimplemented,
       "'DIR/t.parquet' is encrypted ... without encryption", InFile(kParquet)},
      {"a footer longer than any",
       [](DataFixture& f) {
         const std::string path = f.Train("PAR1", "t.parquet");
         std::filesystem::resize_file(path, 300 << 20);  // a sparse file
         std::string end = Zeros(4) + "PAR1";
         const uint32_t size = 299 << 20;
         std::memcpy(end.data(), &size, sizeof(size));
         std::FILE* file = std::fopen(path.c_str(), "r+");
         std::fseek(file, -8, SEEK_END);
         std::fwrite(end.data(), 1, end.size(), file);
         std::fclose(file);
       },
       StatusCode::kResourceExhausted,
       "the footer of 'DIR/t.parquet' has 299 MiB, expected at most 256 MiB ... row groups",
       InFile(kParquet)},
  };
}

std::vector<BadCase> Nested() {
  std::vector<BadCase> all;
  static constexpr const char* kWhat[] = {"40 groups within each other",
                                          "5,000 groups within each other",
                                          "a million groups within each other"};
  for (int i = 0; const int depth : {40, 5000, 1'000'000}) {
    all.push_back({kWhat[i++], Parquet(NestedParquet(depth)), StatusCode::kBadInput,
                   "the columns of 'DIR/t.parquet' ... nested more than 32 ... flat table",
                   InFile(kParquet)});
  }
  return all;
}

std::vector<BadCase> Pages() {
  const std::string good = Good(), plain = Plain(), bare = Plain(Compression::UNCOMPRESSED, false);
  const size_t begin = FooterBegin(good);
  return {
      NotWhole("pages of zeros", Put(good, 4, Zeros(begin - 4)),
               "row group 0 (rows 1 to 50) cannot be read (Couldn't deserialize thrift: "
               "TProtocolException: Invalid data)",
               "a"),
      NotWhole("pages gone", "PAR1" + good.substr(begin),
               "a column of row group 0 ... 495 bytes from byte 4 ... the footer at 4"),
      NotWhole(
          "a flipped byte in a page's header", Flipped(good, 5),
          "row group 0 (rows 1 to 50) cannot be read (Dictionary page must be before data page.)",
          "a"),
      NotWhole("a flipped byte in a dictionary page", Flipped(good, 60),
               "row group 0 (rows 1 to 50) cannot be read (could not verify page integrity, CRC "
               "checksum verification failed for page_ordinal 0)",
               "a"),
      NotWhole("a flipped byte in a page", Flipped(plain, 200),
               "row group 0 (rows 1 to 50) cannot be read (could not verify page integrity, CRC "
               "checksum verification failed for page_ordinal 0)",
               "a"),
      NotWhole("a flipped byte in a snappy page", Flipped(Plain(Compression::SNAPPY), 200),
               "row group 0 (rows 1 to 50) cannot be read (could not verify page integrity, CRC "
               "checksum verification failed for page_ordinal 0)",
               "a"),
      NotWhole("a flipped byte in a zstd page", Flipped(Plain(Compression::ZSTD), 200),
               "row group 0 (rows 1 to 50) cannot be read (could not verify page integrity, CRC "
               "checksum verification failed for page_ordinal 0)",
               "a"),
      NotWhole("a flipped byte in a gzip page", Flipped(Plain(Compression::GZIP), 200),
               "row group 0 (rows 1 to 50) cannot be read (could not verify page integrity, CRC "
               "checksum verification failed for page_ordinal 0)",
               "a"),
      NotWhole("a flipped byte in a snappy page without checksum",
               Flipped(Plain(Compression::SNAPPY, false), 46),
               "row group 0 (rows 1 to 50) cannot be read (Corrupt snappy compressed data.)", "a"),
      NotWhole("a flipped byte in a zstd page without checksum",
               Flipped(Plain(Compression::ZSTD, false), 50),
               "row group 0 (rows 1 to 50) cannot be read (ZSTD decompression failed: Data "
               "corruption detected)",
               "a"),
      NotWhole("a flipped byte in a gzip page without checksum",
               Flipped(Plain(Compression::GZIP, false), 60),
               "row group 0 (rows 1 to 50) cannot be read (GZipCodec failed: invalid code -- "
               "missing end-of-block)",
               "a"),
  };
}

std::vector<BadCase> Others() {
  return {
      NotWhole("CSV by the name of Parquet", "a,b,y\n1,2,no\n3,4,yes\n",
               "it starts with 'a,b,', expected 'PAR1'"),
      NotWhole("JSON by the name of Parquet", "{\"a\": 1, \"y\": 2}\n{\"a\": 3}\n",
               "it starts with '{\"a\"', expected 'PAR1'"),
      NotWhole("ORC by the name of Parquet", "ORC file with a long enough text",
               "it is an ORC file: it starts with 'ORC ', expected 'PAR1'"),
      NotWhole("Avro by the name of Parquet", std::string("Obj\x01 avro text of some bytes"),
               "it is an Avro file: it starts with 'Obj\\x01', expected 'PAR1'"),
      NotWhole("an archive by the name of Parquet", "PK\x03\x04 archive of some bytes",
               "it is a zip archive: it starts with 'PK\\x03\\x04', expected 'PAR1'"),
      NotWhole(
          "a whole file within gzip", Gzip(Good()),
          "it is compressed with gzip: it starts with '\\x1f\\x8b\\x08\\x00', expected 'PAR1'"),
      NotWhole("an answer of a proxy", "<html><body>502 Bad Gateway</body></html>",
               "it starts with '<htm', expected 'PAR1'"),
      {"a name that ends in .gz", Named("t.parquet.gz", Gzip(Good())), StatusCode::kBadInput,
       "'DIR/t.parquet.gz' ... not a whole Parquet file ... gzip: it starts with "
       "'\\x1f\\x8b\\x08\\x00', expected 'PAR1' ... copy the file again",
       InFile("DIR/t.parquet.gz")},
      {"CSV among Parquet files",
       [](DataFixture& f) {
         f.job.data.train = {f.dir.Put("a.parquet", Good()), f.dir.Put("b.csv", "a,b,y\n1,2,3\n")};
       },
       StatusCode::kInvalidArgument,
       "'DIR/b.csv' is CSV ... 'DIR/a.parquet' is Parquet ... the same format ... pattern",
       InFile("DIR/b.csv")},
      {"a directory by the name of Parquet without files",
       [](DataFixture& f) {
         std::filesystem::create_directory(f.dir / "t.parquet");
         f.job.data.train = {f.dir / "t.parquet"};
       },
       StatusCode::kNotFound,
       "data.train: no file matches 'DIR/t.parquet' ... _ or . and *._COPYING_", InFile(kParquet)},
      {"a Parquet file that is not there",
       [](DataFixture& f) { f.job.data.train = {f.dir / "t.parquet"}; }, StatusCode::kNotFound,
       "data.train: cannot look up 'DIR/t.parquet': it does not exist", InFile(kParquet)},
      {"a Parquet file whose name breaks the line",
       [](DataFixture& f) { f.Train("text", "a\nb.parquet"); }, StatusCode::kBadInput,
       "'DIR/a\\x0ab.parquet' ... not a whole Parquet file: it starts with 'text', expected 'PAR1' "
       "... copy the file again",
       InFile("DIR/a\nb.parquet")},
  };
}

}  // namespace

std::vector<BadCase> BadParquetFiles() {
  std::vector<BadCase> all;
  Append(&all, Cut());
  Append(&all, Footers());
  Append(&all, Nested());
  Append(&all, Pages());
  Append(&all, Others());
  return all;
}

}  // namespace espalier::data
