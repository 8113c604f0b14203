#include "src/data/profile/row_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "tests/data/fixture.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

std::string Pixels(int rows, int columns, bool fractions) {
  std::mt19937 random(9);
  std::string content;
  for (int i = 0; i < rows; ++i) {
    content += std::to_string(i % 3);
    for (int c = 0; c < columns; ++c) {
      content += "," + std::to_string(random() % 4 ? 0 : random() % 256);
      if (fractions && c % 5 == 0) content += ".1";
    }
    content += "\n";
  }
  return content;
}

void SetUpPixels(DataFixture* f, bool fractions) {
  f->job.data.csv.header = false;
  f->job.data.label = {int64_t{0}};
  f->job.data.shard_bytes = 3000;
  f->job.data.validation.fraction = 0.2;
  f->job.data.features.scale = {spec::ScaleKind::kDivide, 255};
  f->Train(Pixels(300, 37, fractions));
}

TEST_CASE("rows in memory, spilled and read again have the same bytes") {
  for (const bool fractions : {false, true}) {
    DataFixture f;
    SetUpPixels(&f, fractions);
    const auto profile = f.Profile();
    REQUIRE(profile.ok());
    CHECK(profile->storage ==
          (fractions ? spec::StorageType::kFloat64 : spec::StorageType::kUint8));
    const RowRanges all = f.All(*profile);
    std::vector<ProfiledShard> none;
    const auto again = LoadRows({*f.files, f.plan, f.job}, *profile, all, none, {});
    const RowStoreOptions spilled = {
        .memory_bytes_max = 0, .spill_directory = f.dir.path(), .spill_bytes_max = 10 << 20};
    const auto spill = LoadRows({*f.files, f.plan, f.job}, *profile, all, none, spilled);
    int64_t told = 0;
    const auto memory = LoadRows({*f.files, f.plan, f.job}, *profile, all, f.shards, {},
                                 [&told](int64_t done, int64_t of) { told += done == of; });
    REQUIRE(again.ok());
    REQUIRE(spill.ok());
    REQUIRE(memory.ok());
    CHECK(told == 1);
    CHECK((*spill)->memory_bytes() == 0);
    CHECK((*spill)->spill_bytes() == (*memory)->memory_bytes());
    CHECK_FALSE(f.shards[0].has_rows);
    for (const spec::FileRole set :
         {spec::FileRole::kTrain, spec::FileRole::kValidation, spec::FileRole::kTest}) {
      const Gathered expected = GatherAll(**memory, set);
      CHECK(GatherAll(**again, set) == expected);
      CHECK(GatherAll(**spill, set) == expected);
    }
    CHECK(f.files->List(f.dir / "espalier-spill-*")->empty());
  }
}

TEST_CASE("a part of the rows equals that part of the whole store") {
  DataFixture f;
  SetUpPixels(&f, false);
  const auto profile = f.Profile();
  const auto whole = *LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
  const Gathered expected = GatherAll(*whole, spec::FileRole::kTrain);
  for (int64_t leaf = 0; leaf < 7; ++leaf) {
    const plan::Range range = plan::LeafRows(profile->train_rows, 7, leaf);
    const auto loader = *RowLoader::Make({*f.files, f.plan, f.job}, *profile,
                                         {range, plan::Range{3, 3}, plan::Range{}}, {});
    CHECK(loader->shards().size() < f.plan.shards.size());
    for (const int32_t shard : loader->shards()) REQUIRE(loader->Load(shard, nullptr).ok());
    const auto part = loader->Finish();
    const Gathered got = GatherAll(*part, spec::FileRole::kTrain);
    const auto begin = expected.inputs.begin() + range.begin * 37;
    CHECK(got.inputs == std::vector<double>(begin, begin + range.size() * 37));
    const auto labels = expected.labels.begin() + range.begin;
    CHECK(got.labels == std::vector<int32_t>(labels, labels + range.size()));
  }
}

TEST_CASE("shards load in parallel and many threads gather") {
  DataFixture f;
  SetUpPixels(&f, false);
  const auto profile = f.Profile();
  const auto whole = *LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
  const auto loader = *RowLoader::Make({*f.files, f.plan, f.job}, *profile, f.All(*profile), {});
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&loader, t] {
      for (size_t i = t; i < loader->shards().size(); i += 4) {
        ESPALIER_CHECK(loader->Load(loader->shards()[i], nullptr).ok(), "load");
      }
    });
  }
  for (std::thread& t : threads) t.join();
  const auto store = loader->Finish();
  const Gathered expected = GatherAll(*whole, spec::FileRole::kTrain);
  std::vector<Gathered> got(4);
  threads.clear();
  for (Gathered& g : got) {
    threads.emplace_back([&g, &store] { g = GatherAll(*store, spec::FileRole::kTrain); });
  }
  for (std::thread& t : threads) t.join();
  for (const Gathered& g : got) CHECK(g == expected);
}

