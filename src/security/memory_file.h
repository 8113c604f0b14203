// A file in the memory of this process, for libraries that read their input from a path.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/base/file_descriptor.h"
#include "src/base/status.h"

namespace espalier::security {

// Thread rule: Put from one thread at a time, all other methods from any thread.
class MemoryFile {
 public:
  // Creates a file. kResourceExhausted: the kernel provides none.
  static Result<std::unique_ptr<MemoryFile>> Make(std::string_view content);

  // Returns the path of the file, valid only in this process.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }
  // Replaces the content. A reader that opens the file gets either the old or the new content.
  Status Put(std::string_view content);

 private:
  explicit MemoryFile(int fd) : fd_(fd) {}
  const FileDescriptor fd_;
};

}  // namespace espalier::security
