// Wide sparse rows that are decoded, counted, stored and gathered without their zeros.
#include "src/spec/sparse_rows.h"

#include <limits>
#include <numeric>

#include "src/data/features/feature_encoder.h"
#include "src/data/profile/table_scan.h"
#include "tests/data/scan_rows.h"
#include "tests/data/sparse_fixture.h"

namespace espalier::data {
namespace {

TEST_CASE("sparse rows of any type, scale and cut equal the table") {
  for (const Kind kind : {Kind::kBytes, Kind::kFloats, Kind::kDoubles}) {
    const Table table = MakeTable(kind, 300, 30, 5);
    for (const spec::ScaleKind scale : {spec::ScaleKind::kNone, spec::ScaleKind::kStandard,
                                        spec::ScaleKind::kMinMax, spec::ScaleKind::kDivide}) {
      INFO(static_cast<int>(kind) << " " << static_cast<int>(scale));
      SparseFixture f;
      f.job.data.features.scale.kind = scale;
      f.job.data.features.scale.divisor = 255;
      f.Train(table.Libsvm(), "a.svm");
      const std::vector<double> inputs = f.Inputs();
      CHECK(f.result.sparse);
      CHECK(f.result.storage == (kind == Kind::kBytes    ? spec::StorageType::kUint8
                                 : kind == Kind::kFloats ? spec::StorageType::kFloat32
                                                         : spec::StorageType::kFloat64));
      f.CheckInputs(inputs, table);
      f.job.data.shard_bytes = 7777;
      CHECK(f.Inputs().size() == inputs.size());
      CHECK(f.plan.shards.size() > 5);
      CHECK(f.result.sparse);
      f.CheckInputs(f.Inputs(), table);
    }
  }
}

TEST_CASE("a wide CSV table is stored sparse with the same numbers") {
  const Table table = MakeTable(Kind::kFloats, 200, 20, 6);
  SparseFixture f;
  f.Train(table.Libsvm(), "a.svm");
  const std::vector<double> libsvm = f.Inputs();
  REQUIRE(f.Profile().ok());
  CHECK(f.shards[0].rows.sets[0].sparse);
  const int64_t nonzeros = f.result.shards[0].nonzeros;
  int64_t expected = 0;
  for (const auto& row : table.rows) {
    for (const auto& [feature, value] : row) expected += value != 0;
  }
  CHECK(nonzeros == expected);
  f.Train(table.Csv(), "a.csv");
  CHECK(f.Inputs() == libsvm);
  REQUIRE(f.Profile().ok());
  CHECK_FALSE(f.shards[0].rows.sets[0].sparse);
  CHECK(f.result.sparse);
  CHECK(f.result.shards[0].nonzeros == nonzeros);
}

// Compares the job's row store with rows that are read and scaled for scoring.
TEST_CASE("scored sparse rows equal the network's inputs bit by bit") {
  for (const Kind kind : {Kind::kBytes, Kind::kFloats, Kind::kDoubles}) {
    Table table = MakeTable(kind, 300, 20, 5);
    if (kind != Kind::kBytes) table.rows[9][33] = std::numeric_limits<double>::quiet_NaN();
    for (size_t r = 0; r < table.rows.size(); ++r) {
      table.rows[r][700] = r == 7 ? 0 : 201 + static_cast<double>(r % 5);
    }
    SparseFixture f;
    f.job.data.features.nulls.kind = spec::NullKind::kMean;
    f.job.data.features.scale.kind = spec::ScaleKind::kStandard;
    f.Train(table.Libsvm(), "a.svm");
    const auto profile = f.Profile();
    REQUIRE(profile.ok());
    REQUIRE(profile->sparse);
    const spec::FittedFeature& far = profile->preprocessing.features[700];
    CHECK(spec::IsFarFromZero(far.shift, far.factor));
    const auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
    REQUIRE(store.ok());
    std::vector<int64_t> rows(table.rows.size());
    std::iota(rows.begin(), rows.end(), 0);
    spec::SparseRows<float> stored, scored;
    (*store)->Gather<float>(spec::FileRole::kTrain, rows, nullptr, nullptr, nullptr, nullptr,
                            nullptr, &stored);
    FeatureEncoder encoder(profile->preprocessing);
    encoder.PrepareSparse();
    for (const std::string& file :
         {f.dir / "a.svm", f.dir.Put("a.csv", table.Csv())}) {  // decoded sparse, then dense
      ScanRequest request = {f.job, f.plan.schema, {file}, false, {}, {}, 1 << 20};
      request.sparse = profile->sparse;
      const auto scan = PlanScan(*f.files, request);
      INFO(scan.status().ToString());
      REQUIRE(scan.ok());
      encoder.BeginSparse(&scored);
      bool decoded_sparse = false;
      const Status read = ScanRows(*f.files, *scan, 0, [&](const RowPiece& piece) -> Status {
        decoded_sparse = piece.rows().sparse;
        encoder.EncodeSparseRows(piece.rows(), {}, 0, piece.rows().rows, &scored, nullptr);
        return {};
      });
      INFO(read.ToString());
      REQUIRE(read.ok());
      CHECK(decoded_sparse == file.ends_with(".svm"));
      CHECK(scored.ends == stored.ends);
      CHECK(scored.columns == stored.columns);
      CHECK((scored.values == stored.values));
      CHECK(std::equal(scored.base.begin(), scored.base.end(), stored.base.begin(),
                       stored.base.end()));
    }
  }
}

TEST_CASE("the statistics of sparse rows equal those of the table") {
  for (const Kind kind : {Kind::kBytes, Kind::kFloats, Kind::kDoubles}) {
    Table table = MakeTable(kind, 400, 25, 7);
    if (kind == Kind::kFloats) table.rows[9][33] = std::numeric_limits<double>::quiet_NaN();
    SparseFixture f;
    f.job.data.features.nulls.kind = spec::NullKind::kMean;
    f.Train(table.Libsvm(), "a.svm");
    REQUIRE(f.Profile().ok());
    const std::vector<spec::ColumnStats> sparse = f.shards[0].profile.features;
    f.Train(table.Csv(), "a.csv");
    REQUIRE(f.Profile().ok());
    const std::vector<spec::ColumnStats> dense = f.shards[0].profile.features;
    if (kind == Kind::kBytes) CHECK(sparse == dense);
    REQUIRE(sparse.size() == dense.size());
    for (size_t c = 0; c < dense.size(); ++c) {
      CHECK(sparse[c].count == dense[c].count);
      CHECK(sparse[c].nulls == dense[c].nulls);
      CHECK(sparse[c].min == dense[c].min);
      CHECK(sparse[c].max == dense[c].max);
      CHECK(sparse[c].mean == Approx(dense[c].mean).epsilon(1e-13).margin(1e-15));
      CHECK(sparse[c].m2 == Approx(dense[c].m2).epsilon(1e-12).margin(1e-12));
    }
  }
}

TEST_CASE("nulls of sparse rows are filled in, dropped or an error") {
  Table table = MakeTable(Kind::kFloats, 60, 20, 8);
  table.rows[9][33] = table.rows[11][34] = std::numeric_limits<double>::quiet_NaN();
  SparseFixture f;
  f.Train(table.Libsvm(), "a.svm");
  f.job.data.features.nulls = {spec::NullKind::kMean};
  f.CheckInputs(f.Inputs(), table);
  CHECK(f.result.sparse);
  f.job.data.features.nulls = {spec::NullKind::kConstant, 5};
  f.CheckInputs(f.Inputs(), table);
  f.job.data.features.nulls = {spec::NullKind::kDrop};
  CHECK(f.Inputs().size() == 58 * kWidth);
  f.job.data.features.nulls = {spec::NullKind::kFail};
  const Status failed = f.Profile().status();
  CHECK(failed.code() == StatusCode::kBadInput);
  CHECK(failed.position()->row == 10);
  CHECK(failed.position()->column == "34");
}

TEST_CASE("a bad number of a sparse row is reported with its position") {
  Table table = MakeTable(Kind::kFloats, 5, 20, 9);
  const std::string text = table.Libsvm();
  SparseFixture f;
  f.Train(text + "1 7:2 1400:x9\n", "a.svm");
  const Status bad = f.Profile().status();
  CHECK(bad.code() == StatusCode::kBadInput);
  CHECK(bad.position()->row == 6);
  CHECK(bad.position()->column == "1400");
  CHECK(bad.position()->text == "x9");
  CHECK(*bad.position()->offset == static_cast<int64_t>(text.size()) + 6);
}

TEST_CASE("rows that are not sparse enough are stored dense") {
  SparseFixture f;
  const Table full = MakeTable(Kind::kFloats, 100, 150, 3);
  f.Train(full.Libsvm(), "a.svm");
  const std::vector<double> inputs = f.Inputs();
  CHECK_FALSE(f.result.sparse);
  CHECK(f.shards[0].rows.sets[0].rows == 0);  // moved to the store
  f.CheckInputs(inputs, full);
}

TEST_CASE("a column far from 0 is in every sparse row, exactly") {
  Table far = MakeTable(Kind::kFloats, 400, 20, 3);
  for (size_t r = 0; r < far.rows.size(); ++r) {
    far.rows[r][0] = 1e9 + static_cast<double>(r);
    far.rows[r][kWidth - 1] = 2000;
    far.rows[r][700] = 2010 + static_cast<double>(r % 9);
  }
  far.rows[7].erase(kWidth - 1);  // one row in 400 is 0
  far.rows[9][kWidth - 1] = std::numeric_limits<double>::quiet_NaN();
  SparseFixture f;
  f.job.data.features.nulls = {spec::NullKind::kConstant, 1990};
  f.job.data.features.scale.kind = spec::ScaleKind::kStandard;
  f.Train(far.Libsvm(), "a.svm");
  const std::vector<double> inputs = f.Inputs();
  CHECK(f.result.sparse);
  for (const size_t c : {0, 700, kWidth - 1}) {
    const spec::FittedFeature& fitted = f.result.preprocessing.features[c];
    CHECK(fitted.shift * fitted.factor > 16);
  }
  f.CheckInputs(inputs, far);
  const std::vector<double> expected = f.Expected(far);
  for (size_t i = 0; i < inputs.size(); i += kWidth) {
    for (const size_t c : {0, 700, kWidth - 1}) CHECK(inputs[i + c] == expected[i + c]);
  }
  CHECK(f.Inputs(
            {.memory_bytes_max = 0, .spill_directory = f.dir.path(), .spill_bytes_max = 1 << 30}) ==
        inputs);
}

TEST_CASE("sparse storage depends on job, features and nonzeros") {
  spec::Preprocessing fitted;
  fitted.features.resize(2000);
  spec::JobSpec job;
  CHECK(StoresSparse(job, fitted, 16, 2000));
  CHECK_FALSE(StoresSparse(job, fitted, 16, 2001));
  fitted.features[7].shift = -16.5;  // far from 0: has an entry in every row
  CHECK(StoresSparse(job, fitted, 16, 2000 - 16));
  CHECK_FALSE(StoresSparse(job, fitted, 16, 2000 - 15));
  fitted.features[7].factor = 0.9;
  CHECK(StoresSparse(job, fitted, 16, 2000));
  fitted.features[7].null_indicator = true;
  fitted.features[8].codes = 3;
  CHECK(StoresSparse(job, fitted, 16, 2000));
  CHECK_FALSE(StoresSparse(job, fitted, 16, 2001));
  job.model.task = spec::Task::kAutoencoder;
  CHECK_FALSE(StoresSparse(job, fitted, 16, 1));
  job = {};
  fitted.features.resize(spec::kSparseFeaturesMin + 1);  // numbers; one will be a category
  CHECK(StoresSparse(job, fitted, 16, 1));
  fitted.features[9].codes = 3;
  CHECK_FALSE(StoresSparse(job, fitted, 16, 1));
  fitted.features.resize(spec::kSparseFeaturesMin - 1);
  CHECK_FALSE(StoresSparse(job, fitted, 16, 1));
}

TEST_CASE("sparse rows are equal from memory, spill, rereads and parts") {
  const Table table = MakeTable(Kind::kDoubles, 4000, 40, 10);
  SparseFixture f;
  f.job.data.shard_bytes = 300'000;
  f.Train(table.Libsvm(), "a.svm");
  const std::vector<double> inputs = f.Inputs();
  CHECK(f.spill_bytes == 0);
  // 16 bytes for each entry and row at most, compared with 8 for each number.
  CHECK(f.memory_bytes < int64_t{4000} * (40 * 16 + 32));
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  for (ProfiledShard& shard : f.shards) shard.has_rows = false;
  const RowStoreOptions spill = {
      .memory_bytes_max = 0, .spill_directory = f.dir.path(), .spill_bytes_max = int64_t{1} << 30};
  const auto again =
      LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, spill);
  INFO(again.status().ToString());
  REQUIRE(again.ok());
  CHECK((f.Gather(**again) == inputs));
  RowRanges part = f.All(*profile);
  part[0] = {1000, 1777};
  const auto some = LoadRows({*f.files, f.plan, f.job}, *profile, part, f.shards, {});
  REQUIRE(some.ok());
  const auto begin = inputs.end() - 1777 * kWidth;
  CHECK((f.Gather(**some) == std::vector<double>(begin, begin + 777 * kWidth)));
}

}  // namespace
}  // namespace espalier::data
