// Memory of readers: a budget first, then spill files with the same results.
#include "src/data/table/memory_budget.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "src/data/table/row_bytes.h"
#include "tests/data/compress.h"
#include "tests/data/fixture.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

constexpr int64_t kSpill = int64_t{1} << 30;

// Takes all of the memory, so that only small buffers get memory.
void UseUp(MemoryBudget* room) { REQUIRE(room->TakeMemory(MemoryBudget::kReadingBytes)); }

std::string Table(int rows) {
  std::string text = "a,b,c,w,y\n";
  for (int i = 0; i < rows; ++i) {
    text += std::to_string(i) + "." + std::to_string(i % 7) + "," + std::to_string(i % 250) + "," +
            std::to_string(i / 3) + ",0.5," + (i % 3 ? "yes" : "no") + "\n";
  }
  return text;
}

void SetUp(DataFixture* f) {
  f->job.data.weight = std::string("w");
  f->job.data.validation.fraction = 0.3;
  f->Train(Gzip(Table(150'000)), "train.csv.gz");
}

TEST_CASE("a buffer without memory moves to spill and frees both") {
  storage::TemporaryDirectory dir;
  MemoryBudget room(0, dir.path(), kSpill);
  UseUp(&room);
  RowBytes bytes(&room);
  std::vector<uint8_t> expected(300'000);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<uint8_t>(i * i);
  REQUIRE(bytes.Append(expected).ok());
  CHECK_FALSE(bytes.spilled());
  for (int i = 1; i < 60; ++i) REQUIRE(bytes.Append(expected).ok());
  CHECK(bytes.spilled());
  for (int i = 0; i < 60; ++i) {
    CHECK(std::memcmp(bytes.data() + i * expected.size(), expected.data(), expected.size()) == 0);
  }
  bytes = RowBytes();
  CHECK(room.TakeSpill(kSpill).ok());
}

TEST_CASE("a buffer that fits nowhere fails with both limits named") {
  storage::TemporaryDirectory dir;
  for (const std::string& directory : {std::string(), std::string(dir.path())}) {
    MemoryBudget room(0, directory, 4 << 20);
    UseUp(&room);
    RowBytes bytes(&room);
    REQUIRE(bytes.Resize(MemoryBudget::kSmallBytes).ok());
    bytes.data()[7] = 42;
    const Status error = bytes.Resize(5 << 20);
    CHECK(error.code() == StatusCode::kResourceExhausted);
    CHECK_THAT(error.message(),
               Says("reading the data needs 5.0 MiB more ... 32.0 MiB ... " +
                    std::string(directory.empty() ? "no spill is set up"
                                                  : "spill files of 4.0 MiB ... 4.0 MiB left") +
                    " ... memory_bytes_max or spill_bytes_max ... smaller files"));
    CHECK(bytes.size() == MemoryBudget::kSmallBytes);
    CHECK(bytes.data()[7] == 42);
  }
}

TEST_CASE("memory that is asked for ahead never comes from spill") {
  storage::TemporaryDirectory dir;
  MemoryBudget room(64 << 20, dir.path(), kSpill);
  RowBytes large(&room), fits(&room);
  large.Reserve(65 << 20);
  CHECK(large.capacity() == 0);
  fits.Reserve(40 << 20);
  CHECK(fits.capacity() == 40 << 20);
  CHECK_FALSE(room.TakeMemory(25 << 20));
  fits = RowBytes();
  CHECK(room.TakeMemory(64 << 20));
}

TEST_CASE("a compressed file has the same rows from spill and memory") {
  DataFixture f;
  SetUp(&f);
  const auto plan = f.Plan();
  REQUIRE(plan.ok());
  const auto expected = ProfileShard(*MakeShardReader({*f.files, *plan, f.job}), 0);
  REQUIRE(expected.ok());
  MemoryBudget room(0, f.dir.path(), kSpill);
  UseUp(&room);
  {
    const auto spilled =
        ProfileShard(*MakeShardReader({*f.files, *plan, f.job}, {.room = &room}), 0);
    REQUIRE(spilled.ok());
    CHECK(spilled->rows.spilled());
    CHECK_FALSE(expected->rows.spilled());
    CHECK(spilled->rows.checksum == expected->rows.checksum);
    CHECK(spilled->profile.labels == expected->profile.labels);
    CHECK(spilled->profile.train_weight == expected->profile.train_weight);
    for (size_t c = 0; c < expected->profile.features.size(); ++c) {
      CHECK(spilled->profile.features[c].mean == expected->profile.features[c].mean);
      CHECK(spilled->profile.features[c].m2 == expected->profile.features[c].m2);
    }
    for (int set = 0; set < kSets; ++set) {
      const DecodedRows &a = spilled->rows.sets[set], &b = expected->rows.sets[set];
      REQUIRE(a.features.size() == b.features.size());
      CHECK(
          std::equal(b.features.data(), b.features.data() + b.features.size(), a.features.data()));
      CHECK(std::equal(b.labels.begin(), b.labels.end(), a.labels.begin(), a.labels.end()));
      CHECK(std::equal(b.weights.begin(), b.weights.end(), a.weights.begin(), a.weights.end()));
    }
  }
  CHECK(room.TakeSpill(kSpill).ok());
}

TEST_CASE("a shard that fits in neither memory nor spill is named") {
  DataFixture f;
  SetUp(&f);
  const auto plan = f.Plan();
  MemoryBudget room(0, "", 0);
  UseUp(&room);
  const Status error =
      ProfileShard(*MakeShardReader({*f.files, *plan, f.job}, {.room = &room}), 0).status();
  CHECK(error.code() == StatusCode::kResourceExhausted);
  REQUIRE(error.position().has_value());
  CHECK(error.position()->file == plan->files[0].path);
}

TEST_CASE("a streamed shard passes on all rows once, in small pieces") {
  DataFixture f;
  SetUp(&f);
  const auto plan = f.Plan();
  const auto expected = MakeShardReader({*f.files, *plan, f.job})->Read(0);
  REQUIRE(expected.ok());
  MemoryBudget room(0, "", 0);
  int pieces = 0;
  std::array<size_t, kSets> at{};
  const auto reader = MakeShardReader({*f.files, *plan, f.job}, {.room = &room});
  const auto rest = reader->Read(0, [&](const RowPiece& piece) -> Status {
    ++pieces;
    for (int set = 0; set < kSets; ++set) {
      const DecodedRows& rows = piece.sets[set];
      CHECK(rows.features.size() <= 2 << 20);
      for (size_t i = 0; i < rows.labels.size(); ++i, ++at[set]) {
        if (piece.texts.labels.texts()[rows.labels[i]] !=
            expected->texts.labels.texts()[expected->sets[set].labels[at[set]]]) {
          return Internal("another label");
        }
      }
    }
    return {};
  });
  REQUIRE(rest.ok());
  CHECK(pieces > 5);
  CHECK(rest->checksum == expected->checksum);
  for (int set = 0; set < kSets; ++set) {
    CHECK(static_cast<int64_t>(at[set]) == expected->sets[set].rows);
    CHECK(rest->sets[set].rows == 0);
  }
  const Status stopped =
      reader->Read(0, [](const RowPiece&) { return Cancelled("enough"); }).status();
  CHECK(stopped.message() == "enough");
}

}  // namespace
}  // namespace espalier::data
