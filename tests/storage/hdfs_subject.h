// The real HDFS that tests run against. The environment specifies it:
//   ESPALIER_TEST_HDFS         a directory that every user can write to: hdfs://HOST:PORT/tmp
//   ESPALIER_TEST_HADOOP_CONF  the directory with core-site.xml and hdfs-site.xml
// Without these variables the tests fail. They are never skipped.
#pragma once

#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "src/storage/file_systems.h"

namespace espalier::storage {

inline std::string HdfsSetting(const char* name) {
  const char* value = std::getenv(name);
  INFO(name << " must be set; tools/test hdfs starts an HDFS and sets it");
  REQUIRE(value != nullptr);
  return value;
}

inline StorageOptions HdfsOptions(const std::string& user) {
  StorageOptions options;
  options.hadoop_conf_dir = HdfsSetting("ESPALIER_TEST_HADOOP_CONF");
  options.webhdfs.user = user;
  return options;
}

// Returns a path on that HDFS that no other test uses.
inline std::string FreshHdfsPath(const std::string& name) {
  static std::atomic<int> counter{0};
  return HdfsSetting("ESPALIER_TEST_HDFS") + "/" + name + "-" + std::to_string(getpid()) + "-" +
         std::to_string(++counter);
}

}  // namespace espalier::storage
