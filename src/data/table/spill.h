// Memory for rows: on the heap, or a mapped file in a spill directory. The file's pages are the
// system's to write out and to take back: they do not count as the process's own memory.
//
// A spill file is unlinked as soon as it is open, so that it is gone when the process is. Its name
// is random and must not exist before, so the directory may be one that other users can write to,
// such as /tmp: they can neither foresee nor open the file, and nothing of theirs is removed. Its
// blocks are reserved at once: a full disk is an error here and not a signal later.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "src/base/status.h"

namespace espalier::data {

// Makes a file in the directory, which is made if it does not exist. Returns its descriptor, which
// the caller closes.
Result<int> OpenSpillFile(const std::string& directory);

// A mapped file that grows. Thread rule: as plain memory.
class SpillFile {
 public:
  // An empty one. Makes the directory when it is not there.
  static Result<std::unique_ptr<SpillFile>> Make(const std::string& directory);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Makes it `bytes` long, which is more than before; the new ones are zero and data() may be
  // another place. After an error it is as it was.
  Status Grow(size_t bytes);
  char* data() const { return data_; }

 private:
  SpillFile(int fd, const std::string& directory) : fd_(fd), directory_(directory) {}
  const int fd_;
  const std::string directory_;
  char* data_ = nullptr;
  size_t size_ = 0;
};

// Zeroed bytes on a 64-byte boundary. Thread rule: as plain memory.
class Region {
 public:
  static Result<std::unique_ptr<Region>> InMemory(size_t bytes);
  // Errors and directory: as SpillFile.
  static Result<std::unique_ptr<Region>> InSpill(const std::string& directory, size_t bytes);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  Region(char* data, size_t size, std::unique_ptr<SpillFile> file)
      : data_(data), size_(size), file_(std::move(file)) {}
  char* const data_;
  const size_t size_;
  const std::unique_ptr<SpillFile> file_;  // that the bytes lie in; null: in memory
};

}  // namespace espalier::data
