#include "src/data/profile/profile_shard.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "src/data/features/column_stats.h"
#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

using Strings = std::vector<std::string>;

std::string ManyRows(int rows) {
  std::string content = "a,b,y\n";
  std::mt19937 random(5);
  for (int i = 0; i < rows; ++i) {
    content += std::to_string(i) + "." + std::to_string(random() % 1000) + "," +
               std::to_string(random() % 256) + "," + std::to_string(random() % 3) + "\n";
    if (random() % 20 == 0) content += "\n";
  }
  return content;
}

TEST_CASE("validation rows by fraction do not depend on the cut") {
  Gathered train, validation;
  for (const int64_t shard_bytes : {1 << 20, 64, 333, 5000}) {
    DataFixture f;
    f.job.data.shard_bytes = shard_bytes;
    f.job.data.validation.fraction = 0.25;
    f.Train(ManyRows(2000));
    const auto profile = f.Profile();
    REQUIRE(profile.ok());
    const auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
    REQUIRE(store.ok());
    const Gathered t = GatherAll(**store, spec::FileRole::kTrain);
    const Gathered v = GatherAll(**store, spec::FileRole::kValidation);
    if (train.inputs.empty()) train = t, validation = v;
    CHECK(t == train);
    CHECK(v == validation);
    CHECK(profile->train_rows + profile->validation_rows == 2000);
    CHECK(std::abs(profile->validation_rows - 500) < 80);
  }
  DataFixture f;
  f.job.train.seed = 2;
  f.job.data.validation.fraction = 0.25;
  f.Train(ManyRows(2000));
  const auto profile = f.Profile();
  const auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
  CHECK_FALSE(GatherAll(**store, spec::FileRole::kValidation) == validation);
}

TEST_CASE("each row is in one fold for any cut") {
  std::vector<double> all;
  std::vector<Gathered> folds(5);
  for (const int64_t shard_bytes : {1 << 20, 333}) {
    all.clear();
    for (int64_t fold = 0; fold < 5; ++fold) {
      DataFixture f;
      f.job.data.shard_bytes = shard_bytes;
      f.job.data.validation.fold = fold, f.job.data.validation.of = 5;
      f.Train(ManyRows(2000));
      const auto profile = f.Profile();
      REQUIRE(profile.ok());
      const auto store =
          LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
      REQUIRE(store.ok());
      const Gathered v = GatherAll(**store, spec::FileRole::kValidation);
      if (folds[fold].inputs.empty()) folds[fold] = v;
      CHECK(v == folds[fold]);
      CHECK(profile->train_rows + profile->validation_rows == 2000);
      CHECK(std::abs(profile->validation_rows - 400) < 80);
      for (size_t i = 0; i < v.inputs.size(); i += 2) all.push_back(v.inputs[i]);
    }
    std::sort(all.begin(), all.end());
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
    CHECK(all.size() == 2000);
  }
}

TEST_CASE("several labels of 0 and 1 are targets without scaling") {
  DataFixture f;
  f.job.model.task = spec::Task::kMultilabel;
  f.job.data.label = {std::string("p"), std::string("q")};
  f.Train("a,p,q\n1,0,1\n2,1,1.0\n3,0,0\n4,yes, False\n5,TRUE,no\n");
  CHECK(f.AllRows().targets == std::vector<double>{0, 1, 1, 1, 0, 0, 1, 0, 1, 0});
}

TEST_CASE("an autoencoder's targets are its features") {
  DataFixture f;
  f.job.model.task = spec::Task::kAutoencoder;
  f.job.data.label.clear();
  f.job.data.features.scale.kind = spec::ScaleKind::kMinMax;
  f.Train("a,b\n1,7\n2,7\n5,7\n");
  const auto profile = f.Profile();
  INFO(profile.status().ToString());
  REQUIRE(profile.ok());
  CHECK(profile->preprocessing.targets ==
        std::vector<spec::FittedTarget>{{"a", 1, 0.25}, {"b", 7, 1}});
  CHECK(f.AllRows().targets.empty());
}

