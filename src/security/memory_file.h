// A file that is in this process's memory alone, for libraries that read what they need by a path.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/base/file_descriptor.h"
#include "src/base/status.h"

namespace espalier::security {

// Thread rule: Put from one thread at a time, all else from any.
class MemoryFile {
 public:
  // kResourceExhausted: the kernel gives none.
  static Result<std::unique_ptr<MemoryFile>> Make(std::string_view content);

  // Under which this process opens it; it means nothing to others.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }
  // Puts other content in the place of the former: whoever opens it sees the one or the other.
  Status Put(std::string_view content);

 private:
  explicit MemoryFile(int fd) : fd_(fd) {}
  const FileDescriptor fd_;
};

}  // namespace espalier::security
