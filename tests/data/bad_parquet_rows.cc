// Cases of bad rows in Parquet files and their errors.
#include "tests/data/bad_parquet.h"

namespace espalier::data {
namespace {

InputPosition AtRow(int64_t row, std::string column, std::string text) {
  return {.file = kParquet, .row = row, .column = std::move(column), .text = std::move(text)};
}

using Type = std::shared_ptr<arrow::DataType>;

// Returns a file with these columns and a label of two classes. The second row group starts at row
// 3.
Given Classes(std::vector<ParquetField> fields, const std::string& labels = R"(["p", "q", "p"])") {
  fields.push_back(Json("y", arrow::utf8(), labels));
  return Parquet(ParquetText(fields, {.group_rows = 2}));
}

BadCase Feature(const char* what, const Type& type, const char* json, std::string message,
                int64_t row, std::string text, std::string column = "a") {
  return {what, Classes({Json("a", type, json)}), StatusCode::kBadInput, std::move(message),
          AtRow(row, std::move(column), std::move(text))};
}

std::vector<BadCase> Features() {
  const Type words = arrow::dictionary(arrow::int8(), arrow::utf8());
  const Type list = arrow::list(arrow::float32());
  return {
      Feature("a null", arrow::int32(), "[1, 2, null]",
              "the value is missing ... data.features.nulls", 3, "null"),
      Feature("a NaN", arrow::float64(), "[1, NaN, 3]",
              "the value is missing ... data.features.nulls", 2, "nan"),
      Feature("an infinite value", arrow::float64(), "[1, -Inf, 3]",
              "the value is infinite ... finite number", 2, "-inf"),
      Feature("a value too large for a float", arrow::float64(), "[1, 4e38, 3]",
              "the value ... does not fit float32 ... 3.4e38 ... model.precision: float64", 2,
              "4e+38"),
      Feature("a text that is no number", arrow::utf8(), R"(["1", "2", "x"])",
              "the value ... not a number ... data.null_values ... data.features.groups", 3, "x"),
      Feature("an empty text", arrow::utf8(), R"(["1", "", "3"])",
              "the value is missing ... data.features.nulls", 2, ""),
      Feature("a word of a dictionary", words, R"(["1", "x", "1"])",
              "the value ... not a number ... data.null_values ... data.features.groups", 2, "x"),
      Feature("a text with an escape sequence", arrow::utf8(), "[\"1\", \"\\u001b[31m2\", \"3\"]",
              "the value ... not a number ... data.null_values ... data.features.groups", 2,
              "\\x1b[31m2"),
      Feature("an infinite element", list, "[[1, 2], [3, Inf], [5, 6]]",
              "the value is infinite ... finite number", 2, "inf", "a[1]"),
      Feature("an element that is null", list, "[[1, 2], [3, null], [5, 6]]",
              "the value is missing ... data.features.nulls", 2, "null", "a[1]"),
      Feature("a list that is null", list, "[[1, 2], [3, 4], null]",
              "the value is missing ... data.features.nulls", 3, "null", "a[0]"),
      Feature("a list too short", list, "[[1, 2], [3, 4], [5]]",
              "the list has 1 value, expected 2 ... first row", 3, "a list of 1", "a[0]"),
      Feature("a list too long", list, "[[1, 2], [3, 4, 5], [5, 6]]",
              "the list has 3 values, expected 2 ... first row", 2, "a list of 3", "a[0]"),
      {"a huge text",
       Classes({Json("a", arrow::utf8(), "[\"1\", \"" + std::string(1 << 20, 'x') + "\", \"3\"]")}),
       StatusCode::kBadInput,
       "the value ... not a number ... data.null_values ... data.features.groups",
       AtRow(2, "a", std::string(80, 'x') + "...")},
  };
}

BadCase Label(const char* what, const std::string& json, std::string message, int64_t row,
              std::string text) {
  return {what, Classes({Json("a", arrow::int32(), "[1, 2, 3]")}, json), StatusCode::kBadInput,
          std::move(message), AtRow(row, "y", std::move(text))};
}

BadCase Target(const char* what, const Type& type, const char* json, std::string message,
               int64_t row, std::string text) {
  const auto fields = {Json("a", arrow::int32(), "[1, 2, 3]"), Json("y", type, json)};
  return {what, Regression(Parquet(ParquetText(fields))), StatusCode::kBadInput, std::move(message),
          AtRow(row, "y", std::move(text))};
}

BadCase Binary(const char* what, const Type& type, const char* json, std::string message,
               int64_t row, std::string text) {
  BadCase c = Target(what, type, json, std::move(message), row, std::move(text));
  c.given = With(c.given, [](spec::JobSpec& j) { j.model.task = spec::Task::kMultilabel; });
  return c;
}

std::vector<BadCase> Labels() {
  const std::string longest(300, 'l');
  return {
      Label("a label that is null", R"(["p", "q", null])", "the label is missing ... class", 3,
            "null"),
      Label("a label of blanks", R"(["p", "  ", "q"])",
            "the label is empty ... class). Correct the row ... data.bad_rows: {policy: skip", 2,
            "  "),
      Label("a label in Latin-1", "[\"p\", \"caf\xe9\", \"q\"]",
            "the text is not UTF-8 (byte 0xe9). Write the file in UTF-8", 2, "caf\\xe9"),
      {"a category in Latin-1",
       WithCategory(Classes({Json("a", arrow::utf8(), "[\"p\", \"q\", \"caf\xe9\"]"),
                             Json("b", arrow::int32(), "[1, 2, 3]")})),
       StatusCode::kBadInput, "the text is not UTF-8 (byte 0xe9)", AtRow(3, "a", "caf\\xe9")},
      Label("a label of 300 bytes", "[\"p\", \"q\", \"" + longest + "\"]",
            "the label has 300 bytes ... at most 256", 3, std::string(80, 'l') + "..."),
      Label("a label of a mebibyte", "[\"p\", \"" + std::string(1 << 20, 'l') + "\", \"q\"]",
            "the label has 1048576 bytes ... at most 256", 2, std::string(80, 'l') + "..."),
      Target("a target that is null", arrow::float32(), "[1, null, 3]",
             "the label is missing ... a number", 2, "null"),
      Target("a target that is NaN", arrow::float32(), "[1, NaN, 3]",
             "the label is missing ... a number", 2, "nan"),
      Target("an infinite target", arrow::float64(), "[1, 2, Inf]",
             "the label is infinite ... finite number", 3, "inf"),
      Target("a target too large for a float", arrow::float64(), "[1, 1e39, 3]",
             "the label ... does not fit float32 ... 3.4e38 ... model.precision: float64", 2,
             "1e+39"),
      Target("a target that is text", arrow::utf8(), R"(["1", "2", "cat"])",
             "the label ... not a number ... 2.5", 3, "cat"),
      Binary("a label that is neither 0 nor 1", arrow::int32(), "[0, 1, -1]",
             "the label ... neither 0 nor 1 ... model.task: multilabel", 3, "-1"),
      Binary("a bit that is null", arrow::boolean(), "[true, null, false]",
             "the label is missing ... a number", 2, "null"),
  };
}

BadCase Weight(const char* what, const Type& type, const char* json, std::string message,
               int64_t row, std::string text) {
  return {what,
          With(Classes({Json("a", arrow::int32(), "[1, 2, 3]"), Json("w", type, json)}),
               [](spec::JobSpec& j) { j.data.weight = std::string("w"); }),
          StatusCode::kBadInput, std::move(message), AtRow(row, "w", std::move(text))};
}

BadCase Marker(const char* what, const Type& type, const char* json, std::string message,
               int64_t row, std::string text) {
  return {what,
          With(Classes({Json("a", arrow::int32(), "[1, 2, 3]"), Json("v", type, json)}),
               [](spec::JobSpec& j) { j.data.validation.column = std::string("v"); }),
          StatusCode::kBadInput, std::move(message), AtRow(row, "v", std::move(text))};
}

std::vector<BadCase> WeightsAndMarkers() {
  return {
      Weight("a weight below zero", arrow::float32(), "[1, -1, 1]",
             "the weight is negative ... at least 0", 2, "-1"),
      Weight("a weight that is null", arrow::float32(), "[1, 1, null]",
             "the weight is missing ... a number", 3, "null"),
      Weight("an infinite weight", arrow::float32(), "[1, Inf, 1]",
             "the weight is infinite ... finite number", 2, "inf"),
      Weight("a weight that is none in a float", arrow::float64(), "[1, 1e-40, 1]",
             "the weight ... 0 in float32 ... 1.2e-38 ... model.precision: float64", 2, "1e-40"),
      Weight("a weight that is text", arrow::utf8(), R"(["1", "much", "1"])",
             "the weight ... not a number ... 2.5", 2, "much"),
      Marker("a marker of 2", arrow::int32(), "[0, 1, 2]",
             "the validation column ... neither true nor false", 3, "2"),
      Marker("a marker that is null", arrow::boolean(), "[false, null, true]",
             "the validation column ... neither true nor false", 2, "null"),
      Marker("a marker in words", arrow::utf8(), R"(["true", "false", "maybe"])",
             "the validation column ... neither true nor false", 3, "maybe"),
  };
}

}  // namespace

std::vector<BadCase> BadParquetRows() {
  std::vector<BadCase> all;
  Append(&all, Features());
  Append(&all, Labels());
  Append(&all, WeightsAndMarkers());
  return all;
}

}  // namespace espalier::data