TEST_CASE("validation rows are chosen by a column or by files") {
  DataFixture f;
  f.job.data.validation.column = std::string("v");
  f.Train("a,v,y\n1,true,0\n2,0,1\n3,False,0\n4,1,1\n5,TRUE,0\n");
  const auto by_column = f.Profile();
  REQUIRE(by_column.ok());
  CHECK(by_column->train_rows == 2);
  CHECK(by_column->validation_rows == 3);
  CHECK(f.plan.schema.features == std::vector<int32_t>{0});
  f.job.data.features.columns = {std::string("a")};
  f.job.data.validation = {.files = {f.dir.Put("v.csv", "a,v,y\n9,7,1\n")}};
  const auto by_files = f.Profile();
  CHECK(by_files->train_rows == 5);
  CHECK(by_files->validation_rows == 1);
}

TEST_CASE("classes sort as integers if all are, otherwise bytewise") {
  DataFixture f;
  f.Train("a,y\n1,10\n2,9\n3,-1\n4,9\n");
  CHECK(f.Profile()->preprocessing.classes == Strings{"-1", "9", "10"});
  f.Train("a,y\n1,10\n2,9\n3,09\n4,9\n");
  CHECK(f.Profile()->preprocessing.classes == Strings{"09", "10", "9"});
  f.Train("a,y\n1, dog\n2,cat\n3,\"dog\"\n4,Zebra\n5,Na\n");
  CHECK(f.Profile()->preprocessing.classes == Strings{"Na", "Zebra", "cat", "dog"});
}

TEST_CASE("floats such as 1.0 join integer classes if no class is text") {
  DataFixture f;
  f.job.data.validation.fraction = 0;
  f.Train("a,y\n1,0\n2,0.0\n3,1\n4,1.0\n5,-0.\n6,2.50\n7,1\r\r\n");
  auto profile = f.Profile();
  REQUIRE(profile.ok());
  CHECK(profile->preprocessing.classes == Strings{"0", "1", "2.50"});
  auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
  REQUIRE(store.ok());
  CHECK(GatherAll(**store, spec::FileRole::kTrain).labels ==
        std::vector<int32_t>{0, 0, 1, 1, 0, 2, 1});
  f.job.data.test = {f.dir.Put("test.csv", "a,y\n1,1.00\n")};
  CHECK(f.Profile().ok());
  f.Train("a,y\n1,0\n2,0.0\n3,x\n4,1.00\n");
  CHECK(f.Profile()->preprocessing.classes == Strings{"0", "0.0", "1.00", "x"});
  f.job.data.test.clear();
  f.Train("a,y\n1,0\n2,0.0\n");
  CHECK(f.Profile().status().message().find("all 2 training rows have the label '0'") == 0);
}

TEST_CASE("Hive's null is null in numbers and as a whole class") {
  DataFixture f;
  f.job.data.features.nulls = {spec::NullKind::kConstant, 9};
  f.Train("a,y\n\\N,dog\n2,\\Nc\n");
  auto profile = f.Profile();
  REQUIRE(profile.ok());
  CHECK(profile->preprocessing.classes == Strings{"\\Nc", "dog"});
  auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
  CHECK(GatherAll(**store, spec::FileRole::kTrain).inputs == std::vector<double>{9, 2});
  f.Train("a,y\n1,dog\n2,\\N\n");
  CHECK(f.Profile().status().position()->row == 3);
}

TEST_CASE("scales are fitted to the training rows") {
  DataFixture f;
  f.job.data.validation.column = std::string("v");
  f.Train("a,b,v,y\n1,5,0,0\n2,5,0,1\n6,5,0,1\n1000,7,1,1\n");
  const auto fitted = [&f](spec::ScaleKind kind) {
    f.job.data.features.scale = {kind, 4};
    return f.Profile()->preprocessing.features;
  };
  const auto standard = fitted(spec::ScaleKind::kStandard);
  CHECK(standard[0].name == "a");
  CHECK(standard[0].shift == 3.0);
  CHECK(standard[0].factor == Approx(1 / std::sqrt(14.0 / 3)).epsilon(1e-15));
  CHECK(standard[1].shift == 5.0);
  CHECK(standard[1].factor == 0.0);
  CHECK(fitted(spec::ScaleKind::kMinMax)[0] == spec::FittedFeature{"a", 1, 0.2, 0});
  CHECK(fitted(spec::ScaleKind::kMinMax)[1].factor == 0.0);
  CHECK(fitted(spec::ScaleKind::kDivide)[0] == spec::FittedFeature{"a", 0, 0.25, 0});
  CHECK(fitted(spec::ScaleKind::kNone)[0] == spec::FittedFeature{"a", 0, 1, 0});
}

