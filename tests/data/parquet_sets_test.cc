// Sets of Parquet rows: validation rows with the same share of each class, and the sample for
// quartiles.
#include <cmath>

#include "tests/data/parquet_fixture.h"

namespace espalier::data {
namespace {

ParquetField Numbers(const std::string& name, int rows, int modulus) {
  std::string json = "[";
  for (int i = 0; i < rows; ++i) {
    json += (i ? "," : "") + std::to_string(static_cast<int64_t>(i) * 7919 % modulus);
  }
  return Json(name, arrow::int64(), json + "]");
}

ParquetField Labels(int rows) {
  std::string json = "[";
  for (int i = 0; i < rows; ++i) {
    json += std::string(i ? "," : "") + (i % 40 == 7 ? "\"rare\"" : i % 3 == 0 ? "\"a\"" : "\"b\"");
  }
  return Json("y", arrow::utf8(), json + "]");
}

TEST_CASE("each class has its validation share for any shards") {
  ParquetFixture f;
  f.job.model.task = spec::Task::kClassification;
  f.job.data.validation = {.fraction = 0.25, .stratify = true, .column = {}, .files = {}};
  f.Write({Numbers("a", 4000, 4001), Labels(4000)}, {.group_rows = 1000});
  const auto whole = f.Profile();
  INFO(whole.status().ToString());
  REQUIRE(whole.ok());
  REQUIRE(f.shards.size() == 1);
  const auto counts = f.shards[0].profile.evaluation_labels;
  CHECK(std::fabs(static_cast<double>(counts.at("rare")) - 25) <= 4);  // one row per row group
  CHECK(std::fabs(static_cast<double>(whole->validation_rows) - 1000) <= 12);
  f.job.data.shard_bytes = 1024;
  const auto cut = f.Profile();
  REQUIRE(cut.ok());
  CHECK(f.shards.size() == 4);
  std::map<std::string, int64_t> sums;
  for (const ProfiledShard& shard : f.shards) {
    for (const auto& [label, rows] : shard.profile.evaluation_labels) {
      sums[label] += rows;
      CHECK(std::fabs(static_cast<double>(rows) -
                      0.25 * static_cast<double>(rows + shard.profile.labels.at(label))) <= 1);
    }
  }
  CHECK(sums == counts);
}

TEST_CASE("each stratum of a number has its share of validation rows") {
  ParquetFixture f;
  f.job.model.task = spec::Task::kRegression;
  f.job.data.validation = {.fraction = 0.25, .stratify = true, .strata = {100, 3900}};
  f.Write({Numbers("a", 4000, 4001), Y(4000)}, {.group_rows = 4000});
  REQUIRE(f.Profile().ok());
  const DecodedRows& drawn = f.shards[0].rows.sets[kValidationSet];
  std::vector<int64_t> counts(3);
  for (int64_t r = 0; r < drawn.rows; ++r) {
    const double target = drawn.targets.data()[r];
    ++counts[target < 100 ? 0U : target < 3900 ? 1U : 2U];
  }
  CHECK(counts == std::vector<int64_t>{25, 950, 25});
}

TEST_CASE("a label of validation rows only is reported with its row") {
  ParquetFixture f;
  f.job.model.task = spec::Task::kClassification;
  f.job.data.validation.column = std::string("v");
  const std::string path = f.Write({Json("a", arrow::int64(), "[1, 2, 3, 4, 5]"),
                                    Json("v", arrow::boolean(), "[false, true, false, true, true]"),
                                    Json("y", arrow::utf8(), R"(["a", "b", "b", " c ", "c"])")},
                                   {.group_rows = 5});
  const Status error = f.Profile().status();
  CHECK(error.message().find("the label 'c' is in 2 validation or test rows") == 0);
  REQUIRE(error.position().has_value());
  CHECK(*error.position() ==
        InputPosition{.file = path, .row = 4, .column = "y", .offset = {}, .text = " c "});
}

TEST_CASE("the first outputs of a regression are the medians of Parquet's targets") {
  ParquetFixture f;
  f.job.model.task = spec::Task::kRegression;
  f.job.model.loss = spec::Loss::kMae;
  f.job.model.target_scale = spec::TargetScale::kNone;
  f.job.model.start_at_constant = true;
  f.job.data.label = {std::string("y"), std::string("z")};
  f.Write({Json("a", arrow::float64(), "[1, 2, 6, 7, 20]"),
           Json("y", arrow::float64(), "[5, 1, 100, 2, 3]"),
           Json("z", arrow::int32(), "[-5, -1, -100, -2, -4]")});
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  CHECK(profile->preprocessing.targets[0].start == 3);
  CHECK(profile->preprocessing.targets[1].start == -4);
}

TEST_CASE("quartiles of Parquet do not depend on shards") {
  ParquetFixture f;
  f.job.data.features.scale.kind = spec::ScaleKind::kRobust;
  f.Write({Numbers("a", 12'000, 12'007), Numbers("b", 12'000, 5), Y(12'000)}, {.group_rows = 900});
  const auto whole = f.Profile();
  REQUIRE(whole.ok());
  f.job.data.shard_bytes = 1024;
  const auto cut = f.Profile();
  REQUIRE(cut.ok());
  CHECK(f.shards.size() == 14);
  CHECK(cut->preprocessing == whole->preprocessing);
  const spec::FittedFeature& a = whole->preprocessing.features[0];
  CHECK(a.shift == Approx(6000).epsilon(0.06));
  CHECK(1 / a.factor == Approx(6000).epsilon(0.06));
  f.Write({Json("a", arrow::float64(), "[1, 2, 6, 7, 20, null]"), Y(6)});
  f.job.data.features.nulls.kind = spec::NullKind::kMean;
  const auto few = f.Profile();
  REQUIRE(few.ok());
  CHECK(few->preprocessing.features[0].shift == 6);
  CHECK(few->preprocessing.features[0].factor == 1 / 5.0);
}

TEST_CASE("Parquet files of 0 bytes are skipped") {
  ParquetFixture f;
  const std::string part = ParquetText({Json("a", arrow::float64(), "[1, 2]"), Y(2)});
  f.job.data.train = {f.dir.Put("0.parquet", ""), f.dir.Put("1.parquet", part),
                      f.dir.Put("2.parquet", "")};
  CHECK(f.AllRows().inputs == Doubles{1, 2});
  CHECK(f.plan.shards.size() == 1);
}

TEST_CASE("a directory's value takes precedence in Parquet, too") {
  ParquetFixture f;
  for (const char* directory : {"t/k=7", "t/k=8"}) {
    REQUIRE(f.files->MakeDirectory(f.dir / directory).ok());
  }
  f.dir.Put("t/k=7/0.parquet", ParquetText({Json("k", arrow::int64(), "[1]"),
                                            Json("a", arrow::float64(), "[10]"), Y(1)}));
  f.dir.Put("t/k=8/0.parquet", ParquetText({Json("a", arrow::float64(), "[20]"), Y(1)}));
  f.job.data.train = {f.dir / "t"};
  CHECK(f.AllRows().inputs == Doubles{10, 7, 20, 8});
  f.job.data.features.columns = {spec::ColumnRange{0, 0}};
  CHECK(f.Error().message().find("specifies columns by position") != std::string::npos);
}

}  // namespace
}  // namespace espalier::data
