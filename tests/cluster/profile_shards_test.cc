#include <catch2/catch.hpp>
#include <limits>

#include "src/base/random.h"
#include "src/cluster/profiling_shards.h"
#include "tests/testing/says.h"

namespace espalier::cluster {
namespace {

TEST_CASE("every shard has one reader, in contiguous runs") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::vector<spec::Shard> shards;
    const uint64_t count = Mix64(seed) % 40;
    for (uint64_t i = 0; i < count; ++i) {
      shards.push_back({0, 0, static_cast<int64_t>(Mix64(seed * 977 + i) % 100)});
    }
    const int members = 1 + static_cast<int>(Mix64(seed + 7) % 12);
    int32_t next = 0;
    for (const auto& run : AssignShards(shards, members)) {
      for (int32_t k : run) CHECK(k == next++);
    }
    CHECK(next == static_cast<int32_t>(count));
  }
}

TEST_CASE("readers get about the same number of bytes") {
  const std::vector<spec::Shard> shards = {{0, 0, 100}, {1, 0, 10}, {1, 10, 20}, {1, 20, 100}};
  CHECK(AssignShards(shards, 2) == std::vector<std::vector<int32_t>>{{0}, {1, 2, 3}});
  const std::vector<spec::Shard> empty(4, spec::Shard{0, 0, 0});
  CHECK(AssignShards(empty, 2) == std::vector<std::vector<int32_t>>{{0, 1}, {2, 3}});
}

TEST_CASE("shards on a worker's host are found by name and address") {
  using Names = std::vector<std::string>;
  CHECK(spec::HostNames("node1.example:77", "10.0.0.1:7701") ==
        Names{"node1.example", "node1", "10.0.0.1"});
  CHECK(spec::HostNames("a", "b.c:1") == Names{"a", "a", "b.c", "b"});
  spec::InputPlan input;
  input.shards = {{0, 0, 60}, {0, 60, 100}, {1, 0, 7}};
  CHECK(spec::HeldBy(input, {"a"}) == spec::HeldShards{});  // no locations known
  input.hosts = {{"a", "b"}, {"b"}, {}};
  CHECK(spec::HeldBy(input, {"a"}) == spec::HeldShards{1, 60});
  CHECK(spec::HeldBy(input, {"x", "b", "a"}) == spec::HeldShards{2, 100});
  CHECK(spec::HeldBy(input, {"c"}) == spec::HeldShards{});
}

TEST_CASE("impossible profiles of shards are refused") {
  spec::InputPlan input;
  input.schema.features = {0};
  input.schema.label = {1};
  spec::ShardProfile good;
  good.shard = 2;
  good.train_rows = 3;
  good.labels = {{"a", 2}, {"b", 1}};
  good.features = {{.count = 3, .mean = 1, .m2 = 2, .min = 0, .max = 2}};
  const auto check = [&](auto change) {
    spec::ShardProfile s = good;
    change(s);
    return CheckProfile(input, spec::JobKind::kTrain, {2},
                        {std::make_shared<const spec::ShardResult>(s)});
  };
  CHECK(check([](spec::ShardProfile&) {}).ok());
  CHECK_FALSE(check([](spec::ShardProfile& s) { s.shard = 1; }).ok());
  CHECK_FALSE(check([](spec::ShardProfile& s) { s.test_rows = -1; }).ok());
  CHECK_FALSE(check([](spec::ShardProfile& s) { s.labels["c"] = 1; }).ok());
  CHECK_FALSE(check([](spec::ShardProfile& s) {
                s.labels["c"] = std::numeric_limits<int64_t>::max();
              }).ok());
  CHECK_FALSE(check([](spec::ShardProfile& s) { s.evaluation_labels["a"] = 1; }).ok());
  CHECK_FALSE(check([](spec::ShardProfile& s) { s.features[0].count = 4; }).ok());
  CHECK_FALSE(check([](spec::ShardProfile& s) { s.features[0].m2 = -1; }).ok());
  CHECK_FALSE(check([](spec::ShardProfile& s) { s.features[0].min = 3; }).ok());
  // Values beyond about 1e154 overflow the moments. That is not the worker's fault.
  CHECK(check([](spec::ShardProfile& s) {
          s.features[0].mean = std::numeric_limits<double>::infinity();
          s.features[0].m2 = -std::numeric_limits<double>::infinity();
        }).ok());
  CHECK_FALSE(check([](spec::ShardProfile& s) { s.targets.resize(2); }).ok());
  CHECK_FALSE(check([](spec::ShardProfile& s) { s.skipped.resize(1, BadInput("x")); }).ok());
  CHECK_FALSE(
      check([](spec::ShardProfile& s) { s.storage = static_cast<spec::StorageType>(9); }).ok());
  CHECK(check([](spec::ShardProfile& s) { s.nonzeros = 3; }).ok());
  CHECK_THAT(check([](spec::ShardProfile& s) { s.nonzeros = 4; }).ToString(),
             Says("profile of shard 2 <- it counts 4 numbers ... of 3"));
  CHECK_FALSE(check([](spec::ShardProfile& s) {
                s.test_rows = int64_t{1} << 40;
                s.nonzeros = s.test_rows + 1;
              }).ok());
  CHECK_THAT(check([](spec::ShardProfile& s) {
               s.train_weight = std::numeric_limits<double>::quiet_NaN();
             }).ToString(),
             Says("profile of shard 2 <- its training weight ... out of range"));
  const auto shard = std::make_shared<const spec::ShardResult>(good);
  CHECK(CheckProfile(input, spec::JobKind::kTrain, {1, 2, 3}, {shard}).ok());
  CHECK(CheckProfile(input, spec::JobKind::kTrain, {1, 3}, {shard}).ToString() ==
        "it profiled shard 2, which it was not given");
}

