// FileDescriptor closes a file descriptor at the end of its scope.
//
// Thread rule: a value of one thread.
#pragma once

#include <unistd.h>

#include <utility>

namespace espalier {

class FileDescriptor {
 public:
  // Takes ownership of `fd`. If it is negative, there is nothing to close, and errno is unchanged.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace espalier
