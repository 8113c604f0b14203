#include "src/coordinator/preparation.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/bundle/output.h"
#include "tests/storage/fake_hdfs.h"

namespace espalier::coordinator {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

fs::path Temporary() { return fs::path(std::getenv("TEST_TMPDIR")) / "preparation"; }

Result<cluster::Submission> Prepare(
    const std::string& output, const std::string& train = "{}",
    const storage::StorageOptions& storage = storage::StorageOptions{}) {
  fs::create_directories(Temporary());
  std::ofstream(Temporary() / "in.csv") << "y,x\n0,1\n1,2\n";
  return PrepareSubmission(
      {.version = "1",
       .client_request_id = "a/../b",
       .job_yaml = "name: small\npreset: none\ndata: {train: " + (Temporary() / "in.csv").string() +
                   ", label: y}\nworkers: {min: 2, max: 3}\ntrain: " + train +
                   "\noutput: " + output + "\n"},
      storage);
}

TEST_CASE("a submission is parsed and listed, its output prepared") {
  const fs::path output = Temporary() / "new" / "model";
  const auto submission = Prepare(output.string());
  INFO(submission.status().ToString());
  REQUIRE(submission.ok());
  CHECK(submission->name == "small");
  CHECK(submission->output == output.string());
  CHECK(submission->workers_min == 2);
  CHECK(submission->workers_max == 3);
  CHECK(submission->leaves == 4);
  CHECK_FALSE(submission->star());
  CHECK(submission->input->shards.size() == 1);
  CHECK(fs::is_empty(output.parent_path()));  // the probe is deleted
}

TEST_CASE("all names of an output on an HDFS give one place") {
  storage::FakeHdfs hdfs([](const storage::ServedRequest& r, storage::ServedReply* reply) {
    if (r.op() == "MKDIRS" || r.op() == "RENAME")
      *reply = storage::Reply(200, storage::FakeHdfs::kTrue);
    if (r.op() == "LISTSTATUS") *reply = storage::Exception(404, "FileNotFoundException", r.path);
    return r.op() == "MKDIRS" || r.op() == "RENAME" || r.op() == "LISTSTATUS";
  });
  const fs::path conf = Temporary() / "conf";
  fs::create_directories(conf);
  std::ofstream(conf / "core-site.xml")
      << "<configuration><property><name>fs.defaultFS</name><value>hdfs://nn:9000</value>"
         "</property><property><name>dfs.namenode.http-address</name><value>"
      << hdfs.server.address() << "</value></property></configuration>";
  storage::StorageOptions options = storage::Quick();
  options.hadoop_conf_dir = conf.string();
  const std::string place = hdfs.base + "/jobs/m";
  for (const std::string& output : {place, "hdfs:///jobs/m"s, "hdfs://nn:9000//jobs/m/"s,
                                    "hdfs://NN:9000/jobs/m"s, hdfs.base + "/jobs//m/"}) {
    const auto submission = Prepare(output, "{}", options);
    INFO(output << ": " << submission.status().ToString());
    REQUIRE(submission.ok());
    CHECK(submission->OutputPlace() == place);
  }
  for (const char* output : {"hdfs:///jobs/x/../m", "hdfs:///.reserved/.inodes/16390/m"}) {
    const Status refused = Prepare(output, "{}", options).status();
    INFO(refused.ToString());
    CHECK(refused.code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("paths relative to the submitter's directory are refused") {
  const std::string inputs = "data: {train: /in.csv, label: y}\noutput: /out\n";
  const auto refused = [](const std::string& yaml) {
    const auto submission = PrepareSubmission(
        {.version = "1", .client_request_id = "a", .job_yaml = yaml}, storage::StorageOptions{});
    CHECK(submission.status().code() == StatusCode::kInvalidArgument);
    return submission.status().message();
  };
  using Catch::StartsWith;
  CHECK_THAT(refused("data: {train: [/a.csv, in.csv], label: y}\noutput: /out\n"),
             StartsWith("data.train: found the relative path 'in.csv', expected an absolute one"));
  CHECK_THAT(refused("data: {train: /a.csv, test: t/*.csv, label: y}\noutput: /out\n"),
             StartsWith("data.test: found the relative path 't/*.csv'"));
  CHECK_THAT(refused("data: {train: /a.csv, label: y}\noutput: ./out\n"),
             StartsWith("output: found the relative path "));
  CHECK_THAT(refused(inputs + "resume: out\n"),
             StartsWith("resume: found the relative path 'out'"));
  CHECK_THAT(refused(inputs + "train: {initial: old}\n"),
             StartsWith("train.initial: found the relative path 'old'"));
  CHECK_THAT(refused("predict: {model: m, data: /no/data}\noutput: /no/out\n"),
             StartsWith("model: found the relative path 'm'"));
}

TEST_CASE("members of asynchronous training form a star") {
  const auto submission = Prepare((Temporary() / "new" / "star").string(), "{mode: async}");
  REQUIRE(submission.ok());
  CHECK(submission->star());
}

TEST_CASE("an existing output is replaced only on request") {
  const fs::path output = Temporary() / "old";
  fs::create_directories(output);
  const auto refused = Prepare(output.string());
  CHECK(refused.status().code() == StatusCode::kAlreadyExists);
  CHECK(refused.status().message().find("overwrite: true") != std::string::npos);
  CHECK(Prepare("{path: " + output.string() + ", overwrite: true}").ok());
}

TEST_CASE("checkpoints of an unfinished run are reported") {
  const fs::path output = Temporary() / "cut";
  fs::create_directories(output.string() + ".checkpoints");
  std::ofstream(output.string() + ".checkpoints/step-000000012.ckpt") << "x";
  const auto left = Prepare(output.string());
  CHECK(left.status().code() == StatusCode::kAlreadyExists);
  CHECK(left.status().message().find("up to step 12") != std::string::npos);
  CHECK(Prepare("{path: " + output.string() + ", overwrite: true}").ok());
  const std::string elsewhere = (Temporary() / "elsewhere").string();
  CHECK(Prepare(elsewhere + "\nresume: " + elsewhere).status().code() == StatusCode::kNotFound);
}

TEST_CASE("an output with too long a name is refused at once") {
  const fs::path longest = Temporary() / "long" / std::string(255 - bundle::kNameBytesAdded, 'x');
  CHECK(Prepare(longest.string()).ok());
  CHECK(fs::is_empty(longest.parent_path()));
  const auto refused = Prepare(longest.string() + "x");
  CHECK(refused.status().code() == StatusCode::kInvalidArgument);
  CHECK(refused.status().ToString().find("its name is too long") != std::string::npos);
  CHECK(refused.status().ToString().find("choose another name") != std::string::npos);
}

TEST_CASE("an output that cannot be written is refused at once") {
  const fs::path file = Temporary() / "file";
  fs::create_directories(Temporary());
  std::ofstream(file) << "x";
  CHECK_FALSE(Prepare((file / "model").string()).ok());
}

TEST_CASE("a job carries one genuine delegation token per file system") {
  int renewed = 0;
  storage::FakeHdfs hdfs([&](const storage::ServedRequest& r, storage::ServedReply* reply) {
    renewed += r.op() == "RENEWDELEGATIONTOKEN";
    if (r.op() != "GETHOMEDIRECTORY") return false;
    *reply = r.query.at("delegation") == "genuine"
                 ? storage::Reply(200, R"({"Path": "/user/ada"})")
                 : storage::Exception(403, "InvalidToken", "token is invalid");
    return true;
  });
  const auto refused = [&](const spec::StorageTokens& tokens) {
    return PrepareSubmission({.version = "1",
                              .client_request_id = "a",
                              .job_yaml = "nonsense: 1",
                              .tokens = tokens},
                             storage::Quick())
        .status();
  };
  const Status text = refused({{hdfs.base, "genuine"}});  // the token passes, the job text does not
  CHECK(text.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(text.ToString(), Catch::Contains("unknown key 'nonsense'"));
  CHECK(refused({{hdfs.base, "forged"}}).code() == StatusCode::kPermissionDenied);
  const Status twice = refused({{hdfs.base, "genuine"}, {hdfs.base, "forged"}});
  CHECK(twice.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(twice.ToString(), Catch::Contains("two delegation tokens of '" + hdfs.base));
  CHECK(renewed == 0);
}

TEST_CASE("a job that scores a missing model is refused by its name") {
  const auto submission = PrepareSubmission(
      {.version = "1",
       .client_request_id = "a",
       .job_yaml = "predict: {model: /no/model, data: /no/data}\noutput: /no/out\n"},
      storage::StorageOptions{});
  CHECK(submission.status().code() == StatusCode::kNotFound);
  CHECK(submission.status().message().find("'/no/model' does not exist") != std::string::npos);
}

}  // namespace
}  // namespace espalier::coordinator
