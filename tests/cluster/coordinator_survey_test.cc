// What CoordinatorCore holds of shards until they are merged.
#include <algorithm>
#include <catch2/catch.hpp>

#include "src/base/random.h"
#include "src/cluster/coordinator_core.h"
#include "src/cluster/survey_shards.h"

namespace espalier {
namespace {

constexpr int32_t kShards = 6, kFeatures = 16;

// A shard's sample: as many rows as one may have.
RowSample SampleOf(int32_t shard) {
  RowSample sample;
  for (int64_t i = 0; i < SampledRowsMax(kFeatures); ++i) {
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

TEST_CASE("samples of shards become that of all, whoever comes first, and are held once") {
  std::vector<RowSample> merged;
  for (const bool backwards : {false, true}) {
    CoordinatorCoreOptions options;
    options.incarnation = {1};
    options.survey_bytes_max = 1'200'000;  // two samples of 0.5 MiB, not six
    CoordinatorCore core(options);
    Hello hello;
    hello.version = kVersion;
    hello.arithmetic_id = "a";
    hello.session = "s";
    hello.name = "w";
    hello.address = "w:1";
    core.Step(SessionOpened{{1}, "w"}, 1);
    core.Step(WorkerMessage{{1}, hello}, 1);
    auto input = std::make_shared<InputPlan>();
    for (int64_t i = 0; i < kShards; ++i) input->shards.push_back({0, i * 10, (i + 1) * 10});
    for (int32_t i = 0; i < kFeatures; ++i) input->schema.features.push_back(i);
    Submission submission;
    submission.client_request_id = "r";
    submission.output = "/out";
    submission.input = input;
    core.Step(Submit{{1}, submission}, 1);
    CoordinatorActions actions;
    for (int32_t i = 0; i < kShards; ++i) {
      ShardSurvey s;
      s.shard = backwards ? kShards - 1 - i : i;
      s.train_rows = 10'000;
      s.features.resize(kFeatures);
      s.sample = SampleOf(s.shard);
      actions = core.Step(
          WorkerMessage{{1}, SurveyPart{{1}, {1}, {std::make_shared<const ShardSurvey>(s)}}}, 1);
    }
    INFO(core.Job({1})->error.ToString());
    REQUIRE(actions.work.size() == 1);
    const ShardSurveys& shards = actions.work[0].shards;
    REQUIRE(shards.size() == kShards);
    merged.push_back(shards[0]->sample);
    for (int32_t i = 1; i < kShards; ++i)
      CHECK(shards[static_cast<size_t>(i)]->sample.keys.empty());
  }
  std::vector<uint64_t> keys;
  for (int32_t i = 0; i < kShards; ++i) {
    for (const uint64_t key : SampleOf(i).keys) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  keys.resize(static_cast<size_t>(SampledRowsMax(kFeatures)));
  for (const RowSample& sample : merged) {
    CHECK(sample.keys == keys);
    CHECK(sample.values == merged[0].values);
    CHECK(sample.values[kFeatures * 5 + 3] == static_cast<double>(keys[5] % 1000) + 3);
  }
}

}  // namespace
}  // namespace espalier
