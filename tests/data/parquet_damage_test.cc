// Random damage of Parquet files: an error names the file, or the rows equal those of the whole
// file. The errors of each kind of damage are in bad_parquet_*.cc.
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>

#include <random>

#include "src/data/parquet/footer.h"
#include "tests/data/crafted_parquet.h"
#include "tests/data/fixture.h"
#include "tests/data/parquet_fixture.h"
#include "tests/testing/scale.h"

namespace espalier::data {
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

std::string Flipped(std::string file, size_t at) {
  file[at] = static_cast<char>(file[at] ^ 0x41);
  return file;
}

// Flips single bytes all over the file. Each flip must give an error or rows.
TEST_CASE("a flipped byte gives an error with the file or the same rows") {
  using arrow::Compression;
  const int64_t stride = 7;
  for (const auto codec : {Compression::UNCOMPRESSED, Compression::SNAPPY}) {
    const std::string good = Table({.group_rows = 150, .codec = codec});
    DataFixture f;
    const auto whole = f.Train(good, "x.parquet");
    const auto expected = f.Profile();
    REQUIRE(expected.ok());
    const size_t pages_end = good.size() - 8 - FooterBytes(good);
    int errors = 0, same = 0, other = 0;
    for (size_t at = 0; at < good.size(); at += stride) {
      INFO("byte " << at << " of " << good.size());
      const std::string path = f.Train(Flipped(good, at), "x.parquet");
      const auto profile = f.Profile();
      if (!profile.ok()) {
        ++errors;
        const Status error = profile.status();
        INFO(error.ToString());
        // A damaged name or type in the footer may read as another one. Then the error is in the
        // schema.
        CHECK(error.code() != StatusCode::kInternal);
        CHECK(error.ToString().find("x.parquet") != std::string::npos);
        continue;
      }
      const bool equal = profile->preprocessing == expected->preprocessing;
      ++(equal ? same : other);
      if (at < pages_end) CHECK(equal);  // pages have checksums, the footer does not
    }
    INFO("errors " << errors << ", same " << same << ", other " << other);
    CHECK(errors > same);
    CHECK(other * 20 < errors);
  }
}

TEST_CASE("random damage, cuts and repeated parts never harm the reader") {
  std::mt19937 random(77);
  for (int round = 0; round < 400 * static_cast<int>(FuzzScale()); ++round) {
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
    const auto profile = f.Profile();
    if (!profile.ok()) CHECK(profile.status().code() != StatusCode::kInternal);
  }
}

TEST_CASE("nested groups within the depth limit are accepted") {
  DataFixture f;
  f.Train(NestedParquet(3), "x.parquet");
  const auto profile = f.Profile();
  REQUIRE_FALSE(profile.ok());
  CHECK(profile.status().message().find("column 'y' does not exist") != std::string::npos);
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
  // A list claims more elements than there are bytes.
  CHECK(check(std::string("\x15\x02\x19\xFC\xFF\xFF\xFF\x7F", 8)).find("damaged") !=
        std::string::npos);
}

}  // namespace
}  // namespace espalier::data
