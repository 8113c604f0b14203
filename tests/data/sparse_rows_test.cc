// Wide rows of few numbers that are not 0: decoded, counted, stored and gathered without the zeros.
#include "src/spec/sparse_rows.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "src/data/sparse_choice.h"
#include "src/data/sparse_record.h"
#include "tests/data/fixture.h"

namespace espalier {
namespace {

constexpr int32_t kWidth = 1500;

struct Table {
  std::vector<std::map<int32_t, double>> rows;  // by feature, from 0
  std::vector<int> labels;

  std::string Libsvm() const {
    std::string text;
    for (size_t r = 0; r < rows.size(); ++r) {
      text += std::to_string(labels[r]);
      for (const auto& [feature, value] : rows[r]) {
        text += " " + std::to_string(feature + 1) + ":" + Number(value);
      }
      text += "\n";
    }
    return text;
  }
  std::string Csv() const {
    std::string text;
    for (size_t r = 0; r < rows.size(); ++r) {
      text += std::to_string(labels[r]);
      for (int32_t f = 0; f < kWidth; ++f) text += "," + Number(At(r, f));
      text += "\n";
    }
    return text;
  }
  double At(size_t row, int32_t feature) const {
    const auto found = rows[row].find(feature);
    return found == rows[row].end() ? 0 : found->second;
  }
  static std::string Number(double value) {
    if (value != value) return "nan";
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
  }
};

enum class Kind { kBytes, kFloats, kDoubles };

// `entries` a row in the mean; the first feature always 1, some rows without any other.
Table MakeTable(Kind kind, int rows, int entries, uint64_t seed) {
  std::mt19937_64 random(seed);
  Table table;
  for (int r = 0; r < rows; ++r) {
    auto& row = table.rows.emplace_back();
    table.labels.push_back(static_cast<int>(random() % 2));
    row[0] = 1;
    for (int e = 0; r % 7 != 0 && e < entries; ++e) {
      const auto n = static_cast<double>(random() % 200) + 1;
      row[static_cast<int32_t>(random() % kWidth)] = kind == Kind::kBytes    ? n
                                                     : kind == Kind::kFloats ? n / 8 - 10.03125
                                                                             : n / 3 - 30;
    }
  }
  return table;
}

class SparseFixture : public DataFixture {
 public:
  SparseFixture() {
    job.data.csv.header = false;
    job.data.label = {int64_t{0}};
    job.data.features.columns = {ColumnRange{1, kWidth}};
  }

  // The training rows with what is not there filled in.
  std::vector<double> Inputs(const RowStoreOptions& options = {}) {
    const auto survey = Survey();
    INFO(survey.status().ToString());
    REQUIRE(survey.ok());
    result = *survey;
    const auto loaded = LoadRows(*files, plan, job, *survey, All(*survey), shards, options);
    INFO(loaded.status().ToString());
    REQUIRE(loaded.ok());
    memory_bytes = (*loaded)->memory_bytes();
    spool_bytes = (*loaded)->spool_bytes();
    return Gather(**loaded);
  }

  std::vector<double> Gather(const RowStore& store) {
    const Range range = store.rows(FileRole::kTrain);
    std::vector<int64_t> rows;  // backwards, as a shuffle might
    for (int64_t r = range.end; r-- > range.begin;) rows.push_back(r);
    const size_t width = static_cast<size_t>(store.features());
    std::vector<double> inputs(rows.size() * width);
    SparseRows<double> sparse;
    labels.assign(rows.size(), -1);
    store.Gather<double>(FileRole::kTrain, rows, inputs.data(), nullptr, labels.data(), nullptr,
                         nullptr, &sparse);
    if (!store.sparse()) return inputs;
    REQUIRE(sparse.ends.size() == rows.size());
    for (size_t r = 0; r < rows.size(); ++r) {
      double* row = inputs.data() + r * width;
      if (!sparse.base.empty()) std::copy(sparse.base.begin(), sparse.base.end(), row);
      for (int64_t e = sparse.begin(static_cast<int64_t>(r)), last = -1; e < sparse.ends[r]; ++e) {
        REQUIRE(sparse.columns[e] > last);
        last = sparse.columns[e];
        row[last] += sparse.values[e];
      }
    }
    return inputs;
  }

  // What the preprocessing makes of the table, row by row from the last one.
  std::vector<double> Expected(const Table& table) const {
    std::vector<double> inputs;
    for (size_t r = table.rows.size(); r-- > 0;) {
      for (int32_t f = 0; f < kWidth; ++f) {
        const FittedFeature& fitted = result.preprocessing.features[static_cast<size_t>(f)];
        const double x = table.At(r, f);
        inputs.push_back(((x == x ? x : fitted.null_value) - fitted.shift) * fitted.factor);
      }
    }
    return inputs;
  }

