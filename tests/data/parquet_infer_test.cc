// `columns: auto` over Parquet: types come from the file, those of text from its values.
#include "src/data/input/infer_features.h"
#include "src/data/profile/judge_shard.h"
#include "src/spec/inferred_text.h"
#include "tests/data/parquet_fixture.h"

namespace espalier::data {
namespace {

TEST_CASE("Parquet columns have their file types; text is judged") {
  ParquetFixture f;
  f.job.data.features.nulls.kind = spec::NullKind::kMean;
  const auto micro = arrow::timestamp(arrow::TimeUnit::MICRO);
  const auto words = arrow::dictionary(arrow::int32(), arrow::utf8());
  f.Write({Json("a", arrow::int32(), "[1, 2, null, 4]"),
           Json("city", arrow::utf8(), R"(["Rome", null, "Oslo", "Rome"])"),
           Json("day", arrow::date32(), "[19000, 19001, null, 19003]"),
           Json("at", micro, "[0, 1, 2, null]"),
           Json("flag", arrow::boolean(), "[true, false, true, null]"),
           Json("text", arrow::utf8(), R"(["1.5", "x", "", "2"])"),
           Json("word", words, R"(["b", "a", "b", "b"])"),
           Json("when", arrow::utf8(), R"(["2024-02-29", null, "2024-03-01", "2024-03-02"])"),
           Json("v", arrow::list(arrow::float64()), "[[1, 2], [3, 4], [5, 6], [7, 8]]"), Y(4)},
          {.group_rows = 2, .page_bytes = 16});
  const auto plan = f.Plan();
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  CHECK(spec::InferredText(plan->schema) ==
        "categorical: city, word; date: day, at, when; numeric: 5 others");
  CHECK(plan->schema.features.size() == 2 + 3 * 4 + 5);
}

TEST_CASE("Parquet text is judged by row groups from the whole file") {
  ParquetFixture f;
  constexpr int kRows = 70'000;
  std::string texts, labels;
  for (int i = 0; i < kRows; ++i) {
    texts += std::string(i == 0 ? "[" : ", ") + (i < kRows / 4 ? "\"1\"" : "\"x\"");
    labels += std::string(i == 0 ? "[" : ", ") + (i % 2 == 0 ? "0" : "1");
  }
  f.Write({Json("text", arrow::utf8(), texts + "]"), Json("y", arrow::int64(), labels + "]")},
          {.group_rows = 5000});
  CHECK(spec::InferredText(f.Plan()->schema) == "categorical: text");
}

TEST_CASE("Parquet columns without information are left out") {
  ParquetFixture f;
  const auto repeated = [](const std::string& value) {
    std::string values = "[" + value;
    for (int i = 1; i < 12; ++i) values += ", " + value;
    return values + "]";
  };
  f.Write({Json("number", arrow::float64(), repeated("1.5")),
           Json("whole", arrow::int32(), repeated("7")),
           Json("flag", arrow::boolean(), repeated("true")),
           Json("day", arrow::date32(), repeated("19000")),
           Json("empty", arrow::float64(), repeated("null")),
           Json("untyped", arrow::null(), repeated("null")),
           Json("nearly", arrow::int64(), "[1, 1, 1, 1, 1, 1, null, 1, 1, 1, 1, 1]"),
           Json("month", arrow::int64(),
                "[202401, 202402, 202403, 202404, 202405, 202406, 202407, 202408, 202409, 202410, "
                "202411, 202412]"),
           Y(12)},
          {.group_rows = 5});
  const auto plan = f.Plan();
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  std::vector<std::string> left_out;
  for (const spec::LeftOutColumn& column : plan->schema.left_out) {
    left_out.push_back(plan->schema.names[static_cast<size_t>(column.column)]);
  }
  CHECK(left_out == std::vector<std::string>{"number", "whole", "flag", "day", "empty", "untyped"});
  CHECK(plan->schema.features.size() == 2);
  CHECK(plan->schema.rules.empty());  // the type of the file is kept
}

TEST_CASE("Parquet rows of weight 0 are as if absent") {
  ParquetFixture with, without;
  with.Write({Json("w", arrow::float64(), "[1, 0, 2, 0, 1]"),
              Json("text", arrow::utf8(), R"(["1", "$5", "2", null, "4"])"),
              Json("whole", arrow::int32(), "[1, null, 5, 6, 2]"),
              Json("y", arrow::float64(), "[1, null, 2, NaN, 3]")},
             {.group_rows = 2});
  without.Write(
      {Json("w", arrow::float64(), "[1, 2, 1]"), Json("text", arrow::utf8(), R"(["1", "2", "4"])"),
       Json("whole", arrow::int32(), "[1, 5, 2]"), Json("y", arrow::float64(), "[1, 2, 3]")});
  for (ParquetFixture* f : {&with, &without}) f->job.data.weight = std::string("w");
  CHECK((with.AllRows() == without.AllRows()));
}

TEST_CASE("Parquet rows of weight false are as if absent") {
  ParquetFixture f;
  f.job.data.weight = std::string("w");
  f.Write({Json("w", arrow::boolean(), "[true, false, false, true, false, false]"),
           Json("text", arrow::utf8(), R"(["1", "a", "b", "2", "a", "c"])"), Y(6)});
  auto plan = f.Plan();
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  CHECK(plan->schema.rules.empty());  // a column of numbers
  plan->provisional = true;
  const auto evidence = JudgeShard({*f.files, *plan, f.job}, 0, nullptr);
  REQUIRE(evidence.ok());
  REQUIRE(evidence->size() == 1);
  CHECK(evidence->front().rows == 2);
}

TEST_CASE("a date format applies to text of Parquet, not to dates") {
  ParquetFixture f;
  f.job.data.features.date_format = "%d/%m/%Y";
  f.Write({Json("day", arrow::date32(), "[19000, 19001, 19003]"),
           Json("text", arrow::utf8(), R"(["31/01/2024", "01/02/2024", "02/02/2024"])"), Y(3)});
  const auto plan = f.Plan();
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  CHECK(spec::InferredText(plan->schema) == "date: day, text");
}

TEST_CASE("Parquet numbers have no rules") {
  ParquetFixture f;
  f.Write(
      {Json("a", arrow::int32(), "[1, 2]"), Json("b", arrow::boolean(), "[true, false]"), Y(2)});
  CHECK(f.Plan()->schema.rules.empty());
}

TEST_CASE("the same table has the same types from CSV and from Parquet") {
  DataFixture csv;
  csv.job.model.task = spec::Task::kRegression;
  csv.job.model.target_scale = spec::TargetScale::kNone;
  csv.job.model.precision = spec::Precision::kFloat64;
  csv.Train("n,city,day,y\n1,Rome,2022-01-08,0\n2,Oslo,2022-01-09,1\n3,Rome,2022-01-11,2\n");
  ParquetFixture parquet;
  parquet.Write({Json("n", arrow::int64(), "[1, 2, 3]"),
                 Json("city", arrow::utf8(), R"(["Rome", "Oslo", "Rome"])"),
                 Json("day", arrow::date32(), "[19000, 19001, 19003]"), Y(3)});
  CHECK((csv.AllRows() == parquet.AllRows()));
}

}  // namespace
}  // namespace espalier::data
