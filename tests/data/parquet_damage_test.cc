// Damaged and hostile Parquet files: each has one clear error that names the file and what to do,
// or reads exactly as the undamaged one.
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "src/data/parquet_file.h"
#include "src/data/parquet_footer.h"
#include "tests/data/fixture.h"
#include "tests/data/parquet_fixture.h"
#include "tests/testing/scale.h"

namespace espalier {
namespace {

std::string Table(const ParquetOptions& options, int rows = 400) {
  std::mt19937 random(11);
  arrow::DoubleBuilder a;
  arrow::Int32Builder b;
  arrow::StringBuilder y;
  for (int i = 0; i < rows; ++i) {
    REQUIRE(a.Append(static_cast<double>(random()) / 7).ok());
    REQUIRE(b.Append(static_cast<int>(random() % 50)).ok());
    REQUIRE(y.Append(random() % 2 ? "no" : "yes").ok());
  }
  return ParquetText({{"a", *a.Finish()}, {"b", *b.Finish()}, {"y", *y.Finish()}}, options);
}

uint32_t FooterBytes(const std::string& file) {
  uint32_t size = 0;
  std::memcpy(&size, file.data() + file.size() - 8, sizeof(size));
  return size;
}

std::string WithFooterBytes(std::string file, uint32_t size) {
  std::memcpy(file.data() + file.size() - 8, &size, sizeof(size));
  return file;
}

std::string Flipped(std::string file, size_t at) {
  file[at] = static_cast<char>(file[at] ^ 0x41);
  return file;
}

struct Damage {
  const char* what;
  std::string file;
  std::string message;  // a part of it
};

TEST_CASE("each kind of damage is told by file, cause and what to do") {
  const std::string good = Table({.group_rows = 100});
  const uint32_t footer = FooterBytes(good);
  const size_t footer_begin = good.size() - 8 - footer;
  const std::vector<Damage> cases = {
      {"nothing", "", "it has 0 bytes"},
      {"only zeros", std::string(1000, '\0'), "it starts with '\\x00\\x00\\x00\\x00'"},
      {"four bytes", "PAR1", "it has 4 bytes, expected at least 12"},
      {"no footer", std::string("PAR1\0\0\0\0PAR1", 12), "its footer has 0 bytes"},
      {"cut short", good.substr(0, good.size() - 3), "expected 'PAR1'; it is cut short"},
      {"cut in half", good.substr(0, good.size() / 2), "expected 'PAR1'; it is cut short"},
      {"another start", "XXXX" + good.substr(4), "it starts with 'XXXX', expected 'PAR1'"},
      {"another end", good.substr(0, good.size() - 4) + "PAR2", "it ends in 'PAR2'"},
      {"footer of 2 GiB", WithFooterBytes(good, 0x7FFFFFFF), "its footer has 2147483647 bytes"},
      {"footer of 4 GiB", WithFooterBytes(good, 0xFFFFFFFF), "its footer has 4294967295 bytes"},
      {"footer of nothing", WithFooterBytes(good, 0), "its footer has 0 bytes"},
      {"footer too short", WithFooterBytes(good, footer / 2), "is damaged"},
      {"footer too long", WithFooterBytes(good, footer + 20), "is damaged"},
      {"a hole in the footer",
       good.substr(0, footer_begin + 40) + std::string(60, '\0') + good.substr(footer_begin + 100),
       "is not a whole Parquet file"},
      {"text", "a,b,y\n1,2,no\n3,4,yes\n", "it starts with 'a,b,', expected 'PAR1'"},
      {"pages of zeros", "PAR1" + std::string(footer_begin - 4, '\0') + good.substr(footer_begin),
       "row group 0 (rows 1 to 100) cannot be read"},
      {"pages moved", "PAR1" + std::string(9, 'x') + good.substr(4), "cannot be read"},
      {"pages gone", "PAR1" + good.substr(footer_begin), "expected a place before the footer"},
  };
  for (const Damage& damage : cases) {
    INFO(damage.what);
    DataFixture f;
    const std::string path = f.Train(damage.file, "x.parquet");
    const auto survey = f.Survey();
    REQUIRE_FALSE(survey.ok());
    const Status error = survey.status();
    INFO(error.ToString());
    CHECK(error.code() == StatusCode::kBadInput);
    CHECK(error.message().find("'" + path + "' is not a whole Parquet file: ") == 0);
    CHECK(error.message().find(damage.message) != std::string::npos);
    CHECK(error.message().find("; write or copy the file again") != std::string::npos);
    REQUIRE(error.position());
    CHECK(error.position()->file == path);
  }
}

TEST_CASE("an encrypted file is told as such") {
  std::string file = Table({});
  std::memcpy(file.data() + file.size() - 4, "PARE", 4);
  DataFixture f;
  f.Train(file, "x.parquet");
  const auto survey = f.Survey();
  REQUIRE_FALSE(survey.ok());
  CHECK(survey.status().code() == StatusCode::kUnimplemented);
  CHECK(survey.status().message().find("is an encrypted Parquet file") != std::string::npos);
}

TEST_CASE("a flipped byte of a page is found by its checksum, in every codec") {
  using arrow::Compression;
  for (const auto codec : {Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD}) {
    const std::string good = Table({.codec = codec, .dictionary = false});
    const size_t pages_end = good.size() - 8 - FooterBytes(good);
    DataFixture f;
    const std::string path = f.Train(Flipped(good, pages_end / 4), "x.parquet");
    const auto survey = f.Survey();
    REQUIRE_FALSE(survey.ok());
    const Status error = survey.status();
    INFO(error.ToString());
    CHECK(error.code() == StatusCode::kBadInput);
    CHECK(error.message().find(path) != std::string::npos);
    CHECK(error.message().find("CRC checksum verification failed") != std::string::npos);
  }
}

// Flips single bytes all over the file. Whatever the damage, there is an error or there are rows.
TEST_CASE("any flipped byte gives an error that names the file, or the same rows") {
  using arrow::Compression;
  const int64_t stride = 7;
  for (const auto codec : {Compression::UNCOMPRESSED, Compression::SNAPPY}) {
    const std::string good = Table({.group_rows = 150, .codec = codec});
    DataFixture f;
    const auto whole = f.Train(good, "x.parquet");
    const auto expected = f.Survey();
    REQUIRE(expected.ok());
    const size_t pages_end = good.size() - 8 - FooterBytes(good);
    int errors = 0, same = 0, other = 0;
    for (size_t at = 0; at < good.size(); at += stride) {
      INFO("byte " << at << " of " << good.size());
      const std::string path = f.Train(Flipped(good, at), "x.parquet");
      const auto survey = f.Survey();
      if (!survey.ok()) {
        ++errors;
        const Status error = survey.status();
        INFO(error.ToString());
        // A name or a type in the footer may read as another one; then the schema is at fault.
        CHECK(error.code() != StatusCode::kInternal);
        CHECK(error.ToString().find("x.parquet") != std::string::npos);
        continue;
      }
      const bool equal = survey->preprocessing == expected->preprocessing;
      ++(equal ? same : other);
      if (at < pages_end) CHECK(equal);  // all pages have checksums; the footer has none
    }
    INFO("errors " << errors << ", same " << same << ", other " << other);
    CHECK(errors > same);
    CHECK(other * 20 < errors);
  }
}

TEST_CASE("random damage of many bytes, cuts and doubled parts never harms the reader") {
  std::mt19937 random(77);
  for (int round = 0; round < 400 * static_cast<int>(TestScale()); ++round) {
    std::string file = Table({.group_rows = 60, .checksums = random() % 2 == 0}, 200);
    const size_t begin = random() % 3 == 0 ? 0 : file.size() - 8 - FooterBytes(file);
    for (int i = 1 + static_cast<int>(random() % 8); i > 0; --i) {
      const size_t at = begin + random() % (file.size() - begin);
      file[at] = static_cast<char>(random());
    }
    if (random() % 8 == 0) file.insert(random() % file.size(), file.substr(random() % 50, 50));
    if (random() % 8 == 0) file.erase(random() % file.size(), random() % 30);
    DataFixture f;
    f.Train(file, "x.parquet");
    INFO("round " << round);
    const auto survey = f.Survey();
    if (!survey.ok()) CHECK(survey.status().code() != StatusCode::kInternal);
  }
}

// FileMetaData by hand, in Thrift's compact protocol: version 1, then a schema of groups within
// groups with one column at the end, no rows, no row groups.
std::string NestedFile(int depth) {
  std::string schema;
  for (int i = 0; i <= depth; ++i) {
    const bool leaf = i == depth;
    if (leaf) schema += std::string("\x15\x02", 2);  // field 1: type INT32
    schema += leaf ? "\x25" : "\x35";                // field 3: repetition_type
    schema += std::string("\x00", 1);                // required
    schema += std::string("\x18\x01g", 3);           // field 4: name "g"
    if (!leaf) schema += "\x15\x02";                 // field 5: num_children 1
    schema += std::string("\x00", 1);
  }
  std::string count;
  for (uint32_t n = static_cast<uint32_t>(depth) + 1; n > 0; n >>= 7) {
    count += static_cast<char>((n & 0x7F) | (n >= 0x80 ? 0x80 : 0));
  }
  const std::string footer =
      std::string("\x15\x02\x19\xFC", 4) + count + schema + std::string("\x16\x00\x19\x0C\x00", 5);
  const uint32_t size = static_cast<uint32_t>(footer.size());
  return "PAR1" + footer + std::string(reinterpret_cast<const char*>(&size), 4) + "PAR1";
}

TEST_CASE("deep nesting is refused before a parser recurses into it") {
  for (const int depth : {40, 5000, 1'000'000}) {
    DataFixture f;
    const std::string path = f.Train(NestedFile(depth), "x.parquet");
    const auto survey = f.Survey();
    REQUIRE_FALSE(survey.ok());
    INFO(survey.status().ToString());
    CHECK(survey.status().code() == StatusCode::kBadInput);
    CHECK(survey.status().message().find("the columns of '" + path +
                                         "' are nested more than 32 levels deep") == 0);
  }
  // The same form, not too deep, is taken for what it is.
  DataFixture f;
  f.Train(NestedFile(3), "x.parquet");
  const auto survey = f.Survey();
  REQUIRE_FALSE(survey.ok());
  CHECK(survey.status().message().find("there is no column 'y'") != std::string::npos);
}

TEST_CASE("a schema whose groups do not add up is damage") {
  const auto check = [](std::string bytes) { return CheckParquetMetadata(bytes, "x").message(); };
  const std::string good = Table({});
  const std::string footer = good.substr(good.size() - 8 - FooterBytes(good), FooterBytes(good));
  CHECK(CheckParquetMetadata(footer, "x").ok());
  for (size_t cut = 0; cut < footer.size(); ++cut) {
    INFO(cut);
    CHECK_FALSE(CheckParquetMetadata(footer.substr(0, cut), "x").ok());
  }
  // A list that claims more elements than there are bytes.
  CHECK(check(std::string("\x15\x02\x19\xFC\xFF\xFF\xFF\x7F", 8)).find("damaged") !=
        std::string::npos);
}

TEST_CASE("long strings are a bad row, and a row group of them stays within bounds") {
  arrow::StringBuilder y;
  arrow::DoubleBuilder a;
  const std::string huge(1 << 20, 'x');
  for (int i = 0; i < 40; ++i) {
    REQUIRE(y.Append(i % 2 ? huge : "short").ok());
    REQUIRE(a.Append(i).ok());
  }
  DataFixture f;
  const std::string path = f.Train(
      ParquetText({{"a", *a.Finish()}, {"y", *y.Finish()}}, {.codec = arrow::Compression::ZSTD}),
      "x.parquet");
  const auto survey = f.Survey();
  REQUIRE_FALSE(survey.ok());
  CHECK(survey.status().message().find("the label has 1048576 bytes; at most 256") == 0);
  CHECK(survey.status().position()->row == 2);
  CHECK(survey.status().position()->text.size() < 100);
}

TEST_CASE("a file that is a directory, missing or cut while it is read is named") {
  DataFixture f;
  f.job.data.format = DataFormat::kParquet;
  std::filesystem::create_directory(f.dir / "d.parquet");
  f.job.data.train = {f.dir / "d.parquet"};
  CHECK(f.Survey().status().message().find("no file matches") != std::string::npos);
  f.job.data.train = {f.dir / "none.parquet"};
  CHECK(f.Survey().status().code() == StatusCode::kNotFound);
}

}  // namespace
}  // namespace espalier
