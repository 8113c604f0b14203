#include "src/cli/job_file.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/bundle/checkpoint_store.h"
#include "src/rpc/coordinator_address.h"
#include "tests/testing/says.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

// A directory with a small table and a job file, and the working directory during the test.
class JobDirectory {
 public:
  JobDirectory() : before_(fs::current_path()) {
    std::string path = (fs::temp_directory_path() / "job-test-XXXXXX").string();
    path_ = mkdtemp(path.data());
    path_ = fs::canonical(path_).string();
    fs::current_path(path_);
    Write("rows.csv", "x,y,label\n1,2,a\n3,4,b\n");
    Write("job.yaml",
          "name: small\n"
          "data: {train: rows.csv, label: label}\n"
          "workers: {min: 1, max: 8}\n"
          "output: {path: out, overwrite: false}\n");
  }
  ~JobDirectory() {
    fs::current_path(before_);
    fs::remove_all(path_);
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
  }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  const fs::path before_;
  std::string path_;
};

TEST_CASE("a job file is read with absolute paths") {
  JobDirectory directory;
  const auto job = LoadJobFile("job.yaml", {});
  INFO(job.status().ToString());
  REQUIRE(job.ok());
  CHECK(job->spec.name == "small");
  CHECK(job->spec.data.train == std::vector<std::string>{directory.Path("rows.csv")});
  CHECK(job->spec.output.path == directory.Path("out"));
  CHECK(job->spec.workers.max == 8);
}

TEST_CASE("output and workers of the command line replace the file's") {
  JobDirectory directory;
  const auto job = LoadJobFile("job.yaml", {.output = "../elsewhere", .workers = 3});
  REQUIRE(job.ok());
  CHECK(job->spec.output.path == fs::path(directory.Path("../elsewhere")).lexically_normal());
  CHECK_FALSE(job->spec.output.overwrite);
  CHECK(job->spec.workers == spec::WorkerRange{.min = 1, .max = 3});
  CHECK(job->spec.data.label == std::vector<spec::ColumnRef>{"label"});
}

TEST_CASE("the run to resume comes from the command line or the file") {
  JobDirectory directory;
  auto job = LoadJobFile("job.yaml", {.resume = "old/run", .accept_data = true});
  INFO(job.status().ToString());
  REQUIRE(job.ok());
  CHECK(job->spec.resume == spec::ResumeSpec{directory.Path("old/run"), true, false});
  const std::string text = "data: {train: rows.csv, label: label}\noutput: out\nresume: old\n";
  directory.Write("resume.yaml", text);
  job = LoadJobFile("resume.yaml", {.accept_arithmetic = true});
  REQUIRE(job.ok());
  CHECK(job->spec.resume == spec::ResumeSpec{directory.Path("old"), false, true});
  job = LoadJobFile("resume.yaml", {.resume = "hdfs://h/new"});
  REQUIRE(job.ok());
  CHECK(job->spec.resume == spec::ResumeSpec{"hdfs://h/new", false, false});
  CHECK_THAT(LoadJobFile("job.yaml", {.accept_data = true}).status().message(),
             Says("--accept-other-data ... --resume RUN"));
}

TEST_CASE("a job starts with a checkpoint to resume or without any") {
  JobDirectory directory;
  const auto files = storage::MakeFileSystem();
  spec::JobSpec spec = LoadJobFile("job.yaml", {}).value().spec;
  CHECK(bundle::CheckBeginning(*files, spec).ok());
  fs::create_directory("out.checkpoints");
  directory.Write("out.checkpoints/step-000000007.ckpt", "");
  CHECK(bundle::CheckBeginning(*files, spec).code() == StatusCode::kAlreadyExists);
  spec.resume = spec::ResumeSpec{spec.output.path, false, false};
  CHECK(bundle::CheckBeginning(*files, spec).code() == StatusCode::kDataLoss);
  spec.resume->from = directory.Path("other");
  CHECK(bundle::CheckBeginning(*files, spec).code() == StatusCode::kNotFound);
}

TEST_CASE("a missing or wrong job file is reported with its place") {
  JobDirectory directory;
  CHECK(LoadJobFile("none.yaml", {}).status().code() == StatusCode::kNotFound);
  CHECK(LoadJobFile(".", {}).status().code() == StatusCode::kNotFound);
  directory.Write("wrong.yaml", "data: {train: rows.csv, label: label}\noutptu: out\n");
  const Status status = LoadJobFile("wrong.yaml", {}).status();
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(status.message(), Catch::Contains("wrong.yaml:2:1") && Catch::Contains("output"));
}

TEST_CASE("files, header and output are checked before the start") {
  JobDirectory directory;
  const JobFile file = LoadJobFile("job.yaml", {}).value();
  spec::JobSpec spec = file.spec;
  const auto completed = CompleteLocally(*storage::MakeFileSystem(), file);
  INFO(completed.status().ToString());
  REQUIRE(completed.ok());
  CHECK(completed->input.schema.features == std::vector<int32_t>{0, 1});
  CHECK(completed->task_why == "the label holds text");

  CHECK(CheckOutputHere(*storage::MakeFileSystem(), spec.output).ok());
  fs::create_directory("out");
  CHECK(CheckOutputHere(*storage::MakeFileSystem(), spec.output).code() ==
        StatusCode::kAlreadyExists);
  spec.output.overwrite = true;
  CHECK(CheckOutputHere(*storage::MakeFileSystem(), spec.output).ok());
  CHECK(CheckOutputHere(*storage::MakeFileSystem(), {.path = directory.Path("rows.csv/below")})
            .code() != StatusCode::kOk);

  const auto refused = [&](const std::string& data) {
    directory.Write("wrong.yaml", "data: " + data + "\noutput: other\n");
    const JobFile wrong = LoadJobFile("wrong.yaml", {}).value();
    return CompleteLocally(*storage::MakeFileSystem(), wrong).status().ToString();
  };
  CHECK_THAT(refused("{train: rows.csv, label: lable}"), Catch::Contains("label"));
  CHECK_THAT(refused("{train: missing.csv, label: label}"), Catch::Contains("missing.csv"));
}

TEST_CASE("a coordinator is found by host:port or by a file with it") {
  JobDirectory directory;
  const auto files = storage::MakeFileSystem();
  const auto FindCoordinator = [&files](const std::string& where) {
    return espalier::rpc::FindCoordinator(where, *files);
  };
  CHECK(FindCoordinator("localhost:7700").value() == "localhost:7700");
  const std::string where = "file:" + directory.Path("coordinator");
  CHECK(FindCoordinator(where).status().code() == StatusCode::kUnavailable);
  directory.Write("coordinator", "");
  CHECK(FindCoordinator(where).status().code() == StatusCode::kUnavailable);
  directory.Write("coordinator", "10.0.0.1:4000\n");
  CHECK(FindCoordinator(where).value() == "10.0.0.1:4000");
  directory.Write("coordinator", "[::1]:4001\n");
  CHECK(FindCoordinator(where).value() == "[::1]:4001");
}

}  // namespace
}  // namespace espalier::cli
