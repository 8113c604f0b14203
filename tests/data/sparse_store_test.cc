// Memory and spill of sparse rows, and rows that are decoded sparse but stored dense.
#include <filesystem>

#include "src/spec/sparse_rows.h"
#include "tests/data/sparse_fixture.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

int64_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

// Rows whose records take about 8 + 8 + 40 * 12 bytes each.
class StoreFixture : public SparseFixture {
 public:
  static constexpr int kRows = 6000;
  static constexpr int64_t kRecordBytes = kRows * int64_t{40 * 12 + 16};

  explicit StoreFixture(int64_t shard_bytes = 20'000) {
    job.data.shard_bytes = shard_bytes;
    job.data.validation.fraction = 0.3;
    Train(MakeTable(Kind::kDoubles, kRows, 40, 10).Libsvm(), "a.svm");
    const auto profiled = Profile();
    INFO(profiled.status().ToString());
    REQUIRE(profiled.ok());
    REQUIRE(profiled->sparse);
    result = *profiled;
  }

  Result<std::unique_ptr<RowStore>> Load(const RowStoreOptions& options) {
    std::vector<ProfiledShard> none;
    return LoadRows({*files, plan, job}, result, All(result), none, options);
  }
  RowStoreOptions Spill(int64_t memory_bytes_max, int64_t spill_bytes_max = int64_t{1} << 30) {
    return {.memory_bytes_max = memory_bytes_max,
            .spill_directory = dir.path(),
            .spill_bytes_max = spill_bytes_max};
  }
};

TEST_CASE("a sparse store of tiny shards keeps its budget, few files") {
  StoreFixture f;
  CHECK(f.plan.shards.size() > 100);
  const auto memory = f.Load({});
  REQUIRE(memory.ok());
  const int64_t all = (*memory)->memory_bytes();
  CHECK((*memory)->spill_bytes() == 0);
  CHECK(all > StoreFixture::kRecordBytes * 8 / 10);
  CHECK(all < StoreFixture::kRecordBytes * 12 / 10 + StoreFixture::kRows * 24);
  const std::vector<double> inputs = f.Gather(**memory);
  for (const int64_t budget : {int64_t{0}, all / 3, all / 2}) {
    INFO(budget);
    const int64_t before = OpenFiles();
    const auto store = f.Load(f.Spill(budget));
    REQUIRE(store.ok());
    CHECK((*store)->memory_bytes() <= budget);
    CHECK((*store)->memory_bytes() >= budget * 8 / 10);
    CHECK((*store)->spill_bytes() >= (all - budget) * 8 / 10);
    CHECK((*store)->spill_bytes() <= (all - budget) * 12 / 10);
    CHECK(OpenFiles() - before < 8);
    CHECK((f.Gather(**store) == inputs));
  }
}

TEST_CASE("sparse rows that do not fit are refused before reading") {
  StoreFixture f;
  const auto make = [&](const RowStoreOptions& options) {
    return RowLoader::Make({*f.files, f.plan, f.job}, f.result, f.All(f.result), options).status();
  };
  CHECK(make({.memory_bytes_max = 2 * StoreFixture::kRecordBytes}).ok());
  const Status refused = make({.memory_bytes_max = StoreFixture::kRecordBytes / 2});
  CHECK(refused.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(refused.message(), Says("the rows ... worker need 2. ... add workers"));
  CHECK(make(f.Spill(0, StoreFixture::kRecordBytes / 2)).code() == StatusCode::kResourceExhausted);
  CHECK(make(f.Spill(StoreFixture::kRecordBytes / 2, StoreFixture::kRecordBytes)).ok());
}

TEST_CASE("part of a shard takes memory for that part only") {
  StoreFixture f(int64_t{1} << 30);
  REQUIRE(f.plan.shards.size() == 1);
  RowRanges part = f.All(f.result);
  part[0] = {f.result.train_rows / 10, f.result.train_rows / 5};
  part[1] = {0, 0};
  std::vector<ProfiledShard> none;
  const auto store =
      LoadRows({*f.files, f.plan, f.job}, f.result, part, none, f.Spill(0, int64_t{1} << 30));
  REQUIRE(store.ok());
  CHECK((*store)->spill_bytes() < StoreFixture::kRecordBytes / 8);
}

TEST_CASE("a shard with more numbers than its profile has changed") {
  StoreFixture f;
  --f.result.shards[3].nonzeros;
  const auto loader =
      RowLoader::Make({*f.files, f.plan, f.job}, f.result, f.All(f.result), RowStoreOptions());
  REQUIRE(loader.ok());
  CHECK((*loader)->Load(2, nullptr).ok());
  const Status changed = (*loader)->Load(3, nullptr);
  CHECK(changed.code() == StatusCode::kDataLoss);
  CHECK(changed.position()->offset == f.plan.shards[3].begin);
}

TEST_CASE("sparse rows without numbers are passed on in pieces, too") {
  SparseFixture f;
  std::string text;
  for (int r = 0; r < 150'000; ++r) text += r % 2 == 0 ? "0\n" : "1\n";
  f.Train(text, "a.svm");
  f.plan = *f.Plan();
  int64_t pieces = 0, rows = 0;
  const auto reader = MakeShardReader({*f.files, f.plan, f.job});
  const auto read = reader->Read(0, [&](const RowPiece& piece) -> Status {
    ++pieces;
    rows += piece.sets[0].rows;
    return {};
  });
  REQUIRE(read.ok());
  CHECK(rows == 150'000);
  CHECK(pieces >= 3);
}

TEST_CASE("LIBSVM text that begins dense is decoded dense") {
  const Table full = MakeTable(Kind::kFloats, 300, 150, 3);
  SparseFixture f;
  f.Train(full.Libsvm(), "a.svm");
  auto profile = f.Profile();
  REQUIRE(profile.ok());
  CHECK_FALSE(profile->sparse);
  CHECK_FALSE(f.shards[0].rows.sets[0].sparse);
  f.CheckInputs(f.Inputs(), full);
  const std::vector<double> inputs = f.Inputs();
  profile = f.Profile();
  for (ProfiledShard& shard : f.shards) shard.has_rows = false;
  const auto again = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
  REQUIRE(again.ok());
  CHECK((f.Gather(**again) == inputs));

  // A bad row near the start counts once for either decoding.
  f.job.data.bad_rows = {.skip = true, .limit = 1};
  f.Train("1 7:x\n" + full.Libsvm(), "a.svm");
  profile = f.Profile();
  REQUIRE(profile.ok());
  CHECK(profile->skipped_rows == 1);
  CHECK(profile->train_rows == 300);
}

TEST_CASE("rows decoded sparse but stored dense get their zeros") {
  Table table = MakeTable(Kind::kFloats, 60, 20, 8);
  table.rows[9][33] = table.rows[11][34] = std::numeric_limits<double>::quiet_NaN();
  SparseFixture f;
  f.job.data.features.nulls = {spec::NullKind::kConstant, 5};
  f.Train(table.Libsvm(), "a.svm");

  f.job.model.task = spec::Task::kAutoencoder;
  f.job.data.label = {};
  const auto profile = f.Profile();
  INFO(profile.status().ToString());
  REQUIRE(profile.ok());
  CHECK(f.shards[0].rows.sets[0].sparse);
  CHECK_FALSE(profile->sparse);
  f.labels.clear();
  f.result = *profile;
  const auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
  REQUIRE(store.ok());
  const std::vector<double> inputs = f.Gather(**store);
  f.labels.clear();
  f.CheckInputs(inputs, table);
}

}  // namespace
}  // namespace espalier::data
