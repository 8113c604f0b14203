// FileSystem::List for any file system: patterns, hidden names, order.
//
// Thread rule: re-entrant.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/storage/file_system.h"

namespace espalier::storage {

// Operations that a file system provides for listings.
class DirectoryReader {
 public:
  virtual ~DirectoryReader() = default;
  // Returns the info of `path`, with `path` as given. kNotFound, or kFailedPrecondition if a part
  // of it is not a directory: the name does not exist. Any other error: it exists and is not
  // usable.
  virtual Result<FileInfo> Look(const std::string& path) const = 0;
  // Returns the entries of the directory with wanted names. `path` is then "directory/name".
  // kNotFound, or kFailedPrecondition if it is not a directory. Any other error if an entry is
  // unusable. Entries that vanish during the call are skipped.
  using Wanted = std::function<bool(std::string_view name)>;
  virtual Result<std::vector<FileInfo>> Entries(const std::string& directory,
                                                const Wanted& wanted) const = 0;
  // Returns the path as its user would write it, for errors.
  virtual std::string Shown(const std::string& path) const { return path; }
};

// Implements FileSystem::List.
Result<std::vector<FileInfo>> ListPattern(const DirectoryReader& reader,
                                          const std::string& pattern);

// Returns "directory/name", or only the name if the directory is empty.
std::string JoinPath(const std::string& directory, const std::string& name);

}  // namespace espalier::storage
