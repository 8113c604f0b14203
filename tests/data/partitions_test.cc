// Columns from the names of directories, as Hive and Spark write them.
#include "src/data/table/partitions.h"

#include "src/data/input/column_sample.h"
#include "src/data/input/column_types.h"
#include "src/data/profile/judge_shard.h"
#include "src/spec/inferred_text.h"
#include "tests/data/fixture.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

using Strings = std::vector<std::string>;
using Doubles = std::vector<double>;

class PartitionedFixture : public DataFixture {
 public:
  PartitionedFixture() {
    job.model.task = spec::Task::kRegression;
    job.model.target_scale = spec::TargetScale::kNone;
    job.data.train = {dir / "p"};
  }
  void Put(const std::string& path, const std::string& content) {
    REQUIRE(files->MakeDirectory(dir / path.substr(0, path.rfind('/'))).ok());
    dir.Put(path, content);
  }
  Strings Features() const {
    Strings names;
    for (const int32_t c : plan.schema.features) names.push_back(plan.schema.names[c]);
    return names;
  }
};

TEST_CASE("text partitions are features, label or left out") {
  PartitionedFixture f;
  f.Put("p/k=1/w=a/0.csv", "a,y\n10,1\n20,2\n");
  f.Put("p/k=2.5/w=b%2Fc/0.csv", "y,a\n3,30\n");
  f.Put("p/k=2.5/w=b%2Fc/_SUCCESS", "");
  CHECK(f.AllRows().inputs == Doubles{10, 1, 20, 1, 30, 2.5});  // w is text
  CHECK(f.Features() == Strings{"a", "k"});
  CHECK(f.plan.schema.names == Strings{"a", "y", "k", "w"});
  const spec::LeftOutColumn text = {3, spec::LeftOutReason::kDirectoryText};
  CHECK(f.plan.schema.left_out == std::vector<spec::LeftOutColumn>{text});
  CHECK_THAT(
      spec::InferredText(f.plan.schema),
      Says("numeric: 2 others; left out: w (text in directory names, ... data.features.groups"));
  CHECK(ColumnTypes(*f.files, f.job.data, f.plan).value() ==
        Strings{"number", "number", "number", "text"});
  f.job.data.label = {std::string("k")};
  f.job.data.features.columns = {std::string("a")};
  CHECK(f.AllRows().targets == Doubles{1, 1, 2.5});
  f.job.model.task = spec::Task::kClassification;
  f.job.data.label = {std::string("w")};
  CHECK(f.Profile()->preprocessing.classes == Strings{"a", "b/c"});
  CHECK(f.AllRows().labels == std::vector<int32_t>{0, 0, 1});
}

TEST_CASE("a text partition with a role or a rule has no reason") {
  PartitionedFixture f;
  f.Put("p/w=a/0.csv", "a,y\n10,1\n");
  f.Put("p/w=b/0.csv", "a,y\n20,2\n");
  spec::FeatureGroup group;
  group.columns = {std::string("w")};
  group.type = spec::FeatureType::kCategorical;
  f.job.data.features.groups = {group};
  REQUIRE(f.Profile().ok());
  CHECK(f.Features() == Strings{"a", "w"});
  CHECK(f.plan.schema.left_out.empty());
  f.job.data.features.groups.clear();
  f.job.data.features.exclude = {std::string("w")};
  REQUIRE(f.Profile().ok());
  CHECK(f.plan.schema.left_out.empty());
}

TEST_CASE("numbers in directory names have a decimal point") {
  PartitionedFixture f;
  f.job.data.csv = {.delimiter = ';', .decimal = ',', .thousands = '.'};
  f.Put("p/k=1.234/m=2.5/0.csv", "a;y\n1.234,5;1\n");
  f.Put("p/k=7/m=20240229/0.csv", "a;y\n2,5;2\n");
  CHECK(f.AllRows().inputs == Doubles{1234.5, 1.234, 2.5, 2.5, 7, 20240229});
  spec::FeatureGroup logarithms;
  logarithms.columns = {std::string("k")};
  logarithms.log1p = true;
  f.job.data.features.groups = {logarithms};
  CHECK(f.Profile().ok());
  f.job.data.features.groups.clear();
  f.job.data.label = {std::string("k")};
  f.job.data.features.columns = {std::string("a")};
  CHECK(f.AllRows().targets == Doubles{1.234, 7});
}

