// A file system that passes all calls to another one. It is the base class of file systems that
// watch, keep or (in tests) block some of the calls.
//
// Thread rule: that of the other file system.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/storage/file_system.h"

namespace espalier::storage {

class PassingFiles : public FileSystem {
 public:
  // `files` must outlive this.
  explicit PassingFiles(const FileSystem& files) : files_(files) {}

  Result<std::vector<FileInfo>> List(const std::string& p) const override { return files_.List(p); }
  Result<std::vector<std::string>> Names(const std::string& p) const override {
    return files_.Names(p);
  }
  Result<FileInfo> Stat(const std::string& p) const override { return files_.Stat(p); }
  Result<std::unique_ptr<ReadableFile>> Open(const std::string& p) const override {
    return files_.Open(p);
  }
  Result<std::vector<BlockLocation>> BlockLocations(const std::string& p, int64_t offset,
                                                    int64_t length) const override {
    return files_.BlockLocations(p, offset, length);
  }
  Status CreateExclusively(const std::string& p, std::string_view content) const override {
    return files_.CreateExclusively(p, content);
  }
  using FileSystem::WriteAtomically;
  Status WriteAtomically(const std::string& p, std::string_view content,
                         const std::string& writer) const override {
    return files_.WriteAtomically(p, content, writer);
  }
  Status Rename(const std::string& from, const std::string& to) const override {
    return files_.Rename(from, to);
  }
  Status Exchange(const std::string& one, const std::string& other) const override {
    return files_.Exchange(one, other);
  }
  Status Delete(const std::string& p) const override { return files_.Delete(p); }
  Status MakeDirectory(const std::string& p) const override { return files_.MakeDirectory(p); }
  Status Restrict(const std::string& p) const override { return files_.Restrict(p); }
  Status RemoveTree(const std::string& p) const override { return files_.RemoveTree(p); }
  Status RemoveEmptyDirectory(const std::string& p) const override {
    return files_.RemoveEmptyDirectory(p);
  }

 protected:
  const FileSystem& files_;
};

}  // namespace espalier::storage