TEST_CASE("a constant column of any value becomes 0") {
  DataFixture f;
  f.job.data.features.columns = {std::string("a")};
  f.job.data.features.scale.kind = spec::ScaleKind::kStandard;
  f.job.data.shard_bytes = 32;
  std::string content = "a,y\n";
  for (int i = 0; i < 50; ++i) content += "0.1," + std::to_string(i % 2) + "\n";
  f.Train(content);
  const auto profile = f.Profile();
  CHECK(profile->preprocessing.features[0].factor == 0.0);
  CHECK(profile->preprocessing.features[0].shift == 0.1);
}

TEST_CASE("nulls become the mean or a constant, or their row is dropped") {
  DataFixture f;
  f.Train("a,b,y\n1,1,0\n,2,1\nNA,3,0\n4,4,1\n");
  f.job.data.features.nulls.kind = spec::NullKind::kMean;
  const auto inputs = [&f] {
    const auto profile = f.Profile();
    REQUIRE(profile.ok());
    auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
    return GatherAll(**store, spec::FileRole::kTrain).inputs;
  };
  CHECK(inputs() == std::vector<double>{1, 1, 2.5, 2, 2.5, 3, 4, 4});
  f.job.data.features.nulls = {spec::NullKind::kConstant, -7};
  CHECK(inputs() == std::vector<double>{1, 1, -7, 2, -7, 3, 4, 4});
  f.job.data.features.nulls.kind = spec::NullKind::kDrop;
  CHECK(inputs() == std::vector<double>{1, 1, 4, 4});
  CHECK(f.shards[0].profile.dropped_rows == 2);
  f.job.data.features.nulls.kind = spec::NullKind::kMean;
  f.Train("a,b,y\n,1,0\n,2,1\n");
  CHECK(f.Profile().status().message().starts_with("the column has no value"));
}

TEST_CASE("a constant for nulls counts in the scale as the values do") {
  DataFixture f;
  f.Train("a,y\n1,0\n,1\n1,1\n,0\n");
  const auto fitted = [&f](spec::ScaleKind kind) {
    f.job.data.features.scale.kind = kind;
    return f.Profile()->preprocessing.features[0];
  };
  for (const int64_t shard_bytes : {1 << 20, 8}) {
    f.job.data.shard_bytes = shard_bytes;
    f.job.data.features.nulls = {spec::NullKind::kConstant, 0};
    CHECK(fitted(spec::ScaleKind::kStandard) == spec::FittedFeature{"a", 0.5, 2, 0});
    CHECK(fitted(spec::ScaleKind::kMinMax) == spec::FittedFeature{"a", 0, 1, 0});
    CHECK(fitted(spec::ScaleKind::kRobust) == spec::FittedFeature{"a", 0.5, 1, 0});
    f.job.data.features.nulls = {spec::NullKind::kMean};
    CHECK(fitted(spec::ScaleKind::kRobust) == spec::FittedFeature{"a", 1, 0, 1});
  }
  f.job.data.features.nulls = {spec::NullKind::kConstant, 3};
  spec::FeatureGroup logs;
  logs.columns = {std::string("a")};
  logs.log1p = true;
  f.job.data.features.groups = {logs};
  const spec::FittedFeature scaled = fitted(spec::ScaleKind::kMinMax);
  CHECK(scaled.shift == Approx(std::log(2)).epsilon(1e-15));
  CHECK(scaled.factor == Approx(1 / std::log(2)).epsilon(1e-14));
  CHECK(scaled.null_value == Approx(std::log(4)).epsilon(1e-15));
}

