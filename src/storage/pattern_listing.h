// FileSystem::List for any file system: patterns, hidden names, order. Thread rule: re-entrant.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/storage/file_system.h"

namespace espalier::storage {

// What a file system must be able to say.
class DirectoryReader {
 public:
  virtual ~DirectoryReader() = default;
  // With `path` as given. kNotFound, or kFailedPrecondition when a part of it is no directory:
  // there is nothing of that name. Any other error: it is there and cannot be used.
  virtual Result<FileInfo> Look(const std::string& path) const = 0;
  // What the directory holds under names that are wanted, `path` being "directory/name".
  // kNotFound, or kFailedPrecondition when it is no directory; any other error when an entry
  // cannot be looked at, but for one that vanished meanwhile.
  using Wanted = std::function<bool(std::string_view name)>;
  virtual Result<std::vector<FileInfo>> Entries(const std::string& directory,
                                                const Wanted& wanted) const = 0;
  // How an error writes a path: as its user would.
  virtual std::string Shown(const std::string& path) const { return path; }
};

// As FileSystem::List says.
Result<std::vector<FileInfo>> ListPattern(const DirectoryReader& reader,
                                          const std::string& pattern);

// "directory/name"; the name alone when the directory is empty.
std::string JoinPath(const std::string& directory, const std::string& name);

}  // namespace espalier::storage
