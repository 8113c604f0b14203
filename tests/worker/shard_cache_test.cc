// Tests of the shards that a worker keeps for later jobs: which jobs reuse them, and when the cache
// drops them.
#include "src/worker/shard_cache.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/config/job_yaml.h"
#include "src/data/input/listing.h"
#include "src/data/profile/make_shard_reader.h"
#include "src/data/profile/merge.h"
#include "src/storage/file_systems.h"
#include "src/storage/passing_files.h"
#include "src/worker/job_shards.h"

namespace espalier::worker {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRows = 3000;
constexpr int64_t kMany = int64_t{1} << 30;

// A CSV file with several shards.
struct Input {
  explicit Input(const std::string& name = "kept.csv", int64_t first = 0)
      : path(fs::path(std::getenv("TEST_TMPDIR")) / name) {
    std::ofstream out(path);
    out << "y,a,b\n";
    for (int64_t i = first; i < first + kRows; ++i) {
      out << i % 3 << "," << i << "," << 0.5 * static_cast<double>(i) << "\n";
    }
    out.close();
    spec = *config::ParseJob("name: x\ndata: {train: " + path.string() +
                                 ", label: y, validation: {fold: 0, of: 3}}\noutput: /out\n",
                             "x");
    plan = Listed();
  }
  std::shared_ptr<const spec::InputPlan> Listed() const {
    return std::make_shared<const spec::InputPlan>(*data::PlanInput(*files, spec.data, 4096));
  }

  fs::path path;
  std::unique_ptr<storage::FileSystem> files = storage::MakeFileSystem();
  spec::JobSpec spec;
  std::shared_ptr<const spec::InputPlan> plan;
};

std::shared_ptr<data::MemoryBudget> Room() {
  return std::make_shared<data::MemoryBudget>(kMany, "", 0);
}

// A job that profiles all shards.
struct Job {
  Job(ShardCache& cache, const Input& input, const spec::JobSpec& job,
      std::shared_ptr<const spec::InputPlan> plan)
      : input(input),
        spec(job),
        plan(std::move(plan)),
        shards(&cache, cache.Use(spec, this->plan), spec, this->plan, Room()) {}
  Job(ShardCache& cache, const Input& input) : Job(cache, input, input.spec, input.plan) {}

  Status Profile() {
    for (size_t i = 0; i < plan->shards.size(); ++i) {
      ESPALIER_ASSIGN_OR_RETURN(profiled.emplace_back(),
                                shards.Profile(*input.files, static_cast<int32_t>(i)));
    }
    return {};
  }

