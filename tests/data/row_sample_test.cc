// Scaling by quartiles, of a sample that is a function of the data alone.
#include "src/data/row_sample.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "tests/data/fixture.h"

namespace espalier {
namespace {

void Robust(DataFixture* f) { f->job.data.features.scale.kind = ScaleKind::kRobust; }

TEST_CASE("quartiles are those of the training rows, as NumPy computes them") {
  DataFixture f;
  Robust(&f);
  f.job.data.validation.column = std::string("v");
  // numpy.percentile([1, 2, 6, 7, 20], [25, 50, 75]) = [2, 6, 7]; of [5, 5, 5, 5, 9] all are 5.
  f.Train(
      "a,b,c,v,y\n1,5,3,0,0\n2,5,3,0,1\n6,5,3,0,1\n20,9,3,0,0\n7,5,3,0,1\n1000,5,3,1,1\n"
      "-900,5,3,1,1\n");
  const auto survey = f.Survey();
  REQUIRE(survey.ok());
  const auto& features = survey->preprocessing.features;
  CHECK(features[0] == FittedFeature{"a", 6, 1 / 5.0, 0});
  CHECK(features[1].shift == 5);  // equal quartiles: the deviation, which is 1.6
  CHECK(features[1].factor == Approx(1 / 1.6).epsilon(1e-15));
  CHECK(features[2] == FittedFeature{"c", 3, 0, 0});  // constant
}

TEST_CASE("nulls have no part in quartiles, and quartiles between two values are interpolated") {
  DataFixture f;
  Robust(&f);
  f.job.data.features.nulls.kind = NullKind::kMean;
  f.Train("a,y\n1,0\n,1\n2,1\nNA,0\n3,0\n4,1\n");  // numpy: 1.75, 2.5, 3.25
  const FittedFeature a = f.Survey()->preprocessing.features[0];
  CHECK(a == FittedFeature{"a", 2.5, 1 / 1.5, 2.5});
}

TEST_CASE("groups choose it for themselves, and logarithms are taken first") {
  DataFixture f;
  FeatureGroup& group = f.job.data.features.groups.emplace_back();
  group.columns = {std::string("b")};
  group.scale = Scale{ScaleKind::kRobust};
  group.log1p = true;
  f.Train("a,b,y\n1,0,0\n2,1,1\n3,3,1\n4,7,0\n5,15,0\n");
  const auto features = f.Survey()->preprocessing.features;
  CHECK(features[0] == FittedFeature{"a", 0, 1, 0});
  CHECK(features[1].shift == Approx(std::log(4)).epsilon(1e-15));
  CHECK(features[1].factor == Approx(1 / std::log(4)).epsilon(1e-15));
}

TEST_CASE("of many rows a sample is taken, the same however shards are cut, and near the truth") {
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
  const auto whole = f.Survey();
  REQUIRE(whole.ok());
  CHECK(f.shards[0].survey.sample.keys.size() == static_cast<size_t>(kSampledRowsMost));
  for (const int64_t shard_bytes : {40'000, 7'777, 1024}) {
    f.job.data.shard_bytes = shard_bytes;
    const auto cut = f.Survey();
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

TEST_CASE("a shard's part of the sample is bounded, whatever the number of columns") {
  CHECK(SampledRowsMax(0) == 0);
  CHECK(SampledRowsMax(1) == kSampledRowsMost);
  CHECK(SampledRowsMax(100) == 655);
  CHECK(SampledRowsMax(1 << 20) == kSampledRowsMin);
  DataFixture f;
  f.Train("a,y\n1,0\n2,1\n");
  REQUIRE(f.Survey().ok());
  CHECK(f.shards[0].survey.sample.keys.empty());  // nobody needs one
}

TEST_CASE("a survey whose sample does not fit the job is refused") {
  DataFixture f;
  Robust(&f);
  f.Train("a,b,y\n1,5,0\n2,6,1\n");
  REQUIRE(f.Survey().ok());
  ShardSurvey survey = f.shards[0].survey;
  survey.sample.values.pop_back();
  CHECK(MergeShardSurveys(f.plan, f.job, {survey}).status().code() == StatusCode::kInternal);
}

TEST_CASE("values that are too far apart for their difference are an error") {
  DataFixture f;
  Robust(&f);
  f.job.model.precision = Precision::kFloat64;
  f.Train("a,y\n-1.7e308,0\n-1.6e308,1\n1.6e308,1\n1.7e308,0\n");
  CHECK_THAT(f.Survey().status().message(), Catch::Contains("overflow"));
}

}  // namespace
}  // namespace espalier
