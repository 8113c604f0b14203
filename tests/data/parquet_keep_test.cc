// Jobs over Parquet that keep the columns of the model from which their training starts.
#include <algorithm>
#include <functional>

#include "tests/data/earlier_model.h"
#include "tests/data/parquet_fixture.h"

namespace espalier::data {
namespace {

constexpr int kRows = 70'000;  // more than a sample with all rows has

// Returns a JSON array of the values of all rows.
std::string Values(const std::function<std::string(int)>& value, int rows = kRows) {
  std::string json = "[";
  for (int i = 0; i < rows; ++i) json += (i > 0 ? "," : "") + value(i);
  return json + "]";
}
ParquetField Text(const std::string& name, int rows = kRows) {
  return Json(name, arrow::utf8(), Values([](int i) { return i % 2 ? "\"p\"" : "\"q\""; }, rows));
}
ParquetField Whole(const std::string& name, int rows = kRows) {
  return Json(name, arrow::int32(),
              Values([](int i) { return std::to_string(i * 7 % 100); }, rows));
}

// Returns a column of Spark vectors with these elements.
ParquetField SparkVectors(const std::string& name, int elements) {
  const auto type =
      arrow::struct_({arrow::field("type", arrow::int8()), arrow::field("size", arrow::int32()),
                      arrow::field("indices", arrow::list(arrow::int32())),
                      arrow::field("values", arrow::list(arrow::float64()))});
  const std::string size = std::to_string(elements);
  return Json(name, type, Values([&size](int i) {
                return R"({"type": 0, "size": )" + size + R"(, "indices": [)" +
                       std::to_string(i % 100) + R"(], "values": [1]})";
              }));
}

std::string Job(const std::string& train) {
  return "data: {train: " + train + ", label: y}\noutput: m\n";
}

// Completes a job over a table that starts from a model of the same table.
JobCompletion::Completed Kept(const DataFixture& f, const std::string& yaml) {
  const JobCompletion::Completed model = CompletedJob(*f.files, yaml);
  REQUIRE(model.input.provisional);
  const spec::EarlierModel earlier = EarlierModelOf(model);
  JobCompletion::Completed kept = CompletedJob(*f.files, yaml, &earlier);
  CHECK(kept.input.schema.names == model.input.schema.names);
  std::vector<int32_t> columns[2] = {kept.input.schema.features, model.input.schema.features};
  for (std::vector<int32_t>& features : columns) std::sort(features.begin(), features.end());
  CHECK((columns[0] == columns[1]));
  for (const spec::FeatureGroup& group : kept.job.data.features.groups) {
    for (const spec::ColumnPattern& column : group.columns) {
      CHECK(std::holds_alternative<std::string>(column));
    }
  }
  return kept;
}

TEST_CASE("a wide vector of a sampled table is kept by its name") {
  ParquetFixture f;
  const std::string path =
      f.Write({Whole("a"), SparkVectors("v", 70'000), Text("city"), Text("y")});
  const JobCompletion::Completed kept = Kept(f, Job(path));
  CHECK(kept.yaml.size() < 10'000);
  REQUIRE(kept.job.data.features.groups.size() == 2);
  CHECK(kept.job.data.features.groups[0].columns ==
        std::vector<spec::ColumnPattern>{std::string("a"), std::string("v")});
}

TEST_CASE("a table with vectors is kept without positions") {
  ParquetFixture f;
  const std::string path =
      f.Write({SparkVectors("v", 200), Whole("1..3"), Whole("5"), Text("201"), Text("y")});
  const JobCompletion::Completed kept = Kept(f, Job(path));
  CHECK(kept.job.data.features.groups[0].columns ==
        std::vector<spec::ColumnPattern>{std::string("v"), std::string("5")});
}

TEST_CASE("a table with shadowed columns is kept without positions") {
  ParquetFixture f;
  for (const std::string k : {"1", "2"}) {
    REQUIRE(f.files->MakeDirectory(f.dir / "p/k=" + k).ok());
    f.dir.Put("p/k=" + k + "/0.parquet",
              ParquetText({Text("0"), Whole("1"), Whole("k"), Whole("1..3"), Text("y")}));
  }
  Kept(f, Job(f.dir / "p"));
}

}  // namespace
}  // namespace espalier::data