TEST_CASE("gathered rows are scaled, in the order asked for") {
  DataFixture f;
  f.job.data.weight = std::string("w");
  f.job.data.features.scale.kind = spec::ScaleKind::kMinMax;
  f.job.data.features.columns = {std::string("b"), std::string("a")};
  f.Train("a,b,w,y\n0,10,1,no\n5,30,0.5,yes\n10,20,2,no\n");
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  const auto store = *LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
  CHECK(store->storage() == spec::StorageType::kUint8);
  const std::vector<int64_t> rows = {2, 0, 1, 1};
  std::vector<float> inputs(8), weights(4);
  std::vector<int32_t> labels(4);
  store->Gather<float>(spec::FileRole::kTrain, rows, inputs.data(), nullptr, labels.data(), nullptr,
                       weights.data());
  CHECK(inputs == std::vector<float>{0.5f, 1.0f, 0, 0, 1.0f, 0.5f, 1.0f, 0.5f});
  CHECK(labels == std::vector<int32_t>{0, 0, 1, 1});
  CHECK(weights == std::vector<float>{2, 1, 0.5f, 0.5f});
}

TEST_CASE("bytes that changed between profile and load are data loss") {
  DataFixture f;
  const std::string path = f.Train("a,y\n1,0\n2,1\n");
  const auto profile = f.Profile();
  spec::TableProfile other = *profile;
  other.shards[0].checksum ^= 1;
  std::vector<ProfiledShard> none;
  const Status error =
      LoadRows({*f.files, f.plan, f.job}, other, f.All(*profile), none, {}).status();
  CHECK(error.code() == StatusCode::kDataLoss);
  CHECK_THAT(error.message(),
             Says("bytes 0 to 12 of '" + path + "' ... checksums differ ... submit the job again"));
}

TEST_CASE("rows that fit nowhere are an error with the numbers") {
  DataFixture f;
  f.Train("a,y\n1,0\n2,1\n");
  const auto profile = f.Profile();
  std::vector<ProfiledShard> none;
  const auto load = [&](const RowStoreOptions& options) {
    return LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), none, options).status();
  };
  const Status no_spill = load({.memory_bytes_max = 100});
  CHECK(no_spill.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(no_spill.message(), Says("the rows ... worker need 128 B more ... memory budget is "
                                      "100 B ... spill ... not set up ... add workers"));
  const Status small =
      load({.memory_bytes_max = 100, .spill_directory = f.dir.path(), .spill_bytes_max = 64});
  CHECK(small.message().find("its spill has 64 B of its limit left") != std::string::npos);
  const Status nowhere = load({.memory_bytes_max = 0,
                               .spill_directory = f.dir.Put("file", "") + "/spill",
                               .spill_bytes_max = 1 << 20});
  CHECK_THAT(nowhere.message(), Says("cannot make the directory '" + (f.dir / "file/spill") +
                                     "' ... not a directory"));
  // A missing directory is created.
  CHECK(load({.memory_bytes_max = 0,
              .spill_directory = f.dir / "deep/spill",
              .spill_bytes_max = 1 << 20})
            .ok());
}

TEST_CASE("a spill file has no name and touches no other file") {
  const storage::TemporaryDirectory dir, others;
  others.Put("precious", "kept");
  REQUIRE(symlink((others / "precious").c_str(), (dir / "espalier-spill-1-1").c_str()) == 0);
  dir.Put("espalier-spill-123-1", "rows");
  const auto before = storage::MakeFileSystem()->Names(dir.path()).value();
  const Result<int> file = OpenSpillFile(dir.path());
  REQUIRE(file.ok());
  struct stat s;
  REQUIRE(fstat(*file, &s) == 0);
  CHECK(s.st_nlink == 0);
  CHECK((s.st_mode & 0777) == 0600);
  close(*file);
  CHECK(storage::MakeFileSystem()->Names(dir.path()).value() == before);
  CHECK(storage::MakeFileSystem()->ReadAll(others / "precious", 100).value() == "kept");
}

TEST_CASE("a spill without room is an error and not a signal") {
  storage::TemporaryDirectory dir;
  const Status error = Region::InSpill(dir.path(), size_t{1} << 55).status();
  CHECK_FALSE(error.ok());
  CHECK(error.message().find("in the spill directory") != std::string::npos);
}

}  // namespace
}  // namespace espalier::data
