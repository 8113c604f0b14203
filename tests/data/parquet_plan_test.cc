// Parquet files and columns that fit together, and those that do not.
#include <filesystem>

#include "src/data/input/column_types.h"
#include "src/spec/inferred_text.h"
#include "tests/data/parquet_fixture.h"

namespace espalier::data {
namespace {

TEST_CASE("Parquet files may reorder columns and widen numbers") {
  ParquetFixture f;
  const std::string first =
      f.Write({Json("a", arrow::int32(), "[1, 2]"), Json("b", arrow::float32(), "[5, 6]"), Y(2)},
              {}, "1.parquet");
  const std::string second =
      f.dir.Put("2.parquet", ParquetText({Y(1), Json("b", arrow::decimal128(5, 1), R"(["7.5"])"),
                                          Json("a", arrow::float64(), "[3.25]")}));
  f.job.data.train = {f.dir.path()};
  CHECK(f.AllRows().inputs == Doubles{1, 5, 2, 6, 3.25, 7.5});
  const auto differs = [&](const std::vector<ParquetField>& fields, const std::string& message) {
    f.dir.Put("2.parquet", ParquetText(fields));
    const Status error = f.Error();
    INFO(error.ToString());
    CHECK(error.code() == StatusCode::kBadInput);
    CHECK(error.position()->file == second);
    CHECK(error.message().find(message) != std::string::npos);
    CHECK(error.message().find(first) != std::string::npos);
    CHECK(error.message().find(second) != std::string::npos);
  };
  const auto a = Json("a", arrow::int32(), "[1]"), b = Json("b", arrow::float32(), "[1]");
  differs({a, Y(1)}, "column 'b' of '");
  differs({a, b, Y(1), Json("c", arrow::int32(), "[1]")}, "is not in");
  differs({a, Json("b", arrow::utf8(), R"(["1"])"), Y(1)},
          "holds text (string), but numbers (float) in");
  differs({a, Json("b", arrow::list(arrow::float32()), "[[1]]"), Y(1)},
          "holds lists of numbers (list<element: float>), but numbers (float) in");
  differs({a, Json("b", arrow::boolean(), "[true]"), Y(1)}, "holds booleans (bool)");
}

TEST_CASE("an unsupported column is refused only when it is used") {
  ParquetFixture f;
  const auto strukt = arrow::struct_({arrow::field("x", arrow::int32())});
  const auto deep = arrow::list(arrow::list(arrow::float32()));
  const std::string path =
      f.Write({Json("a", arrow::int32(), "[1, 2]"), Json("s", strukt, R"([{"x": 1}, {"x": 2}])"),
               Json("d", deep, "[[[1]], [[2]]]"), Y(2)});
  CHECK(f.AllRows().inputs == Doubles{1, 2});  // `auto` leaves out the others
  REQUIRE(f.plan.schema.left_out.size() == 2);
  CHECK(f.plan.schema.left_out[0] == spec::LeftOutColumn{1, spec::LeftOutReason::kNested});
  CHECK(spec::InferredText(f.plan.schema).find("d (not one value per row)") != std::string::npos);
  f.job.data.features.columns = {std::string("s")};
  const Status error = f.Error();
  CHECK(error.code() == StatusCode::kInvalidArgument);
  CHECK(error.message().find("data.features.columns: column 's' of '" + path +
                             "' has the type struct<x: int32> (expected numbers") == 0);
  f.job.data.features.columns = {std::string("d")};
  CHECK(f.Error().message().find("has the type list<element: list<element: float>>") !=
        std::string::npos);
  f.job.data.features.columns = {std::string("a")};
  CHECK(f.AllRows().inputs == Doubles{1, 2});
  f.job.data.features.columns = {std::string("aa")};
  CHECK(f.Error().message().find("did you mean 'a'?") != std::string::npos);
  f.job.data.features.columns.clear();
  f.Write({Json("a", arrow::int32(), "[1]"), Json("y", arrow::list(arrow::int32()), "[[1]]")});
  CHECK(f.Error().message().find("expected one number, boolean or text") != std::string::npos);
  f.Write({Json("a", arrow::int32(), "[1]"), Json("a", arrow::int32(), "[1]"), Y(1)});
  CHECK(f.Error().message().find("names the column 'a' twice") != std::string::npos);
}

// The footer gives the length of fixed-size lists, independent of the rows.
TEST_CASE("lists of over a million numbers are refused when used") {
  ParquetFixture f;
  const auto huge = arrow::fixed_size_list(arrow::float32(), 2'000'000'000);
  f.Write({Json("a", arrow::int32(), "[]"), Json("v", huge, "[]"), Json("w", huge, "[]"), Y(0)});
  f.job.data.features.columns = {std::string("a"), std::string("v")};
  CHECK(f.Error().message().find("has 2000000000 numbers; at most 1048576 are supported") !=
        std::string::npos);
  const auto wide = arrow::fixed_size_list(arrow::float32(), 1'000'000);
  f.Write({Json("v", wide, "[]"), Json("w", wide, "[]"), Json("x", wide, "[]"), Y(0)});
  f.job.data.features.columns = {spec::ColumnRange{0, 2}};  // each one fits, all do not
  CHECK(f.Error().message().find("are more than the 1048576") != std::string::npos);
  f.Write({Json("a", arrow::int32(), "[]"), Json("v", huge, "[]"), Json("w", huge, "[]"), Y(0)});
  f.job.data.features.columns = {std::string("a")};
  const auto plan = f.Plan();
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  CHECK(plan->schema.names == Strings{"a", "v", "w", "y"});
}

TEST_CASE("the format comes from data.format or from the files' names") {
  ParquetFixture f;
  const std::string text = ParquetText({Json("a", arrow::int32(), "[1, 2]"), Y(2)});
  f.Train(text, "part-00000");
  CHECK(f.Error().message().find("is a Parquet file") != std::string::npos);
  f.job.data.format = spec::DataFormat::kParquet;
  CHECK(f.AllRows().inputs == Doubles{1, 2});
  f.job.data.format.reset();
  f.Train(text, "a.snappy.parquet");
  f.dir.Put("_SUCCESS", "");
  REQUIRE(std::filesystem::remove(f.dir / "part-00000"));
  f.job.data.train = {f.dir.path()};
  CHECK(f.AllRows().inputs == Doubles{1, 2});
  f.dir.Put("b.csv", "a,y\n1,2\n");
  CHECK(f.Error().message().find("is CSV by its name, '" + f.dir / "a.snappy.parquet" +
                                 "' is Parquet. All files") != std::string::npos);
  f.job.data.train = {f.dir / "*.parquet"};
  f.job.data.format = spec::DataFormat::kCsv;
  CHECK(f.Error().message().find("is a Parquet file, but data.format") != std::string::npos);
}

TEST_CASE("Parquet partitions are features, label, null or left out") {
  ParquetFixture f;
  const auto put = [&](const std::string& path, const std::string& a) {
    std::filesystem::create_directories(f.dir / path);
    f.dir.Put(path + "/part-0.parquet", ParquetText({Json("a", arrow::list(arrow::int32()), a)}));
  };
  put("p/y=0.5/w=ab", "[[1, 2], [3, 4]]");
  put("p/y=2/w=c%20d", "[[5, 6]]");
  f.job.data.train = {f.dir / "p"};
  CHECK(f.AllRows().inputs == Doubles{1, 2, 3, 4, 5, 6});  // w is text
  CHECK(f.AllRows().targets == Doubles{0.5, 0.5, 2});
  CHECK(f.plan.schema.names == Strings{"a[0]", "a[1]", "w", "y"});
  const spec::LeftOutColumn text = {2, spec::LeftOutReason::kDirectoryText};
  CHECK(f.plan.schema.left_out == std::vector<spec::LeftOutColumn>{text});
  CHECK(ColumnTypes(*f.files, f.job.data, f.plan).value() ==
        Strings{"list<element: int32>", "list<element: int32>", "text", "number"});
  f.job.data.train = {f.dir / "p/*/*/*.parquet"};
  CHECK(f.AllRows().targets == Doubles{0.5, 0.5, 2});
  f.job.model.task = spec::Task::kClassification;
  f.job.data.label = {std::string("w")};
  f.job.data.features.columns = {std::string("a[1]"), std::string("y")};
  CHECK(f.AllRows().inputs == Doubles{2, 0.5, 4, 0.5, 6, 2});
  CHECK(f.AllRows().labels == std::vector<int32_t>{0, 0, 1});
  f.job.data.features.columns = {std::string("y")};
  CHECK(f.Error().message().find("are names of directories") != std::string::npos);
  f.job.data.features.columns.clear();
  put("p/y=__HIVE_DEFAULT_PARTITION__/w=ab", "[[7, 8]]");
  const Status error = f.Error();
  CHECK(error.position()->column == "y");
  CHECK(error.position()->text == "null");
  f.job.data.features.nulls = {spec::NullKind::kConstant, -1};
  CHECK(f.AllRows().inputs.back() == -1);
}

}  // namespace
}  // namespace espalier::data