TEST_CASE("a shard's profile takes memory by columns and bad rows") {
  spec::ShardProfile s;
  const int64_t empty = MemoryBytes(s);
  s.features.resize(1000);
  const int64_t columns = MemoryBytes(s) - empty;
  CHECK(columns == 1000 * static_cast<int64_t>(sizeof(spec::ColumnStats)));
  s.labels[std::string(500, 'a')] = 1;
  s.evaluation_labels["b"] = 1;
  s.skipped = {BadInput(std::string(700, 'x'))};
  CHECK(MemoryBytes(s) > empty + columns + 500 + 700);
}

TEST_CASE("a score must fit its kind of job and be plausible") {
  const spec::InputPlan input;
  const auto check = [&](spec::JobKind kind, auto change) {
    spec::ShardScore s{.rows = 3, .rejected = 1, .first_rejects = {BadInput("x")}};
    if (kind == spec::JobKind::kEvaluate) s.work = spec::EvaluatedShard{{1, 2}};
    change(s);
    return CheckProfile(input, kind, {0}, {std::make_shared<const spec::ShardResult>(s)});
  };
  const auto nothing = [](spec::ShardScore&) {};
  CHECK(check(spec::JobKind::kPredict, nothing).ok());
  CHECK(check(spec::JobKind::kEvaluate, nothing).ok());
  CHECK_THAT(check(spec::JobKind::kTrain, nothing).message(),
             Says("the result of shard 0 ... kind of job"));
  for (const spec::JobKind kind : {spec::JobKind::kPredict, spec::JobKind::kEvaluate}) {
    const auto profile = std::make_shared<const spec::ShardResult>(spec::ShardProfile());
    CHECK_FALSE(CheckProfile(input, kind, {0}, {profile}).ok());
    CHECK_FALSE(check(kind, [](spec::ShardScore& s) { s.rows = -1; }).ok());
    CHECK_FALSE(check(kind, [](spec::ShardScore& s) { s.rejected = 2; }).ok());
    CHECK_FALSE(check(kind, [](spec::ShardScore& s) { s.first_rejects = {Status()}; }).ok());
    CHECK(check(kind, [](spec::ShardScore& s) { s.unseen = {{"c", 4}}; }).ok());
    for (const int64_t rows : {-1, 0, 5}) {
      CHECK_FALSE(check(kind, [&](spec::ShardScore& s) { s.unseen = {{"c", rows}}; }).ok());
    }
  }
  const auto predicted = [&](spec::PredictedShard files) {
    return check(spec::JobKind::kPredict, [&](spec::ShardScore& s) { s.work = files; });
  };
  CHECK(predicted({.parts = 4, .reject_parts = 1}).ok());
  CHECK_FALSE(predicted({.parts = 5}).ok());
  CHECK_FALSE(predicted({.reject_parts = 2}).ok());
  CHECK_FALSE(predicted({.parts = -1}).ok());
  const auto evaluated = [&](std::vector<double> totals) {
    return check(spec::JobKind::kEvaluate,
                 [&](spec::ShardScore& s) { s.work = spec::EvaluatedShard{totals}; });
  };
  CHECK_FALSE(evaluated({}).ok());
  CHECK_FALSE(evaluated({1}).ok());
  const auto other = [](auto work) { return [work](spec::ShardScore& s) { s.work = work; }; };
  CHECK_THAT(check(spec::JobKind::kPredict, other(spec::EvaluatedShard{{1, 2}})).message(),
             Catch::Contains("kind of job"));
  CHECK_THAT(check(spec::JobKind::kEvaluate, other(spec::PredictedShard())).message(),
             Catch::Contains("kind of job"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double wrong : {nan, infinite, -infinite, -1.0, 1e300}) {
    CHECK_FALSE(evaluated({wrong, 2}).ok());
  }
  for (const double wrong : {nan, infinite, -infinite, -1.0}) {
    CHECK_FALSE(evaluated({1, wrong}).ok());
  }
  // A model may give predictions that are not finite. That is not the worker's fault.
  CHECK(evaluated({1, 2, nan}).ok());
  CHECK(evaluated({1, 1e308}).ok());
  const int64_t empty = MemoryBytes(spec::ShardScore());
  CHECK(MemoryBytes(spec::ShardScore{.work = spec::EvaluatedShard{std::vector<double>(1000)}}) >=
        empty + 8000);
}

TEST_CASE("a sample without values is refused") {
  spec::InputPlan input;
  input.schema.features = {0};
  spec::ShardProfile s;
  s.train_rows = 2;
  s.features.resize(1);
  s.sample.keys = {1, 2};
  CHECK(CheckProfile(input, spec::JobKind::kTrain, {0},
                     {std::make_shared<const spec::ShardResult>(s)})
            .ToString() == "profile of shard 0 <- its sample has 2 rows with 0 values");
}

TEST_CASE("evidence must be consistent and match the plan") {
  spec::InputPlan input;
  input.schema.names = {"a", "y"};
  input.schema.features = {0};
  spec::ShardProfile s;
  s.evidence = {
      {.column = 1, .rows = 3, .nulls = 1, .numbers = 1, .texts = {{{"x", 1}}, false, 1}}};
  s.failure = BadInput("the value is not a number");
  const auto check = [&] {
    return CheckProfile(input, spec::JobKind::kTrain, {0},
                        {std::make_shared<const spec::ShardResult>(s)})
        .ToString();
  };
  CHECK_THAT(check(), Catch::Contains("is not provisional"));
  input.provisional = true;
  CHECK(check() == "OK");  // unreadable, therefore without statistics
  s.evidence[0].truths = 2;
  CHECK_THAT(check(), Catch::Contains("its evidence is out of range"));
  s.evidence[0].truths = 0;
  s.evidence[0].texts.counts["y"] = 7;
  CHECK_THAT(check(), Catch::Contains("more labels than its 1"));
  s.evidence[0].column = 2;
  CHECK_THAT(check(), Catch::Contains("its evidence is out of range"));
}

TEST_CASE("statistics that do not fit are refused with the fix") {
  spec::InputPlan input;
  input.shards.resize(1000);
  input.schema.features.resize(999);
  input.schema.label = {0};
  CHECK(CheckProfileSize(input, 48'000'000).ok());
  const Status refused = CheckProfileSize(input, 47'999'999);
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(refused.message(), Says("data.shard_bytes: 1,000 shards of 1,000 columns ... 45.8 MiB "
                                     "... 45.8 MiB ... profile_bytes_max ... larger shards"));
}

TEST_CASE("a run of shards goes to the worker that holds most of it") {
  using Names = std::vector<std::vector<std::string>>;
  spec::InputPlan input;
  for (int i = 0; i < 6; ++i) input.shards.push_back({0, 100 * i, 100 * i + 100});
  const std::vector<std::vector<int32_t>> runs = {{0, 1}, {2, 3}, {4, 5}};
  const Names workers = {{"a", "10.0.0.1"}, {"b", "10.0.0.2"}, {"c", "10.0.0.3"}};
  CHECK(PlaceRuns(input, runs, workers) == std::vector<size_t>{0, 1, 2});  // no locations known
  input.hosts = {{"c", "a"}, {"c"}, {"10.0.0.1"}, {"x"}, {"y"}, {}};
  CHECK(PlaceRuns(input, runs, workers) == std::vector<size_t>{2, 0, 1});
  input.hosts = {{"b"}, {"b"}, {"b"}, {"b"}, {"b"}, {"b"}};  // one host holds all shards
  CHECK(PlaceRuns(input, runs, workers) == std::vector<size_t>{1, 0, 2});
  CHECK(PlaceRuns(input, {{}, {0}}, {{"a"}, {"b"}}) == std::vector<size_t>{0, 1});
}

}  // namespace
}  // namespace espalier::cluster
