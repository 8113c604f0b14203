#include "src/cli/sweep_input.h"

#include <catch2/catch.hpp>
#include <map>

#include "src/cli/sweep_results.h"
#include "src/storage/local_file_system.h"
#include "src/storage/passing_files.h"

namespace espalier::cli {
namespace {

// Lists the given files.
class ListedFiles : public storage::PassingFiles {
 public:
  ListedFiles() : ListedFiles(storage::MakeLocalFileSystem()) {}
  Result<std::vector<storage::FileInfo>> List(const std::string& pattern) const override {
    const auto at = found.find(pattern);
    if (at == found.end()) return NotFound("no file matches");
    return at->second;
  }
  std::map<std::string, std::vector<storage::FileInfo>> found;

 private:
  explicit ListedFiles(std::unique_ptr<storage::FileSystem> local)
      : storage::PassingFiles(*local), local_(std::move(local)) {}
  const std::unique_ptr<storage::FileSystem> local_;
};

storage::FileInfo File(std::string path, int64_t length, int64_t modified_ms) {
  return {.path = std::move(path), .length = length, .modified_ms = modified_ms};
}

spec::JobSpec Job() {
  spec::JobSpec job;
  job.data.train = {"/t/*.csv"};
  return job;
}

TEST_CASE("an input is known by paths, lengths and times of its files") {
  ListedFiles files;
  const spec::JobSpec job = Job();
  CHECK_FALSE(ListInput(files, job));
  const std::vector<storage::FileInfo> first = {File("/t/a.csv", 10, 1), File("/t/b.csv", 20, 2)};
  files.found["/t/*.csv"] = first;
  const auto listed = ListInput(files, job);
  REQUIRE(listed);
  CHECK(listed->files == 2);
  CHECK(listed->bytes == 30);
  CHECK(ListInput(files, job) == listed);
  for (int changed = 0; changed < 4; ++changed) {
    auto& now = files.found["/t/*.csv"] = first;
    if (changed == 0) now[1].path = "/t/c.csv";
    if (changed == 1) now[1].length = 21;
    if (changed == 2) now[1].modified_ms = 3;
    if (changed == 3) now.pop_back();
    CHECK_FALSE(ListInput(files, job) == listed);
  }
  spec::JobSpec tested = job;
  tested.data.test = {"/t/none.csv"};
  files.found["/t/*.csv"] = first;
  CHECK_FALSE(ListInput(files, tested));  // one pattern cannot be listed
  CHECK(InputKey(tested) != InputKey(job));
  spec::JobSpec trained = job;
  trained.train.seed = 9;
  CHECK(InputKey(trained) == InputKey(job));
}

TEST_CASE("listings read back from sweep.json; invalid ones do not") {
  const InputListings listings = {{"k1", {.files = 2, .bytes = 30, .sha256 = "aa"}},
                                  {"k2", {.files = 0, .bytes = 0, .sha256 = "bb"}}};
  Json json = ListingsJson(listings);
  CHECK(ReadListings(json) == listings);
  json.push_back("text");
  json.push_back({{"input", "k3"}});
  json.push_back({{"input", "k3"}, {"sha256", 1}, {"files", 1}, {"bytes", 1}});
  CHECK(ReadListings(json) == listings);
  CHECK(ReadListings(Json("text")).empty());
}

TEST_CASE("a changed table is an error with both sizes and the fix") {
  const InputListing before{.files = 1, .bytes = 1000, .sha256 = "a"};
  CHECK(CheckListing("trial-001", before, before).ok());
  InputListing now{.files = 1, .bytes = 1200, .sha256 = "b"};
  const std::string grown = CheckListing("trial-001", before, now).message();
  CHECK_THAT(grown, Catch::Contains("the table of trial-001 has changed") &&
                        Catch::Contains("1 file of 1,000 bytes then, now 1 file of 1,200 bytes") &&
                        Catch::Contains("remove the bundles") && !Catch::Contains("sweep.json"));
  now.bytes = 1000;
  CHECK_THAT(CheckListing("trial-001", before, now).message(),
             Catch::Contains("times of change") && Catch::Contains("remove only sweep.json"));
}

TEST_CASE("runs that split the same rows must have read the same rows") {
  ReadData read;
  spec::JobSpec job = Job();
  CHECK(read.Take("trial-001", job, "f1").ok());
  job.train.batch = 77;
  job.model.hidden = {};
  CHECK(read.Take("trial-002", job, "f1").ok());
  CHECK(read.Take("trial-003", job, "").ok());
  const Status other = read.Take("trial-004", job, "f2");
  CHECK(other.code() == StatusCode::kFailedPrecondition);
  CHECK_THAT(other.message(), Catch::Contains("trial-001 and trial-004 have read different rows") &&
                                  Catch::Contains("remove the bundles of before"));
  job.train.seed = 9;  // changes the draw of validation rows
  CHECK(read.Take("trial-005", job, "f2").ok());
  job.data.shard_bytes *= 2;
  CHECK(read.Take("trial-006", job, "f3").ok());
}

}  // namespace
}  // namespace espalier::cli
