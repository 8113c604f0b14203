// Memory for rows: on the heap, or a mapped file in a spool directory.
//
// A spool file is unlinked as soon as it is open, so that it is gone when the process is; one whose
// process died in between is removed by CleanSpool. Its blocks are reserved at once: a full disk is
// an error here and not a signal later.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "src/base/status.h"

namespace espalier {

// Zeroed bytes on a 64-byte boundary. Thread rule: as plain memory.
class Region {
 public:
  static Result<std::unique_ptr<Region>> InMemory(size_t bytes);
  // Makes the directory when it is not there.
  static Result<std::unique_ptr<Region>> InSpool(const std::string& directory, size_t bytes);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  Region(char* data, size_t size) : data_(data), size_(size) {}
  char* const data_;
  const size_t size_;
};

// Removes spool files that earlier processes left in `directory`; one that does not exist is fine.
// Only for the one process that uses the directory, before its first InSpool.
Status CleanSpool(const std::string& directory);

}  // namespace espalier
