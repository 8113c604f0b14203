// Tests of the profiling pass of a member over real files: its reports, and how soon it aborts.
#include "src/worker/profiling_run.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>

#include "src/config/job_yaml.h"
#include "src/data/input/listing.h"
#include "src/data/profile/make_shard_reader.h"
#include "src/data/profile/merge.h"
#include "src/worker/watched_files.h"

namespace espalier::worker {
namespace {

namespace fs = std::filesystem;

// A CSV file with `rows` rows, divided into shards of about `shard_bytes`.
struct Input {
  Input(int rows, int64_t shard_bytes) {
    const fs::path path = fs::path(std::getenv("TEST_TMPDIR")) / "profile.csv";
    std::ofstream out(path);
    out << "y,a,b\n";
    for (int i = 0; i < rows; ++i) out << i % 3 << "," << i << "," << 0.5 * i << "\n";
    out.close();
    spec = *config::ParseJob(
        "name: x\ndata: {train: " + path.string() + ", label: y}\noutput: /out\n", "x");
    files = storage::MakeFileSystem();
    plan = *data::PlanInput(*files, spec.data, shard_bytes);
    shards.resize(plan.shards.size());
    std::iota(shards.begin(), shards.end(), 0);
    for (const spec::Shard& s : plan.shards) bytes += s.end - s.begin;
  }
  ProfileOne Profile() const {
    return [this](const storage::FileSystem& watched, int32_t shard) -> Result<ShardOutcome> {
      ESPALIER_ASSIGN_OR_RETURN(
          auto profiled, data::ProfileShard(*data::MakeShardReader({watched, plan, spec}), shard));
      return ShardOutcome{std::move(profiled.profile), std::move(profiled.rows), true};
    };
  }

