// Memory of CoordinatorCore for shard profiles until they are merged.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "src/base/random.h"
#include "src/cluster/coordinator_core.h"
#include "src/cluster/profiling_shards.h"

namespace espalier::cluster {
namespace {

constexpr int32_t kShards = 6, kFeatures = 16;

// Returns the sample of a shard with the maximum number of rows.
spec::RowSample SampleOf(int32_t shard) {
  spec::RowSample sample;
  for (int64_t i = 0; i < spec::SampledRowsMax(kFeatures); ++i) {
    sample.keys.push_back(Mix64(static_cast<uint64_t>(shard * 100'000 + i)));
  }
  std::sort(sample.keys.begin(), sample.keys.end());
  for (const uint64_t key : sample.keys) {
    for (int32_t f = 0; f < kFeatures; ++f) {
      sample.values.push_back(static_cast<double>(key % 1000) + f);
    }
  }
  return sample;
}

// A coordinator with one worker that profiles the shards of job 1.
class Profiling {
 public:
  explicit Profiling(int64_t profile_bytes_max) : core_(Options(profile_bytes_max)) {
    Hello hello;
    hello.version = kVersion;
    hello.arithmetic_id = "a";
    hello.session = "s";
    hello.name = "w";
    hello.address = "w:1";
    core_.Step(SessionOpened{{1}, "w"}, 1);
    core_.Step(WorkerMessage{{1}, hello}, 1);
    auto input = std::make_shared<spec::InputPlan>();
    for (int64_t i = 0; i < kShards; ++i) input->shards.push_back({0, i * 10, (i + 1) * 10});
    for (int32_t i = 0; i < kFeatures; ++i) input->schema.features.push_back(i);
    Submission submission;
    submission.client_request_id = "r";
    submission.output = "/out";
    submission.input = input;
    core_.Step(Submit{{1}, submission}, 1);
  }

  static spec::ShardProfile Shard(int32_t shard) {
    spec::ShardProfile s;
    s.shard = shard;
    s.train_rows = 10'000;
    s.features.resize(kFeatures);
    return s;
  }

  CoordinatorActions Tell(const spec::ShardProfile& s) {
    const auto shard = std::make_shared<const spec::ShardResult>(s);
    return core_.Step(WorkerMessage{{1}, ProfilePart{{1}, {1}, {shard}}}, 1);
  }

  Status error() const { return core_.Job({1})->error; }

 private:
  static CoordinatorCoreOptions Options(int64_t profile_bytes_max) {
    CoordinatorCoreOptions options;
    options.incarnation = {1};
    options.profile_bytes_max = profile_bytes_max;
    return options;
  }

  CoordinatorCore core_;
};

const spec::ShardProfile& ProfileOf(const ShardResults& results, int32_t shard) {
  return std::get<spec::ShardProfile>(*results[static_cast<size_t>(shard)]);
}

// Returns the shards that the merge gets after they are reported in order or backwards.
ShardResults Merged(Profiling* profiling, bool backwards,
                    const std::function<spec::ShardProfile(int32_t shard)>& find) {
  CoordinatorActions actions;
  for (int32_t i = 0; i < kShards; ++i) {
    actions = profiling->Tell(find(backwards ? kShards - 1 - i : i));
  }
  INFO(profiling->error().ToString());
  REQUIRE(actions.work.size() == 1);
  REQUIRE(actions.work[0].shards.size() == kShards);
  return actions.work[0].shards;
}

TEST_CASE("samples of shards in any order merge and are held once") {
  std::vector<spec::RowSample> merged;
  for (const bool backwards : {false, true}) {
    Profiling profiling(1'200'000);  // two samples of 0.5 MiB, not six
    const ShardResults shards = Merged(&profiling, backwards, [](int32_t shard) {
      spec::ShardProfile s = Profiling::Shard(shard);
      s.sample = SampleOf(shard);
      return s;
    });
    merged.push_back(ProfileOf(shards, 0).sample);
    for (int32_t i = 1; i < kShards; ++i) CHECK(ProfileOf(shards, i).sample.keys.empty());
  }
  std::vector<uint64_t> keys;
  for (int32_t i = 0; i < kShards; ++i) {
    for (const uint64_t key : SampleOf(i).keys) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  keys.resize(static_cast<size_t>(spec::SampledRowsMax(kFeatures)));
  for (const spec::RowSample& sample : merged) {
    CHECK(sample.keys == keys);
    CHECK(sample.values == merged[0].values);
    CHECK(sample.values[kFeatures * 5 + 3] == static_cast<double>(keys[5] % 1000) + 3);
  }
}

// Returns 1,000 values common to all shards and one of this shard. The other column has two values.
spec::ShardProfile Counted(int32_t shard) {
  spec::ShardProfile s = Profiling::Shard(shard);
  s.categories.resize(2);
  for (int i = 0; i < 1000; ++i) s.categories[0]["value " + std::to_string(i)] = 1 + shard;
  s.categories[0]["only in " + std::to_string(shard)] = 7;
  s.categories[1] = {{"a", 5}, {"", shard}};
  return s;
}

TEST_CASE("counts of categories in any order add up and are held once") {
  for (const bool backwards : {false, true}) {
    Profiling profiling(250'000);  // 1,000 values take 100 kB: two shards, not six
    const ShardResults shards = Merged(&profiling, backwards, Counted);
    const spec::CategoryCounts& all = ProfileOf(shards, 0).categories;
    REQUIRE(all.size() == 2);
    CHECK(all[0].size() == 1000 + kShards);
    CHECK(all[0].at("value 7") == 1 + 2 + 3 + 4 + 5 + 6);
    CHECK(all[0].at("only in 3") == 7);
    CHECK(all[1] == std::map<std::string, int64_t>{{"", 15}, {"a", 30}});
    for (int32_t i = 1; i < kShards; ++i) {  // as many columns as the merge expects
      CHECK(ProfileOf(shards, i).categories == spec::CategoryCounts(2));
    }
  }
}

TEST_CASE("a repeated shard and one of other columns do not count") {
  Profiling profiling(1 << 20);
  profiling.Tell(Counted(0));
  profiling.Tell(Counted(0));
  spec::ShardProfile other = Counted(1);
  other.categories.pop_back();
  profiling.Tell(other);
  CHECK_THAT(profiling.error().ToString(), Catch::Contains("profile of shard 1") &&
                                               Catch::Contains("values of 1 columns, others of 2"));
  Profiling again(1 << 20);
  again.Tell(Counted(0));
  const ShardResults shards = Merged(&again, false, Counted);
  CHECK(ProfileOf(shards, 0).categories[1].at("a") == 30);
}

TEST_CASE("too many category values for the coordinator are refused") {
  Profiling profiling(50'000);
  profiling.Tell(Counted(0));
  CHECK_THAT(profiling.error().ToString(), Catch::Contains("profile_bytes_max") &&
                                               Catch::Contains("raise it, or hash categories"));
}

}  // namespace
}  // namespace espalier::cluster
