#include "src/cli/init_draft.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "src/cli/job_file.h"
#include "src/cli/shell_text.h"
#include "src/storage/file_systems.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

// A directory with tables, and the working directory during the test.
class TableDirectory {
 public:
  TableDirectory() : before_(fs::current_path()), files_(storage::MakeFileSystem({})) {
    std::string path = (fs::temp_directory_path() / "init-test-XXXXXX").string();
    path_ = mkdtemp(path.data());
    fs::current_path(path_);
  }
  ~TableDirectory() {
    fs::current_path(before_);
    fs::remove_all(path_);
  }
  // Writes a header and rows. `row` makes each row from its number.
  void Write(const std::string& name, const std::string& header,
             const std::function<std::string(int)>& row, int rows = 60) const {
    std::ofstream out(name);
    if (!header.empty()) out << header << "\n";
    for (int i = 0; i < rows; ++i) out << row(i) << "\n";
  }
  Result<TableLook> Look(const std::string& name) const { return LookAtTable(*files_, name); }

  // Returns the error of a job for that label.
  Status Refusal(const std::string& table, const std::string& label) const {
    const auto look = Look(table);
    INFO(look.status().ToString());
    REQUIRE(look.ok());
    return DraftJob(*files_, *look, label, "job.yaml", "model").status();
  }

  // Returns the job for that label, completed as by `check` and `train`.
  JobDraft Draft(const std::string& table, const std::string& label) const {
    const auto look = Look(table);
    INFO(look.status().ToString());
    REQUIRE(look.ok());
    REQUIRE(CheckLabel(*look, label).ok());
    const auto draft = DraftJob(*files_, *look, label, "job.yaml", "model");
    INFO(draft.status().ToString());
    REQUIRE(draft.ok());
    std::ofstream("job.yaml") << draft->yaml;
    const auto job = LoadJobFile("job.yaml", {});
    INFO(draft->yaml << job.status().ToString());
    REQUIRE(job.ok());
    const auto completed = CompleteLocally(*files_, *job);
    INFO(completed.status().ToString());
    REQUIRE(completed.ok());
    CHECK(completed->job.output.path == fs::current_path().string() + "/model");
    return *draft;
  }

 private:
  const fs::path before_;
  std::string path_;
  const std::unique_ptr<storage::FileSystem> files_;
};

std::string N(int i) { return std::to_string(i); }

TEST_CASE("a job file names table, label and output") {
  TableDirectory directory;
  directory.Write("ring.csv", "x,y,inside",
                  [](int i) { return N(i) + ".5," + N(i % 7) + "," + (i % 3 ? "no" : "yes"); });
  const JobDraft draft = directory.Draft("ring.csv", "inside");
  CHECK_THAT(draft.yaml, Catch::Contains("\nname: ring\ndata:\n  train: ring.csv\n  label: inside\n"
                                         "  # columns not to use; numbers that are names\n"
                                         "  # features: {exclude: [NAME], groups: [{columns: y, "
                                         "type: categorical}]}\n") &&
                             Catch::Contains("\noutput: model ") &&
                             Catch::Contains("#   inside  label\n") &&
                             Catch::Contains("# model: {task: classification}   "
                                             "# default, because the label holds text\n"));
  CHECK_THAT(
      draft.description,
      Catch::StartsWith("classification of 'inside' (the label holds text) from 2 columns\n"));
}

TEST_CASE("comments say what the preset does with the table") {
  TableDirectory directory;
  const auto yaml = [&](int rows) {
    directory.Write(
        "t.csv", "a,y", [](int i) { return N(i * 7 % 13) + ".5," + N(i % 2); }, rows);
    return directory.Draft("t.csv", "y").yaml;
  };
  CHECK_THAT(yaml(60), Catch::Contains("# one fit; default: 5 fits that hold out 1/5 of the rows"));
  CHECK_THAT(yaml(9000), Catch::Contains("# default: {fraction: 0.1}\n"));
  CHECK_THAT(yaml(30), Catch::Contains("# default: none, because there are few rows\n"));
  CHECK_THAT(yaml(60),
             Catch::Contains("# train: {epochs: 50}             # for each fit; default"));
  directory.Write("d.csv", "a,y", [](int i) { return N(i % 13) + ".5," + N(i) + ".5"; });
  CHECK_THAT(directory.Draft("d.csv", "y").yaml, Catch::Contains("# model: {task: regression}"));
}

