// Robust scaling by the quartiles of a sample that depends only on the data.
#include "src/data/table/row_sample.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

void Robust(DataFixture* f) { f->job.data.features.scale.kind = spec::ScaleKind::kRobust; }

TEST_CASE("quartiles are NumPy's quartiles of the training rows") {
  DataFixture f;
  Robust(&f);
  f.job.data.validation.column = std::string("v");
  // numpy.percentile([1, 2, 6, 7, 20], [25, 50, 75]) = [2, 6, 7]. For [5, 5, 5, 5, 9] all are 5.
  f.Train(
      "a,b,c,v,y\n1,5,3,0,0\n2,5,3,0,1\n6,5,3,0,1\n20,9,3,0,0\n7,5,3,0,1\n1000,5,3,1,1\n"
      "-900,5,3,1,1\n");
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  const auto& features = profile->preprocessing.features;
  CHECK(features[0] == spec::FittedFeature{"a", 6, 1 / 5.0, 0});
  CHECK(features[1].shift == 5);  // equal quartiles: scaled by the deviation, 1.6
  CHECK(features[1].factor == Approx(1 / 1.6).epsilon(1e-15));
  CHECK(features[2] == spec::FittedFeature{"c", 3, 0, 0});  // a constant column
}

TEST_CASE("quartiles skip nulls and interpolate between values") {
  DataFixture f;
  Robust(&f);
  f.job.data.features.nulls.kind = spec::NullKind::kMean;
  f.Train("a,y\n1,0\n,1\n2,1\nNA,0\n3,0\n4,1\n");  // quartiles by NumPy: 1.75, 2.5, 3.25
  const spec::FittedFeature a = f.Profile()->preprocessing.features[0];
  CHECK(a == spec::FittedFeature{"a", 2.5, 1 / 1.5, 2.5});
}

TEST_CASE("robust scaling may be set by group and follows log1p") {
  DataFixture f;
  spec::FeatureGroup& group = f.job.data.features.groups.emplace_back();
  group.columns = {std::string("b")};
  group.scale = spec::Scale{spec::ScaleKind::kRobust};
  group.log1p = true;
  f.Train("a,b,y\n1,0,0\n2,1,1\n3,3,1\n4,7,0\n5,15,0\n");
  const auto features = f.Profile()->preprocessing.features;
  CHECK(features[0] == spec::FittedFeature{"a", 0, 1, 0});
  CHECK(features[1].shift == Approx(std::log(4)).epsilon(1e-15));
  CHECK(features[1].factor == Approx(1 / std::log(4)).epsilon(1e-15));
}