  spec::JobSpec spec;
  std::unique_ptr<storage::FileSystem> files;
  spec::InputPlan plan;
  std::vector<int32_t> shards;
  int64_t bytes = 0;
};

struct Told {
  cluster::ShardResults shards;
  std::vector<size_t> parts;
  std::vector<int64_t> bytes;
  int64_t now_us = 0;
  ProfilingRunHooks Hooks() {
    return {[this] { return ++now_us; },
            [this](cluster::ShardResults part) {
              parts.push_back(part.size());
              shards.insert(shards.end(), part.begin(), part.end());
            },
            [this](int64_t read) { bytes.push_back(read); }};
  }
};

const std::atomic<bool> kNever{false};

TEST_CASE("each shard is reported once, in order, in bounded parts") {
  const Input input(20'000, 4096);
  REQUIRE(input.shards.size() > 50);
  for (const int64_t part_bytes : {int64_t{1}, int64_t{1000}, int64_t{1} << 30}) {
    for (const int threads : {1, 3}) {
      Told told;
      const ProfilingRunOptions options{
          .threads = threads, .rows_bytes_max = 1 << 30, .part_bytes = part_bytes};
      const auto profiled = RunProfiling(*input.files, input.plan, input.shards, input.Profile(),
                                         kNever, options, told.Hooks());
      REQUIRE(profiled.ok());
      REQUIRE(told.shards.size() == input.shards.size());
      int64_t rows = 0;
      for (size_t i = 0; i < told.shards.size(); ++i) {
        CHECK(spec::ShardOf(*told.shards[i]) == static_cast<int32_t>(i));
        CHECK((*profiled)[i].profile.shard == static_cast<int32_t>(i));
        CHECK((*profiled)[i].has_rows);
        rows += std::get<spec::ShardProfile>(*told.shards[i]).train_rows;
      }
      CHECK(rows == 20'000);
      if (part_bytes == 1) CHECK(told.parts.size() == input.shards.size());
      if (part_bytes > 1000) CHECK(told.parts.size() == 1);
      if (part_bytes == 1000) CHECK(*std::max_element(told.parts.begin(), told.parts.end()) < 20);
    }
  }
}

TEST_CASE("pruned samples give the same scales") {
  Input input(20'000, 4096);
  input.spec.data.features.scale.kind = spec::ScaleKind::kRobust;
  Told told;
  REQUIRE(RunProfiling(*input.files, input.plan, input.shards, input.Profile(), kNever,
                       {.threads = 2}, told.Hooks())
              .ok());
  std::vector<spec::ShardProfile> pruned, whole;
  size_t rows = 0;
  for (const auto& shard : told.shards) {
    pruned.push_back(std::get<spec::ShardProfile>(*shard));
    rows += pruned.back().sample.keys.size();
    whole.push_back(
        data::ProfileShard(*data::MakeShardReader({*input.files, input.plan, input.spec}),
                           pruned.back().shard)
            ->profile);
  }
  CHECK(rows < 15'000);  // the final 4,096 of 20,000, and rows that were once among them
  const auto expected = data::MergeShardProfiles(input.plan, input.spec, std::move(whole), nullptr);
  const auto found = data::MergeShardProfiles(input.plan, input.spec, std::move(pruned), nullptr);
  REQUIRE(found.ok());
  CHECK(found->preprocessing.features == expected->preprocessing.features);
}

TEST_CASE("finished shards are reported at an interval") {
  const Input input(20'000, 4096);
  Told told;
  ProfilingRunHooks hooks = told.Hooks();
  hooks.now_us = [&told] { return told.now_us += 100'000; };
  REQUIRE(RunProfiling(*input.files, input.plan, input.shards, input.Profile(), kNever,
                       {.part_bytes = 1 << 30}, hooks)
              .ok());
  CHECK(told.parts.size() > 4);
  CHECK(told.parts.size() < input.shards.size());
  REQUIRE(told.shards.size() == input.shards.size());
  for (size_t i = 0; i < told.shards.size(); ++i) {
    CHECK(spec::ShardOf(*told.shards[i]) == static_cast<int32_t>(i));
  }
}

TEST_CASE("decoded rows are kept as far as they fit") {
  const Input input(20'000, 4096);
  Told told;
  const auto profiled = RunProfiling(*input.files, input.plan, input.shards, input.Profile(),
                                     kNever, {.rows_bytes_max = 20'000}, told.Hooks());
  REQUIRE(profiled.ok());
  int64_t kept = 0;
  for (const data::ProfiledShard& s : *profiled) kept += s.has_rows;
  CHECK(kept > 0);
  CHECK(kept < static_cast<int64_t>(profiled->size()));
}

TEST_CASE("one large shard reports progress while it is read") {
  const Input input(300'000, 1 << 30);
  REQUIRE(input.shards.size() == 1);
  REQUIRE(input.bytes > 4 << 20);
  Told told;
  REQUIRE(RunProfiling(*input.files, input.plan, input.shards, input.Profile(), kNever,
                       {.report_interval_us = 0}, told.Hooks())
              .ok());
  CHECK(told.bytes.size() > 5);
  CHECK(std::is_sorted(told.bytes.begin(), told.bytes.end()));
  CHECK(told.bytes.back() == input.bytes);
}

TEST_CASE("an abort ends the reading of a shard at its next block") {
  const Input input(300'000, 1 << 30);
  std::atomic<bool> aborted{false};
  Told told;
  ProfilingRunHooks hooks = told.Hooks();
  hooks.on_bytes_read = [&](int64_t bytes) {
    told.bytes.push_back(bytes);
    aborted = true;
  };
  const auto profiled = RunProfiling(*input.files, input.plan, input.shards, input.Profile(),
                                     aborted, {.report_interval_us = 0}, hooks);
  CHECK(profiled.status().code() == StatusCode::kCancelled);
  CHECK(told.shards.empty());
  REQUIRE(told.bytes.size() >= 2);  // the first block, then the rest of the aborted shard
  CHECK(told.bytes.front() < input.bytes / 2);
  CHECK(told.bytes.size() < 4);
}

TEST_CASE("the first bad shard is reported") {
  Input input(20'000, 4096);
  std::fstream file(input.plan.files[0].path, std::ios::in | std::ios::out);
  for (const int shard : {30, 10}) {
    file.seekp(input.plan.shards[shard].begin + 100);
    file << "xx";
  }
  file.close();
  input.plan.files[0].modified_ms = input.files->Stat(input.plan.files[0].path)->modified_ms;
  Told told;
  const Status bad = RunProfiling(*input.files, input.plan, input.shards, input.Profile(), kNever,
                                  {.threads = 2}, told.Hooks())
                         .status();
  CHECK(bad.code() == StatusCode::kBadInput);
  REQUIRE(bad.position().has_value());
  CHECK(*bad.position()->offset < input.plan.shards[11].end);
}

TEST_CASE("a watched file can be read until it is stopped") {
  const fs::path path = fs::path(std::getenv("TEST_TMPDIR")) / "watched";
  std::ofstream(path) << "0123456789";
  const auto disk = storage::MakeFileSystem();
  bool stop = false;
  std::vector<int64_t> reads;
  const WatchedFiles files(
      *disk, [&stop] { return stop ? Cancelled("enough") : Status::Ok(); },
      [&reads](int64_t bytes) { reads.push_back(bytes); });
  const auto file = files.Open(path.string());
  REQUIRE(file.ok());
  CHECK((*file)->info().length == 10);
  char out[8];
  CHECK(*(*file)->ReadAt(5, out) == 5);
  CHECK(std::string(out, 5) == "56789");
  CHECK(reads == std::vector<int64_t>{5});
  stop = true;
  CHECK((*file)->ReadAt(0, out).status().message() == "enough");
  CHECK(files.Open(path.string()).status().code() == StatusCode::kCancelled);
  // After the stop, the job also creates no files, because it would not remove them.
  const std::string late = path.string() + ".late";
  CHECK(files.MakeDirectory(late).code() == StatusCode::kCancelled);
  CHECK(files.WriteAtomically(late + "/part", "1").code() == StatusCode::kCancelled);
  CHECK(files.CreateExclusively(late, "1").code() == StatusCode::kCancelled);
  CHECK_FALSE(disk->Stat(late).ok());
  CHECK(files.Stat(path.string()).ok());
}

}  // namespace
}  // namespace espalier::worker
