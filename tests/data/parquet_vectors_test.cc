// Spark's dense and sparse vectors as features.
#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "src/data/parquet/vectors.h"
#include "src/data/profile/table_scan.h"
#include "tests/data/parquet_fixture.h"
#include "tests/data/scan_rows.h"

namespace espalier::data {
namespace {

std::shared_ptr<arrow::DataType> SparkType() {
  return arrow::struct_({arrow::field("type", arrow::int8(), false),
                         arrow::field("size", arrow::int32()),
                         arrow::field("indices", arrow::list(arrow::int32())),
                         arrow::field("values", arrow::list(arrow::float64()))});
}

std::string Sparse(int size, const std::string& indices, const std::string& values) {
  return R"({"type": 0, "size": )" + std::to_string(size) + R"(, "indices": [)" + indices +
         R"(], "values": [)" + values + "]}";
}

std::string Dense(const std::string& values) {
  return R"({"type": 1, "size": null, "indices": null, "values": [)" + values + "]}";
}

ParquetField Vectors(const std::vector<std::string>& rows) {
  std::string json;
  for (const std::string& row : rows) json += (json.empty() ? "[" : ", ") + row;
  return Json("v", SparkType(), json + "]");
}

TEST_CASE("Spark's dense and sparse vectors give their numbers") {
  for (const int64_t group_rows : {100, 2}) {
    ParquetFixture f;
    f.Write({Json("a", arrow::int32(), "[1, 2, 3, 4]"),
             Vectors({Sparse(4, "1, 3", "0.5, -7"), Dense("1, 2, 3, 4"), Sparse(4, "", ""),
                      Sparse(4, "0", "9")}),
             Y(4)},
            {.group_rows = group_rows, .arrow_schema = false});
    CHECK(f.AllRows().inputs ==
          Doubles{1, 0, 0.5, 0, -7, 2, 1, 2, 3, 4, 3, 0, 0, 0, 0, 4, 9, 0, 0, 0});
    CHECK(f.plan.schema.names == Strings{"a", "v[0]", "v[1]", "v[2]", "v[3]", "y"});
    f.job.data.features.columns = {std::string("v[3]"), std::string("a")};
    CHECK(f.AllRows().inputs == Doubles{-7, 1, 4, 2, 0, 3, 0, 4});
  }
}

TEST_CASE("Spark's vectors equal lists of the same numbers") {
  ParquetFixture spark, lists;
  spark.Write({Vectors({Sparse(3, "2", "5"), Dense("1, 2, 3")}), Y(2)});
  lists.Write({Json("v", arrow::list(arrow::float64()), "[[0, 0, 5], [1, 2, 3]]"), Y(2)});
  CHECK((spark.AllRows() == lists.AllRows()));
  // Both work in one job, too.
  spark.job.data.train.push_back(lists.job.data.train[0]);
  CHECK(spark.AllRows().inputs == Doubles{0, 0, 5, 1, 2, 3, 0, 0, 5, 1, 2, 3});
}

TEST_CASE("null vectors and null elements follow the null policy") {
  ParquetFixture f;
  f.job.data.features.nulls = {spec::NullKind::kConstant, -1};
  f.Write({Vectors({"null", Sparse(2, "1", "null"), Dense("3, null"), Dense("3, 4")}), Y(4)});
  CHECK(f.AllRows().inputs == Doubles{-1, -1, 0, -1, 3, -1, 3, 4});
  f.job.data.features.nulls.kind = spec::NullKind::kDrop;
  CHECK(f.AllRows().inputs == Doubles{3, 4});
  f.job.data.features.nulls.kind = spec::NullKind::kFail;
  CHECK(f.Error().message().starts_with("the value is missing"));
}

TEST_CASE("a bad vector is a bad row with its position") {
  struct Bad {
    std::string vector, words;
  };
  const Bad cases[] = {
      {Sparse(3, "0", "1"), "the list has 3 values, expected 2"},
      {Dense("1"), "the list has 1 value, expected 2"},
      {Sparse(2, "2", "1"), "this is not a vector"},
      {Sparse(2, "-1", "1"), "this is not a vector"},
      {Sparse(2, "1, 0", "1, 2"), "this is not a vector"},
      {Sparse(2, "0, 0", "1, 2"), "this is not a vector"},
      {Sparse(2, "null", "1"), "this is not a vector"},
      {Sparse(2, "0", "1, 2"), "this is not a vector"},
      {Sparse(-2, "", ""), "this is not a vector"},
      {R"({"type": 2, "size": 2, "indices": [], "values": []})", "this is not a vector"},
      {R"({"type": 0, "size": null, "indices": [], "values": []})", "this is not a vector"},
      {R"({"type": 0, "size": 2, "indices": null, "values": [1, 2]})", "this is not a vector"},
      {R"({"type": 1, "size": null, "indices": null, "values": null})", "this is not a vector"},
  };
  for (const Bad& bad : cases) {
    INFO(bad.vector);
    ParquetFixture f;
    f.Write({Vectors({Dense("1, 2"), bad.vector, Dense("3, 4")}), Y(3)});
    const Status error = f.Error();
    CHECK_THAT(error.message(), Catch::Contains(bad.words));
    CHECK(error.position()->row == 2);
    CHECK(error.position()->column == "v[0]");
    f.job.data.bad_rows = {.skip = true, .limit = 1};
    CHECK(f.AllRows().inputs == Doubles{1, 2, 3, 4});
  }
}

TEST_CASE("structs that only resemble vectors are refused in planning") {
  ParquetFixture f;
  const auto other = arrow::struct_(
      {arrow::field("type", arrow::int8()), arrow::field("values", arrow::list(arrow::float64()))});
  f.Write({Json("v", other, R"([{"type": 1, "values": [1]}])"), Y(1)});
  CHECK_THAT(f.Error().message(), Catch::Contains("column 'v'") && Catch::Contains("has the type"));
  ParquetFixture huge;
  huge.Write({Vectors({Sparse(2'000'000'000, "5", "1")}), Y(1)});
  CHECK_THAT(huge.Error().message(), Catch::Contains("at most 1048576 are supported"));
}

TEST_CASE("wide sparse vectors are kept without their zeros") {
  constexpr int kWidth = 1200;
  std::vector<std::string> rows;
  for (int r = 0; r < 200; ++r) {
    const int first = (r * 37) % 600, second = 600 + (r * 41) % 600;
    rows.push_back(Sparse(kWidth, std::to_string(first) + ", " + std::to_string(second),
                          std::to_string(r + 1) + ", 0.5"));
  }
  ParquetFixture f;
  for (const int64_t group_rows : {1000, 60}) {
    f.Write({Vectors(rows), Y(200)}, {.group_rows = group_rows, .arrow_schema = false});
    const auto profile = f.Profile();
    REQUIRE(profile.ok());
    CHECK(profile->sparse);
    int64_t nonzeros = 0;
    for (const ProfiledShard& shard : f.shards) {
      CHECK(shard.rows.sets[0].sparse);
      CHECK(shard.rows.MemoryBytes() < 200 * 128);
      nonzeros += shard.profile.nonzeros;
    }
    CHECK(nonzeros == 400);
    CHECK(profile->storage == spec::StorageType::kFloat32);
    for (const bool kept : {true, false}) {  // kept rows, or rows that are read again
      for (ProfiledShard& shard : f.shards) shard.has_rows = kept && shard.has_rows;
      const auto store =
          LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
      REQUIRE(store.ok());
      const std::vector<int64_t> wanted = {199, 0, 73};
      spec::SparseRows<double> sparse;
      (*store)->Gather<double>(spec::FileRole::kTrain, wanted, nullptr, nullptr, nullptr, nullptr,
                               nullptr, &sparse);
      CHECK(sparse.ends == std::vector<int64_t>{2, 4, 6});
      CHECK(sparse.columns == std::vector<int32_t>{(199 * 37) % 600, 600 + (199 * 41) % 600, 0, 600,
                                                   (73 * 37) % 600, 600 + (73 * 41) % 600});
      CHECK(sparse.values == Doubles{200, 0.5, 1, 0.5, 74, 0.5});
    }
  }
  // Weights, classes and other columns of the rows are read along.
  std::string weights = "[";
  for (int r = 0; r < 200; ++r) weights += (r ? "," : "") + std::to_string(r) + ".5";
  f.Write({Vectors(rows), Json("w", arrow::float64(), weights + "]"), Y(200)}, {.group_rows = 60});
  f.job.data.weight = {std::string("w")};
  const auto weighted = f.Profile();
  REQUIRE(weighted.ok());
  REQUIRE(weighted->sparse);
  CHECK(f.shards[0].rows.sets[0].sparse);
  const auto store = LoadRows({*f.files, f.plan, f.job}, *weighted, f.All(*weighted), f.shards, {});
  REQUIRE(store.ok());
  spec::SparseRows<double> sparse;
  Doubles targets(2), of(2);
  (*store)->Gather<double>(spec::FileRole::kTrain, std::vector<int64_t>{199, 61}, nullptr, nullptr,
                           nullptr, targets.data(), of.data(), &sparse);
  CHECK(of == Doubles{199.5, 61.5});
  CHECK(targets == Doubles{199, 61});
  f.job.data.weight = {};

  std::string ones = "1";
  for (int i = 1; i < kWidth; ++i) ones += ", 1";
  f.Write({Vectors({Dense(ones), rows[0]}), Y(2)});
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  CHECK_FALSE(profile->sparse);
  CHECK_FALSE(f.shards[0].rows.sets[0].sparse);
}

// Returns a table with wide vectors between two other columns, as Spark's vectors or as full lists.
// Nearly all numbers are 0; some rows are unusual.
std::vector<ParquetField> WideTable(bool spark) {
  constexpr int kWidth = 1200, kRows = 150;
  std::string vectors, before, after;
  for (int r = 0; r < kRows; ++r) {
    const std::map<int, std::string> entries = {{r % 400, std::to_string(r) + ".25"},
                                                {400 + r % 300, "0"},
                                                {700 + r % 500, r == 40 ? "null" : "-3"}};
    const int width = r == 50 ? kWidth - 1 : kWidth;
    std::string indices, values, all;
    for (const auto& [index, value] : entries) {
      indices += (indices.empty() ? "" : ", ") + std::to_string(index);
      values += (values.empty() ? "" : ", ") + value;
    }
    for (int i = 0; i < width; ++i) {
      const auto entry = entries.find(i);
      all += (i ? "," : "") + (entry == entries.end() ? std::string("0") : entry->second);
    }
    const std::string row = r == 60              ? "null"
                            : !spark             ? "[" + all + "]"
                            : r == 0 || r == 130 ? Dense(all)
                                                 : Sparse(width, indices, values);
    vectors += (r ? ", " : "") + row;
    before += (r ? ", " : "") + std::to_string(r % 3);
    after += (r ? ", " : "") + std::to_string(r % 2) + ".5";
  }
  const auto lists = arrow::list(arrow::float64());
  return {Json("a", arrow::int32(), "[" + before + "]"),
          Json("v", spark ? SparkType() : lists, "[" + vectors + "]"),
          Json("b", arrow::float64(), "[" + after + "]"), Y(kRows)};
}

void CheckSame(const DecodedRows& a, const DecodedRows& b) {
  CHECK(a.sparse == b.sparse);
  CHECK(a.type == b.type);
  CHECK(a.rows == b.rows);
  CHECK(std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end()));
  CHECK(std::equal(a.ends.begin(), a.ends.end(), b.ends.begin(), b.ends.end()));
  CHECK(std::equal(a.targets.begin(), a.targets.end(), b.targets.begin(), b.targets.end()));
  const auto bytes = [](const DecodedRows& rows) {  // compares bits: -0 is not 0
    return std::string_view(reinterpret_cast<const char*>(rows.features.data()),
                            rows.features.size());
  };
  CHECK(bytes(a) == bytes(b));
}

spec::FeatureGroup Category(const std::string& column, int64_t hash) {
  spec::FeatureGroup group;
  group.columns = {column};
  group.type = spec::FeatureType::kCategorical;
  group.hash = hash;
  return group;
}

TEST_CASE("dense wide vectors next to categories keep their zeros") {
  std::string ones = "1";
  for (int i = 1; i < 1200; ++i) ones += ", 1";
  ParquetFixture f;
  f.job.data.features.groups = {Category("a", 0)};
  f.Write({Json("a", arrow::utf8(), R"(["x", "y", "x"])"),
           Vectors({Dense(ones), Sparse(1200, "7", "2"), Dense(ones)}), Y(3)},
          {.arrow_schema = false});
  const Gathered rows = f.AllRows();
  CHECK_FALSE(f.shards[0].rows.sets[0].sparse);
  CHECK(rows.codes == std::vector<int32_t>{0, 1, 0});
  CHECK(rows.inputs.size() == 3 * 1200);
  CHECK(std::accumulate(rows.inputs.begin(), rows.inputs.end(), 0.0) == 2402);
}

TEST_CASE("sparse vectors and full lists give the same rows") {
  for (const int64_t group_rows : {1000, 37}) {
    for (const spec::NullKind nulls :
         {spec::NullKind::kMean, spec::NullKind::kDrop, spec::NullKind::kFail}) {
      for (const auto& [some, coded] : {std::pair(false, false), {true, false}, {true, true}}) {
        INFO(group_rows << " " << static_cast<int>(nulls) << " " << some << " " << coded);
        ParquetFixture spark, lists;
        for (ParquetFixture* f : {&spark, &lists}) {
          f->job.data.features.nulls.kind = nulls;
          f->job.data.validation.fraction = 0.3;
          f->job.data.bad_rows = {.skip = true, .limit = 5};
          // All features except the first and one in the middle, in another order.
          if (some) {
            f->job.data.features.columns = {std::string("b")};
            for (int i = 1; i < 1200; ++i) {
              if (i != 800) f->job.data.features.columns.push_back("v[" + std::to_string(i) + "]");
            }
          }
          if (coded) {
            f->job.data.features.groups = {Category("a", 0), Category("b", 9)};
            spec::FeatureGroup& nulled = f->job.data.features.groups.emplace_back();
            nulled.columns = {std::string("v[900]")};
            nulled.null_indicator = true;
          }
          f->Write(WideTable(f == &spark), {.group_rows = group_rows, .arrow_schema = false},
                   "t.parquet");
          REQUIRE(f->Profile().ok());
        }
        REQUIRE(spark.shards.size() == lists.shards.size());
        for (size_t s = 0; s < spark.shards.size(); ++s) {
          const ProfiledShard &a = spark.shards[s], &b = lists.shards[s];
          CHECK(a.rows.sets[0].sparse);
          CHECK(a.profile.nonzeros == b.profile.nonzeros);
          CHECK(a.profile.skipped_rows == b.profile.skipped_rows);
          CHECK(a.profile.dropped_rows == b.profile.dropped_rows);
          CHECK(a.profile.features == b.profile.features);
          CHECK(a.profile.categories == b.profile.categories);
          CHECK(a.profile.categories.size() == (coded ? 1 : 0));
          for (int set = 0; set < kSets; ++set) CheckSame(a.rows.sets[set], b.rows.sets[set]);
        }
      }
    }
  }
}

TEST_CASE("wide vectors take the memory of their entries") {
  constexpr int kWidth = 300'000, kRows = 200;
  std::vector<std::string> rows;
  std::string libsvm;
  for (int r = 0; r < kRows; ++r) {
    const std::string first = std::to_string(r * 37), second = std::to_string(kWidth - 1 - r);
    const std::string value = std::to_string(r + 1);
    rows.push_back(Sparse(kWidth, first + ", " + second, value + ", 0.5"));
    libsvm += std::to_string(r) + " " + std::to_string(r * 37 + 1) + ":" + value + " " +
              std::to_string(kWidth - r) + ":0.5\n";
  }
  ParquetFixture f, text;
  f.Write({Vectors(rows), Y(kRows)}, {.arrow_schema = false});
  text.Train(libsvm, "a.svm");
  text.job.data.label = {int64_t{0}};
  text.job.data.features.columns = {spec::ColumnRange{1, kWidth}};
  // A batch of 64 rows with all their floats would take 73 MiB.
  const auto profile = [](ParquetFixture* of) {
    const auto plan = of->Plan();
    REQUIRE(plan.ok());
    REQUIRE(plan->shards.size() == 1);
    MemoryBudget room(MemoryBudget::kReadingBytes, "", 0);
    auto profiled =
        ProfileShard(*MakeShardReader({*of->files, *plan, of->job}, {.room = &room}), 0);
    INFO(profiled.status().ToString());
    REQUIRE(profiled.ok());
    auto read = MakeShardReader({*of->files, *plan, of->job}, {.room = &room})->Read(0);
    REQUIRE(read.ok());
    CHECK(read->MemoryBytes() < 1 << 20);
    CheckSame(read->sets[0], profiled->rows.sets[0]);
    // Returns copies, because buffers that the budget counts must not outlive it.
    return std::pair(
        std::move(profiled->profile),
        std::vector<int32_t>(read->sets[0].columns.begin(), read->sets[0].columns.end()));
  };
  const auto [of_vectors, columns] = profile(&f);
  const auto [of_text, text_columns] = profile(&text);
  CHECK(columns == text_columns);
  CHECK(of_vectors.nonzeros == 2 * kRows);
  CHECK(of_vectors.nonzeros == of_text.nonzeros);
  CHECK(of_vectors.storage == of_text.storage);
  CHECK(of_vectors.features == of_text.features);
}

TEST_CASE("wide vectors are scored sparse, or dense in small pieces") {
  constexpr int kWidth = 300'000, kRows = 40;
  std::vector<std::string> rows;
  for (int r = 0; r < kRows; ++r) {
    rows.push_back(Sparse(kWidth, std::to_string(r * 37), std::to_string(r + 1)));
  }
  ParquetFixture f;
  const std::string path = f.Write({Vectors(rows), Y(kRows)}, {.arrow_schema = false});
  const auto plan = f.Plan();
  REQUIRE(plan.ok());
  for (const bool sparse : {true, false}) {
    ScanRequest request = {f.job, plan->schema, {path}, false, {}, {}, 1 << 20};
    request.sparse = sparse;
    const auto scan = PlanScan(*f.files, request);
    INFO(scan.status().ToString());
    REQUIRE(scan.ok());
    int64_t seen = 0;
    const Status read = ScanRows(*f.files, *scan, 0, [&](const RowPiece& piece) -> Status {
      CHECK(piece.rows().sparse == sparse);
      CHECK(piece.rows().type == spec::StorageType::kUint8);
      if (!sparse) CHECK(piece.rows().rows * kWidth <= 4 << 20);
      for (int64_t r = 0; r < piece.rows().rows; ++r, ++seen) {
        const uint8_t* values = piece.rows().features.data();
        CHECK(values[sparse ? piece.rows().begin(r) : r * kWidth + seen * 37] == seen + 1);
        if (sparse) CHECK(piece.rows().columns[piece.rows().begin(r)] == seen * 37);
      }
      CHECK(piece.rows().Nonzeros(kWidth, {}) == piece.rows().rows);
      return {};
    });
    INFO(read.ToString());
    CHECK(read.ok());
    CHECK(seen == kRows);
  }
}

TEST_CASE("memory for dense wide rows is allocated once") {
  constexpr int kWidth = 1100, kRows = 200;
  std::vector<std::string> rows;
  for (int r = 0; r < kRows; ++r) {
    std::string numbers;
    for (int i = 0; i < kWidth; ++i) {
      numbers += (i ? "," : "") + std::to_string(r * kWidth + i + 1) + ".5";
    }
    rows.push_back(Dense(numbers));
  }
  ParquetFixture f;
  f.Write({Vectors(rows), Y(kRows)}, {.group_rows = 60});
  f.job.data.shard_bytes = int64_t{1} << 30;
  REQUIRE(f.Profile().ok());
  REQUIRE(f.shards.size() == 1);
  const DecodedRows& train = f.shards[0].rows.sets[0];
  CHECK(train.features.size() == size_t{kRows} * kWidth * sizeof(float));
  CHECK(train.features.capacity() == train.features.size());
}

}  // namespace
}  // namespace espalier::data
