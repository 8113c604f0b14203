// Parquet files: planning, profiling and the row store.
#include <arrow/array/builder_primitive.h>

#include <filesystem>
#include <random>

#include "src/data/parquet/file.h"
#include "src/data/parquet/numbers.h"
#include "tests/data/parquet_fixture.h"

namespace espalier::data {
namespace {

TEST_CASE("every type of number becomes the nearest double") {
  struct Case {
    std::shared_ptr<arrow::DataType> type;
    std::string json;
    Doubles expected;
  };
  const std::vector<Case> cases = {
      {arrow::int8(), "[-128, 0, 127]", {-128, 0, 127}},
      {arrow::uint8(), "[0, 7, 255]", {0, 7, 255}},
      {arrow::int16(), "[-32768, 5, 32767]", {-32768, 5, 32767}},
      {arrow::uint16(), "[0, 5, 65535]", {0, 5, 65535}},
      {arrow::int32(), "[-2147483648, 5, 2147483647]", {-2147483648.0, 5, 2147483647}},
      {arrow::uint32(), "[0, 5, 4294967295]", {0, 5, 4294967295}},
      {arrow::int64(), "[-9007199254740993, 5, 6]", {-9007199254740992.0, 5, 6}},
      {arrow::uint64(), "[0, 5, 18446744073709551615]", {0, 5, 18446744073709551616.0}},
      {arrow::float16(), "[0.5, -2, 65504]", {0.5, -2, 65504}},
      {arrow::float32(), "[0.1, -2.5, 3e38]", {0.1f, -2.5, 3e38f}},
      {arrow::float64(), "[0.1, -2.5, 1e300]", {0.1, -2.5, 1e300}},
      {arrow::boolean(), "[true, false, true]", {1, 0, 1}},
      {arrow::decimal128(9, 2), R"(["0.10", "-2.50", "1234567.89"])", {0.1, -2.5, 1234567.89}},
      {arrow::decimal128(38, 10),
       R"(["0.1000000000", "-2.5000000000", "1234567890123456789012345678.0123456789"])",
       {0.1, -2.5, 1234567890123456789012345678.0123456789}},
      {arrow::decimal256(50, 3),
       R"(["0.100", "-2.500", "99999999999999999999.125"])",
       {0.1, -2.5, 99999999999999999999.125}},
      {arrow::date32(), "[0, 19000, -1]", {0, 19000, -1}},
      {arrow::timestamp(arrow::TimeUnit::MILLI), "[0, 1500, -250]", {0, 1.5, -0.25}},
      {arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), "[0, 1500000, 1]", {0, 1.5, 1e-6}},
      {arrow::time32(arrow::TimeUnit::MILLI), "[0, 1500, 86399999]", {0, 1.5, 86399.999}},
      {arrow::time64(arrow::TimeUnit::MICRO), "[0, 1500000, 1]", {0, 1.5, 1e-6}},
      {arrow::duration(arrow::TimeUnit::MILLI), "[0, 1500, 1]", {0, 1.5, 1e-3}},
      {arrow::utf8(), R"(["0.1", " -2.5 ", "1e3"])", {0.1, -2.5, 1000}},
      {arrow::large_utf8(), R"(["0.1", "-2.5", "7"])", {0.1, -2.5, 7}},
      {arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["1", "2", "1"])", {1, 2, 1}},
  };
  for (const Case& c : cases) {
    for (const bool arrow_schema : {true, false}) {
      INFO(c.type->ToString() << " arrow schema " << arrow_schema);
      // Without Arrow's schema a duration is a plain integer.
      if (!arrow_schema && c.type->id() == arrow::Type::DURATION) continue;
      ParquetFixture f;
      f.Write({Json("a", c.type, c.json), Y(3)}, {.arrow_schema = arrow_schema});
      f.job.data.features.columns = {std::string("a")};  // `auto` would make dates of these types
      CHECK(f.AllRows().inputs == c.expected);
    }
  }
}

TEST_CASE("vectors of fixed and variable length are features") {
  const std::string json = "[[1, 2, 3], [4, 5, 6]]";
  const std::vector<std::shared_ptr<arrow::DataType>> types = {
      arrow::fixed_size_list(arrow::float32(), 3), arrow::list(arrow::float32()),
      arrow::large_list(arrow::float64()), arrow::list(arrow::int16()),
      arrow::list(arrow::float16())};
  for (const auto& type : types) {
    for (const bool arrow_schema : {true, false}) {
      INFO(type->ToString() << " arrow schema " << arrow_schema);
      ParquetFixture f;
      f.Write({Json("a", arrow::float64(), "[10, 20]"), Json("v", type, json), Y(2)},
              {.arrow_schema = arrow_schema});
      CHECK(f.AllRows().inputs == Doubles{10, 1, 2, 3, 20, 4, 5, 6});
      CHECK(f.plan.schema.names == Strings{"a", "v[0]", "v[1]", "v[2]", "y"});
      f.job.data.features.columns = {std::string("v")};
      CHECK(f.AllRows().inputs == Doubles{1, 2, 3, 4, 5, 6});
      f.job.data.features.columns = {std::string("v[2]"), int64_t{0}, std::string("v[0]")};
      CHECK(f.AllRows().inputs == Doubles{3, 10, 1, 6, 20, 4});
      f.job.data.features.groups.resize(2);  // separate rules for elements of one vector
      f.job.data.features.groups[0].columns = {std::string("v[1]")};
      f.job.data.features.groups[1].columns = {std::string("v[0]")};
      f.job.data.features.groups[1].null_indicator = true;
      f.job.data.features.groups[1].nulls = spec::NullPolicy{spec::NullKind::kMean};
      f.job.data.features.columns = {std::string("v[2]")};
      CHECK(f.AllRows().inputs == Doubles{3, 2, 1, 0, 6, 5, 4, 0});
      f.job.data.features.groups.clear();
      f.job.data.features.columns = {spec::ColumnRange{0, 1}};
      CHECK(f.AllRows().inputs == Doubles{10, 1, 2, 3, 20, 4, 5, 6});
    }
  }
}

TEST_CASE("whole numbers as text are exact, also next to nulls") {
  for (const auto& type : {arrow::int64(), arrow::uint64()}) {
    const auto array = Json("a", type, "[1234567890123456789, null, 9007199254740993, 0]").values;
    const auto texts = ColumnTexts::Make(*array);
    REQUIRE(texts.ok());
    CHECK((*texts)->whole() == nullptr);
    std::string scratch;
    CHECK((*texts)->At(0, &scratch) == "1234567890123456789");
    CHECK(!(*texts)->At(1, &scratch));
    CHECK((*texts)->At(2, &scratch) == "9007199254740993");
    CHECK((*texts)->At(3, &scratch) == "0");
  }
}

TEST_CASE("dates and time stamps have their usual text in UTC") {
  using arrow::TimeUnit;
  const std::pair<ParquetField, std::vector<std::string>> cases[] = {
      {Json("d", arrow::date32(), "[19782, -1, 0, null, -719162, 2932896]"),
       {"2024-02-29", "1969-12-31", "1970-01-01", "", "0001-01-01", "9999-12-31"}},
      {Json("d", arrow::date32(), "[2932897, -719163]"), {"2932897", "-719163"}},
      {Json("d", arrow::date64(), "[1709164800000, -86400000]"), {"2024-02-29", "1969-12-31"}},
      {Json("t", arrow::timestamp(TimeUnit::SECOND), "[1709200798, -1]"),
       {"2024-02-29 09:59:58", "1969-12-31 23:59:59"}},
      {Json("t", arrow::timestamp(TimeUnit::MILLI), "[1709200798500, -1, 1000]"),
       {"2024-02-29 09:59:58.5", "1969-12-31 23:59:59.999", "1970-01-01 00:00:01"}},
      {Json("t", arrow::timestamp(TimeUnit::MICRO, "Europe/Oslo"), "[1709200798000010]"),
       {"2024-02-29 09:59:58.00001"}},
      {Json("t", arrow::timestamp(TimeUnit::NANO), "[1709200798000000001, null]"),
       {"2024-02-29 09:59:58.000000001", ""}},
      {{"d", *arrow::DictionaryArray::FromArrays(Json("i", arrow::int32(), "[0, null, 0]").values,
                                                 Json("d", arrow::date32(), "[19782]").values)},
       {"2024-02-29", "", "2024-02-29"}}};
  for (const auto& [field, expected] : cases) {
    INFO(field.values->ToString());
    const auto texts = ColumnTexts::Make(*field.values);
    REQUIRE(texts.ok());
    std::string scratch;
    for (size_t r = 0; r < expected.size(); ++r) {
      CHECK((*texts)->At(static_cast<int64_t>(r), &scratch).value_or("") == expected[r]);
    }
  }
}

TEST_CASE("a date is the same category and class in Parquet and CSV") {
  DataFixture csv, parquet;
  spec::FeatureGroup days;
  days.columns = {std::string("d")};
  days.type = spec::FeatureType::kCategorical;
  for (DataFixture* f : {&csv, &parquet}) f->job.data.features.groups = {days};
  csv.Train("d,y\n2024-02-29,1970-01-02\n1969-12-31,1970-01-01\n2024-02-29,1970-01-01\n");
  parquet.Train(ParquetText({Json("d", arrow::date32(), "[19782, -1, 19782]"),
                             Json("y", arrow::date32(), "[1, 0, 0]")}),
                "t.parquet");
  const auto here = csv.Profile(), there = parquet.Profile();
  REQUIRE(here.ok());
  REQUIRE(there.ok());
  CHECK(there->preprocessing.classes == std::vector<std::string>{"1970-01-01", "1970-01-02"});
  CHECK(there->preprocessing.classes == here->preprocessing.classes);
  const spec::FittedFeature& feature = there->preprocessing.features[0];
  CHECK(feature.vocabulary == std::vector<std::string>{"1969-12-31", "2024-02-29"});
  CHECK(feature.vocabulary == here->preprocessing.features[0].vocabulary);
}

TEST_CASE("a list of another length is a bad row with its position") {
  ParquetFixture f;
  const auto type = arrow::list(arrow::float32());
  const std::string path = f.Write({Json("v", type, "[[1, 2], [3, 4], [5]]"), Y(3)});
  const Status error = f.Error();
  CHECK(error.code() == StatusCode::kBadInput);
  CHECK(error.message().find("the list has 1 value, expected 2") == 0);
  CHECK(error.position() ==
        InputPosition{.file = path, .row = 3, .column = "v[0]", .text = "a list of 1"});
  f.job.data.bad_rows = {.skip = true, .limit = 1};
  CHECK(f.AllRows().inputs == Doubles{1, 2, 3, 4});
  f.Write({Json("v", type, "[[], null, []]"), Y(3)});
  CHECK(f.Error().message().find("holds lists, all of them") != std::string::npos);
}

TEST_CASE("nulls follow the policy, also within vectors") {
  ParquetFixture f;
  const auto list = arrow::list(arrow::float32());
  const std::string path = f.Write({Json("a", arrow::int32(), "[1, null, 3, 4]"),
                                    Json("v", list, "[[1, 2], [3, 4], null, [5, null]]"), Y(4)});
  const Status error = f.Error();
  CHECK(error.message().find("the value is missing. Choose data.features.nulls") == 0);
  CHECK(error.position() == InputPosition{.file = path, .row = 2, .column = "a", .text = "null"});
  f.job.data.features.nulls = {spec::NullKind::kDrop};
  CHECK(f.AllRows().inputs == Doubles{1, 1, 2});
  CHECK(f.shards[0].profile.dropped_rows == 3);
  f.job.data.features.nulls = {spec::NullKind::kConstant, -1};
  CHECK(f.AllRows().inputs == Doubles{1, 1, 2, -1, 3, 4, 3, -1, -1, 4, 5, -1});
  f.job.data.features.nulls = {spec::NullKind::kMean};
  CHECK(f.AllRows().inputs == Doubles{1, 1, 2, 8.0 / 3, 3, 4, 3, 3, 3, 4, 5, 3});
}

TEST_CASE("labels are whole numbers, text, floats or booleans") {
  struct Case {
    std::shared_ptr<arrow::DataType> type;
    std::string json;
    Strings classes;
  };
  const std::vector<Case> cases = {
      {arrow::int64(), "[10, 9, -1, 9]", {"-1", "9", "10"}},
      {arrow::uint8(), "[10, 9, 200, 9]", {"9", "10", "200"}},
      {arrow::float64(), "[1, 0.5, 1000000, 0.5]", {"0.5", "1", "1000000"}},
      {arrow::float32(), "[0.1, 0.5, 0.1, 0.5]", {"0.1", "0.5"}},
      {arrow::utf8(), R"([" dog", "cat", "dog", "Na"])", {"Na", "cat", "dog"}},
      {arrow::dictionary(arrow::int32(), arrow::utf8()), R"(["b", "a", "b", "a"])", {"a", "b"}},
      {arrow::boolean(), "[true, false, true, true]", {"false", "true"}},
      {arrow::decimal128(5, 2), R"(["1.00", "2.50", "1.00", "1.00"])", {"1", "2.5"}},
  };
  for (const Case& c : cases) {
    INFO(c.type->ToString());
    ParquetFixture f;
    f.job.model.task = spec::Task::kClassification;
    f.Write({Json("a", arrow::float32(), "[1, 2, 3, 4]"), Json("y", c.type, c.json)});
    const auto profile = f.Profile();
    INFO(profile.status().ToString());
    REQUIRE(profile.ok());
    CHECK(profile->preprocessing.classes == c.classes);
  }
}

TEST_CASE("a bad row of a Parquet file is named by row, column and text") {
  struct Case {
    std::vector<ParquetField> fields;
    std::string message;
    int64_t row;
    std::string column, text;
  };
  const auto a = Json("a", arrow::float64(), "[1, 2, 3]");
  const auto y = Json("y", arrow::utf8(), R"(["p", "q", "p"])");
  const std::string long_text(300, 'x');
  const std::vector<Case> cases = {
      {{Json("a", arrow::float64(), "[1, 2, NaN]"), y}, "the value is missing", 3, "a", "nan"},
      {{Json("a", arrow::float64(), "[1, -Inf, NaN]"), y}, "the value is infinite", 2, "a", "-inf"},
      {{Json("a", arrow::float64(), "[1, 4e38, 3]"), y}, "does not fit float32", 2, "a", "4e+38"},
      {{Json("a", arrow::utf8(), R"(["1", "2", "x"])"), y}, "is not a number", 3, "a", "x"},
      {{Json("a", arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["1", "x", "1"])"), y},
       "is not a number",
       2,
       "a",
       "x"},
      {{Json("v", arrow::list(arrow::float32()), "[[1, 2], [3, Inf], [1, 2]]"), y},
       "the value is infinite",
       2,
       "v[1]",
       "inf"},
      {{a, Json("y", arrow::utf8(), R"(["p", "q", null])")},
       "the label is missing",
       3,
       "y",
       "null"},
      {{a, Json("y", arrow::utf8(), R"(["p", "  ", "q"])")}, "the label is empty", 2, "y", "  "},
      {{a, Json("y", arrow::utf8(), "[\"p\", \"q\", \"" + long_text + "\"]")},
       "the label has 300 bytes",
       3,
       "y",
       long_text.substr(0, 80) + "..."},
      {{a, Json("w", arrow::float32(), "[1, -1, 1]"), y}, "the weight is negative", 2, "w", "-1"},
      {{a, Json("w", arrow::float32(), "[1, 1, null]"), y},
       "the weight is missing",
       3,
       "w",
       "null"},
      {{a, Json("val", arrow::int32(), "[0, 1, 2]"), y}, "neither true nor false", 3, "val", "2"},
  };
  for (const Case& c : cases) {
    INFO(c.message);
    ParquetFixture f;
    f.job.model = {};
    for (const ParquetField& field : c.fields) {
      if (field.name == "w") f.job.data.weight = std::string("w");
      if (field.name == "val") f.job.data.validation.column = std::string("val");
    }
    const std::string path = f.Write(c.fields, {.group_rows = 2});
    const Status error = f.Error();
    INFO(error.ToString());
    CHECK(error.code() == StatusCode::kBadInput);
    CHECK(error.message().find(c.message) != std::string::npos);
    REQUIRE(error.position());
    CHECK(error.position()->file == path);
    CHECK(error.position()->row == c.row);
    CHECK(error.position()->column == c.column);
    CHECK(error.position()->text.substr(0, 80) == c.text.substr(0, 80));
  }
}

TEST_CASE("bad rows are skipped up to the limit and described") {
  ParquetFixture f;
  f.job.data.bad_rows = {.skip = true, .limit = 2};
  f.Write({Json("a", arrow::utf8(), R"(["1", "x", "3", "y"])"), Y(4)}, {.group_rows = 2});
  CHECK(f.AllRows().inputs == Doubles{1, 3});
  CHECK(f.AllRows().targets == Doubles{0, 2});
  REQUIRE(f.shards[0].profile.skipped.size() == 2);
  CHECK(f.shards[0].profile.skipped[1].position()->row == 4);
  f.job.data.bad_rows.limit = 1;
  CHECK(f.Error().message().find("more than 1 bad row") == 0);
}

// One table as CSV and as Parquet, with each kind of column that CSV can hold.
struct TwoFormats {
  std::string csv = "v,a,b,c,w,y\n";
  std::vector<ParquetField> fields;
};

TwoFormats MakeTwo(int rows, bool bytes) {
  TwoFormats two;
  std::mt19937 random(3);
  arrow::BooleanBuilder v;
  arrow::Int32Builder a;
  arrow::DoubleBuilder b, w;
  arrow::FloatBuilder c;
  arrow::Int64Builder y;
  for (int i = 0; i < rows; ++i) {
    const bool validation = random() % 5 == 0;
    const int whole = static_cast<int>(random() % 256);
    const double wide = bytes ? random() % 200 : static_cast<double>(random() % 100000) / 1000;
    const float narrow = static_cast<float>(random() % 64) / (bytes ? 1 : 4);
    const double weight = static_cast<double>(random() % 7) / 2;
    const int label = static_cast<int>((random() % 2 + whole) % 3);
    REQUIRE(v.Append(validation).ok());
    REQUIRE(a.Append(whole).ok());
    REQUIRE(b.Append(wide).ok());
    REQUIRE((i % 13 == 5 && !bytes ? c.AppendNull() : c.Append(narrow)).ok());
    REQUIRE(w.Append(weight).ok());
    REQUIRE(y.Append(label).ok());
    two.csv += std::string(validation ? "true" : "false") + "," + std::to_string(whole) + "," +
               std::to_string(wide) + "," + (i % 13 == 5 && !bytes ? "" : std::to_string(narrow)) +
               "," + std::to_string(weight) + "," + std::to_string(label) + "\n";
  }
  two.fields = {{"v", *v.Finish()}, {"a", *a.Finish()}, {"b", *b.Finish()},
                {"c", *c.Finish()}, {"w", *w.Finish()}, {"y", *y.Finish()}};
  return two;
}

TEST_CASE("CSV and Parquet give the same rows, scales and storage") {
  for (const bool bytes : {true, false}) {
    const TwoFormats two = MakeTwo(500, bytes);
    DataFixture f;
    f.job.data.features.nulls = {spec::NullKind::kMean};
    f.job.data.features.scale.kind = spec::ScaleKind::kStandard;
    f.job.data.validation.column = std::string("v");
    f.job.data.weight = std::string("w");
    f.Train(two.csv);
    const auto csv = f.Profile();
    REQUIRE(csv.ok());
    const auto from_csv = LoadRows({*f.files, f.plan, f.job}, *csv, f.All(*csv), f.shards, {});
    REQUIRE(from_csv.ok());
    for (const int64_t group_rows : {1000, 64}) {
      f.Train(ParquetText(two.fields, {.group_rows = group_rows}), "train.parquet");
      const auto parquet = f.Profile();
      INFO(parquet.status().ToString());
      REQUIRE(parquet.ok());
      const auto store =
          LoadRows({*f.files, f.plan, f.job}, *parquet, f.All(*parquet), f.shards, {});
      REQUIRE(store.ok());
      CHECK(parquet->storage == csv->storage);
      CHECK(parquet->storage == (bytes ? spec::StorageType::kUint8 : spec::StorageType::kFloat64));
      CHECK(parquet->preprocessing == csv->preprocessing);
      for (const spec::FileRole set : {spec::FileRole::kTrain, spec::FileRole::kValidation}) {
        CHECK(GatherAll(**store, set) == GatherAll(**from_csv, set));
      }
    }
  }
}

TEST_CASE("validation rows do not depend on row groups and shards") {
  Gathered validation;
  for (const int64_t group_rows : {2000, 100, 7}) {
    for (const int64_t shard_bytes : {1 << 20, 1 << 10}) {
      ParquetFixture f;
      f.job.data.validation.fraction = 0.25;
      f.job.data.shard_bytes = shard_bytes;
      f.Write({{"a", MakeTwo(2000, false).fields[2].values}, Y(2000)}, {.group_rows = group_rows});
      const auto profile = f.Profile();
      REQUIRE(profile.ok());
      CHECK(std::abs(profile->validation_rows - 500) < 80);
      CHECK(profile->train_rows + profile->validation_rows == 2000);
      const auto store =
          LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
      REQUIRE(store.ok());
      const Gathered v = GatherAll(**store, spec::FileRole::kValidation);
      if (validation.inputs.empty()) validation = v;
      CHECK(v == validation);
    }
  }
}

TEST_CASE("row groups join into shards in the file's order") {
  ParquetFixture f;
  f.Write({{"a", MakeTwo(1000, false).fields[2].values}, Y(1000)},
          {.group_rows = 100, .dictionary = false});
  f.job.data.shard_bytes = 1 << 10;
  const Gathered rows = f.AllRows();
  CHECK(f.plan.shards.size() == 10);
  Doubles in_order;
  for (int i = 0; i < 1000; ++i) in_order.push_back(i);
  CHECK(rows.targets == in_order);
  f.job.data.shard_bytes = 5000;
  CHECK(f.AllRows() == rows);
  CHECK(f.plan.shards.size() > 1);
  CHECK(f.plan.shards.size() < 10);
  f.job.data.shard_bytes = 1 << 20;
  CHECK(f.AllRows() == rows);
  CHECK(f.plan.shards.size() == 1);
}

TEST_CASE("any codec, dictionary and page size reads the same") {
  const std::vector<ParquetField> fields = {{"a", MakeTwo(3000, false).fields[2].values}, Y(3000)};
  ParquetFixture plain;
  plain.Write(fields);
  const Gathered expected = plain.AllRows();
  using arrow::Compression;
  for (const auto codec : {Compression::SNAPPY, Compression::ZSTD, Compression::GZIP,
                           Compression::LZ4, Compression::BROTLI}) {
    for (const bool dictionary : {true, false}) {
      ParquetFixture f;
      f.Write(fields, {.codec = codec, .dictionary = dictionary, .page_bytes = 1000});
      CHECK(f.AllRows() == expected);
    }
  }
}

TEST_CASE("a label of validation rows only is found with its row") {
  ParquetFixture f;
  f.job.model = {};
  f.job.data.validation.column = std::string("v");
  const std::string path = f.Write({Json("a", arrow::int32(), "[1, 2, 3, 4]"),
                                    Json("v", arrow::boolean(), "[false, true, false, true]"),
                                    Json("y", arrow::utf8(), R"(["p", "p", "q", "r"])")},
                                   {.group_rows = 2});
  const Status error = f.Error();
  INFO(error.ToString());
  REQUIRE(error.position());
  CHECK(error.position()->file == path);
  CHECK(error.position()->row == 4);
  CHECK(error.position()->text == "r");
}

TEST_CASE("files and row groups without rows are skipped") {
  ParquetFixture f;
  f.Write({Json("v", arrow::list(arrow::float32()), "[]"), Json("y", arrow::int64(), "[]")}, {},
          "1.parquet");
  f.dir.Put("2.parquet",
            ParquetText({Json("v", arrow::list(arrow::float32()), "[[1, 2], [3, 4]]"), Y(2)}));
  f.job.data.train = {f.dir.path()};
  CHECK(f.AllRows().inputs == Doubles{1, 2, 3, 4});
}

TEST_CASE("a shard that is read again must equal its profile") {
  ParquetFixture f;
  const std::string path =
      f.Write({Json("a", arrow::float64(), "[1.5, 2.5]"), Y(2)}, {.dictionary = false});
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  const auto time = std::filesystem::last_write_time(path);
  f.Write({Json("a", arrow::float64(), "[1.5, 3.5]"), Y(2)}, {.dictionary = false});
  std::filesystem::last_write_time(path, time);
  for (ProfiledShard& shard : f.shards) shard.has_rows = false;
  const auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
  REQUIRE_FALSE(store.ok());
  CHECK(store.status().code() == StatusCode::kDataLoss);
  CHECK(store.status().message().find(path) != std::string::npos);
}

}  // namespace
}  // namespace espalier::data
