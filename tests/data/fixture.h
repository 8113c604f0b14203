// Shared parts of the tests of data/: small files, jobs over them, and the steps to a row store.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "src/data/input/listing.h"
#include "src/data/profile/make_shard_reader.h"
#include "src/data/profile/merge.h"
#include "src/data/profile/profile_shard.h"
#include "src/data/profile/row_store.h"
#include "tests/storage/temporary_directory.h"

namespace espalier::data {

// Rows of a set as the network gets them.
struct Gathered {
  std::vector<double> inputs, targets, weights;
  std::vector<int32_t> labels, codes;
  bool operator==(const Gathered&) const = default;
};

inline Gathered GatherAll(const RowStore& store, spec::FileRole set) {
  const plan::Range range = store.rows(set);
  std::vector<int64_t> rows;
  for (int64_t r = range.begin; r < range.end; ++r) rows.push_back(r);
  Gathered g;
  g.inputs.resize(rows.size() * store.features());
  g.targets.resize(rows.size() * store.targets());
  g.weights.resize(rows.size());
  g.labels.resize(rows.size(), -1);
  g.codes.resize(rows.size() * store.coded());
  store.Gather<double>(set, rows, g.inputs.data(), g.codes.data(), g.labels.data(),
                       g.targets.data(), g.weights.data());
  return g;
}

class DataFixture {
 public:
  DataFixture() {
    job.data.label = {std::string("y")};
    job.data.features.scale.kind = spec::ScaleKind::kNone;
    job.data.shard_bytes = 1 << 20;
    job.output.path = "out";
  }

  // Writes the job's only training file.
  std::string Train(const std::string& content, const std::string& name = "train.csv") {
    const std::string path = dir.Put(name, content);
    job.data.train = {path};
    return path;
  }

  Result<spec::InputPlan> Plan() const { return PlanInput(*files, job.data, job.data.shard_bytes); }

  // Lists the input, cuts it into shards and profiles all of them.
  Result<spec::TableProfile> Profile() {
    shards.clear();
    ESPALIER_ASSIGN_OR_RETURN(plan, Plan());
    std::vector<spec::ShardProfile> profiles;
    const auto reader = MakeShardReader({*files, plan, job});
    for (size_t i = 0; i < plan.shards.size(); ++i) {
      ESPALIER_ASSIGN_OR_RETURN(auto shard, ProfileShard(*reader, static_cast<int>(i)));
      // A provisional plan leaves the failure to JudgeTable, which this fixture does not call.
      ESPALIER_RETURN_IF_ERROR(shard.profile.failure);
      profiles.push_back(shard.profile);
      shards.push_back(std::move(shard));
    }
    return MergeShardProfiles(plan, job, std::move(profiles), files.get());
  }

  static RowRanges All(const spec::TableProfile& profile) {
    return {plan::Range{0, profile.train_rows}, plan::Range{0, profile.validation_rows},
            plan::Range{0, profile.test_rows}};
  }

  // Profiles and loads the table. Returns all training rows.
  Gathered AllRows() {
    const auto profile = Profile();
    INFO(profile.status().ToString());
    REQUIRE(profile.ok());
    const auto store = LoadRows({*files, plan, job}, *profile, All(*profile), shards, {});
    INFO(store.status().ToString());
    REQUIRE(store.ok());
    classes = profile->preprocessing.classes;
    return GatherAll(**store, spec::FileRole::kTrain);
  }

  storage::TemporaryDirectory dir;
  std::unique_ptr<storage::FileSystem> files = storage::MakeFileSystem();
  spec::JobSpec job;
  spec::InputPlan plan;
  std::vector<ProfiledShard> shards;
  std::vector<std::string> classes;  // classes of the last AllRows()
};

}  // namespace espalier::data