TEST_CASE("lines of a job file have at most 100 columns") {
  TableDirectory directory;
  const auto header = [](int columns) {
    std::string names = "b,";
    for (int c = 0; c < columns; ++c) names += "\"price, with tax " + N(c) + "\",";
    return names + "y";
  };
  directory.Write("t.csv", header(12), [](int i) {
    std::string row = N(i % 5) + ".5,";
    for (int c = 0; c < 12; ++c) row += N(i % 17 + c) + "%,";
    return row + N(i % 7);
  });
  const std::string yaml = directory.Draft("t.csv", "y").yaml;
  CHECK_THAT(yaml, Catch::Contains("features: {exclude: [\"price, with tax 0\", "));
  for (size_t at = 0; at < yaml.size();) {
    const size_t end = yaml.find('\n', at);
    INFO(yaml.substr(at, end - at));
    CHECK(end - at <= 100);
    at = end + 1;
  }
}

TEST_CASE("a likely identifier is a note, and a proposal to exclude it") {
  TableDirectory directory;
  directory.Write("t.csv", "id,x,y",
                  [](int i) { return N(i) + "," + N(i % 13) + ".5," + N(i % 2); });
  const JobDraft draft = directory.Draft("t.csv", "y");
  CHECK_THAT(draft.yaml, Catch::Contains("  # features: {exclude: [id]}"));
  CHECK_THAT(draft.description, Catch::Contains("\nnote: column 'id' may be an identifier: "));
}

TEST_CASE("every suggestion of a job file is a valid key") {
  TableDirectory directory;
  directory.Write("t.csv", "a,b,c", [](int i) { return N(i) + ".5," + N(i % 5) + "," + N(i % 2); });
  std::string yaml = directory.Draft("t.csv", "c").yaml;
  CHECK_THAT(yaml, Catch::Contains("# default: classification, because ") &&
                       Catch::Contains("\n# model: {task: regression}\n"));
  for (const char* key :
       {"  # features:", "  # validation:", "# preset:", "# model:", "# train:"}) {
    const size_t at = yaml.find(key);
    INFO(key << "\n" << yaml);
    REQUIRE(at != std::string::npos);
    yaml.erase(yaml.find("# ", at), 2);
  }
  std::ofstream("all.yaml") << yaml;
  const auto job = LoadJobFile("all.yaml", {});
  INFO(yaml << job.status().ToString());
  CHECK(job.ok());
}

TEST_CASE("delimiter, decimal comma and a header of numbers are found") {
  TableDirectory directory;
  directory.Write("semi.csv", "a;price;y", [](int i) { return N(i) + ";" + N(i) + ",25;" + N(i); });
  CHECK_THAT(directory.Draft("semi.csv", "y").yaml,
             Catch::Contains("csv: {delimiter: \";\", decimal: \",\"}"));
  directory.Write("tab.tsv", "a\tb", [](int i) { return N(i) + "\t" + N(i % 2); });
  CHECK_THAT(directory.Draft("tab.tsv", "b").yaml, Catch::Contains("csv: {delimiter: \"\\t\"}"));
  directory.Write("blank.txt", "a  b", [](int i) { return N(i) + "   " + N(i % 2); });
  CHECK_THAT(directory.Draft("blank.txt", "b").yaml, Catch::Contains("{delimiter: whitespace}"));
  directory.Write("bare.csv", "", [](int i) { return N(i) + ".5," + N(i * i) + ".5," + N(i % 2); });
  CHECK_THAT(directory.Draft("bare.csv", "2").yaml,
             Catch::Contains("csv: {header: false}\n  label: 2\n"));
}

TEST_CASE("times of day are drafted as seconds since midnight") {
  TableDirectory directory;
  directory.Write("t.csv", "at,y", [](int i) { return N(i % 14 + 10) + ":45," + N(i % 2); });
  CHECK_THAT(directory.Draft("t.csv", "y").yaml,
             Catch::Contains("{columns: at, type: date, date_format: \"%H:%M\", parts: [epoch]}"));
}

