// Tables whose log names the live files, and files next to their compressed copy.
#include "src/data/input/table_formats.h"

#include <filesystem>

#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

class FormatsFixture : public DataFixture {
 public:
  FormatsFixture() {
    job.model.task = spec::Task::kRegression;
    job.model.target_scale = spec::TargetScale::kNone;
  }
  void Put(const std::string& path, const std::string& content = "a,y\n1,2\n") {
    REQUIRE(files->MakeDirectory(dir / path.substr(0, path.rfind('/'))).ok());
    dir.Put(path, content);
  }
  // Returns the error message for a pattern.
  std::string Message(const std::string& pattern) {
    job.data.train = {dir / pattern};
    const Status error = Profile().status();
    CHECK(error.code() == StatusCode::kInvalidArgument);
    return error.message();
  }
};

TEST_CASE("a table with a log is refused from any directory below it") {
  struct Case {
    const char *marker, *file, *pattern, *kind;
  };
  const auto c = GENERATE(
      Case{"t/_delta_log/0.json", "t/0.csv", "t", "a Delta table"},
      Case{"t/_delta_log/0.json", "t/0.csv", "t/*.csv", "a Delta table"},
      Case{"t/_delta_log/0.json", "t/0.csv", "t/0.csv", "a Delta table"},
      Case{"t/_delta_log/0.json", "t/p=1/q=2/0.csv", "t/p=1/q=2", "a Delta table"},
      Case{"t/p=1/_delta_log/0.json", "t/p=1/0.csv", "t", "a Delta table"},
      Case{"t/_delta_log/0.json", "u/0.csv", "t", "a Delta table"},
      Case{"t/.hoodie/x", "t/p=1/0.csv", "t/*/*", "a Hudi table"},
      Case{"t/k=1/.hoodie_partition_metadata", "t/k=1/0.csv", "t", "a Hudi table"},
      Case{"t/k=1/.hoodie_partition_metadata", "t/k=1/0.csv", "t/k=1", "a Hudi table"},
      Case{"t/k=1/.hoodie_partition_metadata", "t/k=1/0.csv", "t/k=1/*.csv", "a Hudi table"},
      Case{"t/k=1/.hoodie_partition_metadata.parquet", "t/k=1/0.csv", "t/k=1/0.csv",
           "a Hudi table"},
      Case{"t/_spark_metadata/0", "t/0.csv", "t", "the output of a Spark stream"},
      Case{"t/_spark_metadata/0", "t/p=1/0.csv", "t/p=1", "the output of a Spark stream"},
      Case{"t/metadata/v1.metadata.json", "t/data/0.csv", "t", "an Iceberg table"},
      Case{"t/metadata/version-hint.text", "t/data/k=1/0.csv", "t/data", "an Iceberg table"},
      Case{"t/base_0000003/_meta", "t/base_0000003/0.csv", "t/base_0000003", "(ACID) table"},
      Case{"t/k=1/delta_0000001_0000001_0000/_meta", "t/k=1/delta_0000001_0000001_0000/0.csv",
           "t/*/*/*.csv", "(ACID) table"},
      Case{"t/delete_delta_0000001_0000001/x", "t/0.csv", "t", "(ACID) table"});
  INFO(c.marker << " " << c.pattern);
  FormatsFixture f;
  f.Put(c.marker, "{}");
  f.Put(c.file);
  const std::string message = f.Message(c.pattern);
  INFO(message);
  CHECK(message.find(c.kind) != std::string::npos);
  CHECK(message.find("raw: true") != std::string::npos);
}

TEST_CASE("raw: true reads the files of a table with a log") {
  FormatsFixture f;
  f.Put("t/_delta_log/0.json", "{}");
  f.Put("t/0.csv");
  f.job.data.train = {f.dir / "t"};
  f.job.data.raw = true;
  CHECK(f.AllRows().inputs == std::vector<double>{1});
}

TEST_CASE("a link into a table with a log is refused") {
  FormatsFixture f;
  f.Put("t/_delta_log/0.json", "{}");
  f.Put("t/p/0.csv");
  std::filesystem::create_directory_symlink(f.dir / "t/p", f.dir / "link");
  CHECK(f.Message("link/*.csv").find("a Delta table") != std::string::npos);
}

TEST_CASE("a linked file of a table with a log is refused") {
  FormatsFixture f;
  f.Put("t/_delta_log/0.json", "{}");
  f.Put("t/p/0.csv");
  f.Put("u/1.csv");
  std::filesystem::create_symlink(f.dir / "t/p/0.csv", f.dir / "u/0.csv");
  CHECK(f.Message("u").find("a Delta table") != std::string::npos);
}

TEST_CASE("other directories named metadata or base are read") {
  FormatsFixture f;
  f.Put("t/metadata/notes.txt", "");
  f.Put("t/base_1/0.csv");
  f.job.data.train = {f.dir / "t/*/*.csv"};
  CHECK(f.AllRows().inputs == std::vector<double>{1});
}

TEST_CASE("two compressed copies of a file are an error with both") {
  FormatsFixture f;
  f.Put("t/0.csv.bz2");
  f.Put("t/0.csv.gz");
  f.Put("t/1.csv.gz");
  const std::string message = f.Message("t");
  CHECK(message.find("'" + f.dir / "t/0.csv.bz2" + "' and '" + f.dir / "t/0.csv.gz" + "'") == 0);
}

TEST_CASE("a file next to a copy of it is an error with both") {
  const auto copy = GENERATE("t/0.csv.gz", "t/0.csv.bz2", "t/0.csv.lz4", "t/0.csv~", "t/0.csv.bak",
                             "t/0.csv.tmp");
  FormatsFixture f;
  f.Put("t/0.csv");
  f.Put(copy);
  const std::string message = f.Message("t");
  CHECK(message.find("'" + f.dir / "t/0.csv" + "'") == 0);
  CHECK(message.find("'" + f.dir / copy + "'") != std::string::npos);
}

}  // namespace
}  // namespace espalier::data
