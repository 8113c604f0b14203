// FileSystem::List for any file system: patterns, hidden names, order. Thread rule: re-entrant.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/storage/file_system.h"

namespace espalier {

// What a file system must be able to say.
class DirectoryReader {
 public:
  virtual ~DirectoryReader() = default;
  // With `path` as given.
  virtual Result<FileInfo> Look(const std::string& path) const = 0;
  // All that the directory holds, `path` being "directory/name"; what cannot be looked at is left
  // out. kNotFound, or kFailedPrecondition when it is no directory.
  virtual Result<std::vector<FileInfo>> Entries(const std::string& directory) const = 0;
};

// As FileSystem::List says.
Result<std::vector<FileInfo>> ListPattern(const DirectoryReader& reader,
                                          const std::string& pattern);

// "directory/name"; the name alone when the directory is empty.
std::string JoinPath(const std::string& directory, const std::string& name);

}  // namespace espalier
