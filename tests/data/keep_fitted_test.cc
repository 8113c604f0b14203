// Jobs that keep the preprocessing of an earlier model.
#include "src/data/features/keep_fitted.h"

#include <catch2/catch.hpp>

#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

spec::Preprocessing Earlier() {
  spec::FittedFeature x{.name = "x", .shift = 10, .factor = 0.5, .null_value = 7};
  spec::FittedFeature city{.name = "city"};
  city.codes = 2;
  city.vocabulary = {"Oslo", "Rome"};
  spec::FittedFeature code{.name = "code"};
  code.codes = 3;
  code.embedding = 4;
  code.vocabulary = {"2", "10"};
  return {{x, city, code}, {{.name = "y", .shift = 3, .factor = 2, .range = {0, 5}}}, {}};
}

// Keeps a feature of the earlier model in a job with or without zero_rare.
spec::FittedFeature KeptBy(const spec::FittedFeature& fitted, bool zero_rare = false,
                           const spec::EarlierFit& earlier = {Earlier(), {}, true, true}) {
  spec::FeatureSpec features;
  features.nulls.kind = spec::NullKind::kMean;
  features.categories.zero_rare = zero_rare;
  spec::FeatureOptions options = spec::OptionsOf(features, {});
  options.zero_rare = zero_rare;
  const auto kept = Kept(earlier, fitted, options);
  REQUIRE(kept.ok());
  return *kept;
}

TEST_CASE("numbers keep the scale of the earlier model") {
  const spec::FittedFeature now{.name = "x", .shift = 1, .factor = 3, .null_indicator = true};
  CHECK(KeptBy(now) == Earlier().features[0]);
  const spec::FittedFeature other{.name = "z", .shift = 1};
  CHECK(KeptBy(other, false) == other);
  spec::FittedFeature category{.name = "x"};
  category.codes = 1;
  category.vocabulary = {"a"};
  CHECK(KeptBy(category, false) == category);
}

TEST_CASE("a value of nulls or a scale without meaning is not kept") {
  spec::EarlierFit earlier{Earlier(), {{.fills_nulls = false}, {}, {}}, true, true};
  const spec::FittedFeature now{.name = "x", .shift = 1, .factor = 3, .null_value = 4};
  CHECK(KeptBy(now, false, earlier).null_value == 4);
  earlier.readings[0].fills_nulls = true;
  CHECK(KeptBy(now, false, earlier).null_value == 7);
  earlier.preprocessing.features[0].factor = 0;  // a constant column
  CHECK(KeptBy(now, false, earlier).shift == 1);
  CHECK(KeptBy(now, false, earlier).factor == 3);
  earlier.readings[0].log1p = true;
  spec::FeatureSpec features;
  const auto refused = Kept(earlier, now, spec::OptionsOf(features, {}));
  CHECK(refused.status().code() == StatusCode::kInvalidArgument);
  CHECK_THAT(refused.status().message(), Catch::Contains("log1p in that model"));
  features.nulls.kind = spec::NullKind::kConstant;
  earlier.readings[0].log1p = false;
  CHECK(Kept(earlier, now, spec::OptionsOf(features, {}))->null_value == 4);
}

TEST_CASE("categories have the values of both, in vocabulary order") {
  spec::FittedFeature city{.name = "city"};
  city.codes = 2;
  city.vocabulary = {"Lima", "Rome"};
  city.embedding = 8;
  const spec::FittedFeature kept = KeptBy(city, false);
  CHECK(kept.vocabulary == std::vector<std::string>{"Lima", "Oslo", "Rome"});
  CHECK(kept.codes == 3);
  CHECK(kept.embedding == 0);
  city.codes = 3;  // rare values share a code
  CHECK(KeptBy(city, false).codes == 4);
  CHECK(KeptBy(city, true).codes == 3);
  spec::FittedFeature code{.name = "code"};
  code.codes = 2;
  code.vocabulary = {"3", "2.0"};
  const spec::FittedFeature codes = KeptBy(code, false);
  CHECK(codes.vocabulary == std::vector<std::string>{"2", "3", "10"});
  CHECK(codes.codes == 4);
  CHECK(codes.embedding == 4);
}

TEST_CASE("targets keep their scale, and their range grows") {
  const spec::FittedTarget now{.name = "price", .shift = 100, .factor = 1, .range = {-2, 4}};
  CHECK(Kept(Earlier(), now, true) ==
        spec::FittedTarget{.name = "price", .shift = 3, .factor = 2, .range = {-2, 5}});
  CHECK(Kept(Earlier(), now, false) == now);
}

TEST_CASE("a merge keeps absent classes and values, and adds new ones") {
  DataFixture f;
  const auto merged = [&f](const std::string& csv, const spec::EarlierFit* earlier) {
    f.Train(csv);
    f.job.data.features.scale.kind = spec::ScaleKind::kStandard;
    f.job.data.features.groups.resize(1);
    f.job.data.features.groups[0].columns = {std::string("c")};
    f.job.data.features.groups[0].type = spec::FeatureType::kCategorical;
    REQUIRE(f.Profile().ok());
    std::vector<spec::ShardProfile> profiles;
    for (const ProfiledShard& shard : f.shards) profiles.push_back(shard.profile);
    return MergeShardProfiles(f.plan, f.job, std::move(profiles), f.files.get(), earlier);
  };
  const auto first = merged("x,c,y\n1,p,2\n3,q,10\n5,p,2\n", nullptr);
  REQUIRE(first.ok());
  const spec::EarlierFit earlier{first->preprocessing, {}, true, true};
  const auto second = merged("x,c,y\n100,r,3\n200,q,10.0\n", &earlier);
  INFO(second.status().ToString());
  REQUIRE(second.ok());
  const spec::Preprocessing& p = second->preprocessing;
  CHECK(p.classes == std::vector<std::string>{"2", "3", "10"});
  CHECK(p.features[0] == first->preprocessing.features[0]);
  CHECK(p.features[1].vocabulary == std::vector<std::string>{"p", "q", "r"});
  f.job.train.class_weight.balanced = true;
  const auto weighted = merged("x,c,y\n1,p,2\n3,q,3\n3,q,3\n3,q,3\n", &earlier);
  REQUIRE(weighted.ok());
  CHECK(weighted->preprocessing.class_weights == std::vector<double>{2, 2.0 / 3, 1});
}

TEST_CASE("a target whose loss has no scale does not keep one") {
  DataFixture f;
  f.Train("x,y\n1,0\n2,4\n3,8\n");
  f.job.model.task = spec::Task::kRegression;
  REQUIRE(f.Profile().ok());
  std::vector<spec::ShardProfile> profiles;
  for (const ProfiledShard& shard : f.shards) profiles.push_back(shard.profile);
  const spec::EarlierFit earlier{
      {{}, {{.name = "y", .shift = 3, .factor = 2}}, {}}, {}, true, true};
  const auto shift = [&] {
    const auto merged = MergeShardProfiles(f.plan, f.job, profiles, f.files.get(), &earlier);
    INFO(merged.status().ToString());
    REQUIRE(merged.ok());
    return merged->preprocessing.targets[0].shift;
  };
  CHECK(shift() == 3);
  f.job.model.loss = spec::Loss::kPoisson;
  CHECK(shift() == 0);
  f.job.model.loss.reset();
  f.job.model.target_scale = spec::TargetScale::kNone;
  CHECK(shift() == 0);
}

}  // namespace
}  // namespace espalier::data
