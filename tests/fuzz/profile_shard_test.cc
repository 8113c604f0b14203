// Reports of a hostile member about its shards. The merge of all reports that the coordinator
// accepts ends with a result or an error.
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "src/cluster/profiling_shards.h"
#include "tests/data/fixture.h"
#include "tests/testing/scale.h"

namespace espalier {
namespace {

using Random = std::mt19937_64;

int64_t Count(Random& random) {
  constexpr int64_t kCounts[] = {0, 1, -1, 2, 5, 1000, int64_t{1} << 40, INT64_MAX, INT64_MIN};
  return kCounts[random() % std::size(kCounts)];
}

double Value(Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kValues[] = {0,         1,          -1,
                                1e308,     -1e308,     5e-324,
                                kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
  return kValues[random() % std::size(kValues)];
}

void Mutate(std::map<std::string, int64_t>* counts, Random& random) {
  switch (random() % 4) {
    case 0:
      return counts->clear();
    case 1:
      (*counts)[std::string(random() % 3, '\xff')] = Count(random);
      return;
    case 2:
      if (!counts->empty()) counts->erase(counts->begin());
      return;
    default:
      if (!counts->empty()) counts->begin()->second = Count(random);
  }
}

void Mutate(std::vector<spec::ColumnStats>* columns, Random& random) {
  if (random() % 8 == 0) return columns->resize(random() % 4);
  if (columns->empty()) return;
  spec::ColumnStats& c = (*columns)[random() % columns->size()];
  switch (random() % 6) {
    case 0:
      c.count = Count(random);
      return;
    case 1:
      c.nulls = Count(random);
      return;
    case 2:
      c.mean = Value(random);
      return;
    case 3:
      c.m2 = Value(random);
      return;
    case 4:
      c.min = Value(random);
      return;
    default:
      c.max = Value(random);
  }
}

void Mutate(spec::RowSample* sample, Random& random) {
  switch (random() % 4) {
    case 0:
      return sample->keys.resize(random() % 5);
    case 1:
      return sample->values.resize(random() % 9);
    case 2:
      if (!sample->values.empty()) sample->values[0] = Value(random);
      return;
    default:
      if (!sample->keys.empty()) sample->keys[0] = random();
  }
}

void Mutate(spec::ShardProfile* s, Random& random) {
  switch (random() % 15) {
    case 0:
      s->shard = static_cast<int32_t>(Count(random));
      return;
    case 1:
      s->train_rows = Count(random);
      return;
    case 2:
      s->validation_rows = Count(random);
      return;
    case 3:
      s->test_rows = Count(random);
      return;
    case 4:
      s->dropped_rows = Count(random);
      return;
    case 5:
      s->skipped_rows = Count(random);
      return;
    case 6:
      s->skipped.resize(random() % 4, Status::Ok());
      return;
    case 7:
      s->storage = static_cast<spec::StorageType>(random() % 4);
      return;
    case 8:
      return Mutate(&s->features, random);
    case 9:
      return Mutate(&s->targets, random);
    case 10:
      return Mutate(&s->labels, random);
    case 11:
      return Mutate(&s->evaluation_labels, random);
    case 12:
      if (random() % 4 == 0) return s->categories.resize(random() % 3);
      if (!s->categories.empty()) Mutate(&s->categories[0], random);
      return;
    case 13:
      return Mutate(&s->sample, random);
    default:
      s->train_weight = Value(random);
      s->nonzeros = Count(random);
  }
}

void SetUp(data::DataFixture* f, spec::Task task) {
  std::string csv = "a,b,c,y\n";
  for (int i = 0; i < 60; ++i) {
    csv += std::to_string(i) + "," + (i % 7 == 0 ? "" : std::to_string(i * i % 11)) + "," +
           "uvw"[i % 3] + "," + std::to_string(i % 2) + "\n";
  }
  f->Train(csv);
  f->job.data.shard_bytes = 200;
  f->job.data.validation.fraction = 0.2;
  f->job.data.features.nulls.kind = spec::NullKind::kMean;
  f->job.data.features.scale.kind = spec::ScaleKind::kRobust;
  f->job.model.task = task;
}

TEST_CASE("merging arbitrary member reports never crashes") {
  const spec::Task task = GENERATE(spec::Task::kClassification, spec::Task::kRegression);
  data::DataFixture f;
  SetUp(&f, task);
  const auto honest = f.Profile();
  INFO(honest.status().ToString());
  REQUIRE(honest.ok());
  REQUIRE(f.shards.size() > 2);
  int64_t taken = 0, merged = 0;
  for (uint64_t seed = 1; seed <= 2000 * FuzzScale(); ++seed) {
    Random random(seed);
    std::vector<spec::ShardProfile> profiles;
    for (const data::ProfiledShard& shard : f.shards) profiles.push_back(shard.profile);
    for (uint64_t i = 0; i <= random() % 4; ++i) {
      Mutate(&profiles[random() % profiles.size()], random);
    }
    std::vector<int32_t> all;
    cluster::ShardResults parts;
    for (size_t i = 0; i < profiles.size(); ++i) {
      all.push_back(static_cast<int32_t>(i));
      parts.push_back(std::make_shared<const spec::ShardResult>(profiles[i]));
    }
    if (!cluster::CheckProfile(f.plan, spec::JobKind::kTrain, all, parts).ok()) continue;
    ++taken;
    merged += data::MergeShardProfiles(f.plan, f.job, std::move(profiles), f.files.get()).ok();
  }
  CHECK(taken > 200);
  CHECK(merged > 20);
}

TEST_CASE("a report without labels is refused with its shard") {
  data::DataFixture f;
  SetUp(&f, spec::Task::kClassification);
  REQUIRE(f.Profile().ok());
  std::vector<spec::ShardProfile> profiles;
  for (const data::ProfiledShard& shard : f.shards) profiles.push_back(shard.profile);
  for (spec::ShardProfile& s : profiles) s.labels.clear();
  const auto merged = data::MergeShardProfiles(f.plan, f.job, std::move(profiles), f.files.get());
  CHECK(merged.status().message() == "the profile of shard 0 does not fit the schema");
}

}  // namespace
}  // namespace espalier
