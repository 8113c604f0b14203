#include "src/cli/job_tokens.h"

#include <catch2/catch.hpp>

#include "tests/testing/says.h"

namespace espalier::cli {
namespace {

TEST_CASE("an unknown file system gives a note and no token") {
  storage::StorageOptions storage;
  storage.hadoop_conf_dir = "/none";
  const auto renewer = [] { return Result<std::string>(Unavailable("it is not asked")); };
  const auto job = FetchJobTokens({"hdfs://ns/a", "/local", "hdfs://ns/b"}, storage, renewer);
  REQUIRE(job.ok());
  CHECK(job->tokens.empty());
  REQUIRE(job->notes.size() == 1);
  CHECK_THAT(job->notes[0], Says("no delegation token of hdfs://ns ... Kerberos ... '/none' "
                                 "(HADOOP_CONF_DIR) ... core-site.xml ... hdfs-site.xml"));
}

TEST_CASE("a job with only local files takes no token and no note") {
  storage::StorageOptions storage;
  storage.hadoop_conf_dir = "/none";
  const auto job = FetchJobTokens({"/a", "file:///b"}, storage, nullptr);
  REQUIRE(job.ok());
  CHECK((job->tokens.empty() && job->notes.empty()));
}

}  // namespace
}  // namespace espalier::cli