TEST_CASE("numbers in directory names are judged like columns") {
  PartitionedFixture f;
  std::string rows = "a,y\n";
  for (int i = 0; i < 10; ++i) rows += std::to_string(i) + "," + std::to_string(i % 3) + "\n";
  f.Put("p/d=20240131/e=__HIVE_DEFAULT_PARTITION__/m=202401/one=1/0.csv", rows);
  f.Put("p/d=20240229/e=__HIVE_DEFAULT_PARTITION__/m=202402/one=1/0.csv", rows);
  REQUIRE(f.Profile().ok());
  CHECK(spec::InferredText(f.plan.schema) ==
        "date: d, m; numeric: 1 other; left out: e (empty), one (constant)");
  f.Put("q/h=2024022900/0.csv", rows);
  f.Put("q/h=2024022901/0.csv", rows);
  f.job.data.train = {f.dir / "q"};
  CHECK_THAT(f.Profile().status().message(),
             Says("data.features: column 'h' ... need a format ... '%Y%m%d%H'"));
  f.job.data.features.date_format = "%Y%m%d%H";
  REQUIRE(f.Profile().ok());
  CHECK(spec::InferredText(f.plan.schema) == "date: h; numeric: 1 other");
}

TEST_CASE("a format of another column keeps numbers of directories") {
  PartitionedFixture f;
  f.Put("p/day=20240131/0.csv", "a,y\n29/02/2024,1\n01/03/2024,2\n");
  f.Put("p/day=20240229/0.csv", "a,y\n05/03/2024,1\n06/03/2024,2\n");
  f.job.data.features.date_format = "%d/%m/%Y";
  REQUIRE(f.Profile().ok());
  CHECK(spec::InferredText(f.plan.schema) == "date: a; numeric: 1 other");
}

TEST_CASE("directories of weight 0 are as if absent") {
  PartitionedFixture f;
  f.job.data.csv = {.delimiter = ';', .decimal = ','};
  f.job.data.weight = std::string("w");
  std::string good, bad;
  for (int i = 0; i < 20; ++i) {
    good += std::to_string(i) + ",5;" + std::to_string(i) + "\n";
    bad += "text;x\ntext;x\n";
  }
  f.Put("p/k=7/w=1.5/0.csv", "a;y\n" + good);
  f.Put("p/k=8/w=0.0/0.csv", "a;y\n" + bad);
  CHECK(f.AllRows().inputs.size() == 20);
  CHECK(spec::InferredText(f.plan.schema) == "numeric: 1 other; left out: k (constant)");
  CHECK(SampleLabels(*f.files, f.job.data, f.plan)->rows == 20);
  f.plan.provisional = true;
  for (int shard = 0; shard < 2; ++shard) {
    const auto evidence = JudgeShard({*f.files, f.plan, f.job}, shard, nullptr);
    REQUIRE(evidence.ok());
    for (const spec::ColumnEvidence& column : *evidence) CHECK(column.rows == 20 * (1 - shard));
  }
}

TEST_CASE("partitions follow patterns that name some directories") {
  PartitionedFixture f;
  f.Put("p/k=1/j=5/0.csv", "a,y\n10,1\n");
  f.Put("p/k=2/j=6/0.csv", "a,y\n20,2\n");
  for (const char* pattern : {"p", "p/*", "p/*/*", "p/*/*/*.csv", "p/k={1,2}/*/0.csv"}) {
    INFO(pattern);
    f.job.data.train = {f.dir / pattern};
    CHECK(f.AllRows().inputs == Doubles{10, 5, 1, 20, 6, 2});
    CHECK(f.Features() == Strings{"a", "j", "k"});
  }
  f.job.data.train = {f.dir / "p/k=1"};
  CHECK(f.AllRows().inputs == Doubles{10, 5});
  f.job.data.train = {f.dir / "p/k=1/j=5/0.csv"};
  CHECK(f.AllRows().inputs == Doubles{10});
}

TEST_CASE("a directory's value takes precedence over a file's column") {
  PartitionedFixture f;
  f.Put("p/k=7/0.csv", "a,k,y\n10,1,5\n");
  f.Put("p/k=8/0.csv", "y,a\n6,20\n");           // without the column k
  f.Put("p/k=9/0.csv", "k,k2,y,a\n3,x,7,30\n");  // with an unknown column
  const Status unknown = f.Profile().status();
  CHECK(unknown.message().find("the header has 'k2' in column 0") == 0);
  f.Put("p/k=9/0.csv", "k,y,a\n3,7,30\n");
  CHECK(f.AllRows().inputs == Doubles{10, 7, 20, 8, 30, 9});
  CHECK(f.AllRows().targets == Doubles{5, 6, 7});
  CHECK(f.plan.schema.names == Strings{"a", "y", "k"});
  REQUIRE(f.plan.notes.size() == 1);  // one for each column
  CHECK_THAT(f.plan.notes[0], Says("the column 'k' ... p/k=7/0.csv ... name of its directory"));
  CHECK(f.plan.files[0].columns == std::vector<int32_t>{0, -1, 1, 2});
  CHECK(f.plan.files[1].columns == std::vector<int32_t>{1, 0, 2});
  CHECK(f.plan.files[2].columns == std::vector<int32_t>{-1, 1, 0, 2});
  f.job.data.label = {int64_t{2}};
  const Status error = f.Profile().status();
  CHECK(error.code() == StatusCode::kInvalidArgument);
  CHECK(error.message().find("specifies columns by position") != std::string::npos);
  CHECK(error.position()->column == "k");
}

