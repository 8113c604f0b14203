// Parquet text that means the same as in CSV.
#include <arrow/extension/uuid.h>
#include <arrow/extension_type.h>

#include "src/data/features/feature_decoder.h"
#include "src/spec/inferred_text.h"
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

TEST_CASE("a date is the same day in any type of column") {
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

TEST_CASE("a time of day is one number in any type of column") {
  for (const auto& column :
       {Json("t", arrow::utf8(), R"(["13:45:10", "00:00:00"])"),
        Json("t", arrow::time32(arrow::TimeUnit::MILLI), "[49510000, 0]"),
        Json("t", arrow::time64(arrow::TimeUnit::MICRO), "[49510000000, 0]")}) {
    ParquetFixture f;
    f.job.data.features.scale.kind = spec::ScaleKind::kNone;
    spec::FeatureGroup& group = f.job.data.features.groups.emplace_back();
    group.columns = {std::string("t")};
    group.type = spec::FeatureType::kDate;
    group.date_format = "%H:%M:%S";
    group.parts = {spec::DatePart::kEpoch};
    f.Write({column, Y(2)});
    CHECK(f.AllRows().inputs == Doubles{49'510, 0});
  }
}

TEST_CASE("a whole number has one hash in any type of column") {
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

// Returns the vocabulary of a column.
std::vector<std::string> Vocabulary(const ParquetField& column,
                                    const ParquetOptions& options = {}) {
  ParquetFixture f;
  spec::FeatureGroup& group = f.job.data.features.groups.emplace_back();
  group.columns = {column.name};
  group.type = spec::FeatureType::kCategorical;
  f.Write({column, Y(static_cast<int>(column.values->length()))}, options);
  const auto profile = f.Profile();
  INFO(profile.status().ToString());
  REQUIRE(profile.ok());
  return profile->preprocessing.features[0].vocabulary;
}

TEST_CASE("a decimal is the category that its digits are in CSV") {
  CHECK(Vocabulary(Json("c", arrow::decimal128(12, 2), R"(["1.50", "2.00", "-0.25"])")) ==
        Strings{"-0.25", "1.5", "2"});
  CHECK(Vocabulary(Json("c", arrow::decimal128(38, 10), R"(["0.0000100000", "7.0000000000"])")) ==
        Strings{"0.00001", "7"});
  CHECK(Vocabulary(Json("c", arrow::decimal256(40, 0), R"(["12345678901234567890123456789"])")) ==
        Strings{"12345678901234567890123456789"});
}

TEST_CASE("UUIDs of 16 bytes are texts") {
  auto storage = Json("u", arrow::fixed_size_binary(16), R"(["0123456789abcdef", null])");
  const auto type = arrow::extension::uuid();
  const ParquetField column = {"u", arrow::ExtensionType::WrapArray(type, storage.values)};
  for (const bool schema : {true, false}) {
    CHECK(Vocabulary(column, {.arrow_schema = schema}) ==
          Strings{"", "30313233-3435-3637-3839-616263646566"});
    ParquetFixture f;
    f.Write({column, Json("a", arrow::int32(), "[1, 2]"), Y(2)}, {.arrow_schema = schema});
    CHECK(spec::InferredText(f.Plan()->schema) == "categorical: u; numeric: 1 other");
  }
}

TEST_CASE("INT96 time stamps before 1678 and after 2262 are exact") {
  const auto at =
      Json("t", arrow::timestamp(arrow::TimeUnit::MICRO),
           R"(["1500-01-01 00:00:00", "2024-02-29 23:59:58.5", "9999-12-31 00:00:00"])");
  for (const bool schema : {true, false}) {
    CHECK(Vocabulary(at, {.arrow_schema = schema, .int96 = true}) ==
          Strings{"1500-01-01 00:00:00", "2024-02-29 23:59:58.5", "9999-12-31 00:00:00"});
  }
}

TEST_CASE("null_values are null in each type of column") {
  ParquetFixture f;
  f.job.data.null_values = {{"-999", "unknown"}};
  f.job.data.features.nulls = {spec::NullKind::kConstant, 7};
  f.Write({Json("i", arrow::int32(), "[1, -999]"), Json("d", arrow::float64(), "[1.5, -999]"),
           Json("s", arrow::utf8(), R"(["2", "unknown"])"), Y(2)});
  CHECK(f.AllRows().inputs == Doubles{1, 1.5, 2, 7, 7, 7});
}

TEST_CASE("words for null are not labels; booleans have spellings") {
  ParquetFixture f;
  f.job.model.task = spec::Task::kClassification;
  const auto a = Json("a", arrow::int32(), "[1, 2, 3]");
  f.Write({a, Json("y", arrow::utf8(), R"(["x", "None", "z"])")});
  CHECK(f.Error().message().starts_with("the label is missing: 'None'"));
  f.Write({a, Json("y", arrow::utf8(), R"(["true", "True", "f"])")});
  CHECK(f.Profile()->preprocessing.classes == Strings{"false", "true"});
}

}  // namespace
}  // namespace espalier::data
