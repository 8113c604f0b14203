// Categories and null indicators next to wide sparse numbers.
#include <limits>
#include <numeric>
#include <set>

#include "src/data/profile/table_scan.h"
#include "tests/data/scan_rows.h"
#include "tests/data/sparse_fixture.h"

namespace espalier::data {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Special features: a vocabulary, an embedded vocabulary of frequent values, a hash, a column far
// from 0, and the first column with null indicators.
constexpr int32_t kOneHot = 4, kEmbedded = 899, kHashed = kWidth - 1, kFar = 700, kNull = 40;

spec::FeatureGroup Group(int32_t first, int32_t last) {
  spec::FeatureGroup group;
  group.columns = {spec::ColumnRange{first + 1, last + 1}};
  return group;
}

class CodesFixture : public SparseFixture {
 public:
  CodesFixture() {
    job.data.features.scale.kind = spec::ScaleKind::kStandard;
    job.data.features.nulls = {spec::NullKind::kConstant, 5};
    job.data.validation.fraction = 0.2;
    spec::FeatureGroup one_hot = Group(kOneHot, kOneHot), embedded = Group(kEmbedded, kEmbedded);
    spec::FeatureGroup hashed = Group(kHashed, kHashed), nulls = Group(kNull, kNull + 9);
    for (spec::FeatureGroup* group : {&one_hot, &embedded, &hashed}) {
      group->type = spec::FeatureType::kCategorical;
    }
    embedded.embedding = 3;
    embedded.min_count = 5;
    hashed.hash = 7;
    nulls.null_indicator = true;
    job.data.features.groups = {one_hot, embedded, hashed, nulls};
  }

  Gathered Rows(bool sparse, const RowStoreOptions& options = {}) {
    spec::TableProfile as = result;
    as.sparse = sparse;
    const auto store = LoadRows({*files, plan, job}, as, All(as), shards, options);
    INFO(store.status().ToString());
    REQUIRE(store.ok());
    Gathered g;
    memory_bytes = (*store)->memory_bytes();
    g.inputs = Gather(**store);
    g.codes = codes;
    g.labels = labels;
    return g;
  }
  void ReadAgain() {
    for (ProfiledShard& shard : shards) shard.has_rows = false;
  }
  void CheckSparse(const std::string& text, const std::string& name, bool decoded_sparse) {
    Train(text, name);
    const auto profile = Profile();
    INFO(profile.status().ToString());
    REQUIRE(profile.ok());
    REQUIRE(profile->sparse);
    REQUIRE(plan.shards.size() > 3);  // each has separate codes
    result = *profile;
    for (const ProfiledShard& shard : shards) {
      CHECK(shard.rows.sets[0].sparse == decoded_sparse);
    }
  }
};

Table MakeCodedTable(Kind kind) {
  Table table = MakeTable(kind, 900, 20, 5);
  std::mt19937_64 random(8);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    auto& row = table.rows[r];
    row[kFar] = r == 7 ? 0 : 201 + static_cast<double>(r % 5);
    for (const int32_t feature : {kOneHot, kEmbedded, kHashed}) {
      row.erase(feature);
      const auto value = static_cast<double>(random() % (feature == kOneHot ? 5 : 40));
      if (value != 0) row[feature] = value;
    }
    if (kind != Kind::kBytes && r % 9 == 4) {
      row[kNull + static_cast<int32_t>(random() % 10)] = kNan;
      if (r % 2 == 0) row[kOneHot] = kNan;  // null is a category like others
    }
  }
  return table;
}

void CheckNear(const Gathered& a, const Gathered& b) {
  CHECK(a.codes == b.codes);
  CHECK(a.labels == b.labels);
  REQUIRE(a.inputs.size() == b.inputs.size());
  double worst = 0;
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    worst = std::max(worst, std::fabs(a.inputs[i] - b.inputs[i]));
  }
  CHECK(worst < 1e-12);
}

TEST_CASE("sparse rows with categories and indicators equal dense ones") {
  for (const Kind kind : {Kind::kBytes, Kind::kFloats, Kind::kDoubles}) {
    const Table table = MakeCodedTable(kind);
    CodesFixture svm, csv;
    svm.job.data.shard_bytes = 20'000;
    csv.job.data.shard_bytes = 500'000;
    svm.CheckSparse(table.Libsvm(), "a.svm", true);
    csv.CheckSparse(table.Csv(), "a.csv", false);
    for (CodesFixture* f : {&svm, &csv}) {
      int64_t nonzeros = 0;
      for (const ProfiledShard& shard : f->shards) nonzeros += shard.profile.nonzeros;
      int64_t expected = 0;  // all codes count, also 0
      for (const auto& row : table.rows) {
        expected += 3;
        for (const auto& [feature, value] : row) {
          const bool code = feature == kOneHot || feature == kEmbedded || feature == kHashed;
          expected += value != 0 && !code;
        }
      }
      CHECK(nonzeros == expected);
      const Gathered dense = f->Rows(false);
      const int64_t dense_bytes = f->memory_bytes;
      const Gathered sparse = f->Rows(true);
      const int64_t sparse_bytes = f->memory_bytes;
      CheckNear(dense, sparse);
      CHECK(sparse_bytes * 3 < dense_bytes);
      CHECK(std::set<int32_t>(sparse.codes.begin(), sparse.codes.end()).size() > 6);
      const bool indicated = std::count(dense.inputs.begin(), dense.inputs.end(), 1.0) > 0;
      CHECK((indicated || kind == Kind::kBytes));
      f->ReadAgain();
      CHECK((f->Rows(true) == sparse));
      CHECK((f->Rows(true, {.memory_bytes_max = 0,
                            .spill_directory = f->dir.path(),
                            .spill_bytes_max = 1 << 30}) == sparse));
      CHECK((f->Rows(false) == dense));
    }
    for (const int32_t feature : {kOneHot, kEmbedded, kHashed}) {
      CHECK(svm.result.preprocessing.features[feature] ==
            csv.result.preprocessing.features[feature]);
    }
    CHECK(svm.result.preprocessing.features[kEmbedded].vocabulary.size() > 5);
    CHECK(svm.result.preprocessing.features[kEmbedded].codes < 41);
    const spec::FittedFeature& far = svm.result.preprocessing.features[kFar];
    CHECK(spec::IsFarFromZero(far.shift, far.factor));
  }
}

