// A directory for one test, removed at its end.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "src/storage/local_file_system.h"

namespace espalier::storage {

class TemporaryDirectory {
 public:
  TemporaryDirectory() : TemporaryDirectory(std::getenv("TEST_TMPDIR")) {}
  // Creates the directory in `base`, or in /tmp if `base` is null. Sockets need a short `base`.
  explicit TemporaryDirectory(const char* base)
      : path_(std::string(base ? base : "/tmp") + "/espalier-test-XXXXXX") {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~TemporaryDirectory() { (void)MakeLocalFileSystem()->RemoveTree(path_); }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file and returns its path.
  std::string Put(const std::string& name, const std::string& content) const {
    std::ofstream(*this / name, std::ios::binary) << content;
    return *this / name;
  }

 private:
  std::string path_;
};

inline std::string Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace espalier::storage
