// Fields of structs by dotted names, and parts of a table with untyped columns.
#include "src/spec/inferred_text.h"
#include "tests/data/parquet_fixture.h"

namespace espalier::data {
namespace {

std::shared_ptr<arrow::DataType> Struct(arrow::FieldVector fields) {
  return arrow::struct_(std::move(fields));
}

TEST_CASE("a field of a struct is a column by its dotted name") {
  ParquetFixture f;
  f.job.data.features.nulls.kind = spec::NullKind::kConstant;
  f.job.data.features.nulls.constant = -1;
  const auto inner =
      Struct({arrow::field("c", arrow::float64()), arrow::field("t", arrow::utf8())});
  const auto outer = Struct({arrow::field("b", arrow::int32()), arrow::field("in", inner),
                             arrow::field("v", arrow::list(arrow::float32()))});
  const auto map = arrow::map(arrow::utf8(), arrow::int32());
  for (const bool dictionary : {true, false}) {
    f.Write({Json("m", map, R"([[["k", 1]], [], null])"),
             Json("a", outer,
                  R"([{"b": 1, "in": {"c": 2.5, "t": "x"}, "v": [1, 2]}, null,
                      {"b": null, "in": {"c": 4.5, "t": "y"}, "v": [3, 4]}])"),
             Json("p", arrow::int32(), "[7, 8, 9]"), Y(3)},
            {.group_rows = 2, .dictionary = dictionary});
    f.job.data.features.columns = {std::string("a.in.c"), std::string("p"), std::string("a.b")};
    CHECK(f.AllRows().inputs == Doubles{2.5, 7, 1, -1, 8, -1, 4.5, 9, -1});
    f.job.data.features.columns = {std::string("p"), std::string("a.v")};
    CHECK(f.AllRows().inputs == Doubles{7, 1, 2, 8, -1, -1, 9, 3, 4});
    f.job.data.features.columns.clear();
    CHECK(f.AllRows().inputs == Doubles{7, 8, 9});
    f.job.data.features.columns = {std::string("a.in.d")};
    CHECK(f.Error().message().find("column 'a.in.d' does not exist") != std::string::npos);
  }
}

TEST_CASE("a column with a dotted name precedes a field of a struct") {
  ParquetFixture f;
  f.job.data.features.columns = {std::string("a.b")};
  f.Write({Json("a", Struct({arrow::field("b", arrow::int32())}), R"([{"b": 1}, {"b": 2}])"),
           Json("a.b", arrow::int32(), "[5, 6]"), Y(2)});
  CHECK(f.AllRows().inputs == Doubles{5, 6});
}

TEST_CASE("a field of a struct may be the label") {
  ParquetFixture f;
  f.job.data.label = {std::string("s.y")};
  f.Write({Json("s", Struct({arrow::field("y", arrow::int32())}), R"([{"y": 3}, {"y": 4}])"),
           Json("x", arrow::int32(), "[5, 6]")});
  const Gathered rows = f.AllRows();
  CHECK(rows.inputs == Doubles{5, 6});
  CHECK(rows.targets == Doubles{3, 4});
}

// Writes three parts. Part `without` has untyped columns; the others have types.
void WriteParts(ParquetFixture& f, int without) {
  for (int part = 0; part < 3; ++part) {
    const bool typed = part != without;
    f.dir.Put(std::to_string(part) + ".parquet",
              ParquetText({typed ? Json("x", arrow::float64(), "[1.5, 2.5]")
                                 : Json("x", arrow::null(), "[null, null]"),
                           typed ? Json("t", arrow::utf8(), R"(["u", "v"])")
                                 : Json("t", arrow::null(), "[null, null]"),
                           typed ? Json("d", arrow::date32(), "[365, 366]")
                                 : Json("d", arrow::null(), "[null, null]"),
                           Json("a", arrow::int32(), "[4, 5]"), Y(2)}));
  }
  f.job.data.train = {f.dir.path()};
}

TEST_CASE("a part may have a column without a type") {
  for (int without = 0; without < 3; ++without) {
    INFO("part " << without);
    ParquetFixture f;
    f.job.data.features.nulls.kind = spec::NullKind::kConstant;
    f.job.data.features.columns = {std::string("x"), std::string("a")};
    WriteParts(f, without);
    Doubles expected = {1.5, 4, 2.5, 5, 1.5, 4, 2.5, 5, 1.5, 4, 2.5, 5};
    expected[static_cast<size_t>(4 * without)] = 0;
    expected[static_cast<size_t>(4 * without) + 2] = 0;
    CHECK(f.AllRows().inputs == expected);
    f.job.data.features.columns.clear();
    const auto plan = f.Plan();
    INFO(plan.status().ToString());
    REQUIRE(plan.ok());
    const std::string text = spec::InferredText(plan->schema);
    CHECK(text.find("categorical: t; date: d") != std::string::npos);
    f.job.data.label = {std::string("x")};
    CHECK(f.Error().message().find("the label is missing") != std::string::npos);
  }
}

}  // namespace
}  // namespace espalier::data