TEST_CASE("a null directory is the empty field") {
  PartitionedFixture f;
  f.Put("p/k=__HIVE_DEFAULT_PARTITION__/0.csv", "a,y\n10,1\n");
  f.Put("p/k=4/0.csv", "a,y\n20,2\n");
  f.job.data.features.nulls = {spec::NullKind::kConstant, -1};
  CHECK(f.AllRows().inputs == Doubles{20, 4, 10, -1});
  f.job.data.features.nulls = {};
  const Status error = f.Profile().status();
  CHECK(error.code() == StatusCode::kBadInput);
  CHECK(error.position()->column == "k");
}

TEST_CASE("partitions follow the columns of files without a header") {
  PartitionedFixture f;
  f.job.data.csv.header = false;
  f.job.data.csv.delimiter = '\x01';
  f.job.data.label = {int64_t{2}};
  f.job.data.features.nulls = {spec::NullKind::kConstant, -1};
  f.Put("p/k=7/000000_0",
        "1\x01\\N\n3\x01"
        "4\n");
  CHECK(f.AllRows().inputs == Doubles{1, -1, 3, 4});
  CHECK(f.AllRows().targets == Doubles{7, 7});
  f.Put("p/k=7/000000_0",
        "1\x01"
        "2\n3\n");
  const Status error = f.Profile().status();
  CHECK(error.message().find("the row has 1 field, expected 2 as in the first row") == 0);
  CHECK(error.position()->row == 2);
}

TEST_CASE("different partition columns are an error with both files") {
  PartitionedFixture f;
  f.Put("p/k=1/0.csv", "a,y\n10,1\n");
  f.Put("p/z=1/0.csv", "a,y\n10,1\n");
  Status error = f.Profile().status();
  CHECK(error.code() == StatusCode::kInvalidArgument);
  CHECK(error.message().find("the directories of '" + f.dir / "p/z=1/0.csv" +
                             "' give the columns 'z', those of '" + f.dir / "p/k=1/0.csv" +
                             "' 'k'. All files need the same") == 0);
  f.job.data.train = {f.dir / "p/k=1"};
  f.Put("q/k=1/k=2/0.csv", "a,y\n10,1\n");
  f.job.data.train = {f.dir / "q"};
  error = f.Profile().status();
  CHECK_THAT(error.message(), Says("... lies in two directories ... column 'k'"));
  f.Put("r/sub/0.csv", "a,y\n10,1\n");
  f.job.data.train = {f.dir / "r"};
  error = f.Profile().status();
  CHECK(error.message().find("data.train: '" + f.dir / "r" + "' holds the directory 'sub'") == 0);
}

TEST_CASE("the fingerprint of the data includes directory names") {
  const auto fingerprint = [](const std::string& first, const std::string& second) {
    PartitionedFixture f;
    f.Put("p/k=" + first + "/0.csv", "a,y\n10,1\n");
    f.Put("p/k=" + second + "/0.csv", "a,y\n20,2\n");
    return f.Profile()->data_fingerprint;
  };
  CHECK(fingerprint("1", "2") == fingerprint("1", "2"));
  CHECK(fingerprint("1", "2") != fingerprint("1", "7"));
}

TEST_CASE("validation rows do not depend on partition columns") {
  PartitionedFixture f;
  std::string rows = "a,y\n";
  for (int i = 0; i < 200; ++i) rows += std::to_string(i) + ",1\n";
  f.job.data.validation.fraction = 0.3;
  f.Put("p/k=1/0.csv", rows);
  f.job.data.features.columns = {std::string("a")};
  const Doubles found = f.AllRows().inputs;
  f.job.data.train = {f.dir / "p/k=1/0.csv"};
  CHECK(f.AllRows().inputs == found);
}

}  // namespace
}  // namespace espalier::data
