// What a coordinator does with a local state directory besides its journal: holds it for itself,
// and keeps some of the disk in reserve.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"

namespace espalier::coordinator {

// Holds a state directory for one process; released when the lock is destroyed.
class DirectoryLock {
 public:
  // Makes the directory when it is not there. kFailedPrecondition: another process holds it.
  static Result<std::unique_ptr<DirectoryLock>> Take(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_;
};

// A file of real blocks that is given back to the disk when what running jobs must write does not
// fit any more. While it is not there, no new job is taken.
class DiskReserve {
 public:
  DiskReserve(std::string path, int64_t bytes) : path_(std::move(path)), bytes_(bytes) {}
  // Makes the file if it is not there, or too short. kResourceExhausted: the disk is full; nothing
  // is left behind then.
  Status Fill();
  // Deletes the file; false when there was none.
  bool Release();

 private:
  const std::string path_;
  const int64_t bytes_;
};

}  // namespace espalier::coordinator
