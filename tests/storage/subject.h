// The subject of the conformance suite: an implementation of FileSystem and an empty directory on
// it. Each test program links the suite with one definition of MakeSubjects.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "src/storage/file_system.h"

namespace espalier::storage {

struct Subject {
  std::string name;
  std::shared_ptr<const FileSystem> files;
  std::shared_ptr<const std::string> root;  // its deleter removes the directory
  bool exchanges = true;                    // implements Exchange

  // Returns "ROOT/path".
  std::string operator/(const std::string& path) const { return *root + "/" + path; }
  // Creates a file and returns its path.
  std::string Put(const std::string& path, const std::string& content) const {
    const Status made = files->CreateExclusively(*this / path, content);
    INFO(made.ToString());
    REQUIRE(made.ok());
    return *this / path;
  }
  std::string Content(const std::string& path) const {
    const auto content = files->ReadAll(path, 1 << 30);
    INFO(content.status().ToString());
    REQUIRE(content.ok());
    return *content;
  }
};

// Returns the subjects. Fails the running test if the file system is unreachable.
std::vector<Subject> MakeSubjects();

// Creates the directory `path`. The last copy of the pointer removes it.
inline std::shared_ptr<const std::string> OwnDirectory(std::shared_ptr<const FileSystem> files,
                                                       const std::string& path) {
  const Status made = files->MakeDirectory(path);
  INFO(made.ToString());
  REQUIRE(made.ok());
  return {new std::string(path), [files](const std::string* root) {
            (void)files->RemoveTree(*root);
            delete root;
          }};
}

}  // namespace espalier::storage