TEST_CASE("a column that needs a decision is left out with the reason") {
  TableDirectory directory;
  directory.Write("t.csv", "when,day,rate,y", [](int i) {
    return "1/" + N(i % 12 + 1) + "/2024," + N(i % 28 + 1) + ".03.2024 10:00," + N(i) + "%," +
           N(i % 2);
  });
  const JobDraft draft = directory.Draft("t.csv", "y");
  CHECK_THAT(draft.yaml, Catch::Contains("features: {exclude: [when, rate]") &&
                             Catch::Contains("# left out: column 'rate' holds numbers with"));
  CHECK_THAT(draft.description, Catch::Contains("note: left out: column 'when' holds dates"));
  for (size_t at = 0; at < draft.yaml.size();) {
    const size_t end = draft.yaml.find('\n', at);
    const bool comment = draft.yaml.compare(at, 3, "  #") == 0;
    CHECK((end - at <= 100 || !comment));
    at = end + 1;
  }
}

TEST_CASE("names with blanks, quotes and digits are quoted") {
  TableDirectory directory;
  directory.Write("a 'b'.csv", "1,\"x: #\",\"it's\"",
                  [](int i) { return N(i) + "," + N(i % 3) + ",v" + N(i % 2); });
  const JobDraft draft = directory.Draft("a 'b'.csv", "it's");
  CHECK_THAT(draft.yaml, Catch::Contains("name: a__b_\n") && Catch::Contains("label: \"it's\""));
  CHECK_THAT(directory.Draft("a 'b'.csv", "1").yaml, Catch::Contains("label: \"1\""));
}

TEST_CASE("the list of columns has the types that a job uses") {
  TableDirectory directory;
  directory.Write("t.csv", "day,member,city,a,y", [](int i) {
    return "2024-03-" + N(10 + i % 20) + (i % 2 ? ",true," : ",false,") + (i % 3 ? "Ulm" : "Rome") +
           "," + N(i) + ".5," + N(i % 2);
  });
  const std::string list = ColumnList(*directory.Look("t.csv"));
  CHECK(list ==
        "  day     date\n  member  boolean\n  city    category\n  a       number\n"
        "  y       number\n");
  CHECK_THAT(directory.Draft("t.csv", "y").yaml, Catch::Contains("#   member  boolean\n"));
}

TEST_CASE("the likely label has a usual name or is the last column") {
  TableDirectory directory;
  const auto likely = [&](const std::string& header) {
    directory.Write("t.csv", header, [](int i) { return N(i) + "," + N(i) + "," + N(i); });
    return LikelyLabel(*directory.Look("t.csv"));
  };
  CHECK(likely("a,Target,c") == "Target");
  CHECK(likely("y,a,b") == "y");
  CHECK(likely("x,y,b") == "b");
  CHECK(likely("a,b,c") == "c");
}

TEST_CASE("bad tables and labels are one error") {
  TableDirectory directory;
  CHECK(directory.Look("none.csv").status().message() ==
        "cannot look up 'none.csv': it does not exist");
  CHECK_THAT(directory.Look("a.libsvm").status().message(), Catch::Contains("label: 0"));
  directory.Write("one.csv", "a", N);
  CHECK_THAT(directory.Look("one.csv").status().message(),
             Catch::Contains("found one column, 'a', expected at least two"));
  directory.Write("twice.csv", "a,a,y", [](int i) { return N(i) + "," + N(i) + "," + N(i % 2); });
  CHECK_THAT(directory.Look("twice.csv").status().message(),
             Catch::StartsWith("the header names 'a' twice, in columns 0 and 1"));
  directory.Write("t.csv", "age,left", [](int i) { return N(i) + "," + N(i % 2); });
  const auto look = directory.Look("t.csv");
  REQUIRE(look.ok());
  CHECK(CheckLabel(*look, "lefd").message() ==
        "--label: column 'lefd' does not exist; the files have 2 columns: 'age', 'left'; did you "
        "mean 'left'?");
}

TEST_CASE("a table that cannot be a training table is refused") {
  TableDirectory directory;
  const auto row = [](int i) { return N(i) + ".5," + N(i % 7) + ",x"; };
  directory.Write("header.csv", "a,b,y", row, 0);
  CHECK_THAT(directory.Refusal("header.csv", "y").message(),
             Catch::StartsWith("no training rows: the files hold only a header"));
  directory.Write("one.csv", "a,b,y", row);
  CHECK_THAT(directory.Refusal("one.csv", "y").message(),
             Catch::StartsWith("all 60 training rows have the label 'x'"));
}