TEST_CASE("the sample of many rows is accurate and cut-independent") {
  DataFixture f;
  Robust(&f);
  std::mt19937 random(3);
  std::vector<double> values;
  std::string content = "a,b,y\n";
  for (int i = 0; i < 30'000; ++i) {
    values.push_back(std::floor(1000 * std::exp(static_cast<double>(random() % 4000) / 1000)) + i);
    content += std::to_string(values.back()) + "," + std::to_string(i % 97) + "," +
               std::to_string(i % 2) + "\n";
  }
  f.Train(content);
  f.job.data.shard_bytes = 1 << 20;
  const auto whole = f.Profile();
  REQUIRE(whole.ok());
  CHECK(f.shards[0].profile.sample.keys.size() == static_cast<size_t>(spec::kSampledRowsMost));
  for (const int64_t shard_bytes : {40'000, 7'777, 1024}) {
    f.job.data.shard_bytes = shard_bytes;
    const auto cut = f.Profile();
    REQUIRE(cut.ok());
    REQUIRE(cut->preprocessing.features.size() == 2);
    CHECK(cut->preprocessing.features[0].shift == whole->preprocessing.features[0].shift);
    CHECK(cut->preprocessing.features[0].factor == whole->preprocessing.features[0].factor);
    CHECK(cut->preprocessing.features[1] == whole->preprocessing.features[1]);
  }
  std::sort(values.begin(), values.end());
  const double median = whole->preprocessing.features[0].shift;
  const auto rank = std::lower_bound(values.begin(), values.end(), median) - values.begin();
  CHECK(std::fabs(static_cast<double>(rank) / 30'000 - 0.5) < 0.03);  // 4 standard errors
}

TEST_CASE("a shard's sample is bounded for any number of columns") {
  CHECK(spec::SampledRowsMax(0) == 0);
  CHECK(spec::SampledRowsMax(1) == spec::kSampledRowsMost);
  CHECK(spec::SampledRowsMax(40) == (64 << 10) / 40);
  for (const int64_t features : {64, 100, 1000, 4096}) {
    CHECK(spec::SampledRowsMax(features) == spec::kSampledRowsGood);
  }
  CHECK(spec::SampledRowsMax(8192) == 512);
  CHECK(spec::SampledRowsMax(1 << 20) == spec::kSampledRowsMin);
  // The bound is 4 Mi numbers, half of a message of 64 MiB. Statistics and the rest take the other
  // half.
  for (int64_t features = 1; features <= 32'768; ++features) {
    if (spec::SampledRowsMax(features) * features > 4 << 20) FAIL(features);
  }
  DataFixture f;
  f.Train("a,y\n1,0\n2,1\n");
  REQUIRE(f.Profile().ok());
  CHECK(f.shards[0].profile.sample.keys.empty());  // no column needs a sample
}

spec::RowSample SampleOfKeys(std::vector<uint64_t> keys, size_t width) {
  spec::RowSample sample;
  std::sort(keys.begin(), keys.end());
  for (const uint64_t key : keys) {
    for (size_t i = 0; i < width; ++i) sample.values.push_back(static_cast<double>(key + i));
  }
  sample.keys = std::move(keys);
  return sample;
}

TEST_CASE("pruned samples have the quartiles of all samples") {
  constexpr size_t kWidth = 100, kShards = 20;
  const std::vector<double> nulls(kWidth, std::numeric_limits<double>::quiet_NaN());
  std::mt19937_64 random(5);
  std::vector<spec::ShardProfile> all(kShards);
  for (spec::ShardProfile& shard : all) {
    std::vector<uint64_t> keys(spec::kSampledRowsGood / 2);
    for (uint64_t& key : keys) key = random() >> 20;
    shard.sample = SampleOfKeys(keys, kWidth);
  }
  const std::vector<std::vector<double>> expected = SampledValues(all, nulls);
  for (const bool backwards : {false, true}) {
    std::vector<spec::ShardProfile> pruned = all;
    SamplePruner pruner;
    size_t rows = 0;
    for (size_t i = 0; i < kShards; ++i) {
      spec::RowSample& sample = pruned[backwards ? kShards - 1 - i : i].sample;
      pruner.Prune(&sample);
      rows += sample.keys.size();
      CHECK(sample.values.size() == sample.keys.size() * kWidth);
    }
    CHECK(rows < spec::kSampledRowsGood * 4);  // of 10 times as many; 1 + ln(10) times is expected
    CHECK(SampledValues(pruned, nulls) == expected);
  }
}

TEST_CASE("a regression starts at the constant with the least loss") {
  DataFixture f;
  Robust(&f);
  f.job.model.task = spec::Task::kRegression;
  f.job.model.start_at_constant = true;
  f.job.model.target_scale = spec::TargetScale::kNone;
  f.job.data.weight = std::string("w");
  // The row of weight 0 is left out. Mean 22, median 3, numpy.percentile(y, 80) = 23.2.
  f.Train("a,w,y\n5,1,3\n1,1,100\n2,1,1\n9,1,2\n4,1,4\n7,0,1000\n");
  const auto start = [&](spec::Loss loss) {
    f.job.model.loss = loss;
    const auto profile = f.Profile();
    REQUIRE(profile.ok());
    CHECK(profile->preprocessing.features[0].shift == 4);  // median of the feature
    return profile->preprocessing.targets[0].start;
  };
  CHECK(start(spec::Loss::kMse) == 22);
  CHECK(start(spec::Loss::kPoisson) == std::log(22.0));
  CHECK(start(spec::Loss::kMae) == 3);
  CHECK(start(spec::Loss::kHuber) == 3);
  f.job.model.quantile = 0.8;
  CHECK(start(spec::Loss::kQuantile) == Approx(23.2).epsilon(1e-15));
  f.job.model.target_scale = spec::TargetScale::kStandard;
  CHECK(start(spec::Loss::kMae) == Approx((3 - 22) / std::sqrt(1522.0)).epsilon(1e-15));
}

TEST_CASE("pruning keeps all rows whose equal keys may be sampled") {
  SamplePruner pruner;
  for (int shard = 0; shard < 3; ++shard) {
    spec::RowSample sample = SampleOfKeys(std::vector<uint64_t>(spec::kSampledRowsMost, 7), 1);
    pruner.Prune(&sample);
    CHECK(sample.keys.size() == static_cast<size_t>(spec::kSampledRowsMost));
  }
  spec::RowSample larger = SampleOfKeys({8, 9}, 1), none;
  pruner.Prune(&larger);
  CHECK(larger.keys.empty());
  CHECK(larger.values.empty());
  pruner.Prune(&none);
  CHECK(none.keys.empty());
}

TEST_CASE("quartiles of wide tables are accurate") {
  constexpr int kColumns = 600, kRows = 3000;
  DataFixture f;
  Robust(&f);
  std::mt19937 random(11);
  std::string content = "y";
  for (int c = 0; c < kColumns; ++c) content += ",c" + std::to_string(c);
  for (int r = 0; r < kRows; ++r) {
    content += "\n" + std::to_string(r % 2);
    for (int c = 0; c < kColumns; ++c) content += "," + std::to_string(random() % 1000);
  }
  f.Train(content + "\n");
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  double squares = 0;
  for (const spec::FittedFeature& feature : profile->preprocessing.features) {
    const double off = feature.shift / 1000 - 0.5;
    squares += off * off;
  }
  CHECK(std::sqrt(squares / kColumns) < 0.025);  // 0.016 is expected; 128 rows would give 0.044
}

TEST_CASE("a smaller sample for scales changes the fingerprint") {
  const auto fingerprint = [](int columns, bool robust) {
    DataFixture f;
    if (robust) Robust(&f);
    std::string header = "y", row = "1";
    for (int c = 0; c < columns; ++c) header += ",c" + std::to_string(c), row += ",2";
    f.Train(header + "\n" + row + "\n0" + row.substr(1) + "\n");
    return f.Profile()->data_fingerprint;
  };
  CHECK(fingerprint(64, true) == fingerprint(64, false));
  CHECK(fingerprint(65, true) != fingerprint(65, false));
}

TEST_CASE("a profile whose sample does not fit the job is refused") {
  DataFixture f;
  Robust(&f);
  f.Train("a,b,y\n1,5,0\n2,6,1\n");
  REQUIRE(f.Profile().ok());
  spec::ShardProfile profile = f.shards[0].profile;
  profile.sample.values.pop_back();
  CHECK(MergeShardProfiles(f.plan, f.job, {profile}).status().code() == StatusCode::kInternal);
}

TEST_CASE("values whose difference overflows are an error") {
  DataFixture f;
  Robust(&f);
  f.job.model.precision = spec::Precision::kFloat64;
  f.Train("a,y\n-1.7e308,0\n-1.6e308,1\n1.6e308,1\n1.7e308,0\n");
  CHECK_THAT(f.Profile().status().message(), Catch::Contains("overflow"));
}

}  // namespace
}  // namespace espalier::data