  const Input& input;
  const spec::JobSpec spec;
  const std::shared_ptr<const spec::InputPlan> plan;
  JobShards shards;
  std::vector<data::ProfiledShard> profiled;
};

int64_t now_us = 0;
ShardCache Cache(int64_t bytes_max = kMany) {
  now_us = 0;
  return ShardCache({.bytes_max = bytes_max, .idle_us_max = 100}, [] { return now_us; });
}

std::string BytesOf(const data::RowStore& store, int64_t rows) {
  std::string bytes;
  for (int64_t row = 0; row < rows; ++row) {
    double inputs[2];
    int32_t label = 0;
    const int64_t at[] = {row};
    store.Gather<double>(spec::FileRole::kTrain, at, inputs, nullptr, &label, nullptr, nullptr);
    bytes.append(reinterpret_cast<const char*>(inputs), sizeof inputs);
    bytes.append(reinterpret_cast<const char*>(&label), sizeof label);
  }
  return bytes;
}

TEST_CASE("a job that differs only in training reuses all shards") {
  const Input input;
  ShardCache cache = Cache();
  Job first(cache, input);
  REQUIRE(first.Profile().ok());
  const auto shards = static_cast<int64_t>(input.plan->shards.size());
  REQUIRE(shards > 5);
  CHECK(first.shards.parsed() == shards);
  spec::JobSpec other = input.spec;
  other.name = "y";
  other.model.hidden = {8};
  other.train.batch = 77;
  other.output.path = "/else";
  Job second(cache, input, other, input.Listed());
  REQUIRE(second.Profile().ok());
  CHECK(second.shards.parsed() == 0);
  CHECK(second.shards.taken() == shards);
  std::vector<spec::ShardProfile> kept, own;
  std::vector<data::ProfiledShard> own_rows;
  for (int32_t i = 0; i < shards; ++i) {
    CHECK_FALSE(second.profiled[static_cast<size_t>(i)].has_rows);
    kept.push_back(second.profiled[static_cast<size_t>(i)].profile);
    own_rows.push_back(
        *data::ProfileShard(*data::MakeShardReader({*input.files, *input.plan, other}), i));
    own.push_back(own_rows.back().profile);
  }
  const spec::TableProfile merged = *data::MergeShardProfiles(*input.plan, other, kept);
  const spec::TableProfile expected = *data::MergeShardProfiles(*input.plan, other, own);
  CHECK(merged.data_fingerprint == expected.data_fingerprint);
  CHECK(merged.preprocessing == expected.preprocessing);
  const data::RowRanges ranges = {plan::Range{0, merged.train_rows}, plan::Range{}, plan::Range{}};
  const auto loader =
      *data::RowLoader::Make({*input.files, *second.plan, other}, merged, ranges, {});
  for (const int32_t shard : loader->shards()) {
    REQUIRE(second.shards.TakeOver(*input.files, shard).ok());
    REQUIRE(loader->Load(shard, &second.shards.Kept(shard)->rows).ok());
  }
  const auto store =
      *data::LoadRows({*input.files, *input.plan, other}, expected, ranges, own_rows, {});
  CHECK(BytesOf(*loader->Finish(), merged.train_rows) == BytesOf(*store, merged.train_rows));
}

TEST_CASE("shards are not reused if rows, sets or statistics differ") {
  const Input input;
  ShardCache cache = Cache();
  Job first(cache, input);
  REQUIRE(first.Profile().ok());
  const auto taken = [&](const spec::JobSpec& spec, std::shared_ptr<const spec::InputPlan> plan) {
    Job job(cache, input, spec, std::move(plan));
    REQUIRE(job.Profile().ok());
    return job.shards.taken();
  };
  for (int what = 0; what < 7; ++what) {
    spec::JobSpec spec = input.spec;
    spec::InputPlan plan = *input.plan;
    if (what == 0) spec.data.validation.fold = 1;
    if (what == 1) spec.train.seed = 2;
    if (what == 2) spec.model.precision = spec::Precision::kFloat64;
    if (what == 3) spec.data.bad_rows.skip = true;
    if (what == 4) spec.data.features.scale.kind = spec::ScaleKind::kRobust;
    if (what == 5) plan.schema.features = {2};
    if (what == 6) plan.shards.pop_back();
    INFO(what);
    CHECK(taken(spec, std::make_shared<const spec::InputPlan>(plan)) == 0);
    CHECK(taken(input.spec, input.Listed()) > 0);  // the cache keeps both
  }
}

TEST_CASE("a changed file is read again, or fails a running job") {
  const Input input;
  ShardCache cache = Cache();
  {
    Job first(cache, input);
    REQUIRE(first.Profile().ok());
  }
  const auto now = fs::last_write_time(input.path);
  fs::last_write_time(input.path, now + std::chrono::seconds(5));
  {
    Job stale(cache, input);  // listed before the change
    CHECK(stale.Profile().code() == StatusCode::kDataLoss);
    CHECK(stale.shards.Kept(0));
    CHECK(stale.shards.TakeOver(*input.files, 0).code() == StatusCode::kDataLoss);
  }
  Job second(cache, input, input.spec, input.Listed());
  REQUIRE(second.Profile().ok());
  CHECK(second.shards.taken() == 0);
}

// Files that the job's user can open but not read.
class Unreadable final : public storage::PassingFiles {
 public:
  using storage::PassingFiles::PassingFiles;
  Result<std::unique_ptr<storage::ReadableFile>> Open(const std::string& path) const override {
    ESPALIER_ASSIGN_OR_RETURN(auto file, storage::PassingFiles::Open(path));
    return std::unique_ptr<storage::ReadableFile>(std::make_unique<File>(std::move(file)));
  }

 private:
  class File final : public storage::ReadableFile {
   public:
    explicit File(std::unique_ptr<storage::ReadableFile> file) : file_(std::move(file)) {}
    const storage::FileInfo& info() const override { return file_->info(); }
    Result<size_t> ReadAt(int64_t, std::span<char>) const override {
      return PermissionDenied("it is not yours");
    }

