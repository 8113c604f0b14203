#include "src/data/profile/table_scan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <regex>

#include "src/data/features/feature_encoder.h"
#include "src/data/features/vocabulary.h"
#include "tests/data/fixture.h"
#include "tests/data/scan_rows.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

// Results of a scan, piece after piece.
struct Scanned {
  std::vector<std::vector<double>> features;
  std::vector<std::string> labels;
  std::vector<std::vector<std::string>> kept;
  std::vector<Status> rejects;
};

Scanned ScanAll(const storage::FileSystem& files, const ScanPlan& scan) {
  Scanned all;
  const size_t width = scan.input.schema.features.size();
  for (size_t shard = 0; shard < scan.input.shards.size(); ++shard) {
    const Status read =
        ScanRows(files, scan, static_cast<int>(shard), [&](const RowPiece& piece) -> Status {
          std::vector<double> wide(static_cast<size_t>(piece.rows().rows) * width);
          Widen(piece.rows().type, piece.rows().features.data(), spec::StorageType::kFloat64,
                wide.data(), static_cast<int64_t>(wide.size()));
          for (size_t r = 0; r < static_cast<size_t>(piece.rows().rows); ++r) {
            const auto begin = wide.begin() + static_cast<int64_t>(r * width);
            all.features.emplace_back(begin, begin + static_cast<int64_t>(width));
            if (!scan.input.schema.label.empty() && piece.rows().targets.size() == 0) {
              all.labels.push_back(piece.texts.labels.texts()[piece.rows().labels[r]]);
            }
            all.kept.emplace_back();
            for (size_t c = 0; c < scan.kept.size(); ++c) {
              std::string scratch;
              all.kept.back().emplace_back(piece.kept.Text(piece.slots[r], c, &scratch));
            }
          }
          all.rejects.insert(all.rejects.end(), piece.rejects.begin(), piece.rejects.end());
          return {};
        });
    INFO(read.ToString());
    REQUIRE(read.ok());
  }
  return all;
}

class ScanFixture {
 public:
  ScanFixture() {
    job.data.train = {"unseen.csv"};
    job.data.label = {std::string("y")};
    schema = {{"a", "b", "y"}, {0, 1}, {2}};
  }
  Result<ScanPlan> Plan(std::vector<std::string> data, bool labels = false,
                        std::vector<std::string> keep = {}, int64_t shard_bytes = 1 << 20) const {
    return PlanScan(*files,
                    {job, schema, std::move(data), labels, std::move(keep), {}, shard_bytes});
  }

  storage::TemporaryDirectory dir;
  std::unique_ptr<storage::FileSystem> files = storage::MakeFileSystem();
  spec::JobSpec job;
  spec::Schema schema;
};

using Rows = std::vector<std::vector<double>>;
using Texts = std::vector<std::vector<std::string>>;

TEST_CASE("columns are found by name in each file's order") {
  const ScanFixture f;
  f.dir.Put("t1.csv", "note,b,y,a\n\"x, y\",2,p,1\n,20,q,10\n");
  f.dir.Put("t2.csv", "a,b,note,y\n100,200,z,p\n");
  const auto scan = f.Plan({f.dir / "t*.csv"}, true, {"note", "a"});
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  const Scanned all = ScanAll(*f.files, *scan);
  CHECK(all.features == Rows{{1, 2}, {10, 20}, {100, 200}});
  CHECK(all.labels == std::vector<std::string>{"p", "q", "p"});
  CHECK(all.kept == Texts{{"x, y", "1"}, {"", "10"}, {"z", "100"}});
}

TEST_CASE("any cut into shards gives the same rows") {
  const ScanFixture f;
  std::string text = "id,a,b\n";
  for (int i = 0; i < 500; ++i) {
    text += "r" + std::to_string(i) + "," + std::to_string(i % 300) + "," +
            (i % 50 == 7 ? "x" : std::to_string(i / 2.0)) + "\n";
  }
  const std::string path = f.dir.Put("t.csv", text);
  const auto whole = f.Plan({path}, false, {"id"});
  REQUIRE(whole.ok());
  const Scanned one = ScanAll(*f.files, *whole);
  CHECK(one.features.size() == 490);
  CHECK(one.rejects.size() == 10);
  for (const int64_t bytes : {37, 500, 3000}) {
    const auto cut = f.Plan({path}, false, {"id"}, bytes);
    REQUIRE(cut.ok());
    CHECK(cut->input.shards.size() > 1);
    const Scanned many = ScanAll(*f.files, *cut);
    CHECK(many.features == one.features);
    CHECK(many.kept == one.kept);
    REQUIRE(many.rejects.size() == 10);
    for (size_t i = 0; i < 10; ++i) CHECK(many.rejects[i].position() == one.rejects[i].position());
  }
}

