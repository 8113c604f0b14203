#include <arrow/io/memory.h>
#include <arrow/scalar.h>
#include <parquet/arrow/reader.h>

#include <cmath>

#include "src/data/parquet/table.h"
#include "src/data/profile/table_scan.h"
#include "tests/data/parquet_fixture.h"
#include "tests/data/scan_rows.h"

namespace espalier::data {
namespace {

std::shared_ptr<arrow::Table> ReadTable(const std::string& bytes) {
  const auto source = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(bytes));
  auto reader = parquet::arrow::OpenFile(source, arrow::default_memory_pool());
  INFO(reader.status().ToString());
  REQUIRE(reader.ok());
  std::shared_ptr<arrow::Table> table;
  REQUIRE((*reader)->ReadTable(&table).ok());
  return table;
}

std::string Column(const arrow::Table& table, const std::string& name) {
  const auto column = table.GetColumnByName(name);
  REQUIRE(column != nullptr);
  std::string text = column->type()->ToString() + ":";
  for (int64_t i = 0; i < column->length(); ++i) {
    text += " " + (*column->GetScalar(i))->ToString();
  }
  return text;
}

class ParquetScanFixture : public ParquetFixture {
 public:
  ParquetScanFixture() {
    Write({Json("id", arrow::int64(), "[10, 20, 30, null]"),
           Json("when", arrow::date32(), "[19000, 19001, null, 19003]"),
           Json("price", arrow::decimal128(9, 2), R"(["1.10", "2.25", "3.00", "4.50"])"),
           Json("note", arrow::utf8(), R"(["p", "q, r", "s", null])"),
           Json("list", arrow::list(arrow::int32()), "[[1], [2, 3], [4], []]"),
           Json("b", arrow::float64(), "[0.5, null, 2.5, 3.5]"),
           Json("a", arrow::int32(), "[1, 2, 3, 4]")},
          {.group_rows = 3});
    schema = {{"a", "b", "y"}, {0, 1}, {2}};
  }
  Result<ScanPlan> Scan(std::vector<std::string> keep) {
    return PlanScan(*files, {job, schema, job.data.train, false, std::move(keep), {}, 1 << 20});
  }
  spec::Schema schema;
};

TEST_CASE("kept columns of Parquet keep their types and values") {
  ParquetScanFixture f;
  const Strings names = {"note", "id", "when", "price"};
  const auto scan = f.Scan(names);
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  ParquetTable table(names, "word", {"x", "y"}, "error");
  std::vector<Strings> texts;
  std::vector<Status> rejects;
  for (size_t shard = 0; shard < scan->input.shards.size(); ++shard) {
    const Status read =
        ScanRows(*f.files, *scan, static_cast<int>(shard), [&](const RowPiece& piece) -> Status {
          const auto rejected = static_cast<int64_t>(piece.rejects.size());
          const int64_t rows = piece.rows().rows + rejected;
          for (int64_t r = 0; r < rows; ++r) {
            texts.emplace_back();
            for (size_t c = 0; c < names.size(); ++c) {
              std::string scratch;
              texts.back().emplace_back(piece.kept.Text(r, c, &scratch));
            }
          }
          rejects.insert(rejects.end(), piece.rejects.begin(), piece.rejects.end());
          std::vector<int32_t> words(static_cast<size_t>(rows), -1);
          Doubles values(static_cast<size_t>(rows) * 2, std::nan(""));
          Strings reasons(static_cast<size_t>(rows), "bad");
          for (const int64_t slot : piece.slots) {
            const auto row = static_cast<size_t>(slot);
            words[row] = 1;
            values[2 * row] = values[2 * row + 1] = 0.25;
            reasons[row].clear();
          }
          if (rejected == 0) reasons.clear();
          return table.Append(piece.kept, rows, {"no", "yes"}, words, values, reasons);
        });
    INFO(read.ToString());
    REQUIRE(read.ok());
  }
  CHECK(texts == std::vector<Strings>{{"p", "10", "2022-01-08", "1.10"},
                                      {"q, r", "20", "2022-01-09", "2.25"},
                                      {"s", "30", "", "3.00"},
                                      {"", "", "2022-01-11", "4.50"}});
  REQUIRE(rejects.size() == 1);  // for `nulls: fail`
  CHECK(rejects[0].position()->row == 2);
  CHECK(rejects[0].position()->column == "b");
  CHECK(table.rows() == 4);
  const auto bytes = table.Finish();
  INFO(bytes.status().ToString());
  REQUIRE(bytes.ok());
  const auto read = ReadTable(*bytes);
  CHECK(read->num_rows() == 4);
  CHECK(Column(*read, "id") == "int64: 10 20 30 null");
  CHECK(Column(*read, "when") == "date32[day]: 2022-01-08 2022-01-09 null 2022-01-11");
  CHECK(Column(*read, "price") == "decimal128(9, 2): 1.10 2.25 3.00 4.50");
  CHECK(Column(*read, "note") == "string: p q, r s null");
  CHECK(Column(*read, "word") == "string: yes null yes yes");
  CHECK(Column(*read, "y") == "double: 0.25 null 0.25 0.25");
  CHECK(Column(*read, "error") == "string: null bad null null");
}

TEST_CASE("a kept list, or a column of one file only, is refused") {
  ParquetScanFixture f;
  const auto list = f.Scan({"list"});
  CHECK(list.status().code() == StatusCode::kInvalidArgument);
  CHECK(list.status().message().find("'list' holds list<") != std::string::npos);
  f.dir.Put("zother.parquet",
            ParquetText({Json("a", arrow::int32(), "[1]"), Json("b", arrow::float64(), "[1]")}));
  f.job.data.train = {f.dir.path() + "/*.parquet"};
  CHECK(f.Scan({}).ok());
  const auto id = f.Scan({"id"});
  CHECK(id.status().message().find("'id' is not in") != std::string::npos);
  REQUIRE(id.status().position());
  CHECK(id.status().position()->file.ends_with("zother.parquet"));
}

TEST_CASE("a list is refused where the model has one value per row") {
  ParquetScanFixture f;
  f.schema.names = {"a", "list", "y"};
  const auto scan = f.Scan({});
  CHECK(scan.status().code() == StatusCode::kInvalidArgument);
  CHECK(scan.status().message().find("a feature of the model: 'list' holds lists in '") !=
        std::string::npos);
}

TEST_CASE("Parquet of another type than in training is refused") {
  ParquetScanFixture f;
  const auto error = [&](const std::shared_ptr<arrow::DataType>& type, const char* values) {
    const std::string path = f.dir.Put(
        "other.parquet",
        ParquetText({Json("a", type, values), Json("b", arrow::float64(), "[0.5, 1.5]")}));
    const auto scan = PlanScan(*f.files, {f.job, f.schema, {path}, false, {}, {}, 1 << 20});
    return scan.ok() ? "" : scan.status().message();
  };
  const auto day = arrow::date32(), stamp = arrow::timestamp(arrow::TimeUnit::MICRO),
             time = arrow::time32(arrow::TimeUnit::SECOND),
             duration = arrow::duration(arrow::TimeUnit::SECOND);
  const char* const kOnes = "[1, 2]";
  // Training on Parquet with `columns: auto`: a date would not be a number. A duration would.
  CHECK(error(day, kOnes).find("'a' holds dates (date32[day])") != std::string::npos);
  CHECK(error(stamp, kOnes).find("expected numbers") != std::string::npos);
  CHECK(error(time, kOnes).empty());
  CHECK(error(duration, kOnes).empty());
  CHECK(error(arrow::null(), "[null, null]").empty());
  // Columns that the job names may have been dates.
  f.job.data.features.columns = {std::string("a"), std::string("b")};
  CHECK(error(day, kOnes).empty());
  // Text has neither of them.
  f.job.data.train = {"train.csv"};
  for (const auto& type : {std::shared_ptr<arrow::DataType>(day), stamp, time, duration}) {
    CHECK(error(type, kOnes).find("expected numbers, as in training") != std::string::npos);
  }
  CHECK(error(arrow::int32(), kOnes).empty());
  CHECK(error(arrow::boolean(), "[true, false]").empty());
  f.schema.rules = {{.type = spec::FeatureType::kDate}, {}};
  CHECK(error(day, kOnes).empty());
  CHECK(error(time, kOnes).empty());
  CHECK(error(duration, kOnes).find("expected dates") != std::string::npos);
}

TEST_CASE("Parquet output is UTF-8 for any kept text and class") {
  PassthroughColumns kept(1);
  kept.AddField("caf\xe9");
  kept.AddField("caf\xc3\xa9");
  ParquetTable table({"k\xff"}, "word", {"n"});
  const Doubles values = {1, 2};
  const std::vector<int32_t> words = {0, 1};
  REQUIRE(table.Append(kept, 2, {"\xe9", "no"}, words, values).ok());
  const auto read = ReadTable(*table.Finish());
  CHECK(read->ValidateFull().ok());
  CHECK(Column(*read, "k\xEF\xBF\xBD") == "string: caf\xEF\xBF\xBD caf\xc3\xa9");
  CHECK(Column(*read, "word") == "string: \xEF\xBF\xBD no");
}

TEST_CASE("kept text stays text in Parquet, with the same bytes again") {
  PassthroughColumns kept(1);
  kept.AddField("x");
  kept.AddField("");
  const auto make = [&] {
    ParquetTable table({"k"}, "", {"n"});
    const Doubles values = {1, 2};
    REQUIRE(table.Append(kept, 2, {}, {}, values).ok());
    REQUIRE(table.Append(kept, 2, {}, {}, values).ok());
    return *table.Finish();
  };
  const std::string bytes = make();
  CHECK(make() == bytes);
  const auto read = ReadTable(bytes);
  CHECK(Column(*read, "k") == "string: x  x ");
  CHECK(Column(*read, "n") == "double: 1 2 1 2");
}

}  // namespace
}  // namespace espalier::data