  void CheckInputs(const std::vector<double>& inputs, const Table& table) const {
    const std::vector<double> expected = Expected(table);
    REQUIRE(inputs.size() == expected.size());
    double worst = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      worst = std::max(worst, std::fabs(inputs[i] - expected[i]));
    }
    CHECK(worst < 1e-12);
    for (size_t i = 0; i < labels.size(); ++i) {
      CHECK(classes()[static_cast<size_t>(labels[i])] ==
            std::to_string(table.labels[labels.size() - 1 - i]));
    }
  }
  const std::vector<std::string>& classes() const { return result.preprocessing.classes; }

  SurveyResult result;
  std::vector<int32_t> labels;
  int64_t memory_bytes = 0, spool_bytes = 0;
};

TEST_CASE("sparse rows come back as the table says, of every type and scale, however cut") {
  for (const Kind kind : {Kind::kBytes, Kind::kFloats, Kind::kDoubles}) {
    const Table table = MakeTable(kind, 300, 30, 5);
    for (const ScaleKind scale :
         {ScaleKind::kNone, ScaleKind::kStandard, ScaleKind::kMinMax, ScaleKind::kDivide}) {
      INFO(static_cast<int>(kind) << " " << static_cast<int>(scale));
      SparseFixture f;
      f.job.data.features.scale.kind = scale;
      f.job.data.features.scale.divisor = 255;
      f.Train(table.Libsvm(), "a.svm");
      const std::vector<double> inputs = f.Inputs();
      CHECK(f.result.sparse);
      CHECK(f.result.storage == (kind == Kind::kBytes    ? StorageType::kUint8
                                 : kind == Kind::kFloats ? StorageType::kFloat32
                                                         : StorageType::kFloat64));
      f.CheckInputs(inputs, table);
      f.job.data.shard_bytes = 7777;
      CHECK(f.Inputs().size() == inputs.size());
      CHECK(f.plan.shards.size() > 5);
      CHECK(f.result.sparse);
      f.CheckInputs(f.Inputs(), table);
    }
  }
}

TEST_CASE("a wide CSV table is stored sparse too, with the same numbers") {
  const Table table = MakeTable(Kind::kFloats, 200, 20, 6);
  SparseFixture f;
  f.Train(table.Libsvm(), "a.svm");
  const std::vector<double> libsvm = f.Inputs();
  REQUIRE(f.Survey().ok());
  CHECK(f.shards[0].rows.sets[0].sparse);
  const int64_t nonzeros = f.result.shards[0].nonzeros;
  int64_t expected = 0;
  for (const auto& row : table.rows) {
    for (const auto& [feature, value] : row) expected += value != 0;
  }
  CHECK(nonzeros == expected);
  f.Train(table.Csv(), "a.csv");
  CHECK(f.Inputs() == libsvm);
  REQUIRE(f.Survey().ok());
  CHECK_FALSE(f.shards[0].rows.sets[0].sparse);
  CHECK(f.result.sparse);
  CHECK(f.result.shards[0].nonzeros == nonzeros);
}

TEST_CASE("the statistics of sparse rows are those of the table") {
  for (const Kind kind : {Kind::kBytes, Kind::kFloats, Kind::kDoubles}) {
    Table table = MakeTable(kind, 400, 25, 7);
    if (kind == Kind::kFloats) table.rows[9][33] = std::numeric_limits<double>::quiet_NaN();
    SparseFixture f;
    f.job.data.features.nulls.kind = NullKind::kMean;
    f.Train(table.Libsvm(), "a.svm");
    REQUIRE(f.Survey().ok());
    const std::vector<ColumnStats> sparse = f.shards[0].survey.features;
    f.Train(table.Csv(), "a.csv");
    REQUIRE(f.Survey().ok());
    const std::vector<ColumnStats> dense = f.shards[0].survey.features;
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

TEST_CASE("nulls among sparse rows are filled in, dropped or an error, as elsewhere") {
  Table table = MakeTable(Kind::kFloats, 60, 20, 8);
  table.rows[9][33] = table.rows[11][34] = std::numeric_limits<double>::quiet_NaN();
  SparseFixture f;
  f.Train(table.Libsvm(), "a.svm");
  f.job.data.features.nulls = {NullKind::kMean};
  f.CheckInputs(f.Inputs(), table);
  CHECK(f.result.sparse);
  f.job.data.features.nulls = {NullKind::kConstant, 5};
  f.CheckInputs(f.Inputs(), table);
  f.job.data.features.nulls = {NullKind::kDrop};
  CHECK(f.Inputs().size() == 58 * kWidth);
  f.job.data.features.nulls = {NullKind::kFail};
  const Status failed = f.Survey().status();
  CHECK(failed.code() == StatusCode::kBadInput);
  CHECK(failed.position()->row == 10);
  CHECK(failed.position()->column == "34");
}

TEST_CASE("a bad number of a sparse row is named exactly") {
  Table table = MakeTable(Kind::kFloats, 5, 20, 9);
  const std::string text = table.Libsvm();
  SparseFixture f;
  f.Train(text + "1 7:2 1400:x9\n", "a.svm");
  const Status bad = f.Survey().status();
  CHECK(bad.code() == StatusCode::kBadInput);
  CHECK(bad.position()->row == 6);
  CHECK(bad.position()->column == "1400");
  CHECK(bad.position()->text == "x9");
  CHECK(*bad.position()->offset == static_cast<int64_t>(text.size()) + 6);
}

TEST_CASE("what is not sparse enough, or far from 0 when scaled, is stored dense") {
  SparseFixture f;
  const Table full = MakeTable(Kind::kFloats, 100, 150, 3);
  f.Train(full.Libsvm(), "a.svm");
  const std::vector<double> inputs = f.Inputs();
  CHECK_FALSE(f.result.sparse);
  CHECK(f.shards[0].rows.sets[0].rows == 0);  // given to the store
  f.CheckInputs(inputs, full);

  Table far = MakeTable(Kind::kFloats, 100, 20, 3);
  for (size_t r = 0; r < far.rows.size(); ++r) far.rows[r][0] = 1e9 + static_cast<double>(r);
  f.Train(far.Libsvm(), "a.svm");
  f.job.data.features.scale.kind = ScaleKind::kDivide;
  f.job.data.features.scale.divisor = 1e9;
  f.Inputs();
  CHECK(f.result.sparse);
  f.job.data.features.scale.kind = ScaleKind::kStandard;
  f.Inputs();
  CHECK_FALSE(f.result.sparse);
}

TEST_CASE("what a job must be for sparse rows") {
  Preprocessing fitted;
  fitted.features.resize(2000);
  JobSpec job;
  CHECK(StoresSparse(job, fitted, 16, 2000));
  CHECK_FALSE(StoresSparse(job, fitted, 16, 2001));
  fitted.features[7].shift = -16.5;
  CHECK_FALSE(StoresSparse(job, fitted, 16, 1));
  fitted.features[7].factor = 0.9;
  CHECK(StoresSparse(job, fitted, 16, 1));
  fitted.features[7].null_indicator = true;
  CHECK_FALSE(StoresSparse(job, fitted, 16, 1));
  fitted.features[7] = {};
  fitted.features[8].codes = 3;
  CHECK_FALSE(StoresSparse(job, fitted, 16, 1));
  fitted.features[8] = {};
  job.model.task = Task::kAutoencoder;
  CHECK_FALSE(StoresSparse(job, fitted, 16, 1));
  job = {};
  fitted.features.resize(kSparseFeaturesMin - 1);
  CHECK_FALSE(StoresSparse(job, fitted, 16, 1));
}

TEST_CASE("sparse rows are the same from memory, the spool, a second reading, or a part of them") {
  const Table table = MakeTable(Kind::kDoubles, 4000, 40, 10);
  SparseFixture f;
  f.job.data.shard_bytes = 300'000;
  f.Train(table.Libsvm(), "a.svm");
  const std::vector<double> inputs = f.Inputs();
  CHECK(f.spool_bytes == 0);
  // 16 bytes an entry and row at most, against 8 a number.
  CHECK(f.memory_bytes < int64_t{4000} * (40 * 16 + 32));
  const auto survey = f.Survey();
  REQUIRE(survey.ok());
  for (SurveyedShard& shard : f.shards) shard.has_rows = false;
  const RowStoreOptions spool = {
      .memory_bytes_max = 0, .spool_directory = f.dir.path(), .spool_bytes_max = int64_t{1} << 30};
  const auto again = LoadRows(*f.files, f.plan, f.job, *survey, f.All(*survey), f.shards, spool);
  INFO(again.status().ToString());
  REQUIRE(again.ok());
  CHECK((f.Gather(**again) == inputs));
  RowRanges part = f.All(*survey);
  part[0] = {1000, 1777};
  const auto some = LoadRows(*f.files, f.plan, f.job, *survey, part, f.shards, {});
  REQUIRE(some.ok());
  const auto begin = inputs.end() - 1777 * kWidth;
  CHECK((f.Gather(**some) == std::vector<double>(begin, begin + 777 * kWidth)));
}

}  // namespace
}  // namespace espalier