   private:
    const std::unique_ptr<storage::ReadableFile> file_;
  };
};

TEST_CASE("only a job that can read the file reuses its rows") {
  const Input input;
  ShardCache cache = Cache();
  Job first(cache, input);
  REQUIRE(first.Profile().ok());
  const Unreadable files(*input.files);
  Job second(cache, input);
  CHECK(second.shards.Profile(files, 0).status().code() == StatusCode::kPermissionDenied);
  CHECK(second.shards.TakeOver(files, 1).code() == StatusCode::kPermissionDenied);
  CHECK(second.shards.Profile(*input.files, 0).ok());
}

TEST_CASE("unused shards expire, and earlier if room is needed") {
  const Input input, other("other.csv", 7);
  ShardCache cache = Cache();
  {
    Job first(cache, input);
    REQUIRE(first.Profile().ok());
    now_us = 1000;
    cache.Expire();
    CHECK(cache.bytes() > 0);  // the job still uses it
    now_us = 1050;
  }
  cache.Expire();
  CHECK(cache.bytes() > 0);
  now_us = 1200;
  cache.Expire();
  CHECK(cache.bytes() == 0);
  {
    Job again(cache, input);
    REQUIRE(again.Profile().ok());
    CHECK(again.shards.taken() == 0);
    const int64_t of_input = cache.bytes();
    Job beside(cache, other);
    REQUIRE(beside.Profile().ok());
    CHECK(cache.bytes() > of_input);  // jobs use both inputs
  }
  Job third(cache, other);
  REQUIRE(third.Profile().ok());
  CHECK(third.shards.taken() > 0);
  const auto held = third.shards.Kept(0);
  REQUIRE(held);
  cache.Clear();
  CHECK(cache.bytes() == 0);
  CHECK_FALSE(third.shards.Kept(0));
  CHECK(held->rows.sets[0].rows > 0);
  Job fourth(cache, other);
  REQUIRE(fourth.Profile().ok());
  CHECK(fourth.shards.taken() == 0);
}

TEST_CASE("shards that do not fit in the cache stay with the job") {
  const Input input;
  ShardCache all = Cache();
  Job whole(all, input);
  REQUIRE(whole.Profile().ok());
  ShardCache half = Cache(all.bytes() / 2);
  Job first(half, input);
  REQUIRE(first.Profile().ok());
  CHECK(half.bytes() <= all.bytes() / 2);
  int64_t own = 0, rows = 0;
  for (const data::ProfiledShard& shard : first.profiled) {
    own += shard.has_rows;
    for (const data::DecodedRows& set : shard.rows.sets) rows += set.rows;
    CHECK(shard.has_rows != (first.shards.Kept(shard.profile.shard) != nullptr));
  }
  CHECK(own > 0);
  CHECK(rows > 0);
  Job second(half, input);
  REQUIRE(second.Profile().ok());
  CHECK(second.shards.taken() == static_cast<int64_t>(input.plan->shards.size()) - own);
}

TEST_CASE("a shard of another member is kept if it fits") {
  const Input input;
  ShardCache cache = Cache();
  Job first(cache, input);
  REQUIRE(first.Profile().ok());
  std::vector<spec::ShardProfile> profiles;
  for (const data::ProfiledShard& shard : first.profiled) profiles.push_back(shard.profile);
  const spec::TableProfile profile = *data::MergeShardProfiles(*input.plan, input.spec, profiles);
  const data::RowRanges ranges = {plan::Range{0, profile.train_rows}, plan::Range{}, plan::Range{}};
  CHECK(first.shards.FitsBeside(profile, ranges, 2 * kMany));
  CHECK_FALSE(first.shards.FitsBeside(profile, ranges, 1 << 20));
  CHECK(first.shards.kept_bytes_max() == kMany);
  // For sparse rows, only the nonzeros of the member's own shards count.
  spec::TableProfile sparse = profile;
  sparse.sparse = true;
  for (spec::ShardProfile& shard : sparse.shards) shard.nonzeros = 1 << 26;
  const data::RowRanges few = {plan::Range{0, 1}, plan::Range{}, plan::Range{}};
  CHECK(data::ShardsOf(sparse, few) == std::vector<int32_t>{0});
  CHECK(first.shards.FitsBeside(sparse, few, kMany));
  CHECK_FALSE(first.shards.FitsBeside(sparse, ranges, kMany));
  spec::JobSpec fold = input.spec;
  fold.data.validation.fold = 1;
  Job loads(cache, input, fold, input.plan);
  CHECK(loads.shards.FitsBeside(profile, ranges, 2 * kMany));
  const auto taken = loads.shards.Take(*input.files, 2);
  REQUIRE(taken.ok());
  REQUIRE(*taken);
  CHECK((*taken)->rows.checksum == profiles[2].checksum);
  CHECK(loads.shards.Kept(2) == *taken);
  Job next(cache, input, fold, input.plan);
  REQUIRE(next.Profile().ok());
  CHECK(next.shards.taken() == 1);
  CHECK_FALSE(next.shards.FitsBeside(profile, ranges, 1 << 20));
  CHECK_FALSE(*next.shards.Take(*input.files, 1));
  next.shards.GiveUp();
  CHECK(cache.bytes() == 0);
}

TEST_CASE("a job without a cache neither takes nor keeps shards") {
  const Input input;
  JobShards shards(nullptr, nullptr, input.spec, input.plan, Room());
  const auto profiled = shards.Profile(*input.files, 0);
  REQUIRE(profiled.ok());
  CHECK(profiled->has_rows);
  CHECK_FALSE(shards.keeps());
  CHECK_FALSE(shards.Kept(0));
  CHECK_FALSE(*shards.Take(*input.files, 0));
  CHECK(shards.FitsBeside({}, {}, 0));
  CHECK(shards.kept_bytes() == 0);
  CHECK(shards.kept_bytes_max() == 0);
}

}  // namespace
}  // namespace espalier::worker
