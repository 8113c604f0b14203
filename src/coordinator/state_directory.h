// The lock and the disk reserve in a coordinator's local state directory, next to its journal.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"

namespace espalier::coordinator {

// Locks a state directory for one process. The destructor releases it.
class DirectoryLock {
 public:
  // Creates the directory if it does not exist. kFailedPrecondition: another process holds it.
  static Result<std::unique_ptr<DirectoryLock>> Take(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_;
};

// A file of allocated blocks. The coordinator gives it back to the disk when the entries of running
// jobs no longer fit. While the file is missing, the coordinator accepts no new job.
class DiskReserve {
 public:
  DiskReserve(std::string path, int64_t bytes) : path_(std::move(path)), bytes_(bytes) {}
  // Creates the file if it is missing or too short. kResourceExhausted: the disk is full. Then no
  // file remains.
  Status Fill();
  // Deletes the file. Returns false if there was none.
  bool Release();

 private:
  const std::string path_;
  const int64_t bytes_;
};

}  // namespace espalier::coordinator
