// Tests that need a real HDFS. This program also runs the conformance suite.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "src/storage/hadoop_config.h"
#include "tests/storage/hdfs_subject.h"
#include "tests/storage/subject.h"

namespace espalier::storage {
namespace {

TEST_CASE("one file is found under each name of its HDFS") {
  const Subject s = MakeSubjects()[0];
  s.Put("f", "content");
  const size_t slash = s.root->find('/', s.root->find("://") + 3);
  CHECK(s.Content("hdfs://" + s.root->substr(slash) + "/f") == "content");
  CHECK(s.files->Stat("hdfs:" + s.root->substr(slash) + "/f").ok());
}

TEST_CASE("an RPC port is recognized and reported") {
  StorageOptions options = HdfsOptions("espalier");
  const auto config = HadoopConfig::Read(options.hadoop_conf_dir, "espalier");
  REQUIRE(config.ok());
  const std::string name = "dfs.namenode.rpc-address";
  std::string address = config->Get(name).value();
  if (address.empty()) address = config->Get(name + ".ns.nn1").value();
  REQUIRE_FALSE(address.empty());
  const auto files = MakeFileSystem(options);
  const Status status = files->Stat("webhdfs://" + address + "/tmp").status();
  INFO(status.ToString());
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK(status.message().find("answers as an RPC port") != std::string::npos);
}

TEST_CASE("a permission error names the user") {
  const Subject s = MakeSubjects()[0];
  const auto stranger = MakeFileSystem(HdfsOptions("stranger"));
  for (const Status& status :
       {stranger->WriteAtomically(s / "x", "1"), stranger->CreateExclusively(s / "y", "1"),
        stranger->MakeDirectory(s / "z"), stranger->RemoveTree(*s.root)}) {
    INFO(status.ToString());
    CHECK(status.code() == StatusCode::kPermissionDenied);
    CHECK(status.message().find("permission denied as the user 'stranger' (") != std::string::npos);
  }
}

TEST_CASE("blocks are located, in order, and cover the file") {
  const Subject s = MakeSubjects()[0];
  const std::string path = s.Put("blocks", std::string(3'500'000, 'x'));
  const auto blocks = s.files->BlockLocations(path, 0, 3'500'000);
  REQUIRE(blocks.ok());
  int64_t end = 0;
  for (const BlockLocation& block : *blocks) {
    CHECK(block.offset == end);
    CHECK_FALSE(block.hosts.empty());
    end += block.length;
  }
  CHECK(end == 3'500'000);
}

TEST_CASE("a directory of thousands of files is listed whole") {
  const Subject s = MakeSubjects()[0];
  constexpr int kFiles = 1200;  // the NameNode returns 1000 names per call
  std::vector<std::thread> threads;
  std::atomic<int> made{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < kFiles; i += 8) {
        made += s.files->MakeDirectory(s / ("many/d" + std::to_string(10000 + i))).ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(made == kFiles);
  const auto names = s.files->Names(s / "many");
  REQUIRE(names.ok());
  CHECK(names->size() == kFiles);
  CHECK(names->front() == "d10000");
  CHECK(names->back() == "d11199");
}

}  // namespace
}  // namespace espalier::storage
