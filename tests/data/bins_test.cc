#include "src/data/features/bins.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "src/data/features/feature_encoder.h"
#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

using Numbers = std::vector<double>;

// Expected values in this file are from NumPy, by quality_recipe.py.
const Numbers kColumn = {-4, -0.5, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,      0,
                         1,  1,    2, 3, 3, 5, 8, 13, 21, 34, 55, 89, 1000000};

TEST_CASE("bin edges equal NumPy's, heavy values first") {
  CHECK(BinEdges(kColumn, 6) == Numbers{-4, 0, 1, 3, 8, 34, 1e6});
  const Numbers few = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 5, 8};
  CHECK(BinEdges(few, 8) == Numbers{0, 1, 2, 3, 5, 8});
  CHECK(BinEdges(Numbers{7, 7}, 8) == Numbers{7});
}

TEST_CASE("bin edges ascend, include both ends and are at most bins + 1") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    Numbers x(1 + random() % 400);
    for (double& v : x) {  // some heavy values among others of any size
      const uint64_t draw = random();
      v = draw % 3 == 0 ? static_cast<double>(draw % 4) : static_cast<double>(draw >> 11) - 1e15;
      if (round % 7 == 0) v *= 1e292;
    }
    std::sort(x.begin(), x.end());
    const int64_t bins = 2 + static_cast<int64_t>(random() % 60);
    const Numbers edges = BinEdges(x, bins);
    CHECK(static_cast<int64_t>(edges.size()) <= bins + 1);
    CHECK(std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) == edges.end());
    CHECK(edges.front() == x.front());
    CHECK(edges.back() == x.back());
    double before = 0;
    for (const double v : x) {
      const double place = PlaceAmong(edges, v);
      CHECK(place >= before);
      CHECK(place <= static_cast<double>(edges.size() - 1));
      before = place;
    }
    for (size_t e = 0; edges.size() > 1 && e < edges.size(); ++e) {
      CHECK(PlaceAmong(edges, edges[e]) == static_cast<double>(e));
    }
  }
}

TEST_CASE("places among bins are the sums of NumPy's codes") {
  const Numbers edges = {-4, 0, 1, 3, 8, 34, 1e6};
  CHECK(PlaceAmong(edges, -10) == 0);
  CHECK(PlaceAmong(edges, -2) == 0.5);
  CHECK(PlaceAmong(edges, 0.5) == 1.5);
  CHECK(PlaceAmong(edges, 4) == Approx(3.2).epsilon(1e-15));
  CHECK(PlaceAmong(edges, 21) == 4.5);
  CHECK(PlaceAmong(edges, 60) == Approx(5 + 26.0 / 999966).epsilon(1e-15));
  CHECK(PlaceAmong(edges, 1e9) == 6);
  CHECK(PlaceAmong(Numbers{3}, 5) == 0);
  const double largest = std::numeric_limits<double>::max();
  CHECK(PlaceAmong(Numbers{-largest, largest}, 0) == 0.5);
}

TEST_CASE("the smooth clip equals NumPy's and holds at any size") {
  const double factor = 0.15384615384615385;
  CHECK(SmoothClip(-10 * factor) == Approx(-1.368949942788826).epsilon(1e-15));
  CHECK(SmoothClip(0.5 * factor) == Approx(0.07689780237765241).epsilon(1e-15));
  CHECK(SmoothClip(60 * factor) == Approx(2.853102207).epsilon(1e-8));
  CHECK(SmoothClip(1e300) == 3);
  CHECK(SmoothClip(-1e300) == -3);
}

// Writes a table of a label and a number with a heavy value and a null.
void MakeTable(DataFixture& f) {
  std::string csv = "a,y\n";
  for (const double v : kColumn) csv += std::to_string(v) + ",0\n";
  f.Train(csv + "-4,1\n");
  f.job.data.features.numbers.embedding = spec::NumberEmbedding::kPiecewiseLinear;
  f.job.data.features.numbers.bins = 6;
  f.job.data.features.scale.kind = spec::ScaleKind::kRobustSmoothClip;
}

TEST_CASE("profiling fits bins and a smooth clip, and rows get pairs") {
  DataFixture f;
  MakeTable(f);
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  const spec::FittedFeature& a = profile->preprocessing.features[0];
  CHECK(a.smooth_clip);
  CHECK(a.embedding == 8);
  CHECK(a.bin_edges.front() == -4);
  CHECK(a.bin_edges.back() == 1e6);
  CHECK(a.shift == 0);
  const FeatureEncoder encoder(profile->preprocessing);
  CHECK(encoder.dense() == 2);
  double out[2];
  for (const double v : kColumn) {
    encoder.Encode(spec::StorageType::kFloat64, &v, out, nullptr);
    CHECK(out[0] == SmoothClip(v * a.factor));
    CHECK(out[1] == PlaceAmong(a.bin_edges, v));
  }
}

TEST_CASE("label smoothing is at most the share of the rarest class") {
  DataFixture f;
  f.Train("a,y\n1,0\n2,0\n3,0\n4,1\n");
  f.job.model.label_smoothing = 0.1;
  f.job.model.cap_label_smoothing = true;
  CHECK(f.Profile()->preprocessing.label_smoothing == 0.1);
  f.job.model.label_smoothing = 0.4;
  CHECK(f.Profile()->preprocessing.label_smoothing == 0.25);
  f.job.model.cap_label_smoothing = false;
  CHECK_FALSE(f.Profile()->preprocessing.label_smoothing.has_value());
}

TEST_CASE("the range of targets is kept if predictions are clipped") {
  DataFixture f;
  f.Train("a,y\n1,-2.5\n2,7\n");
  f.job.model.task = spec::Task::kRegression;
  CHECK(f.Profile()->preprocessing.targets[0].range.empty());
  f.job.model.clip_predictions = true;
  CHECK(f.Profile()->preprocessing.targets[0].range == Numbers{-2.5, 7});
}

}  // namespace
}  // namespace espalier::data