TEST_CASE("scored sparse rows with categories equal those of training") {
  for (const Kind kind : {Kind::kBytes, Kind::kDoubles}) {
    const Table table = MakeCodedTable(kind);
    CodesFixture f;
    f.job.data.shard_bytes = 20'000;
    f.job.data.validation.fraction = 0;
    f.CheckSparse(table.Libsvm(), "a.svm", true);
    const auto store = LoadRows({*f.files, f.plan, f.job}, f.result, f.All(f.result), f.shards, {});
    REQUIRE(store.ok());
    std::vector<int64_t> rows(table.rows.size());
    std::iota(rows.begin(), rows.end(), 0);
    spec::SparseRows<float> stored, scored;
    std::vector<int32_t> stored_codes(rows.size() * 3), codes(rows.size() * 3);
    (*store)->Gather<float>(spec::FileRole::kTrain, rows, nullptr, stored_codes.data(), nullptr,
                            nullptr, nullptr, &stored);
    FeatureEncoder encoder(f.result.preprocessing);
    encoder.PrepareSparse();
    const Vocabularies vocabularies(f.result.preprocessing);
    for (const std::string& file : {f.dir / "a.svm", f.dir.Put("a.csv", table.Csv())}) {
      ScanRequest request = {f.job, f.plan.schema, {file}, false, {}, {}, 1 << 20};
      request.sparse = true;
      const auto scan = PlanScan(*f.files, request);
      INFO(scan.status().ToString());
      REQUIRE(scan.ok());
      encoder.BeginSparse(&scored);
      int64_t first = 0;
      for (size_t shard = 0; shard < scan->input.shards.size(); ++shard) {
        const Status read = ScanRows(
            *f.files, *scan, static_cast<int>(shard), [&](const RowPiece& piece) -> Status {
              CodeMaps maps;
              vocabularies.Extend(piece.texts.categories, &maps);
              CHECK(piece.rows().sparse == file.ends_with(".svm"));
              encoder.EncodeSparseRows(piece.rows(), maps, 0, piece.rows().rows, &scored,
                                       codes.data() + first * 3);
              for (int64_t r = 0; r < piece.rows().rows; ++r) {
                const int32_t* row = codes.data() + (first + r) * 3;
                const auto decoded = [&](size_t k) {
                  return encoder.DecodedCode(piece.rows(), r, k);
                };
                const int32_t embedded = maps[1][static_cast<size_t>(decoded(1))];
                const int64_t known = f.result.preprocessing.features[kEmbedded].codes;
                CHECK(maps[0][static_cast<size_t>(decoded(0))] == row[0]);
                CHECK((embedded < known ? embedded : -1) == row[1]);
                CHECK(decoded(2) == row[2]);
              }
              first += piece.rows().rows;
              return {};
            });
        INFO(read.ToString());
        REQUIRE(read.ok());
      }
      CHECK(first == static_cast<int64_t>(rows.size()));
      CHECK(codes == stored_codes);
      CHECK(scored.ends == stored.ends);
      CHECK(scored.columns == stored.columns);
      CHECK((scored.values == stored.values));
    }
  }
}

TEST_CASE("a bad sparse category has the message of dense text") {
  const Table table = MakeTable(Kind::kFloats, 300, 20, 5);
  const std::string bad = "1 " + std::to_string(kEmbedded + 1) + ":" + std::string(300, 'x') + "\n";
  std::vector<std::string> said;
  for (const bool sparse : {true, false}) {
    CodesFixture f;
    // A scale that needs a row sample prevents sparse decoding.
    if (!sparse)
      f.job.data.features.groups.back().scale = spec::Scale{.kind = spec::ScaleKind::kRobust};
    f.Train(table.Libsvm() + bad, "a.svm");
    const auto profile = f.Profile();
    REQUIRE_FALSE(profile.ok());
    CHECK(DecodesSparse(f.job, f.plan.schema, "a.svm") == sparse);
    CHECK(profile.status().position()->row == 301);
    CHECK(profile.status().position()->column == std::to_string(kEmbedded + 1));
    said.push_back(profile.status().message());
  }
  CHECK(said[0] == said[1]);
}

}  // namespace
}  // namespace espalier::data
