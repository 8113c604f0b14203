// Texts of Parquet files mean what they mean in CSV.
#include "src/data/features/feature_decoder.h"
#include "tests/data/parquet_fixture.h"

namespace espalier::data {
namespace {

TEST_CASE("several labels are 0 and 1, booleans, or words for them") {
  ParquetFixture f;
  f.job.model.task = spec::Task::kMultilabel;
  f.job.data.label = {std::string("p"), std::string("q"), std::string("r")};
  const auto a = Json("a", arrow::int32(), "[1, 2, 3, 4]");
  const auto q = Json("q", arrow::boolean(), "[true, false, false, true]");
  const auto words = arrow::dictionary(arrow::int32(), arrow::utf8());
  const auto r = Json("r", words, R"(["no", "1", "no", "Yes"])");
  f.Write({a, Json("p", arrow::utf8(), R"(["0", "yes", "TRUE", " False"])"), q, r});
  CHECK(f.AllRows().targets == Doubles{0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1});
  f.Write({a, Json("p", arrow::utf8(), R"(["0", "yes", "maybe", "1"])"), q, r});
  CHECK(f.Error().message().starts_with("the label is not a number"));
  CHECK(f.Error().position()->row == 3);
}

TEST_CASE("a date is the same day as a number, however its column holds it, as text and as date") {
  const auto day = arrow::date32();
  for (const auto& column :
       {Json("d", arrow::int32(), "[20240229, 0]"), Json("d", arrow::int64(), "[20240229, 0]"),
        Json("d", arrow::float64(), "[20240229, 0]"),
        Json("d", arrow::utf8(), R"(["20240229", "0"])"),
        Json("d", arrow::utf8(), R"(["2024-02-29", "1970-01-01"])"),
        Json("d", day, "[19782, 0]")}) {
    ParquetFixture f;
    f.job.data.features.scale.kind = spec::ScaleKind::kNone;
    spec::FeatureGroup& group = f.job.data.features.groups.emplace_back();
    group.columns = {std::string("d")};
    group.type = spec::FeatureType::kDate;
    group.parts = {spec::DatePart::kEpoch, spec::DatePart::kYear, spec::DatePart::kMonth,
                   spec::DatePart::kDay};
    f.Write({column, Y(2)});
    CHECK(f.AllRows().inputs == Doubles{19782.0 * 86'400, 2024, 2, 29, 0, 1970, 1, 1});
  }
}

TEST_CASE("a whole number is hashed alike, however its column holds it") {
  const auto seventeen = static_cast<int32_t>(HashedCode("17", 1'000'000));
  for (const auto& column :
       {Json("c", arrow::int64(), "[17, 17]"), Json("c", arrow::float64(), "[17, 17]"),
        Json("c", arrow::utf8(), R"(["17", "17.0"])")}) {
    ParquetFixture f;
    spec::FeatureGroup& group = f.job.data.features.groups.emplace_back();
    group.columns = {std::string("c")};
    group.type = spec::FeatureType::kCategorical;
    group.hash = 1'000'000;
    f.Write({column, Y(2)});
    CHECK(f.AllRows().codes == std::vector<int32_t>{seventeen, seventeen});
  }
}

}  // namespace
}  // namespace espalier::data
