// Scoring of wide sparse rows by models that were trained on sparse rows.
#include <cmath>
#include <map>
#include <random>

#include "src/data/table/schema.h"
#include "src/scoring/evaluate.h"
#include "tests/data/scan_rows.h"
#include "tests/scoring/fixture.h"

namespace espalier::scoring {
namespace {

constexpr int kWidth = 1500, kYear = 41;  // kYear is a column far from 0

bundle::ModelDocument WideDocument(bool sparse,
                                   spec::Precision precision = spec::Precision::kFloat32) {
  bundle::ModelDocument d = ClassesDocument();
  d.job.name = "wide";
  d.job.data.csv.header = false;
  d.job.data.label = {int64_t{0}};
  d.job.data.features.columns = {spec::ColumnRange{1, kWidth}};
  d.job.data.features.nulls.kind = spec::NullKind::kMean;
  d.job.model.hidden = {13, 5};
  d.job.model.precision = precision;
  d.schema = {data::PositionNames(kWidth + 1), {}, {0}};
  d.preprocessing.features.clear();
  for (int i = 1; i <= kWidth; ++i) {
    d.schema.features.push_back(i);
    const double shift = i == kYear ? 1990 : i % 3 == 0 ? 0 : 0.01 * (i % 50);
    d.preprocessing.features.push_back(
        {std::to_string(i), shift, i == kYear ? 0.1 : 1 + 0.25 * (i % 7), 0.5 * (i % 5)});
  }
  d.preprocessing.classes = {"0", "1"};
  d.sparse = sparse;
  return d;
}

using Table = std::vector<std::map<int, std::string>>;  // by column; 0: the label

// Makes rows of about 25 numbers, with nulls and explicit zeros. Some rows have no number.
Table MakeTable(int rows) {
  std::mt19937_64 random(4);
  Table table;
  for (int r = 0; r < rows; ++r) {
    auto& row = table.emplace_back();
    row[0] = std::to_string(random() % 2);
    if (r % 11 != 0) row[kYear] = std::to_string(1950 + random() % 70);
    for (int e = 0; r % 7 != 0 && e < 25; ++e) {
      const int column = static_cast<int>(random() % kWidth) + 1;
      if (column == kYear) continue;
      row[column] = e == 3 ? "nan" : e == 4 ? "0" : std::to_string(int(random() % 200)) + ".375";
    }
  }
  return table;
}

std::string Libsvm(const Table& table) {
  std::string text;
  for (const auto& row : table) {
    for (const auto& [column, value] : row) {
      text += column == 0 ? value : " " + std::to_string(column) + ":" + value;
    }
    text += "\n";
  }
  return text;
}

std::string Csv(const Table& table) {
  std::string text;
  for (const auto& row : table) {
    for (int c = 0; c <= kWidth; ++c) {
      const auto found = row.find(c);
      text += (c > 0 ? "," : "") + (found == row.end() ? "0" : found->second);
    }
    text += "\n";
  }
  return text;
}

struct Said {
  std::vector<double> values;
  size_t pieces = 0, sparse_pieces = 0, largest = 0;
};

// Returns the model's predictions for a table, shard by shard.
Said Ask(const ScoringFixture& f, const TrainedModel& model, const std::string& path,
         int64_t shard_bytes = 1 << 30) {
  const auto scan = f.Scan(model, {path}, false, {}, shard_bytes);
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  auto scorer = Scorer::Make(model);
  Said said;
  for (size_t shard = 0; shard < scan->input.shards.size(); ++shard) {
    const Status read = data::ScanRows(
        *f.files, *scan, static_cast<int>(shard), [&](const data::RowPiece& piece) -> Status {
          std::vector<double> values;
          scorer->Predict(piece.rows(), piece.texts, &values);
          said.values.insert(said.values.end(), values.begin(), values.end());
          ++said.pieces;
          said.sparse_pieces += piece.rows().sparse;
          said.largest = std::max(said.largest, piece.rows().FeatureBytes());
          return {};
        });
    INFO(read.ToString());
    REQUIRE(read.ok());
  }
  return said;
}

double Farthest(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double farthest = 0;
  for (size_t i = 0; i < a.size(); ++i) farthest = std::max(farthest, std::fabs(a[i] - b[i]));
  return farthest;
}

TEST_CASE("a sparse model predicts like the dense one up to rounding") {
  const ScoringFixture f;
  const std::string path = f.dir.Put("t.svm", Libsvm(MakeTable(1200)));
  for (const auto& [precision, tolerance] :
       {std::pair(spec::Precision::kFloat32, 2e-5), std::pair(spec::Precision::kFloat64, 1e-12)}) {
    const Said dense = Ask(f, f.Model(WideDocument(false, precision)), path);
    const Said sparse = Ask(f, f.Model(WideDocument(true, precision)), path);
    CHECK(dense.values.size() == 2400);
    CHECK(Farthest(dense.values, sparse.values) < tolerance);
    const auto [least, most] = std::minmax_element(sparse.values.begin(), sparse.values.end());
    CHECK(*most - *least > 0.1);  // predictions differ by row
    CHECK(dense.sparse_pieces == 0);
    CHECK(sparse.sparse_pieces == sparse.pieces);
    CHECK(sparse.pieces * 5 < dense.pieces);
  }
}

// Makes a column of a wide document a category.
void MakeCategory(bundle::ModelDocument* d, int column, int64_t embedding, int64_t hash) {
  const auto index = static_cast<size_t>(column) - 1;
  d->schema.rules.resize(d->schema.features.size());
  d->schema.rules[index].group = static_cast<int32_t>(d->job.data.features.groups.size());
  d->schema.rules[index].type = spec::FeatureType::kCategorical;
  spec::FeatureGroup& group = d->job.data.features.groups.emplace_back();
  group.columns = {int64_t{column}};
  group.type = spec::FeatureType::kCategorical;
  group.embedding = embedding;
  group.hash = hash;
  spec::FittedFeature& fitted = d->preprocessing.features[index];
  fitted = {std::to_string(column)};
  fitted.embedding = embedding;
  fitted.codes = hash > 0 ? hash : 4;
  fitted.hashed = hash > 0;
  if (hash == 0) fitted.vocabulary = {"0", "1", "5"};  // and one code for other values
}

// Returns a model with one-hot, embedded and hashed categories and null indicators.
bundle::ModelDocument CodedDocument(bool sparse, spec::Precision precision) {
  bundle::ModelDocument d = WideDocument(sparse, precision);
  MakeCategory(&d, 3, 0, 0);
  MakeCategory(&d, 700, 4, 0);
  MakeCategory(&d, 1499, 0, 9);
  const auto group = static_cast<int32_t>(d.job.data.features.groups.size());
  spec::FeatureGroup& nulls = d.job.data.features.groups.emplace_back();
  nulls.columns = {spec::ColumnRange{100, 200}};
  nulls.null_indicator = true;
  for (size_t i = 99; i < 200; ++i) {
    d.preprocessing.features[i].null_indicator = true;
    d.schema.rules[i].group = group;
  }
  return d;
}

TEST_CASE("a sparse model with categories predicts like the dense one") {
  const ScoringFixture f;
  Table table = MakeTable(1200);
  for (size_t r = 0; r < table.size(); ++r) {
    for (const int column : {3, 700, 1499}) {
      table[r].erase(column);
      if (r % 4 != 0) table[r][column] = std::to_string(r * static_cast<size_t>(column) % 7);
    }
    if (r % 5 == 0) table[r][100 + static_cast<int>(r % 100)] = "nan";
  }
  const std::string svm = f.dir.Put("t.svm", Libsvm(table)), csv = f.dir.Put("t.csv", Csv(table));
  for (const auto& [precision, tolerance] :
       {std::pair(spec::Precision::kFloat32, 2e-5), std::pair(spec::Precision::kFloat64, 1e-12)}) {
    const Said dense = Ask(f, f.Model(CodedDocument(false, precision)), svm, 20'000);
    const TrainedModel model = f.Model(CodedDocument(true, precision));
    const Said sparse = Ask(f, model, svm, 20'000), of_csv = Ask(f, model, csv, 300'000);
    CHECK(dense.values.size() == 2400);
    CHECK(dense.sparse_pieces == 0);
    CHECK(sparse.sparse_pieces == sparse.pieces);
    CHECK(of_csv.sparse_pieces == 0);
    CHECK(Farthest(dense.values, sparse.values) < tolerance);
    CHECK(Farthest(of_csv.values, sparse.values) < tolerance);
  }
}

// The first layer's sums depend only on the row (tests/model/sparse_test.cc). Later layers use
// BLAS, which may round differently at the end of a batch. Shards end batches.
TEST_CASE("format and shard change sparse predictions by rounding only") {
  const ScoringFixture f;
  const Table table = MakeTable(1500);
  for (const auto& [precision, tolerance] :
       {std::pair(spec::Precision::kFloat32, 1e-6), std::pair(spec::Precision::kFloat64, 1e-14)}) {
    const TrainedModel model = f.Model(WideDocument(true, precision));
    const std::string svm = f.dir.Put("t.svm", Libsvm(table));
    const Said whole = Ask(f, model, svm);
    for (const int64_t shard_bytes : {100'000, 7777, 300}) {
      const double farthest = Farthest(Ask(f, model, svm, shard_bytes).values, whole.values);
      CHECK(farthest < tolerance);
    }
    // CSV is decoded dense.
    const Said csv = Ask(f, model, f.dir.Put("t.csv", Csv(table)));
    CHECK(csv.sparse_pieces == 0);
    CHECK(Farthest(csv.values, whole.values) < tolerance);
  }
}

TEST_CASE("sparse scoring has the same bytes for any threads") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(WideDocument(true)), dense = f.Model(WideDocument(false));
  Table table = MakeTable(3000);
  for (size_t r = 5; r < table.size(); r += 300) table[r][0] = "maybe";  // unknown class
  const std::string path = f.dir.Put("t.svm", Libsvm(table));
  const auto scan = f.Scan(model, {path}, true, {}, 50'000);
  const auto of_dense = f.Scan(dense, {path}, true, {}, 50'000);
  REQUIRE(scan.ok());
  REQUIRE(of_dense.ok());
  REQUIRE(scan->input.shards.size() > 5);
  const auto one = Evaluate(f.Run(model, *scan), false);
  INFO(one.status().ToString());
  REQUIRE(one.ok());
  CHECK(one->rows == 3000);
  CHECK(one->rejected == 0);
  CHECK(one->metrics.unknown_labels == 10);
  const auto zeros = Evaluate(f.Run(dense, *of_dense), false);
  REQUIRE(zeros.ok());
  CHECK(zeros->rows == one->rows);
  CHECK(zeros->metrics.confusion == one->metrics.confusion);
  CHECK(zeros->metrics.loss == Approx(one->metrics.loss).epsilon(1e-6));
  std::vector<std::pair<std::string, std::string>> parts;
  for (const int threads : {1, 2, 5}) {
    const auto again = Evaluate(f.Run(model, *scan, threads), false);
    REQUIRE(again.ok());
    CHECK(again->totals == one->totals);
    const PredictSpec spec{.output = f.dir / ("out" + std::to_string(threads))};
    REQUIRE(BeginPredictions(*f.files, spec.output).ok());
    const auto unlabelled = f.Scan(model, {path}, false, {}, 50'000);
    REQUIRE(Predict(f.Run(model, *unlabelled, threads), spec).ok());
    if (parts.empty()) parts = f.Parts(spec.output);
    CHECK(parts.size() == scan->input.shards.size());
    CHECK(f.Parts(spec.output) == parts);
  }
}

TEST_CASE("kept columns and rejects are the same for sparse and dense") {
  const ScoringFixture f;
  const std::string path = f.dir.Put(
      "t.svm", Libsvm(MakeTable(300)) +
                   "+1 7:0.50 1500:x\n+1 1500:2 7:0.50\n0 7:1 7:2\n0 1501:1\n1 9:inf\nno 8:1\n");
  const std::vector<std::string> keep = {"7", "0", "1500"};
  std::vector<std::string> outputs;
  for (const bool sparse : {false, true}) {
    const TrainedModel model = f.Model(WideDocument(sparse));
    const auto scan = f.Scan(model, {path}, false, keep, 5'000);
    INFO(scan.status().ToString());
    REQUIRE(scan.ok());
    CHECK(scan->sparse == sparse);
    const PredictSpec spec{.output = f.dir / (sparse ? "sparse" : "dense"),
                           .keep = keep,
                           .probabilities = false,
                           .on_bad_row = spec::OnBadRow::kReject};
    REQUIRE(BeginPredictions(*f.files, spec.output).ok());
    const auto result = Predict(f.Run(model, *scan), spec);
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    CHECK(result->rejected == 4);
    std::string& all = outputs.emplace_back();
    for (const std::string& directory : {spec.output, spec.output + "/_rejects"}) {
      for (const auto& [name, content] : f.Parts(directory)) all += name + "\n" + content;
    }
  }
  CHECK(outputs[0] == outputs[1]);
  CHECK(outputs[1].find("\n0.50,1,2,") != std::string::npos);
  CHECK(outputs[1].find("\n0,no,0,") != std::string::npos);
  CHECK(outputs[1].find(",1500,") != std::string::npos);
}

TEST_CASE("pieces of sparse rows are bounded for any row size") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(WideDocument(true));
  std::string empty, full;
  for (int r = 0; r < 150'000; ++r) empty += "1\n";
  for (int r = 0; r < 100; ++r) {
    full += "0";
    for (int i = 1; i <= kWidth; ++i) full += " " + std::to_string(i) + ":0.5";
    full += "\n";
  }
  const Said none = Ask(f, model, f.dir.Put("empty.svm", empty));
  CHECK(none.values.size() == 300'000);
  CHECK(none.pieces >= 3);
  CHECK(none.largest < (512 << 10) + 16);
  const Said all = Ask(f, model, f.dir.Put("full.svm", full));
  CHECK(all.values.size() == 200);
  CHECK(all.pieces >= 2);
  CHECK(all.largest < (512 << 10) + kWidth * 12 + 16);
  for (size_t i = 2; i < none.values.size(); ++i) {
    if (none.values[i] != none.values[i % 2]) FAIL("row " << i / 2);
  }
}

TEST_CASE("model.json records sparse training, which must be plausible") {
  const ScoringFixture f;
  CHECK(f.Model(WideDocument(true)).shape.sparse);
  CHECK_FALSE(f.Model(WideDocument(false)).shape.sparse);  // as in older bundles
  const auto refused = [&](bundle::ModelDocument document) {
    const auto loaded = LoadTrainedModel(*f.files, f.PutBundle(BundleOf(document)));
    INFO(loaded.status().ToString());
    CHECK(loaded.status().code() == StatusCode::kBadInput);
    CHECK(loaded.status().message().find("sparse: found true") != std::string::npos);
    CHECK(loaded.status().message().find(f.dir / "model/model.json") != std::string::npos);
  };
  bundle::ModelDocument narrow = ClassesDocument(), few = WideDocument(true);
  narrow.sparse = true;
  refused(narrow);
  few.preprocessing.features.resize(1030);
  few.schema.features.resize(1030);
  for (int column = 1; column <= 7; ++column) MakeCategory(&few, column, 0, 9);
  refused(few);
}

}  // namespace
}  // namespace espalier::scoring