TEST_CASE("without a header, columns are found by position") {
  ScanFixture f;
  f.job.data.csv.header = false;
  f.schema = {{"0", "1", "2"}, {1, 2}, {0}};
  const auto labelled = f.Plan({f.dir.Put("l.csv", "p,1,2\nq,3,4\n")}, true);
  REQUIRE(labelled.ok());
  const Scanned with = ScanAll(*f.files, *labelled);
  CHECK(with.features == Rows{{1, 2}, {3, 4}});
  CHECK(with.labels == std::vector<std::string>{"p", "q"});
  const auto bare = f.Plan({f.dir.Put("b.csv", "1,2\n3,4\n")}, false, {"1"});
  REQUIRE(bare.ok());
  const Scanned without = ScanAll(*f.files, *bare);
  CHECK(without.features == Rows{{1, 2}, {3, 4}});
  CHECK(without.kept == Texts{{"2"}, {"4"}});
  const auto ignored = f.Plan({f.dir / "l.csv"});
  REQUIRE(ignored.ok());
  CHECK(ScanAll(*f.files, *ignored).features == Rows{{1, 2}, {3, 4}});
  const auto short_of = f.Plan({f.dir.Put("s.csv", "1\n2\n")});
  CHECK(short_of.status().code() == StatusCode::kInvalidArgument);
  CHECK(short_of.status().message().find("the files have 1 column, the table") !=
        std::string::npos);
  CHECK(!f.Plan({f.dir / "b.csv"}, true).ok());
}

TEST_CASE("a Parquet boolean is found as true and false in CSV") {
  ScanFixture f;
  const std::string path =
      f.dir.Put("t.csv", "a,b,y\ntrue,1,p\nFalse,2,p\n TRUE ,3,p\n1,4,p\nyes,5,p\nt,6,p\n");
  f.job.data.train = {"unseen.parquet"};
  const auto scan = f.Plan({path});
  REQUIRE(scan.ok());
  const Scanned all = ScanAll(*f.files, *scan);
  CHECK(all.features == Rows{{1, 1}, {0, 2}, {1, 3}, {1, 4}});
  CHECK(all.rejects.size() == 2);
  f.job.data.train = {"unseen.csv"};
  const auto text = f.Plan({path});
  REQUIRE(text.ok());
  CHECK(ScanAll(*f.files, *text).features == Rows{{1, 4}});
}

TEST_CASE("labels with a decimal comma are numbers") {
  DataFixture f;
  f.job.data.csv.delimiter = ';';
  f.job.data.csv.decimal = ',';
  f.Train("a;y\n0;0\n1;1\n2;1,0\n3;1,00\n");
  const Gathered rows = f.AllRows();
  CHECK(f.classes == std::vector<std::string>{"0", "1"});
  CHECK(rows.labels == std::vector<int32_t>{0, 1, 1, 1});
}

TEST_CASE("a null word is a missing label, unless it is a class") {
  ScanFixture f;
  ScanRequest request = {f.job, f.schema, {f.dir.Put("t.csv", "a,b,y\n1,2,NA\n3,4,p\n5,6,None\n")}};
  request.labels = true;
  const auto scan = PlanScan(*f.files, request);
  REQUIRE(scan.ok());
  const Scanned missing = ScanAll(*f.files, *scan);
  CHECK(missing.labels == std::vector<std::string>{"p"});
  CHECK(missing.rejects.size() == 2);
  request.null_classes = true;
  const auto any = PlanScan(*f.files, request);
  REQUIRE(any.ok());
  CHECK(ScanAll(*f.files, *any).labels == std::vector<std::string>{"NA", "p", "None"});
}

