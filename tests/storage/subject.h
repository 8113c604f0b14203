// What the conformance suite runs on: one implementation of FileSystem and an empty directory of
// its own there. Each test program links the suite with one definition of MakeSubjects.
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

  // "root/name".
  std::string operator/(const std::string& path) const { return *root + "/" + path; }
  // Makes a file and returns its path.
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

// Fails the running test when the file system cannot be reached.
std::vector<Subject> MakeSubjects();

// An empty directory "BASE/NAME-N" of `files`, removed with the last copy of the pointer.
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