TEST_CASE("the keys of line breaks and escapes in quotes are found") {
  TableDirectory directory;
  directory.Write("lines.csv", "a,note,y",
                  [](int i) { return N(i) + ".5,\"one\ntwo " + N(i % 3) + "\"," + N(i % 2); });
  CHECK_THAT(directory.Draft("lines.csv", "y").yaml, Catch::Contains("csv: {multiline: true}\n"));
  directory.Write("names.csv", "a,\"b\nc\",y",
                  [](int i) { return N(i) + ".5," + N(i % 7) + "," + N(i % 2); });
  CHECK_THAT(directory.Draft("names.csv", "y").yaml, Catch::Contains("csv: {multiline: true}\n"));
  directory.Write("spark.csv", "a,note,y", [](int i) {
    return N(i) + ".5,\"say \\\"hi\\\", " + N(i % 3) + "\"," + N(i % 2);
  });
  CHECK_THAT(directory.Draft("spark.csv", "y").yaml, Catch::Contains("csv: {escape: \"\\\\\"}\n"));
}

TEST_CASE("a job file proposes to skip rows that cannot be read") {
  TableDirectory directory;
  directory.Write("t.csv", "a,y", [](int i) {
    return N(i) + ".5," + (i == 3 || i == 8 ? "" : i % 2 == 0 ? "yes" : "no");
  });
  const JobDraft draft = directory.Draft("t.csv", "y");
  CHECK_THAT(draft.yaml, Catch::Contains("\n  # bad_rows: {policy: skip, limit: 2}  # "));
  CHECK_THAT(draft.description,
             Catch::Contains("\nnote: 2 rows cannot be read. The first is row 5, column 'y'") &&
                 Catch::Contains(": the label is empty"));
}

TEST_CASE("the summary shows date formats and an unreadable cell") {
  TableDirectory directory;
  directory.Write("t.csv", "joined,seen,y", [](int i) {
    const std::string day = N(i % 9 + 10);
    return "03/" + day + "/2024," + (i == 3 ? "never" : "2024-01-" + day) + "," +
           (i % 2 == 0 ? "yes" : "no");
  });
  const std::string text = directory.Draft("t.csv", "y").description;
  CHECK_THAT(text, Catch::Contains("\n  groups: [{columns: joined, type: date, date_format: "));
  CHECK_THAT(text, Catch::Contains("1 row cannot be read. The first is row 5, column 'seen', found "
                                   "'never': the value is not a date"));
}

TEST_CASE("text that is not UTF-8 is refused") {
  TableDirectory directory;
  const auto refused = [&](const std::string& label) {
    const auto look = directory.Look("latin1.csv");
    return look.ok() ? directory.Refusal("latin1.csv", label) : look.status();
  };
  directory.Write("latin1.csv",
                  "gr\xf6\xdf"
                  "e,y",
                  [](int i) { return N(i) + "," + N(i % 2); });
  CHECK_THAT(refused("y").message(), Catch::StartsWith("the header: the text is not UTF-8") &&
                                         Catch::Contains("iconv -f latin1 -t utf8"));
  directory.Write("latin1.csv", "a,city,y", [](int i) {
    return N(i) + (i % 3 == 0 ? ",K\xf6ln," : ",Ulm,") + (i % 2 == 0 ? "na\xefve" : "no");
  });
  CHECK(refused("y").position()->column == "city");
  CHECK(refused("city").position()->column == "city");
  CHECK(refused("y").code() == StatusCode::kBadInput);
  CHECK_THAT(directory.Look("gr\xf6n.csv").status().message(), Catch::Contains("Rename the file"));
}

TEST_CASE("a job is named after its table") {
  CHECK(JobNameOf("ring.csv") == "ring");
  CHECK(JobNameOf("data/churn.csv.gz") == "churn");
  CHECK(JobNameOf("churn/train.csv") == "churn");
  CHECK(JobNameOf("train.csv") == "train");
  CHECK(JobNameOf("../train.csv") == "train");
  CHECK(JobNameOf("hdfs://nn:8020/sales/part-*.parquet") == "sales");
  CHECK(JobNameOf("sales/year=*/") == "sales");
  CHECK(JobNameOf("/") == "job");
  CHECK(JobNameOf("\xc3\xa4.csv") == "job");
}

TEST_CASE("a word is quoted for the shell where needed") {
  CHECK(ShellWord("models/a-1.csv") == "models/a-1.csv");
  CHECK(ShellWord("a b") == "'a b'");
  CHECK(ShellWord("it's") == "'it'\\''s'");
  CHECK(ShellWord("*.csv") == "'*.csv'");
  CHECK(ShellWord("") == "''");
}

}  // namespace
}  // namespace espalier::cli
