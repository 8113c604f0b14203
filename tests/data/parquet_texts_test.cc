// Texts of Parquet files mean what they mean in CSV.
#include "src/data/feature_decoder.h"
#include "tests/data/parquet_fixture.h"

namespace espalier {
namespace {

TEST_CASE("several labels are 0 and 1, booleans, or words for them") {
  ParquetFixture f;
  f.job.model.task = Task::kMultilabel;
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

}  // namespace
}  // namespace espalier
