// The merge of shard profiles from hostile workers.
#include <google/protobuf/stubs/logging.h>

#include "src/base/check.h"
#include "src/cluster/profiling_shards.h"
#include "src/data/profile/merge.h"
#include "src/rpc/convert.h"
#include "src/rpc/message_size.h"
#include "tests/fuzz_targets/input.h"
#include "tests/fuzz_targets/targets.h"

namespace espalier::fuzz {
namespace {

constexpr int kShards = 3;

spec::InputPlan Plan(bool rules) {
  spec::InputPlan plan;
  plan.files = {{"/data/a.csv", 150, 5}};
  for (int i = 0; i < kShards; ++i) plan.shards.push_back({0, i * 50, (i + 1) * 50});
  plan.schema = {{"a", "b", "c", "y"}, {0, 1, 2}, {3}};
  if (rules)
    plan.schema.rules = {
        {}, {spec::FeatureType::kCategorical, 0}, {spec::FeatureType::kNumeric, 1}};
  return plan;
}

// Returns a job with any task, feature scale and feature codes. Two bytes choose them.
spec::JobSpec Job(Input& input, bool rules) {
  const uint8_t choice = input.Byte(), more = input.Byte();
  spec::JobSpec job;
  job.data.train = {"/data/a.csv"};
  job.data.label = {std::string("y")};
  job.data.validation.fraction = choice % 2 * 0.2;
  job.data.bad_rows = {.skip = choice % 4 > 1, .limit = 3};
  job.model.task = static_cast<spec::Task>(choice / 4 % 4);
  job.data.features.scale.kind = static_cast<spec::ScaleKind>(choice / 16 % 5);
  job.data.features.nulls.kind = static_cast<spec::NullKind>(more % 4);
  if (rules) {
    spec::FeatureGroup codes;
    codes.type = spec::FeatureType::kCategorical;
    codes.min_count = 1 + more / 4 % 4;
    spec::FeatureGroup numbers;
    numbers.scale = spec::Scale{};
    numbers.scale->kind = static_cast<spec::ScaleKind>(more / 16 % 5);
    job.data.features.groups = {codes, numbers};
  }
  return job;
}

spec::ShardProfile Honest(int32_t shard, bool rules, bool robust) {
  spec::ShardProfile s;
  s.shard = shard;
  s.checksum = 1000 + shard;
  s.train_rows = 8, s.validation_rows = 2, s.train_weight = 8, s.nonzeros = 20;
  s.storage = spec::StorageType::kFloat32;
  for (double mean : {0.5, 3.0, -2.0}) s.features.push_back({7, 1, mean, 4.5, mean - 2, mean + 2});
  s.targets = {{8, 0, 0.5, 2, 0, 1}};
  s.labels = {{"0", 5}, {"1", 3}};
  s.evaluation_labels = {{"1", 2}};
  if (rules) s.categories = {{{"", 1}, {"u", 4}, {"v", 3}}};
  if (robust) {
    const auto k = static_cast<uint64_t>(shard);
    s.sample = {{1 + k, 10 + k, 20 + k}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
    s.sample.values.resize(rules ? 3 : 9);
  }
  return s;
}

}  // namespace

void RunMerge(std::string_view bytes) {
  google::protobuf::LogSilencer silent;
  Input input(bytes);
  const bool rules = input.Byte() % 2 != 0;
  const spec::JobSpec job = Job(input, rules);
  const spec::InputPlan plan = Plan(rules);
  std::vector<spec::ShardProfile> profiles;
  cluster::ShardResults found;
  std::vector<int32_t> given;
  spec::RowSample sample;
  spec::CategoryCounts categories;
  for (int32_t shard = 0; shard < kShards; ++shard) {
    v1::ShardProfile proto;
    const std::string_view text = input.Text();
    if (!proto.ParseFromArray(text.data(), static_cast<int>(text.size()))) return;
    const auto result = rpc::FromProto(proto);
    if (!result.ok() || !std::holds_alternative<spec::ShardProfile>(*result)) return;
    auto profile = std::get<spec::ShardProfile>(*result);
    profile.shard = shard;
    given.push_back(shard);
    found.push_back(std::make_shared<const spec::ShardResult>(profile));
    profiles.push_back(std::move(profile));
  }
  if (!cluster::CheckProfile(plan, spec::JobKind::kTrain, given, found).ok()) return;
  // CoordinatorCore adds up samples and categories in this way, and passes them in the first shard.
  for (spec::ShardProfile& s : profiles) {
    if (!categories.empty() && s.categories.size() != categories.size()) return;
    if (!spec::MergeSample(s.sample, &sample).ok()) return;
    (void)spec::AddCategories(s.categories, &categories);
    s.sample = {};
    for (auto& values : s.categories) values.clear();
  }
  profiles.front().sample = std::move(sample);
  profiles.front().categories = std::move(categories);
  const auto merged = data::MergeShardProfiles(plan, job, std::move(profiles));
  if (!merged.ok()) {
    ESPALIER_CHECK(!merged.status().message().empty(), "an error without words");
    return;
  }
  if (!rpc::CheckSendable(*merged).ok()) return;
  v1::TableProfile proto;
  rpc::ToProto(*merged, &proto);
  const auto back = rpc::FromProto(proto);
  ESPALIER_CHECK(back.ok(), "no worker can read the result: " + back.status().ToString());
}

std::vector<std::string> MergeSeeds() {
  std::vector<std::string> seeds;
  for (int rules = 0; rules < 2; ++rules) {
    for (int choice = 0; choice < 80; choice += 4) {
      const bool robust = choice / 16 == static_cast<int>(spec::ScaleKind::kRobust);
      std::string seed{static_cast<char>(rules), static_cast<char>(choice + 1),
                       static_cast<char>(1 + 16 * (choice / 16))};
      for (int32_t shard = 0; shard < kShards; ++shard) {
        v1::ShardProfile proto;
        rpc::ToProto(Honest(shard, rules != 0, robust), &proto);
        seed += Packed(proto.SerializeAsString());
      }
      seeds.push_back(seed);
    }
  }
  return seeds;
}

}  // namespace espalier::fuzz
