// Cases of bad columns in Parquet files and their errors.
#include "tests/data/bad_parquet.h"

namespace espalier::data {
namespace {

InputPosition In(std::string column) { return {.file = kParquet, .column = std::move(column)}; }
InputPosition InSecond(std::string column) {
  return {.file = "DIR/second.parquet", .column = std::move(column)};
}

ParquetField Ints(std::string name, const std::string& json = "[1, 2]") {
  return Json(std::move(name), arrow::int32(), json);
}

std::function<void(spec::JobSpec&)> Features(decltype(spec::FeatureSpec::columns) columns) {
  return [=](spec::JobSpec& job) { job.data.features.columns = columns; };
}

std::vector<BadCase> Names() {
  const Given good = Fields({Ints("width"), Ints("b")});
  return {
      {"no label column", Regression(Parquet(ParquetText({Ints("a"), Ints("Y")}))),
       StatusCode::kInvalidArgument,
       "data.label: column 'y' does not exist ... 2 columns: 'a', 'Y'; did you mean 'Y'?", In("y")},
      {"a label position beyond the columns",
       With(good, [](spec::JobSpec& j) { j.data.label = {int64_t{9}}; }),
       StatusCode::kInvalidArgument, "data.label: column 9 does not exist ... 3 columns ... from 0",
       In("9")},
      {"no such feature", With(good, Features({std::string("widht")})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column 'widht' does not exist ... 3 columns: 'width', 'b', 'y'; did "
       "you mean 'width'?",
       In("widht")},
      {"a range beyond the columns", With(good, Features({spec::ColumnRange{0, 9}})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column 9 does not exist ... 3 columns ... from 0", In("9")},
      {"a feature twice", With(good, Features({std::string("b"), std::string("b")})),
       StatusCode::kInvalidArgument, "data.features.columns: column 'b' is named twice", In("b")},
      {"the label among the features", With(good, Features({spec::ColumnRange{0, 2}})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column 'y' is the label ... Leave it out", In("y")},
      {"no weight column", With(good, [](spec::JobSpec& j) { j.data.weight = std::string("w"); }),
       StatusCode::kInvalidArgument,
       "data.weight: column 'w' does not exist ... 3 columns: 'width', 'b', 'y'", In("w")},
      {"no column left for features", Regression(Parquet(ParquetText({Ints("y")}))),
       StatusCode::kInvalidArgument, "data.features.columns: no column is left ... 1 column: 'y'",
       InFile(kParquet)},
      {"a column twice", Fields({Ints("a"), Ints("a")}), StatusCode::kBadInput,
       "'DIR/t.parquet' names the column 'a' twice", In("a")},
      {"two columns without a name", Fields({Ints(""), Ints("")}), StatusCode::kBadInput,
       "'DIR/t.parquet' names the column '' twice", In("")},
      {"a name that breaks the line, twice", Fields({Ints("a\nb"), Ints("a\nb")}),
       StatusCode::kBadInput, "'DIR/t.parquet' names the column 'a\\x0ab' twice", In("a\\x0ab")},
      {"a name with an escape sequence", With(good, Features({std::string("\x1b[31mred")})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column '\\x1b[31mred' does not exist ... 3 columns: 'width', 'b', "
       "'y'",
       In("\\x1b[31mred")},
      {"a name with a NUL byte, twice",
       Fields({Ints(std::string("a\0", 2)), Ints(std::string("a\0", 2))}), StatusCode::kBadInput,
       "'DIR/t.parquet' names the column 'a\\x00' twice", In("a\\x00")},
      {"a name of a mebibyte, twice",
       Fields({Ints(std::string(1 << 20, 'n')), Ints(std::string(1 << 20, 'n'))}),
       StatusCode::kBadInput,
       "'DIR/t.parquet' names the column "
       "'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...' "
       "twice",
       In(std::string(80, 'n') + "...")},
  };
}

ParquetField Struct(const std::string& name) {
  return Json(name, arrow::struct_({arrow::field("x", arrow::int32())}), R"([{"x": 1}, {"x": 2}])");
}

std::vector<BadCase> Types() {
  const auto lists = Json("l", arrow::list(arrow::list(arrow::float32())), "[[[1]], [[2]]]");
  const auto texts = Json("l", arrow::list(arrow::utf8()), R"([["a"], ["b"]])");
  const auto map = Json("m", arrow::map(arrow::utf8(), arrow::int32()), R"([[["k", 1]], []])");
  const auto vector = Json("y", arrow::list(arrow::int32()), "[[1], [2]]");
  const auto empty = Json("v", arrow::list(arrow::float32()), "[[], null]");
  return {
      {"a struct", With(Fields({Ints("a"), Struct("s")}), Features({std::string("s")})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column 's' of 'DIR/t.parquet' has the type struct<x: int32> ... "
       "lists of numbers ... data.features.columns",
       In("s")},
      {"lists of lists", With(Fields({lists}), Features({std::string("l")})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column 'l' of 'DIR/t.parquet' has the type list<element: "
       "list<element: float>> ... lists of numbers ... data.features.columns",
       In("l")},
      {"lists of texts", With(Fields({texts}), Features({std::string("l")})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column 'l' of 'DIR/t.parquet' has the type list<element: string> "
       "... lists of numbers ... data.features.columns",
       In("l")},
      {"a map", With(Fields({map}), Features({std::string("m")})), StatusCode::kInvalidArgument,
       "data.features.columns: column 'm' of 'DIR/t.parquet' has the type map<string, int32 ('m')> "
       "... lists of numbers ... data.features.columns",
       In("m")},
      {"a list for a label", Regression(Parquet(ParquetText({Ints("a"), vector}))),
       StatusCode::kInvalidArgument,
       "data.label: column 'y' of 'DIR/t.parquet' has the type list<element: int32> ... one number",
       In("y")},
      {"a struct for a label", Regression(Parquet(ParquetText({Ints("a"), Struct("y")}))),
       StatusCode::kInvalidArgument,
       "data.label: column 'y' of 'DIR/t.parquet' has the type struct<x: int32> ... one number",
       In("y")},
      {"a list for a weight",
       With(Fields({Ints("a"), Json("w", arrow::list(arrow::float32()), "[[1], [2]]")}),
            [](spec::JobSpec& j) { j.data.weight = std::string("w"); }),
       StatusCode::kInvalidArgument,
       "data.weight: column 'w' of 'DIR/t.parquet' has the type list<element: float> ... one "
       "number",
       In("w")},
      {"lists that are all empty or missing", Fields({Ints("a"), empty}), StatusCode::kBadInput,
       "column 'v' of 'DIR/t.parquet' holds lists ... empty or missing", In("v")},
      {"an element beyond a list",
       With(Fields({Json("v", arrow::list(arrow::float32()), "[[1, 2], [3, 4]]")}),
            Features({std::string("v[2]")})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column 'v[2]' does not exist ... 3 columns: 'v[0]', 'v[1]', 'y'; "
       "did "
       "you mean 'v[0]'?",
       In("v[2]")},
      {"a column that is text all the way",
       With(Fields({Json("t", arrow::utf8(), R"(["red", "blue"])")}),
            [](spec::JobSpec& j) { j.data.features.columns = {std::string("t")}; }),
       StatusCode::kBadInput,
       "the value ... not a number ... data.null_values ... data.features.groups",
       InputPosition{.file = kParquet, .row = 1, .column = "t", .text = "red"}},
  };
}

std::vector<BadCase> OtherColumns() {
  return {
      {"a column of nothing", Fields({Json("n", arrow::null(), "[null, null]")}),
       StatusCode::kBadInput, "the value is missing ... data.features.nulls",
       InputPosition{.file = "DIR/t.parquet", .row = 1, .column = "n", .text = "null"}},
      {"structs alone", Fields({Struct("s")}), StatusCode::kInvalidArgument,
       "data.features.columns: column 's' of 'DIR/t.parquet' has the type struct<x: int32> ... "
       "lists of numbers ... data.features.columns",
       In("s")},
      {"a second file without a column", Second({Y(1)}), StatusCode::kBadInput,
       "column 'a' of 'DIR/second.parquet' is missing ... 'DIR/t.parquet' ... same columns",
       InSecond("a")},
      {"a second file without the label", Second({Ints("a", "[1]")}), StatusCode::kBadInput,
       "column 'y' of 'DIR/second.parquet' is missing ... 'DIR/t.parquet' ... same columns",
       InSecond("y")},
      {"a second file with a column more", Second({Ints("a", "[1]"), Y(1), Ints("c", "[1]")}),
       StatusCode::kBadInput,
       "column 'c' of 'DIR/second.parquet' is not in 'DIR/t.parquet' ... same columns",
       InSecond("c")},
      {"a second file with a name in capitals",
       [](DataFixture& f) {
         Fields({Ints("width")})(f);
         f.job.data.train.push_back(
             f.dir.Put("second.parquet", ParquetText({Ints("Width"), Y(2)})));
       },
       StatusCode::kBadInput,
       "column 'width' of 'DIR/second.parquet' is missing ... 'DIR/t.parquet' (this file has "
       "'Width') ... same columns",
       InSecond("width")},
  };
}

std::vector<BadCase> OtherKinds() {
  const auto text = Json("a", arrow::utf8(), R"(["1"])");
  const auto vector = Json("a", arrow::list(arrow::float32()), "[[1]]");
  const auto date = Json("a", arrow::date32(), "[1]");
  const auto stamp = Json("a", arrow::timestamp(arrow::TimeUnit::MICRO), "[1]");
  const auto widths = [](const char* second) {
    return [=](DataFixture& f) {
      const auto fixed = [](int n) { return arrow::fixed_size_list(arrow::float32(), n); };
      Regression(Parquet(ParquetText({Json("v", fixed(2), "[[1, 2]]"), Y(1)})))(f);
      f.job.data.train.push_back(
          f.dir.Put("second.parquet", ParquetText({Json("v", fixed(3), second), Y(1)})));
    };
  };
  return {
      {"text where numbers were", Second({text, Y(1)}), StatusCode::kBadInput,
       "column 'a' of 'DIR/second.parquet' holds text (string) ... numbers (int32) in "
       "'DIR/t.parquet' ... same kinds",
       InSecond("a")},
      {"lists where numbers were", Second({vector, Y(1)}), StatusCode::kBadInput,
       "column 'a' of 'DIR/second.parquet' holds lists of numbers (list<element: float>) ... "
       "numbers (int32) in 'DIR/t.parquet' ... same kinds",
       InSecond("a")},
      {"booleans where numbers were", Second({Json("a", arrow::boolean(), "[true]"), Y(1)}),
       StatusCode::kBadInput,
       "column 'a' of 'DIR/second.parquet' holds booleans (bool) ... numbers (int32) in "
       "'DIR/t.parquet' ... same kinds",
       InSecond("a")},
      {"dates where numbers were", Second({date, Y(1)}), StatusCode::kBadInput,
       "column 'a' of 'DIR/second.parquet' holds dates (date32[day]) ... numbers (int32) in "
       "'DIR/t.parquet' ... same kinds",
       InSecond("a")},
      {"time stamps where numbers were", Second({stamp, Y(1)}), StatusCode::kBadInput,
       "column 'a' of 'DIR/second.parquet' holds time stamps (timestamp[us]) ... numbers (int32) "
       "in 'DIR/t.parquet' ... same kinds",
       InSecond("a")},
      {"a struct where numbers were",
       Second(
           {Json("a", arrow::struct_({arrow::field("x", arrow::int32())}), R"([{"x": 1}])"), Y(1)}),
       StatusCode::kBadInput,
       "column 'a' of 'DIR/second.parquet' holds values (struct<x: int32>) ... numbers (int32) in "
       "'DIR/t.parquet' ... same kinds",
       InSecond("a")},
      {"lists of another length", widths("[[1, 2, 3]]"), StatusCode::kBadInput,
       "column 'v' of 'DIR/second.parquet' holds lists of 3 numbers (fixed_size_list<element: "
       "float>[3]) ... lists of 2 numbers (fixed_size_list<element: float>[2]) in 'DIR/t.parquet' "
       "... same kinds",
       InSecond("v")},
      {"a second file that is damaged",
       [](DataFixture& f) {
         Second({Ints("a", "[1]"), Y(1)})(f);
         f.dir.Put("second.parquet", "PAR1 and no more");
       },
       StatusCode::kBadInput,
       "'DIR/second.parquet' ... not a whole Parquet file: it ends in 'more', expected 'PAR1' ... "
       "copy the file again",
       InFile("DIR/second.parquet")},
  };
}

std::vector<BadCase> Sets() {
  return {
      {"a table without rows", Regression(Parquet(ParquetText({Ints("a", "[]"), Y(0)}))),
       StatusCode::kBadInput, "data.train: no training rows ... hold no rows", InFile(kParquet)},
      {"every row dropped",
       With(Fields({Ints("a", "[null, null]")}),
            [](spec::JobSpec& j) { j.data.features.nulls.kind = spec::NullKind::kDrop; }),
       StatusCode::kBadInput,
       "data.features.nulls: no training rows ... drop left out all 2 ... {constant: V}",
       InFile(kParquet)},
      {"more bad rows than the limit",
       With(Fields({Json("a", arrow::utf8(), R"(["1", "x", "z"])")}),
            [](spec::JobSpec& j) {
              j.data.features.columns = {std::string("a")};
              j.data.bad_rows = {.skip = true, .limit = 1};
            }),
       StatusCode::kBadInput,
       "more than 1 bad row, ... data.bad_rows ... not a number ... data.null_values",
       InputPosition{.file = kParquet, .row = 3, .column = "a", .text = "z"}},
      {"a label for all rows", Parquet(ParquetText({Ints("a"), Ints("y", "[7, 7]")})),
       StatusCode::kBadInput, "all 2 training rows ... label '7' ... two classes", In("y")},
      {"a column of nulls",
       With(Fields({Ints("a"), Json("b", arrow::float32(), "[null, null]")}),
            [](spec::JobSpec& j) { j.data.features.nulls.kind = spec::NullKind::kMean; }),
       StatusCode::kBadInput,
       "the column has no value ... data.features.exclude ... data.features.columns", In("b")},
  };
}

}  // namespace

std::vector<BadCase> BadParquetTables() {
  std::vector<BadCase> all;
  Append(&all, Names());
  Append(&all, Types());
  Append(&all, OtherColumns());
  Append(&all, OtherKinds());
  Append(&all, Sets());
  return all;
}

}  // namespace espalier::data