TEST_CASE("regression targets are standardized over the training rows") {
  DataFixture f;
  f.job.model.task = spec::Task::kRegression;
  f.job.data.label = {std::string("y"), std::string("z")};
  f.Train("a,y,z\n1,10,7\n2,20,7\n3,30,7\n");
  const auto targets = f.Profile()->preprocessing.targets;
  REQUIRE(targets.size() == 2);
  CHECK(targets[0].shift == 20.0);
  CHECK(targets[0].factor == Approx(1 / std::sqrt(200.0 / 3)).epsilon(1e-15));
  CHECK(targets[1] == spec::FittedTarget{"z", 7, 1});
  f.job.model.target_scale = spec::TargetScale::kNone;
  CHECK(f.Profile()->preprocessing.targets[0] == spec::FittedTarget{"y", 0, 1});
}

TEST_CASE("merged statistics equal those of all rows") {
  std::mt19937 random(11);
  std::vector<double> values;
  for (int i = 0; i < 999; ++i) values.push_back(1e6 + static_cast<double>(random() % 1000) / 7);
  values[17] = std::nan("");
  const spec::ColumnStats whole = StatsOf(spec::StorageType::kFloat64, values.data(), 999, 1)[0];
  spec::ColumnStats merged;
  for (int begin = 0; begin < 999; begin += 111) {
    merged = Merged(merged, StatsOf(spec::StorageType::kFloat64, values.data() + begin, 111, 1)[0]);
  }
  double mean = 0, m2 = 0;
  for (const double v : values) mean += std::isnan(v) ? 0 : v / 998;
  for (const double v : values) m2 += std::isnan(v) ? 0 : (v - mean) * (v - mean);
  CHECK(whole.nulls == 1);
  CHECK(merged.count == 998);
  CHECK(merged.nulls == 1);
  CHECK(merged.min == whole.min);
  CHECK(merged.max == whole.max);
  CHECK(whole.mean == Approx(mean).epsilon(1e-14));
  CHECK(merged.mean == Approx(mean).epsilon(1e-14));
  CHECK(whole.m2 == Approx(m2).epsilon(1e-10));
  CHECK(merged.m2 == Approx(m2).epsilon(1e-10));
}

TEST_CASE("bytes are summed as exactly as doubles") {
  std::mt19937 random(11);
  std::vector<uint8_t> bytes;
  std::vector<double> doubles;
  for (int i = 0; i < 70'000 * 3; ++i) {
    bytes.push_back(static_cast<uint8_t>(random()));
    doubles.push_back(bytes.back());
  }
  const auto a = StatsOf(spec::StorageType::kUint8, bytes.data(), 70'000, 3);
  const auto b = StatsOf(spec::StorageType::kFloat64, doubles.data(), 70'000, 3);
  for (int c = 0; c < 3; ++c) {
    CHECK(a[c].mean == b[c].mean);
    CHECK(a[c].m2 == Approx(b[c].m2).epsilon(1e-12));
    CHECK(a[c].min == 0);
    CHECK(a[c].max == 255);
  }
}

TEST_CASE("the data's fingerprint depends on content, not on path") {
  const auto fingerprint = [](const std::string& content) {
    DataFixture f;
    f.Train(content);
    return f.Profile()->data_fingerprint;
  };
  CHECK(fingerprint("a,y\n1,0\n2,1\n").size() == 64);
  CHECK(fingerprint("a,y\n1,0\n2,1\n") == fingerprint("a,y\n1,0\n2,1\n"));
  CHECK(fingerprint("a,y\n1,0\n2,1\n") != fingerprint("a,y\n1,0\n3,1\n"));
}

TEST_CASE("the storage type is the narrowest exact type") {
  const auto storage = [](const std::string& value) {
    DataFixture f;
    f.job.data.features.nulls.kind = spec::NullKind::kMean;
    f.Train("a,y\n1,0\n2,1\n" + value + ",1\n3,0\n");
    return f.Profile()->storage;
  };
  CHECK(storage("255") == spec::StorageType::kUint8);
  CHECK(storage("7.0") == spec::StorageType::kUint8);
  CHECK(storage("256") == spec::StorageType::kFloat32);
  CHECK(storage("-1") == spec::StorageType::kFloat32);
  CHECK(storage("0.5") == spec::StorageType::kFloat32);
  CHECK(storage("") == spec::StorageType::kFloat32);
  CHECK(storage("0.1") == spec::StorageType::kFloat64);
  CHECK(storage("16777217") == spec::StorageType::kFloat64);
}

}  // namespace
}  // namespace espalier::data
