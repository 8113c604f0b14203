// Memory for rows, on the heap or as a mapped file in a spill directory. The system writes the
// pages of the file out and reads them back, so they do not count as memory of the process.
//
// A spill file is unlinked as soon as it is open, so it disappears with the process. Its name is
// random and must not exist before. The directory may therefore be writable by other users, as /tmp
// is: they can neither predict nor open the file, and none of their files is removed. All blocks
// are reserved immediately, so that a full disk is an error at this point and not a signal later.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "src/base/status.h"

namespace espalier::data {

// Creates a file in the directory, which is created if it does not exist. Returns its descriptor,
// which the caller closes.
Result<int> OpenSpillFile(const std::string& directory);

// A mapped file that grows. Thread rule: as for plain memory.
class SpillFile {
 public:
  // Creates an empty file, and the directory if it does not exist.
  static Result<std::unique_ptr<SpillFile>> Make(const std::string& directory);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Grows the file to `bytes`, which is more than before. New bytes are zero, and data() may
  // change. After an error, the file is unchanged.
  Status Grow(size_t bytes);
  char* data() const { return data_; }

 private:
  SpillFile(int fd, const std::string& directory) : fd_(fd), directory_(directory) {}
  const int fd_;
  const std::string directory_;
  char* data_ = nullptr;
  size_t size_ = 0;
};

// Zeroed bytes on a 64-byte boundary. Thread rule: as for plain memory.
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
  const std::unique_ptr<SpillFile> file_;  // file that holds the bytes; null: in memory
};

}  // namespace espalier::data