TEST_CASE("LIBSVM text has the model's indices") {
  ScanFixture f;
  f.schema = {{"0", "1", "2", "3"}, {1, 2, 3}, {0}};
  const auto scan = f.Plan({f.dir.Put("t.libsvm", "+1 1:5 3:7\n-1 2:2\n1 9:1\n")}, true);
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  const Scanned all = ScanAll(*f.files, *scan);
  CHECK(all.features == Rows{{5, 0, 7}, {0, 2, 0}});
  CHECK(all.labels == std::vector<std::string>{"1", "-1"});
  REQUIRE(all.rejects.size() == 1);
  CHECK(all.rejects[0].position()->row == 3);
  f.schema = {{}, {}, {0}};  // more features than a list may have
  for (int32_t i = 0; i < 50'000; ++i) {
    f.schema.names.push_back(std::to_string(i));
    if (i > 0 && i != 25'000) f.schema.features.push_back(i);
  }
  const auto wide = f.Plan({f.dir.Put("w.libsvm", "1 1:5 49999:7\n")});
  INFO(wide.status().ToString());
  REQUIRE(wide.ok());
  const Rows row = ScanAll(*f.files, *wide).features;
  CHECK(row[0].size() == 49'998);
  CHECK(row[0].front() == 5);
  CHECK(row[0].back() == 7);
  f.schema = {{"y", "a", "b", "c"}, {1, 2, 3}, {0}};
  const auto named = f.Plan({f.dir / "t.libsvm"});
  CHECK(named.status().message().find("no header") != std::string::npos);
}

TEST_CASE("features of one LIBSVM index follow their own rules") {
  ScanFixture f;
  f.schema = {{"0", "1", "2", "3"}, {1, 2, 2, 3}, {0}};
  const spec::FeatureRule number;
  spec::FeatureRule year = {.type = spec::FeatureType::kDate, .part = spec::DatePart::kYear},
                    month = year;
  month.part = spec::DatePart::kMonth;
  f.schema.rules = {number, year, month, number};
  const auto scan = f.Plan({f.dir.Put("t.libsvm", "+1 1:5 2:2678400 3:7\n-1 3:1\n")});
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  CHECK(ScanAll(*f.files, *scan).features == Rows{{5, 1970, 2, 7}, {0, 1970, 1, 1}});
  spec::InputPlan other = scan->input;
  other.schema.rules[1] = number;
  ScanRequest request = {f.job, f.schema, {f.dir / "t.libsvm"}, false, {}, {}, 1 << 20};
  CHECK(ResumeScan(*f.files, request, other).status().message().find("read in another way") !=
        std::string::npos);
  other.schema.features.pop_back();
  CHECK(ResumeScan(*f.files, request, other)
            .status()
            .message()
            .find("planned for 3 features, and the model has 4") != std::string::npos);
  f.schema.rules.clear();
  f.schema.features = {0, 1};
  CHECK(f.Plan({f.dir / "t.libsvm"}).status().message().find("column 0, which is") !=
        std::string::npos);
}

TEST_CASE("a scan that cannot be planned has its own messages") {
  const ScanFixture f;
  const std::string csv = f.dir.Put("t.csv", "a,bb,y\n1,2,p\n");
  const auto feature = f.Plan({csv});
  CHECK(
      feature.status().message().starts_with("a feature of the model: column 'b' does not exist"));
  CHECK(feature.status().message().find("data.features") == std::string::npos);
  const std::string good = f.dir.Put("g.csv", "a,b\n1,2\n");
  CHECK(f.Plan({good}, true).status().message().starts_with("the label of the model: "));
  CHECK(f.Plan({good}, false, {"B"}).status().message() ==
        "a column to keep: column 'B' does not exist; the files have 2 columns: 'a', 'b'; did you "
        "mean 'b'?");
  CHECK(f.Plan({good}, false, {"a", "a"}).status().message().find("twice") != std::string::npos);
  f.dir.Put("both.parquet", "PAR1");
  CHECK(f.Plan({f.dir.path()}).status().message().find("must have the same format") !=
        std::string::npos);
  CHECK(f.Plan({f.dir / "none*.csv"}).status().code() == StatusCode::kNotFound);
  CHECK(f.Plan({f.dir / "none.csv"}).status().code() == StatusCode::kNotFound);
}

TEST_CASE("a scan for metrics notes training rows and missing weights") {
  ScanFixture f;
  const std::string path = f.dir.Put("t.csv", "a,b,y\n1,2,p\n");
  const auto notes = [&](bool labels = true) {
    const auto scan = f.Plan({path}, labels);
    INFO(scan.status().ToString());
    REQUIRE(scan.ok());
    return scan->input.notes;
  };
  CHECK(notes().empty());
  for (const std::string& trained : {path, f.dir / "*.csv", f.dir.path()}) {
    f.job.data.train = {"/data/other.csv", trained};
    REQUIRE(notes().size() == 1);
    CHECK_THAT(notes()[0], Says("the model was trained on rows of '" + path + "'; its metrics on"));
    CHECK(notes(false).empty());
  }
  for (const std::string& other : {f.dir / "x*.csv", f.dir / "t", f.dir / "*/*.csv"}) {
    f.job.data.train = {other};
    CHECK(notes().empty());
  }
  f.job.data.weight = std::string("w");
  f.schema = {{"a", "b", "y", "w"}, {0, 1}, {2}};
  f.schema.weight = 3;
  REQUIRE(notes().size() == 1);
  CHECK_THAT(notes()[0], Says("the rows have no column 'w' of weights ... each row has weight 1"));
}

// Returns whether a message names a key of a training job.
bool NamesKey(const std::string& message) {
  return std::regex_search(message, std::regex("(data|csv)\\.[a-z]"));
}

TEST_CASE("advice about a table to score is about its files") {
  ScanFixture f;
  const auto refused = [&f](const std::string& name, const std::string& text) {
    const Status status = f.Plan({f.dir.Put(name, text)}).status();
    CHECK_FALSE(status.ok());
    CHECK_FALSE(NamesKey(status.message()));
    return status.message();
  };
  const auto rejected = [&f](const std::string& name, const std::string& text) {
    const auto scan = f.Plan({f.dir.Put(name, text)});
    INFO(scan.status().ToString());
    REQUIRE(scan.ok());
    const Scanned all = ScanAll(*f.files, *scan);
    REQUIRE(all.rejects.size() == 1);
    CHECK_FALSE(NamesKey(all.rejects[0].message()));
    return all.rejects[0].message();
  };
  CHECK_THAT(refused("t.csv", "a\tb\n1\t2\n"),
             Says("a feature of the model: column 'a' does not exist ... the delimiter seems to be "
                  "\"\\t\", not \",\" as in training. Convert the file"));
  CHECK_THAT(refused("b.csv", "a  b\n1  2\n"), Says("... replace each run by the delimiter of"));
  CHECK_THAT(refused("c.csv", "# made by x\na,b\n1,2\n"), Says("... a comment: remove it from"));
  CHECK_THAT(refused("n.csv", "1,2\n3,4\n"), Says("... seems to be data. Add a header"));
  CHECK_THAT(refused("w.csv", "a,a,b\n1,2,3\n"), Says("... Rename one, or add a header if"));
  CHECK_THAT(refused("e.csv", "a,b\n1,2,x\n1,2,y\n"), Says("... Remove the field without a name"));
  CHECK_THAT(refused("p.csv", "PAR1\x15\x04"), Says("... Use --data-format parquet"));
  CHECK_THAT(rejected("j.csv", "a,b\n1,2\na,b\n"), Says("the row repeats the header"));
  CHECK_THAT(rejected("m.csv", "a,b\n\"1,2\n3,4\n"), Says("... Remove line breaks from the"));
  CHECK_THAT(rejected("s.csv", "a,b\n1,2\n1\\,5,2\n"), Says("... an escape, quote the field"));
  f.schema = {{"0", "1", "2", "3"}, {1, 2, 3}, {0}};
  CHECK_THAT(rejected("z.libsvm", "1 1:1\n1 0:1\n"), Says("... Add 1 to each index"));
  CHECK_THAT(rejected("h.libsvm", "1 1:1\n1 9:1\n"), Says("... the highest that the model uses"));
}

// Compares the rows of a job's row store with rows that are read and scaled later.
TEST_CASE("scored rows equal the network's inputs bit by bit") {
  const std::string tables[] = {
      "a,b,y\n1,2,0\n255,0,1\n7,9,0\n",            // bytes
      "a,b,y\n1,2.5,0\n-3,0.25,1\n0.5,9,0\n",      // floats
      "a,b,y\n1,2.1,0\n1e9,0.1,1\n123456.7,9,0\n"  // doubles
  };
  for (const std::string& table : tables) {
    DataFixture f;
    f.job.data.features.scale.kind = spec::ScaleKind::kStandard;
    const std::string path = f.Train(table);
    const auto profile = f.Profile();
    REQUIRE(profile.ok());
    const auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
    REQUIRE(store.ok());
    const std::vector<int64_t> rows = {0, 1, 2};
    std::vector<float> stored(6), scaled;
    (*store)->Gather<float>(spec::FileRole::kTrain, rows, stored.data(), nullptr, nullptr, nullptr,
                            nullptr);

    // The mixed file adds a row that needs doubles.
    const std::string mixed = f.dir.Put("mixed.csv", table + "0.1,1e30,0\n");
    const FeatureEncoder encoder(profile->preprocessing);
    for (const std::string& file : {path, mixed}) {
      const auto scan = PlanScan(*f.files, {f.job, f.plan.schema, {file}, false, {}, {}, 1 << 20});
      REQUIRE(scan.ok());
      REQUIRE(ScanRows(*f.files, *scan, 0, [&](const RowPiece& piece) -> Status {
                scaled.resize(static_cast<size_t>(piece.rows().rows) * 2);
                encoder.EncodeRows(profile->storage, piece.rows(), {}, 0, piece.rows().rows,
                                   scaled.data(), nullptr);
                return {};
              }).ok());
      scaled.resize(6);
      CHECK(scaled == stored);
    }
  }
}

// The job stores bytes. Its numbers scale differently as bytes and as wider types.
TEST_CASE("many new categories do not change the inputs of a row") {
  DataFixture f;
  f.job.data.features.scale.kind = spec::ScaleKind::kStandard;
  spec::FeatureGroup categories;
  categories.columns = {std::string("c")};
  categories.type = spec::FeatureType::kCategorical;
  categories.min_count = 2;
  f.job.data.features.groups = {categories};
  std::string text = "a,c,y\n";
  for (int i = 0; i < 400; ++i) {
    text += std::to_string(i * 7 % 256) + ",v" + std::to_string(i % 3) + "," +
            std::to_string(i % 2) + "\n";
  }
  f.Train(text);
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  REQUIRE(profile->storage == spec::StorageType::kUint8);
  const auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
  REQUIRE(store.ok());
  std::vector<int64_t> rows(400);
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<float> stored(400), scaled;
  std::vector<int32_t> stored_codes(400), codes;
  (*store)->Gather<float>(spec::FileRole::kTrain, rows, stored.data(), stored_codes.data(), nullptr,
                          nullptr, nullptr);

  // The same rows follow 400 rows with unknown categories, whose temporary codes exceed 255.
  std::string table = "a,c,y\n";
  for (int i = 0; i < 400; ++i) table += "0,new" + std::to_string(i) + ",0\n";
  table += text.substr(text.find('\n') + 1);
  const std::string file = f.dir.Put("scored.csv", table);
  const auto scan = PlanScan(*f.files, {f.job, f.plan.schema, {file}, false, {}, {}, 1 << 20});
  REQUIRE(scan.ok());
  const FeatureEncoder encoder(profile->preprocessing);
  const Vocabularies vocabularies(profile->preprocessing);
  REQUIRE(ScanRows(*f.files, *scan, 0, [&](const RowPiece& piece) -> Status {
            REQUIRE(piece.rows().rows == 800);
            REQUIRE(piece.rows().type > profile->storage);
            CodeMaps maps;
            vocabularies.Extend(piece.texts.categories, &maps);
            scaled.resize(800);
            codes.resize(800);
            encoder.EncodeRows(profile->storage, piece.rows(), maps, 0, 800, scaled.data(),
                               codes.data());
            return {};
          }).ok());
  CHECK(std::vector<float>(scaled.begin() + 400, scaled.end()) == stored);
  CHECK(std::vector<int32_t>(codes.begin() + 400, codes.end()) == stored_codes);
  CHECK(std::count(codes.begin(), codes.begin() + 400, -1) == 400);
}

}  // namespace
}  // namespace espalier::data
